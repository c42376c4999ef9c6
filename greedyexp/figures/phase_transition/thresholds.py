"""Crossings of a level of success, against a property of the data and for infinite problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import Field
from scipy.special import ndtri

from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot
from greedyexp.figures.phase_transition import _predictions as predictions
from greedyexp.figures.phase_transition._successes import (
    Success,
    Theory,
    count_successes,
    metrics_note,
    success_metrics,
    success_notes,
    trials_of,
)
from greedyexp.results.context import Context
from greedyexp.results.records import require_columns, require_finite
from greedyexp.results.text import axis_label, group_text, number_text, short_name
from greedyexp.stats.contrasts import combined_interval, line_weights
from greedyexp.stats.sequential import located_crossing, nominal_confidence
from greedyexp.theory.transitions import Threshold

Of = Annotated[str, Field(description="column whose threshold is estimated")]
Level = Annotated[float, Field(gt=0, lt=1, description="probability of success at the threshold")]

_TRANSFORMS = {
    "1/log(x)": lambda x: 1 / np.log(x),
    "1/x": lambda x: 1 / x,
    "1/sqrt(x)": lambda x: 1 / np.sqrt(x),
}
# Distance of the outermost of lines at one x, as a part of the axis: a marker moved along a steep
# prediction would seem to lie off it.
_OFFSET, _LIMIT_OFFSET = 0.012, 0.014
_DIAMOND: plot.Style = {
    "marker": "D",
    "markersize": 6,
    "markerfacecolor": "white",
    "linestyle": "none",
}
# Thresholds outside the tested range that a note names.
_MAX_NAMED = 4


@figure(
    "transition_threshold", title="Transition threshold", columns=plot.reads(), apart=plot.separate
)
def transition_threshold(
    frame: pd.DataFrame,
    context: Context,
    *,
    x: plot.X = "kappa",
    of: Of = "theta",
    panel: plot.Panel = None,
    row: plot.Row = None,
    line: plot.Line = ["algorithm"],  # noqa: B006 - a default that pydantic copies
    success: Success = {"default": "sign_support"},  # noqa: B006
    level: Level = 0.5,
    theory: Theory = True,
) -> Figure:
    """Value of ``of`` at which success reaches ``level``, against ``x``, one line per algorithm.

    Each threshold is the crossing of a logistic curve fitted to successes against ``of``. Vertical
    bars are its 95% intervals, slightly shifted so that they do not overlap. A replicate that
    failed is a trial without success. A threshold outside the tested range is an open arrow at the
    edge of the panel, and named in the note. Thin curves are the predicted transitions. They are
    drawn if ``x`` is kappa, ``of`` is theta and the coefficients have values for which the
    prediction is stated. That of the Lasso, n = 2 s log(p), depends on p and s in theta: one curve
    for each size.
    """
    keys = [c for c in (row, panel, *line, x) if c]
    frame = trials_of(frame, success, context, [*keys, of])
    require_finite(frame, x)
    table = thresholds(frame, context, of=of, success=success, by=keys, level=level)
    styles = plot.LineStyles(table, line)
    panels = plot.Panels.by_columns(frame, context, row, panel, wrap=False, width=4.2, height=3.2)
    stated = {}
    if theory and (x, of) == ("kappa", "theta") and line[0] == "algorithm":
        for axis, values in panels:
            rows = plot.inside(frame, values)
            stated[axis] = predictions.in_panel(rows, context, line, styles.colours)
    drawn = [prediction for curves in stated.values() for _, prediction in curves]
    curve = np.linspace(table[x].min(), table[x].max(), 101)
    ends = table[["low", "high"]].to_numpy().ravel()
    predicted = [prediction.theta(k) for prediction in drawn for k in curve]
    tested = (frame[of].min(), frame[of].max())
    levels = np.unique(table[x])
    for axis, values in panels:
        axis.set_ylim(*plot.linear_limits([*table["estimate"], *predicted], ends, tested))
        panels.title(axis, values, context)
        for label, prediction in stated.get(axis, []):
            heights = [prediction.theta(k) for k in curve]
            colour, dash = styles.colours[label], predictions.dash(prediction)
            axis.plot(curve, heights, color=colour, linestyle=dash, **predictions.STYLE)
        shown = plot.inside(table, values)
        span = shown[x].max() - shown[x].min()
        offsets = styles.offsets(min(0.45 * plot.least_gap(shown[x]), _OFFSET * span))
        for key, points in shown.groupby(line, sort=True):
            _draw_thresholds(axis, points[x] + offsets[key], points, styles.of(*key))
        if len(levels) <= 8:
            axis.set_xticks(levels, [number_text(float(value)) for value in levels])
    panels.label(axis_label(x), _axis_label(of, level))
    metrics = success_metrics(frame, success, context)
    panels.legend([*styles.handles(context, metrics), *predictions.handles(drawn)])
    notes = _notes(frame, context, table, len(keys))
    metrics_text = metrics_note(frame, context, success, line)
    panels.note(*notes, metrics_text, predictions.conversion_note(drawn))
    return panels.figure


@figure(
    "threshold_limit",
    title="Limit of the transition threshold",
    columns=plot.reads(),
    apart=plot.separate,
)
def threshold_limit(
    frame: pd.DataFrame,
    context: Context,
    *,
    x: Annotated[str, Field(description="column of the problem size")] = "p",
    transform: Annotated[
        Literal["1/log(x)", "1/x", "1/sqrt(x)"],
        Field(description="transform of the size along the horizontal axis"),
    ] = "1/log(x)",
    of: Of = "theta",
    panel: plot.Panel = None,
    row: plot.Row = None,
    line: plot.Line = ["kappa"],  # noqa: B006 - a default that pydantic copies
    success: Success = {"default": "sign_support"},  # noqa: B006
    level: Level = 0.5,
    theory: Annotated[bool, Field(description="mark the predicted two-task transitions")] = True,
) -> Figure:
    """Value of ``of`` at which success reaches ``level``, against a transform of ``x``.

    The transform tends to 0 as ``x`` grows.

    Bars are 95% intervals of a logistic fit, slightly shifted so that they do not overlap. The
    straight lines are least squares fits with equal weights. A diamond at 0 is the intercept with
    its 95% interval: the limit, if the threshold is linear in the transform. The note says how well
    the lines fit. Short lines at the left edge are the predicted transitions, if they are stated
    for the data. Thresholds whose interval has an infinite end are drawn but not fitted.
    """
    keys = [c for c in (row, panel, *line, x) if c]
    frame = trials_of(frame, success, context, [*keys, of])
    require_finite(frame, x)
    least = 1 if transform == "1/log(x)" else 0
    if frame[x].min() <= least:
        raise ConfigError(f"{transform} needs values of '{x}' above {least}.")
    table = thresholds(frame, context, of=of, success=success, by=keys, level=level)
    table = table.assign(place=_TRANSFORMS[transform](table[x].astype(float)))
    styles = plot.LineStyles(table, line)
    panels = plot.Panels.by_columns(frame, context, row, panel, wrap=False, width=3.8, height=3.4)
    fits = _fits(table, panels, line, nominal_confidence(0.95, sequential=context.adaptive))
    stated = _stated(frame, context, fits) if theory and of == "theta" else {}
    heights = _limit_heights(table, fits, stated, (frame[of].min(), frame[of].max()))
    widest = table["place"].max()
    for axis, values in panels:
        axis.set_xlim(-0.09 * widest, 1.08 * widest)
        axis.set_ylim(*heights)
        panels.title(axis, values, context, pad=24)
        _draw_sizes(axis, table, x)
    # So small that a point still appears to lie on its line.
    offsets = styles.offsets(min(0.4 * plot.least_gap(table["place"]), _LIMIT_OFFSET * widest))
    for (axis, key), fit in fits.items():
        style, offset = styles.of(*key), offsets[key]
        at = fit.points["place"] + offset
        _draw_thresholds(axis, at, fit.points, style | {"linestyle": "none"}, gid="thresholds")
        _draw_fit(axis, fit.limit, offset, widest, style)
        if (axis, key) in stated:
            _draw_prediction(axis, *stated[axis, key], style)
    name = transform.replace("x", short_name(x))
    panels.label(name, _axis_label(of, level))
    drawn = [prediction for _, prediction in stated.values()]
    metrics = success_metrics(frame, success, context)
    diamond = plot.legend_entry("limit if linear", **_DIAMOND)
    panels.legend([*styles.handles(context, metrics), *predictions.handles(drawn), diamond])
    notes = _notes(frame, context, table, len(keys))
    metrics_text = metrics_note(frame, context, success, line)
    panels.note(*notes, metrics_text, _fits_text(list(fits.values()), context, name))
    return panels.figure


def thresholds(
    frame: pd.DataFrame,
    context: Context,
    *,
    of: str,
    success: Mapping[str, str],
    by: Sequence[str],
    level: float = 0.5,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Estimate the value of ``of`` at which success crosses ``level``, with its interval.

    Groups and points of a group may have different numbers of replicates. A replicate that failed
    is a trial without success. If the number of trials depended on results, intervals are widened
    to be valid at any stopping time (``stats.sequential``).

    Parameters
    ----------
    of : str
        A numeric column along which success rises.
    success : mapping of str to str
        Metric by algorithm label or registered name; ``default`` for the others.
    by : sequence of str
        One threshold for every combination of values of these columns.
    level, confidence : float in (0, 1)

    Returns
    -------
    DataFrame
        The columns of ``by``, sorted; ``estimate``, ``low``, ``high``, ``slope`` as in
        ``stats.crossing.Crossing``; the numbers of all ``trials`` and of ``points``; ``fewest``
        and ``most`` trials per point.

    Raises
    ------
    ConfigError
        If a column is missing, or ``of`` is not numeric.
    """
    require_columns(frame, [*by, of])
    require_finite(frame, of)
    counts = count_successes(frame, success, context, [*by, of])
    rows = []
    for key, points in counts.groupby(list(by), sort=True, dropna=False):
        trials = points["trials"]
        fit = located_crossing(
            points[of],
            points["successes"],
            trials,
            sequential=context.adaptive,
            level=level,
            confidence=confidence,
        )
        fitted = (fit.estimate, fit.low, fit.high, fit.slope)
        rows.append((*key, *fitted, trials.sum(), len(points), trials.min(), trials.max()))
    names = ("estimate", "low", "high", "slope", "trials", "points", "fewest", "most")
    return pd.DataFrame(rows, columns=[*by, *names])


class Limit(NamedTuple):
    """The value of a fitted line at 0.

    Parameters
    ----------
    estimate, low, high : float
        With its 95% interval; nan and an infinite interval for fewer than two points.
    slope : float
        nan in that case.
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


class _Fit(NamedTuple):
    """A line of ``threshold_limit``: its values, thresholds and limit."""

    values: dict[str, Any]
    points: pd.DataFrame
    limit: Limit


def limit_at_zero(
    place: Any, estimate: Any, low: Any, high: Any, *, confidence: float = 0.95
) -> Limit:
    """Extrapolate independent estimates to 0 by least squares.

    Estimates with an infinite interval are left out, the others have equal weights, as in the
    ``limit`` of a claim. The intercept is a fixed linear combination of the estimates, and its
    interval follows from theirs.

    Parameters
    ----------
    place : array_like, shape (k,)
        Abscissas.
    estimate, low, high : array_like, shape (k,)
        Estimates and their intervals.
    confidence : float in (0, 1)
        Of these intervals. It gives standard errors, which only the misfit uses.
    """
    place, estimate, low, high = (np.asarray(v, dtype=float) for v in (place, estimate, low, high))
    bounded = np.isfinite(estimate) & np.isfinite(low) & np.isfinite(high)
    place, estimate, low, high = (v[bounded] for v in (place, estimate, low, high))
    k = len(place)
    try:
        intercept, slope = line_weights(place)
    except ValueError:
        return Limit(np.nan, -np.inf, np.inf, np.nan, np.nan, k)
    value, lower, upper = combined_interval(intercept, estimate, low, high, np.eye(k))
    error = (high - low) / (2 * ndtri(0.5 + confidence / 2))
    misfit = _misfit(np.eye(k) - intercept - np.outer(place, slope), estimate, error)
    return Limit(value, lower, upper, float(slope @ estimate), misfit, k)


def _misfit(residual: np.ndarray, estimate: np.ndarray, error: np.ndarray) -> float:
    """Return chi-square of the residuals, a linear map of the estimates, over its expectation."""
    if len(estimate) < 3 or not np.all(error > 0):
        return float("nan")
    expected = np.sum((residual * error / error[:, None]) ** 2)
    return float(np.sum((residual @ estimate / error) ** 2) / expected)


def _fits(
    table: pd.DataFrame, panels: plot.Panels, line: list[str], confidence: float
) -> dict[tuple[Axes, tuple], _Fit]:
    """Fit a line to the thresholds of each panel and line."""
    found = {}
    for axis, values in panels:
        for key, points in plot.inside(table, values).groupby(line, sort=True):
            known = (points[column] for column in ("place", "estimate", "low", "high"))
            limit = limit_at_zero(*known, confidence=confidence)
            found[axis, key] = _Fit(dict(zip(line, key, strict=True)) | values, points, limit)
    return found


def _stated(
    frame: pd.DataFrame, context: Context, fits: Mapping[tuple[Axes, tuple], _Fit]
) -> dict[tuple[Axes, tuple], tuple[float, Threshold]]:
    """Return the predicted theta of each line that has one algorithm and one kappa."""
    found = {}
    for place, fit in fits.items():
        rows = plot.inside(frame, fit.values)
        labels = rows["algorithm"].unique()
        if "kappa" not in rows or not len(labels) == rows["kappa"].nunique(dropna=False) == 1:
            continue
        kappa = rows["kappa"].iloc[0]
        for prediction in predictions.applicable(rows, context, labels).values():
            found[place] = (prediction.theta(kappa), prediction)
    return found


def _limit_heights(
    table: pd.DataFrame, fits: Mapping[Any, _Fit], stated: Mapping, tested: tuple[float, float]
) -> tuple[float, float]:
    limits = [fit.limit for fit in fits.values()]
    inner = [
        *table["estimate"],
        *(one.estimate for one in limits),
        *(t for t, _ in stated.values()),
    ]
    ends = [*table["low"], *table["high"]] + [end for one in limits for end in (one.low, one.high)]
    # A limit may lie outside the tested range, and its interval may extend some way further.
    room = (tested[1] - tested[0]) / 2
    return plot.linear_limits(inner, ends, (tested[0] - room, tested[1] + room))


def _draw_thresholds(
    axis: Axes, at: pd.Series, points: pd.DataFrame, style: plot.Style, gid: str | None = None
) -> None:
    """Draw thresholds with intervals, and an open arrow for each outside the tested range."""
    finite = points["estimate"].where(np.isfinite(points["estimate"]))
    axis.plot(at, finite, **style, gid=gid)
    known = points["estimate"].notna()
    plot.draw_intervals(axis, at[known], points[known], style["color"])
    for place, estimate in zip(at, points["estimate"], strict=True):
        if np.isinf(estimate):
            plot.draw_arrow(axis, place, estimate, style["color"])


def _draw_fit(axis: Axes, fit: Limit, offset: float, widest: float, style: plot.Style) -> None:
    if np.isnan(fit.estimate):
        return
    ends = np.array([0.0, widest])
    colour = style["color"]
    axis.plot(
        ends,
        fit.estimate + fit.slope * ends,
        color=colour,
        linestyle=style["linestyle"],
        linewidth=0.9,
        gid="fit",
    )
    plot.draw_interval(axis, offset, fit.low, fit.high, colour)
    axis.plot(0.0, fit.estimate, color=colour, zorder=3, gid="limit", **_DIAMOND)


def _draw_prediction(axis: Axes, theta: float, prediction: Threshold, style: plot.Style) -> None:
    left, right = axis.get_xlim()
    axis.plot(
        [left, left + 0.16 * (right - left)],
        [theta, theta],
        linestyle=predictions.dash(prediction),
        color=style["color"],
        marker=style["marker"],
        markersize=3,
        # The line's marker at its right end distinguishes predictions in greyscale.
        markevery=[1],
        gid="prediction",
        **predictions.STYLE | {"linewidth": 1.6, "alpha": 1.0},
    )


def _draw_sizes(axis: Axes, table: pd.DataFrame, x: str) -> None:
    """Write the sizes along the top."""
    known = table.groupby(x, sort=True)["place"].first()
    top = axis.secondary_xaxis("top")
    top.set_xticks([0.0, *known], [f"{short_name(x)} = ∞", *map(number_text, known.index)])
    top.tick_params(labelsize=7, length=2, pad=1, rotation=40)
    for label in top.get_xticklabels():
        label.set_horizontalalignment("left")
        label.set_rotation_mode("anchor")
    top.spines["top"].set_visible(False)


def _axis_label(of: str, level: float) -> str:
    quantity = r"$\theta$" if of == "theta" else axis_label(of)
    return f"{quantity} at {100 * level:.4g}% success"


def _notes(frame: pd.DataFrame, context: Context, table: pd.DataFrame, keys: int) -> list[str]:
    """Return the notes on trials and failures, and name thresholds outside the tested range."""
    intervals = "95% intervals of a logistic fit"
    if context.adaptive:
        intervals += ", valid at any stopping time"
    trials = (table["fewest"].min(), table["most"].max(), table["trials"].sum())
    notes = success_notes(frame, context, trials, intervals)
    outside = table[~np.isfinite(table["estimate"])]
    if len(outside):
        settings = outside.iloc[:, :keys].to_dict("records")
        names = [group_text(values, context) for values in settings]
        more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        notes.append(f"Not crossed in the tested range: {'; '.join(names[:_MAX_NAMED])}{more}.")
    return notes


def _fits_text(fits: list[_Fit], context: Context, axis_name: str) -> str:
    """Describe the assumption of the extrapolation and the fit of the lines."""
    left_out = sum(len(fit.points) - fit.limit.points for fit in fits)
    without = f" ({left_out} without a bounded interval left out)" if left_out else ""
    fitted = [fit for fit in fits if fit.limit.points > 2]
    text = f"Limits assume that thresholds are linear in {axis_name}{without}."
    if not fitted:
        return f"{text} Too few points to see whether they are."
    worst = max(fitted, key=lambda fit: fit.limit.misfit)
    least = min(fit.limit.misfit for fit in fitted)
    name = group_text(worst.values, context)
    return (
        f"{text} χ² of the lines over its expectation: {least:.2g} to"
        f" {worst.limit.misfit:.2g}, largest for {name}."
    )
