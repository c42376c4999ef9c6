"""Limit of the thresholds for infinite problems: a line through them, extrapolated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
import scipy
from pydantic import Field

from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot
from greedyexp.figures.phase_transition import _predictions as predictions
from greedyexp.results import successes, thresholds
from greedyexp.results.context import Context
from greedyexp.results.records import Where, require_finite, rows_where
from greedyexp.results.text import group_text, title_text
from greedyexp.results.words import number_text, short_name
from greedyexp.stats.contrasts import assumed_worst, combined_interval, line_weights
from greedyexp.stats.proportions import CONFIDENCE
from greedyexp.stats.sequential import nominal_confidence
from greedyexp.theory.transitions import Threshold

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TRANSFORMS = {
    "1/log(x)": lambda x: 1 / np.log(x),
    "1/x": lambda x: 1 / x,
    "1/sqrt(x)": lambda x: 1 / np.sqrt(x),
}
# Height of the slanted sizes along the top in points.
_SIZES_ABOVE = 26.0
# Width of the short lines that mark predictions.
_MARKED_WIDTH = 1.6
_DIAMOND: plot.Style = {
    "marker": "D",
    "markersize": 6,
    "markerfacecolor": "white",
    "linestyle": "none",
}


@figure("threshold_limit", title="Limit of the transition threshold", **plot.declared())
def threshold_limit(
    frame: pd.DataFrame,
    context: Context,
    *,
    x: Annotated[str, Field(description="column of the problem size")] = "p",
    transform: Annotated[
        Literal["1/log(x)", "1/x", "1/sqrt(x)"],
        Field(description="transform of the size along the horizontal axis"),
    ] = "1/log(x)",
    of: thresholds.Of = "theta",
    panel: plot.Panel = None,
    row: plot.Row = None,
    line: plot.Line = ["kappa"],  # noqa: B006 - a default that pydantic copies
    success: successes.Success = {"default": "sign_support"},  # noqa: B006
    where: Where = {},  # noqa: B006
    level: thresholds.Level = 0.5,
    theory: Annotated[bool, Field(description="mark the predicted two-task transitions")] = True,
) -> Figure:
    """Value of ``of`` at which success reaches ``level``, against a transform of ``x``.

    The transform tends to 0 as ``x`` grows.

    Bars are 95% intervals, shifted by a few points so that they do not overlap. The straight lines
    are least squares fits with equal weights. A diamond at 0 is the intercept with its 95%
    interval: the limit, if the threshold is linear in the transform. The note says how well the
    lines fit. Short lines at the left edge are the predicted transitions, if they are stated for
    the data. Thresholds whose interval has an infinite end are drawn but not fitted.
    """
    keys = [c for c in (row, panel, *line, x) if c]
    frame = rows_where(frame, where)
    metrics = successes.metrics_of(frame, context, success)
    frame = successes.trials_of(frame, metrics, [*keys, of])
    require_finite(frame, x)
    least = 1 if transform == "1/log(x)" else 0
    if frame[x].min() <= least:
        raise ConfigError(f"{transform} needs values of '{x}' above {least}.")
    table = thresholds.thresholds(frame, context, of=of, success=success, by=keys, level=level)
    table = table.assign(place=_TRANSFORMS[transform](table[x].astype(float)))
    styles = plot.LineStyles(table, line, context)
    panels = plot.Panels.by_columns(frame, context, row, panel)
    lines = [
        _fitted(axis, dict(zip(line, key, strict=True)) | values, points, frame, context)
        for axis, values in panels
        for key, points in plot.inside(table, values).groupby(line, sort=True)
    ]
    if not theory or of != "theta":
        lines = [one._replace(stated=[]) for one in lines]
    heights = _heights(table, lines, (frame[of].min(), frame[of].max()))
    widest = table["place"].max()
    for axis, values in panels:
        axis.set_xlim(-0.09 * widest, 1.08 * widest)
        axis.set_ylim(*heights)
        panels.title(axis, values, context, above=_SIZES_ABOVE)
        _draw_sizes(axis, table, x)
    for one in lines:
        key = tuple(one.values[name] for name in line)
        _draw(one, styles.shift(*key), widest, styles.of(*key), keys)
    name = transform.replace("x", short_name(x))
    panels.label(name, thresholds.threshold_name(of, level))
    drawn = [prediction for one in lines for prediction, _ in one.stated]
    diamond = plot.legend_entry("limit if linear", **_DIAMOND)
    note = [
        *thresholds.notes(frame, context, table, keys),
        successes.metrics_note(context, metrics, line),
        _fits_text(lines, context, name),
    ]
    return panels.finish(
        *styles.legends(metrics),
        [*predictions.handles(drawn, _MARKED_WIDTH), diamond],
        title=title_text(where, context),
        note=note,
    )


class Limit(NamedTuple):
    """The value of a fitted line at 0.

    Parameters
    ----------
    estimate, low, high : float
        The value and its 95% interval; nan and an infinite interval for fewer than two points.
    slope : float
        Slope of the line; nan for fewer than two points.
    misfit : float
        Sum of squared residuals over squared standard errors, divided by its expectation for a
        straight line: near 1 for a line that fits; nan for fewer than three points, or if an
        interval has no length.
    points : int
        Number of fitted points.
    """

    estimate: float
    low: float
    high: float
    slope: float
    misfit: float
    points: int


class _Line(NamedTuple):
    """A line of the figure.

    Parameters
    ----------
    axis : Axes
        The panel of the line.
    values : dict
        The values of the columns that separate lines and panels.
    points : DataFrame
        The thresholds that the line is fitted to.
    limit : Limit
    stated : list of (Threshold, float)
        The prediction for its algorithm, and the predicted theta at its kappa; empty if there is
        none or the line has several algorithms or values of kappa.
    """

    axis: Axes
    values: dict[str, Any]
    points: pd.DataFrame
    limit: Limit
    stated: list[tuple[Threshold, float]]


def limit_at_zero(
    place: Any,
    estimate: Any,
    low: Any,
    high: Any,
    random: Any = True,
    *,
    confidence: float = CONFIDENCE,
) -> Limit:
    """Extrapolate independent estimates to 0 by least squares.

    Estimates with an infinite interval are left out. The others have equal weights, as in the
    ``limit`` of a claim. The intercept is a fixed linear combination of the estimates, and its
    interval follows from theirs.

    Parameters
    ----------
    place : array_like, shape (k,)
        Abscissas.
    estimate, low, high : array_like, shape (k,)
        Estimates and their intervals.
    random : array_like of bool, shape (k,)
        Estimates with a random error. The errors of others add up.
    confidence : float in (0, 1)
        Confidence level of the intervals. Their lengths give standard errors, which only the misfit
        uses.
    """
    place, estimate, low, high = (np.asarray(v, dtype=float) for v in (place, estimate, low, high))
    bounded = np.isfinite(estimate) & np.isfinite(low) & np.isfinite(high)
    random = np.broadcast_to(random, place.shape)
    place, estimate, low, high, random = (v[bounded] for v in (place, estimate, low, high, random))
    k = len(place)
    try:
        intercept, slope = line_weights(place)
    except ValueError:
        return Limit(np.nan, -np.inf, np.inf, np.nan, np.nan, k)
    correlation = assumed_worst(np.eye(k), intercept, random)
    value, lower, upper = combined_interval(intercept, estimate, low, high, correlation)
    error = (high - low) / (2 * scipy.special.ndtri(0.5 + confidence / 2))
    misfit = _misfit(np.eye(k) - intercept - np.outer(place, slope), estimate, error)
    return Limit(value, lower, upper, float(slope @ estimate), misfit, k)


def _misfit(residual: np.ndarray, estimate: np.ndarray, error: np.ndarray) -> float:
    """Return chi-square of the residuals, a linear map of the estimates, over its expectation."""
    if len(estimate) < 3 or not np.all(error > 0):
        return float("nan")
    expected = np.sum((residual * error / error[:, None]) ** 2)
    return float(np.sum((residual @ estimate / error) ** 2) / expected)


def _fitted(
    axis: Axes, values: dict[str, Any], points: pd.DataFrame, frame: pd.DataFrame, context: Context
) -> _Line:
    """Fit a line to thresholds, and find the prediction for it."""
    known = (points[column] for column in ("place", "estimate", "low", "high", "logistic"))
    confidence = nominal_confidence(context.confidence, sequential=context.placed)
    limit = limit_at_zero(*known, confidence=confidence)
    rows = plot.inside(frame, values)
    labels = rows["algorithm"].unique()
    stated = []
    if "kappa" in rows and len(labels) == rows["kappa"].nunique(dropna=False) == 1:
        kappa = rows["kappa"].iloc[0]
        applicable = predictions.applicable(rows, context, labels).values()
        stated = [(prediction, prediction.theta(kappa)) for prediction in applicable]
    return _Line(axis, values, points, limit, stated)


def _heights(
    table: pd.DataFrame, lines: Sequence[_Line], tested: tuple[float, float]
) -> tuple[float, float]:
    inner, ends = [*table["estimate"]], [*table["low"], *table["high"]]
    for one in lines:
        inner += [one.limit.estimate, *(theta for _, theta in one.stated)]
        ends += [one.limit.low, one.limit.high]
    # A limit may lie outside the tested range, and its interval may extend some way further.
    room = (tested[1] - tested[0]) / 2
    return plot.linear_limits(inner, ends, (tested[0] - room, tested[1] + room))


def _draw(one: _Line, shift: float, widest: float, style: plot.Style, keys: Sequence[str]) -> None:
    """Draw thresholds, the line through them, its limit and the prediction.

    Intervals are shifted to the right by points.
    """
    axis, limit, colour = one.axis, one.limit, style["color"]
    unjoined: plot.Style = style | {"linestyle": "none"}
    points = one.points.assign(shift=shift)
    marks = plot.draw_estimates(axis, points["place"], points, unjoined, shift, gid="thresholds")
    plot.attach(marks, one.points[keys], thresholds.facts(one.points))
    if not np.isnan(limit.estimate):
        ends = np.array([0.0, widest])
        fitted: plot.Style = {"linestyle": style["linestyle"], "linewidth": 0.9, "gid": "fit"}
        axis.plot(ends, limit.estimate + limit.slope * ends, color=colour, **fitted)
        plot.draw_interval(axis, 0.0, limit.low, limit.high, colour, shift)
        at: plot.Style = {"transform": plot.shifted(axis, shift), "zorder": 3, "gid": "limit"}
        axis.plot(0.0, limit.estimate, color=colour, **at, **_DIAMOND)
    left, right = axis.get_xlim()
    for prediction, theta in one.stated:
        axis.plot(
            [left, left + 0.16 * (right - left)],
            [theta, theta],
            **predictions.style_of(prediction, style)
            # One marker, at its right end.
            | {"linewidth": _MARKED_WIDTH, "markevery": [1]},
            gid="prediction",
        )


def _draw_sizes(axis: Axes, table: pd.DataFrame, x: str) -> None:
    """Write the sizes along the top."""
    known = table.groupby(x, sort=True)["place"].first()
    top = axis.secondary_xaxis("top")
    top.set_xticks([0.0, *known], [f"{short_name(x)} = ∞", *map(number_text, known.index)])
    top.tick_params(labelsize=plot.small_text(), length=2, pad=1, rotation=40)
    for label in top.get_xticklabels():
        label.set_horizontalalignment("left")
        label.set_rotation_mode("anchor")
    top.spines["top"].set_visible(False)


def _fits_text(lines: Sequence[_Line], context: Context, axis_name: str) -> str:
    """Describe the assumption of the extrapolation and the fit of the lines."""
    left_out = sum(len(one.points) - one.limit.points for one in lines)
    without = f" ({left_out} without a bounded interval left out)" if left_out else ""
    text = f"Limits assume that thresholds are linear in {axis_name}{without}."
    fitted = [one for one in lines if one.limit.points > 2]
    if not fitted:
        return f"{text} Too few points to see whether they are."
    worst = max(fitted, key=lambda one: one.limit.misfit)
    least = min(one.limit.misfit for one in fitted)
    return (
        f"{text} χ² of the lines over its expectation: {least:.2g} to"
        f" {worst.limit.misfit:.2g}, largest for {group_text(worst.values, context)}."
    )
