"""Success in a plane of two columns, with its contour and the one of l1 minimisation."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot
from greedyexp.results import successes
from greedyexp.stats.level import INTERVAL
from greedyexp.theory.donoho_tanner import donoho_tanner

Plane = Callable[[Any, Any], tuple[Any, Any]]
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
    frame: plot.Frame,
    context: plot.Context,
    *,
    of: Annotated[str, Field(description="column n whose threshold is drawn")] = "n_samples",
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
    where: plot.Where = {},  # noqa: B006
    level: successes.Level = 0.5,
    direction: successes.Direction = None,
    theory: Annotated[
        bool, Field(description="draw the curve of l1 minimisation without noise")
    ] = True,
) -> plot.Figure:
    """Success against delta = n / p and rho = s / n, or two other columns, with a contour.

    The colour of a cell is the share of successes; places without trials are grey. For each value
    of ``against`` the contour is where a logistic curve fitted to successes against ``of`` crosses
    ``level``, and its band the interval. The dashed curve is the transition of l1 minimisation
    on Gaussian designs without noise, as p goes to infinity (``greedyexp.theory.donoho_tanner``).
    It is drawn in ratios, where the data have one task, no noise and independent columns.
    """
    keys = [c for c in (row, panel) if c]
    measures = [of, against, *([ratios] if ratios else [])]
    rows, metrics = successes.trials(frame, context, success, [*keys, *measures], where)
    plot.require_finite(rows, *measures)
    by = list(dict.fromkeys([*keys, *measures[1:]]))
    counts = successes.count(rows, metrics, [*by, of])
    given: Any = {"of": of, "success": success, "level": level, "direction": direction}
    contour = successes.thresholds(rows, context, by=by, **given)
    panels = plot.Panels.by_columns(rows, context, row, panel)
    # Trials that follow the results leave gaps, which no cell covers.
    step = None if along else _step(counts[of])
    stated = {
        axis: bool(ratios and theory) and _is_stated(plot.inside(rows, values))
        for axis, values in panels
    }

    def cells_and_contour(axis: plot.Axes, values: Mapping[str, Any]) -> None:
        tested, crossed = plot.inside(counts, values), plot.inside(contour, values)
        at = _plane(tested, ratios)
        _draw_cells(axis, tested, of, against, at, step)
        _draw_contour(axis, crossed, against, at, by)
        if ratios:
            axis.set(xlim=(0, 1), ylim=(0, 1))
        if stated[axis]:
            rare = np.linspace(0.002, 0.998, 250)
            delta = donoho_tanner(rare)
            axis.plot(delta, rare / delta, **_THEORY, gid="theory")

    texts = _RATIOS if ratios else (plot.axis_label(against), plot.axis_label(of))
    entries = [plot.legend_entry(f"{100 * level:.4g}% success, with its {INTERVAL}", **_CONTOUR)]
    if any(stated.values()):
        label = r"$\ell_1$ minimisation, proved as $p \to \infty$"
        entries.append(plot.legend_entry(label, **_THEORY))
    note = [
        *successes.threshold_notes(rows, context, contour, by),
        successes.metrics_note(context, metrics, ["algorithm"]),
    ]
    return plot.chart(
        *(panels, context, [cells_and_contour], texts, [entries], note, where),
        then=lambda: panels.colour_bar(_COLOURS, "share of successes"),
    )


def _plane(rows: plot.Frame, ratios: str | None) -> Plane:
    """Return where a point (s, n) lies: at (n / p, s / n), or at (s, n) without a column p."""
    if ratios is None:
        return lambda s, n: (s, n)
    found = rows[ratios].unique()
    if len(found) > 1:
        raise ConfigError(
            f"a panel has several values of '{ratios}', so its cells overlap.",
            remedy=f"Name {ratios} as panel or row, or choose one by `where`.",
        )
    return lambda s, n: (n / float(found[0]), s / n)


def _draw_cells(
    axis: plot.Axes, counts: plot.Frame, of: str, against: str, plane: Plane, step: float | None
) -> None:
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
            cells.append([plane(*corner) for corner in corners])
    shares = counts["successes"] / counts["trials"]
    drawn = PolyCollection(cells, array=shares, cmap=_COLOURS, edgecolor="face", linewidth=0.1)
    drawn.set_clim(0, 1)
    numbers = counts[["trials", "failed"]]
    facts = {"share of successes": shares} | {name: numbers[name] for name in numbers}
    plot.attach(drawn, counts.drop(columns=["successes", *numbers]), facts)
    axis.set_facecolor(_UNTESTED)
    axis.add_collection(drawn)
    axis.autoscale_view()


def _step(values: plot.Series) -> float:
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
    axis: plot.Axes, contour: plot.Frame, against: str, plane: Plane, keys: list[str]
) -> None:
    """Draw the crossings, joined in the order of ``against``, and the band of their intervals."""
    contour = contour.sort_values(against)
    s = contour[against].to_numpy(dtype=float)
    ends = contour[["low", "estimate", "high"]].replace([np.inf, -np.inf], np.nan)
    low, n, high = ends.to_numpy(dtype=float).T
    known = np.isfinite(low) & np.isfinite(high)
    if known.sum() > 1:
        # With ratios, an interval of n lies on a hyperbola, along which both coordinates change.
        lower, upper = (np.column_stack(plane(s[known], ends[known])) for ends in (low, high))
        axis.fill(*np.vstack([lower, upper[::-1]]).T, **_BAND, gid="band")
    (line,) = axis.plot(*plane(s, n), **_CONTOUR)
    plot.attach(line, contour[keys], plot.facts(contour, "threshold", counts=successes.COUNTS))


def _is_stated(rows: plot.Frame) -> bool:
    """Return True if the curve of l1 minimisation holds for the data of a panel."""
    fixed = {"noise_std": 0, "correlation": 0, "n_tasks": 1}
    return all((rows[name] == value).all() for name, value in fixed.items() if name in rows)
