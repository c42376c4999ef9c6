"""Success in a plane of two columns, with its contour and the one of l1 minimisation."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot
from greedyexp.results import successes, thresholds
from greedyexp.results.context import Context
from greedyexp.results.records import Where, require_finite, rows_where
from greedyexp.results.text import title_text
from greedyexp.results.words import axis_label
from greedyexp.theory.donoho_tanner import donoho_tanner

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure

_COLOURS = "cividis"
_UNTESTED = "0.88"
_CONTOUR: plot.Style = {"color": "#d62728", "linewidth": 1.4, "marker": "o", "markersize": 2.5}
_BAND: plot.Style = {"color": "#d62728", "alpha": 0.35, "linewidth": 0}
_RATIOS = (r"samples per feature $\delta = n\,/\,p$", r"sparsity $\rho = s\,/\,n$")
_THEORY: plot.Style = {"color": "black", "linewidth": 1.2, "linestyle": (0, (4, 2))}


def _apart(*, against: str, ratios: str | None, along: str | None, **params: Any) -> list[str]:
    named = [*plot.separate(**params), against, ratios, along]
    return [name for name in named if name is not None]


@figure("phase_diagram", title="Phase diagram", columns=plot.reads(apart=_apart), apart=_apart)
def phase_diagram(
    frame: pd.DataFrame,
    context: Context,
    *,
    of: Annotated[str, Field(description="column n along which success rises")] = "n_samples",
    against: Annotated[str, Field(description="column s of the other direction")] = "sparsity",
    ratios: Annotated[
        str | None,
        Field(description="column p, for the axes n / p and s / n; null: the axes are s and n"),
    ] = "p",
    along: Annotated[
        str | None, Field(description="swept column that sets the values of `of`")
    ] = None,
    panel: plot.Panel = "algorithm",
    row: plot.Row = None,
    success: successes.Success = {"default": "recovered"},  # noqa: B006 - pydantic copies it
    where: Where = {},  # noqa: B006
    level: thresholds.Level = 0.5,
    theory: Annotated[
        bool, Field(description="draw the curve of l1 minimisation without noise")
    ] = True,
) -> Figure:
    """Success against delta = n / p and rho = s / n, or two other columns, with a contour.

    The colour of a cell is the share of successes; places without trials are grey. For each value
    of ``against`` the contour is where a logistic curve fitted to successes against ``of`` crosses
    ``level``, and its band the 95% interval. The dashed curve is the transition of l1 minimisation
    on Gaussian designs without noise, as p goes to infinity (``greedyexp.theory.donoho_tanner``).
    It is drawn in ratios, where the data have one task, no noise and independent columns.
    """
    keys = [c for c in (row, panel) if c]
    frame = rows_where(frame, where)
    metrics = successes.metrics_of(frame, context, success)
    measures = [of, against, *([ratios] if ratios else [])]
    frame = successes.trials_of(frame, metrics, [*keys, *measures])
    for column in measures:
        require_finite(frame, column)
    by = list(dict.fromkeys([*keys, *measures[1:]]))
    counts = successes.count(frame, metrics, [*by, of])
    contour = thresholds.thresholds(frame, context, of=of, success=success, by=by, level=level)
    panels = plot.Panels.by_columns(frame, context, row, panel)
    # Trials that follow the results leave gaps, which no cell covers.
    step = None if along else _step(counts[of])
    predicted = False
    for axis, values in panels:
        tested, crossed = plot.inside(counts, values), plot.inside(contour, values)
        plane = _Plane(_single(tested, ratios) if ratios else None)
        cells = _draw_cells(axis, tested, of, against, plane, step)
        _draw_contour(axis, crossed, against, plane, by)
        if ratios:
            axis.set_xlim(0, 1)
            axis.set_ylim(0, 1)
        if ratios and theory and _is_stated(plot.inside(frame, values)):
            predicted = True
            rare = np.linspace(0.002, 0.998, 250)
            delta = donoho_tanner(rare)
            axis.plot(delta, rare / delta, **_THEORY, gid="theory")
        panels.title(axis, values, context)
    names = _RATIOS if ratios else (axis_label(against), axis_label(of))
    panels.label(*names)
    bar = panels.figure.colorbar(
        cells,
        ax=list(panels.axes.flat),
        aspect=18 * len(panels.axes),
        pad=0.02,
        label="share of successes",
    )
    bar.outline.set_visible(False)
    entries = [plot.legend_entry(f"{100 * level:.4g}% success, with its 95% interval", **_CONTOUR)]
    if predicted:
        label = r"$\ell_1$ minimisation, proved as $p \to \infty$"
        entries.append(plot.legend_entry(label, **_THEORY))
    return panels.finish(
        entries,
        title=title_text(where, context),
        note=[
            *thresholds.notes(frame, context, contour, by),
            successes.metrics_note(context, metrics, ["algorithm"]),
        ],
    )


@dataclass(frozen=True)
class _Plane:
    """The plane of a panel.

    Parameters
    ----------
    features : float, optional
        p: a point (s, n) lies at (n / p, s / n). Without it, at (s, n).
    """

    features: float | None

    def at(self, s: Any, n: Any) -> tuple[Any, Any]:
        return (s, n) if self.features is None else (n / self.features, s / n)


def _single(rows: pd.DataFrame, column: str) -> float:
    found = rows[column].unique()
    if len(found) > 1:
        raise ConfigError(
            f"a panel has several values of '{column}', so its cells overlap.",
            remedy=f"Name {column} as panel or row, or choose one by `where`.",
        )
    return float(found[0])


def _draw_cells(
    axis: Axes, counts: pd.DataFrame, of: str, against: str, plane: _Plane, step: float | None
) -> PolyCollection:
    """Draw the share of successes in cells around the tested points.

    Cells are one ``step`` of ``of`` wide; by default the smallest step at their own ``against``.
    """
    from matplotlib.collections import PolyCollection

    levels = np.unique(counts[against].to_numpy(dtype=float))
    edges = dict(zip(levels, itertools.pairwise(_edges(levels)), strict=True))
    cells = []
    counts = counts.sort_values([against, of])
    for s, points in counts.groupby(against):
        low, high = edges[s]
        n = points[of].to_numpy(dtype=float)
        half = (step or _step(points[of])) / 2
        for left, right in zip(np.maximum(n - half, n / 2), n + half, strict=True):
            corners = ((low, left), (low, right), (high, right), (high, left))
            cells.append([plane.at(*corner) for corner in corners])
    shares = counts["successes"] / counts["trials"]
    drawn = PolyCollection(cells, array=shares, cmap=_COLOURS, edgecolor="face", linewidth=0.1)
    drawn.set_clim(0, 1)
    numbers = counts[["trials", "failed"]]
    facts = {"share of successes": shares} | {name: numbers[name] for name in numbers}
    plot.attach(drawn, counts.drop(columns=["successes", *numbers]), facts)
    axis.set_facecolor(_UNTESTED)
    axis.add_collection(drawn)
    axis.autoscale_view()
    return drawn


def _step(values: pd.Series) -> float:
    """Return the smallest distance of two values, or a tenth of a single one."""
    levels = np.unique(values.to_numpy(dtype=float))
    return float(np.diff(levels).min() if len(levels) > 1 else levels[0] / 10)


def _edges(places: np.ndarray) -> np.ndarray:
    """Return the midpoints between sorted places, and ends as far beyond the first and last."""
    if len(places) == 1:
        return places[0] * np.array([0.9, 1.1])
    middle = (places[:-1] + places[1:]) / 2
    return np.array([2 * places[0] - middle[0], *middle, 2 * places[-1] - middle[-1]])


def _draw_contour(
    axis: Axes, contour: pd.DataFrame, against: str, plane: _Plane, keys: list[str]
) -> None:
    """Draw the crossings, joined in the order of ``against``, and the band of their intervals."""
    contour = contour.sort_values(against)
    s = contour[against].to_numpy(dtype=float)
    ends = contour[["low", "estimate", "high"]].replace([np.inf, -np.inf], np.nan)
    low, n, high = ends.to_numpy(dtype=float).T
    known = np.isfinite(low) & np.isfinite(high)
    if known.sum() > 1:
        # With ratios, an interval of n lies on a hyperbola, along which both coordinates change.
        lower, upper = (np.column_stack(plane.at(s[known], ends[known])) for ends in (low, high))
        axis.fill(*np.vstack([lower, upper[::-1]]).T, **_BAND, gid="band")
    (line,) = axis.plot(*plane.at(s, n), **_CONTOUR)
    plot.attach(line, contour[keys], thresholds.facts(contour))


def _is_stated(rows: pd.DataFrame) -> bool:
    """Return True if the curve of l1 minimisation holds for the data of a panel."""
    fixed = {"noise_std": 0, "correlation": 0, "n_tasks": 1}
    return all((rows[name] == value).all() for name, value in fixed.items() if name in rows)
