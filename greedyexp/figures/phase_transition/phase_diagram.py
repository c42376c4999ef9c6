"""Success in the plane of undersampling and sparsity, with its contour and a predicted one."""

from __future__ import annotations

import itertools
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
from greedyexp.theory.donoho_tanner import donoho_tanner

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = "cividis"
_UNTESTED = "0.88"
_CONTOUR: plot.Style = {"color": "#d62728", "linewidth": 1.4, "marker": "o", "markersize": 2.5}
_BAND: plot.Style = {"color": "#d62728", "alpha": 0.35, "linewidth": 0}
_THEORY: plot.Style = {"color": "black", "linewidth": 1.2, "linestyle": (0, (4, 2))}


def _apart(
    *, samples: str, features: str, sparsity: str, along: str | None, **params: Any
) -> list[str]:
    named = [*plot.separate(**params), samples, features, sparsity, along]
    return [name for name in named if name is not None]


@figure("phase_diagram", title="Phase diagram", columns=plot.reads(apart=_apart), apart=_apart)
def phase_diagram(
    frame: pd.DataFrame,
    context: Context,
    *,
    samples: Annotated[str, Field(description="column of the number of samples n")] = "n_samples",
    features: Annotated[str, Field(description="column of the number of features p")] = "p",
    sparsity: Annotated[
        str, Field(description="column of the nonzero coefficients s")
    ] = "sparsity",
    along: Annotated[
        str | None, Field(description="swept column that sets the number of samples")
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
    """Success against delta = n / p and rho = s / n, with the contour where it reaches ``level``.

    The colour of a cell is the share of successes; cells without trials are grey. At each sparsity
    the contour is the crossing of a logistic curve fitted to successes against the number of
    samples, and its band the 95% interval. The dashed curve is the transition of l1 minimisation on
    Gaussian designs without noise, as p goes to infinity (``greedyexp.theory.donoho_tanner``). It
    is drawn where the data have one task, no noise and independent columns. If the number of
    samples follows from another swept column, such as theta, ``along`` names it.
    """
    keys = [c for c in (row, panel) if c]
    frame = rows_where(frame, where)
    metrics = successes.metrics_of(frame, context, success)
    frame = successes.trials_of(frame, metrics, [*keys, samples, features, sparsity])
    for column in (samples, features, sparsity):
        require_finite(frame, column)
    by = [*keys, features, sparsity]
    counts = successes.count(frame, metrics, [*by, samples])
    contour = thresholds.thresholds(frame, context, of=samples, success=success, by=by, level=level)
    panels = plot.Panels.by_columns(frame, context, row, panel)
    curve = np.linspace(0.002, 0.998, 250)
    predicted, mesh = False, None
    for axis, values in panels:
        mesh = _draw_cells(axis, plot.inside(counts, values), samples, features, sparsity)
        _draw_contour(axis, plot.inside(contour, values), features, sparsity)
        if theory and _is_stated(plot.inside(frame, values)):
            predicted = True
            delta = donoho_tanner(curve)
            axis.plot(delta, curve / delta, **_THEORY, gid="theory")
        axis.set_xlim(0, 1)
        axis.set_ylim(0, 1)
        panels.title(axis, values, context)
    panels.label(r"samples per feature $\delta = n\,/\,p$", r"sparsity $\rho = s\,/\,n$")
    if mesh is not None:
        bar = panels.figure.colorbar(
            mesh,
            ax=list(panels.axes.flat),
            aspect=18 * len(panels.axes),
            pad=0.02,
            label="share of successes",
        )
        bar.outline.set_visible(False)
    entries = [
        plot.legend_entry(f"{100 * level:.4g}% success, with its 95% interval", **_CONTOUR),
    ]
    if predicted:
        entries.append(
            plot.legend_entry(r"$\ell_1$ minimisation, proved as $p \to \infty$", **_THEORY)
        )
    return panels.finish(
        entries,
        title=title_text(where, context),
        note=[
            *thresholds.notes(frame, context, contour, by),
            successes.metrics_note(context, metrics, ["algorithm"]),
        ],
    )


def _draw_cells(
    axis: Axes, counts: pd.DataFrame, samples: str, features: str, sparsity: str
) -> Any:
    """Draw the share of successes in cells around the tested points."""
    p = counts[features].unique()
    if len(p) > 1:
        raise ConfigError(
            f"a panel has several values of '{features}', so its cells overlap.",
            remedy=f"Name {features} as panel or row, or choose one by `where`.",
        )
    from matplotlib.collections import PolyCollection

    levels = np.unique(counts[sparsity].to_numpy(dtype=float))
    edges = dict(zip(levels, itertools.pairwise(_edges(levels)), strict=True))
    cells, shares = [], []
    for s, points in counts[counts["trials"] > 0].groupby(sparsity):
        n = points[samples].to_numpy(dtype=float)
        # Trials that follow the results leave gaps, which a cell does not cover.
        half = np.diff(n).min() / 2 if len(n) > 1 else 1.0
        for at, share in zip(n, points["successes"] / points["trials"], strict=True):
            corners = [(at - half, 0), (at + half, 0), (at + half, 1), (at - half, 1)]
            cells.append([(x / p[0], edges[s][side] / max(x, half)) for x, side in corners])
            shares.append(share)
    mesh = PolyCollection(cells, array=shares, cmap=_COLOURS, edgecolor="face", linewidth=0.1)
    mesh.set_clim(0, 1)
    axis.set_facecolor(_UNTESTED)
    axis.add_collection(mesh)
    return mesh


def _edges(places: np.ndarray) -> np.ndarray:
    """Return the midpoints between sorted places, and ends as far beyond the first and last."""
    if len(places) == 1:
        return places[0] * np.array([0.9, 1.1])
    middle = (places[:-1] + places[1:]) / 2
    return np.array([max(2 * places[0] - middle[0], 0), *middle, 2 * places[-1] - middle[-1]])


def _draw_contour(axis: Axes, contour: pd.DataFrame, features: str, sparsity: str) -> None:
    """Draw the crossings, joined from one sparsity to the next, and the band of their intervals."""
    contour = contour.sort_values(sparsity)
    p, s = contour[features].to_numpy(dtype=float), contour[sparsity].to_numpy(dtype=float)
    ends = contour[["low", "estimate", "high"]].replace([np.inf, -np.inf], np.nan)
    low, at, high = ends.to_numpy(dtype=float).T
    known = np.isfinite(low) & np.isfinite(high)
    if known.sum() > 1:
        # An interval of n lies on the hyperbola of its s, along which both coordinates change.
        edge = [np.column_stack([n[known] / p[known], s[known] / n[known]]) for n in (low, high)]
        outline = np.vstack([edge[0], edge[1][::-1]])
        axis.fill(outline[:, 0], outline[:, 1], **_BAND, gid="band")
    (line,) = axis.plot(at / p, s / at, **_CONTOUR)
    plot.attach(line, contour, thresholds.facts(contour))


def _is_stated(rows: pd.DataFrame) -> bool:
    """Return True if the curve of l1 minimisation holds for the data of a panel."""
    fixed = {"noise_std": 0, "correlation": 0, "n_tasks": 1}
    return all((rows[name] == value).all() for name, value in fixed.items() if name in rows)
