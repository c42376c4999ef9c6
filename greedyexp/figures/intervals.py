"""Intervals as vertical bars, with arrows where they go on beyond the panel."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

_UP, _DOWN = (3, 0, 0), (3, 0, 180)


def limits(inner, ends, tested: tuple[float, float] | None = None) -> tuple[float, float]:
    """Limits of the y axis that show all finite estimates.

    Parameters
    ----------
    inner : array_like
        Estimates and predictions: all finite ones are shown.
    ends : array_like
        Ends of intervals: the finite ones are shown, though none beyond the tested range: those are
        extrapolations, and the axis is not stretched for them.
    tested : (float, float), optional
        Least and largest value at which trials were made.
    """
    inner, ends = (np.asarray(values, dtype=float) for values in (inner, ends))
    inner, ends = inner[np.isfinite(inner)], ends[np.isfinite(ends)]
    shown = np.concatenate([inner, np.clip(ends, *tested) if tested else ends])
    if not len(shown):
        shown = np.array(tested or (0.0, 1.0))
    low, high = shown.min(), shown.max()
    margin = 0.06 * (high - low) or 0.5
    return low - margin, high + margin


def draw_interval(axis: Axes, x: float, low: float, high: float, colour) -> None:
    """A bar from low to high; an end outside the limits of the panel becomes an arrow."""
    floor, ceiling = axis.get_ylim()
    bar = np.clip([low, high], floor, ceiling)
    axis.plot([x, x], bar, color=colour, linewidth=0.9, solid_capstyle="butt", gid="interval")
    for beyond, edge, marker in ((high > ceiling, ceiling, _UP), (low < floor, floor, _DOWN)):
        if beyond:
            look = {"marker": marker, "color": colour, "markersize": 4, "clip_on": False}
            axis.plot(x, edge, **look, gid="beyond")


def draw_thresholds(axis: Axes, at, points: pd.DataFrame, colour) -> None:
    """The interval of each threshold, and an open arrow for each that was not reached.

    Parameters
    ----------
    at : sequence of float
        Where they are drawn.
    points : DataFrame
        ``estimate``, ``low`` and ``high``; a nan estimate is left out, as nothing is known of it.
    """
    for place, point in zip(at, points.itertuples(), strict=True):
        if not np.isnan(point.estimate):
            draw_interval(axis, place, point.low, point.high, colour)
        if np.isinf(point.estimate):
            _draw_unreached(axis, place, point.estimate, colour)


def least_gap(x) -> float:
    """Distance of the two nearest values."""
    levels = np.unique(x)
    return float(np.diff(levels).min()) if len(levels) > 1 else 0.1


def _draw_unreached(axis: Axes, x: float, estimate: float, colour) -> None:
    """An open arrow at the edge that an infinite estimate lies beyond."""
    edge = axis.get_ylim()[int(estimate > 0)]
    axis.plot(
        x,
        edge,
        marker=_UP if estimate > 0 else _DOWN,
        markersize=8,
        markerfacecolor="white",
        markeredgecolor=colour,
        linestyle="none",
        clip_on=False,
        zorder=3,
        gid="unreached",
    )
