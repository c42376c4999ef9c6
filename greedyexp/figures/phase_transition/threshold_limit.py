"""Limit of the thresholds for infinite problems: a line through them, extrapolated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot
from greedyexp.figures.phase_transition import _predictions as predictions
from greedyexp.results import successes
from greedyexp.stats.level import INTERVAL
from greedyexp.stats.limits import Limit, limit_at_zero
from greedyexp.stats.sequential import nominal_confidence
from greedyexp.theory.transitions import Threshold

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
    frame: plot.Frame,
    context: plot.Context,
    *,
    x: Annotated[str, Field(description="column of the problem size")] = "p",
    transform: Annotated[
        Literal["1/log(x)", "1/x", "1/sqrt(x)"],
        Field(description="transform of the size along the horizontal axis"),
    ] = "1/log(x)",
    of: successes.Of = "theta",
    panel: plot.Panel = None,
    row: plot.Row = None,
    line: plot.Line = ["kappa"],  # noqa: B006 - a default that pydantic copies
    success: successes.Success = {"default": "sign_support"},  # noqa: B006
    where: plot.Where = {},  # noqa: B006
    level: successes.Level = 0.5,
    direction: successes.Direction = None,
    theory: Annotated[bool, Field(description="mark the predicted two-task transitions")] = True,
) -> plot.Figure:
    """Value of ``of`` at which success reaches ``level``, against a transform of ``x``.

    The transform tends to 0 as ``x`` grows.

    Bars are confidence intervals, shifted by a few points so that they do not overlap. The straight
    lines are least squares fits with equal weights. A diamond at 0 is the intercept with its
    interval: the limit, if the threshold is linear in the transform. The note says how well the
    lines fit. Short lines at the left edge are the predicted transitions, if they are stated for
    the data. Thresholds whose interval has an infinite end are drawn but not fitted.
    """
    keys = [c for c in (row, panel, *line, x) if c]
    rows, metrics = successes.trials(frame, context, success, [*keys, of], where)
    plot.require_finite(rows, x)
    least = 1 if transform == "1/log(x)" else 0
    if rows[x].min() <= least:
        raise ConfigError(f"{transform} needs values of '{x}' above {least}.")
    given: Any = {"of": of, "success": success, "level": level, "direction": direction}
    table = successes.thresholds(rows, context, by=keys, **given)
    table = table.assign(place=_TRANSFORMS[transform](table[x].astype(float)))
    styles = plot.LineStyles(table, line, context)
    panels = plot.Panels.by_columns(rows, context, row, panel)
    lines = {
        axis: [
            _fitted(dict(zip(line, key, strict=True)) | values, points, rows, context)
            for key, points in plot.inside(table, values).groupby(line, sort=True)
        ]
        for axis, values in panels
    }
    every = [one for own in lines.values() for one in own]
    if not theory or of != "theta":
        for one in every:
            one.stated.clear()
    heights = _heights(table, every, (rows[of].min(), rows[of].max()))
    widest = table["place"].max()
    about = (keys, styles, "threshold", INTERVAL, successes.COUNTS)
    look: plot.Style = {"linestyle": "none", "gid": "thresholds"}
    points = plot.Curves(table, "place", *about, bars=True, look=look)

    def fits(axis: plot.Axes, _: Mapping[str, Any]) -> dict[str, float]:
        axis.set_xlim(-0.09 * widest, 1.08 * widest)
        axis.set_ylim(*heights)
        _draw_sizes(axis, table, x)
        for one in lines[axis]:
            points(axis, one.values)
            key = [one.values[name] for name in line]
            _draw(axis, one, styles.shift(*key), widest, styles.of(*key))
        return {"above": _SIZES_ABOVE}

    name = transform.replace("x", plot.short_name(x))
    stated = {axis: [pair for one in own for pair in one.stated] for axis, own in lines.items()}
    diamond = plot.legend_entry("limit if linear", **_DIAMOND)
    note = [
        *successes.threshold_notes(rows, context, table, keys),
        successes.metrics_note(context, metrics, line),
        _fits_text(every, context, name),
    ]
    texts = name, successes.threshold_name(of, level)
    legends = [*styles.legends(metrics), [*predictions.handles(stated, _MARKED_WIDTH), diamond]]
    return plot.chart(panels, context, [fits], texts, legends, note, where)


class _Line(NamedTuple):
    """A line of the figure.

    Parameters
    ----------
    values : dict
        The values of the columns that separate lines and panels.
    limit : Limit
        Of the line through its thresholds.
    left_out : int
        Thresholds that are not fitted.
    stated : list of (str, Threshold)
        Label and prediction for its algorithm; empty if there is none or the line has several
        algorithms or values of kappa.
    kappa : float
    """

    values: dict[str, Any]
    limit: Limit
    left_out: int
    stated: list[tuple[str, Threshold]]
    kappa: float

    @property
    def predicted(self) -> list[float]:
        return [prediction.theta(self.kappa) for _, prediction in self.stated]


def _fitted(
    values: dict[str, Any], points: plot.Frame, frame: plot.Frame, context: plot.Context
) -> _Line:
    """Fit a line to thresholds, and find the prediction for it."""
    known = (points[column] for column in ("place", "estimate", "low", "high", "logistic"))
    confidence = nominal_confidence(context.confidence, sequential=context.placed)
    limit = limit_at_zero(*known, confidence=confidence)
    rows = plot.inside(frame, values)
    labels = rows["algorithm"].unique()
    kappas: Any = rows["kappa"].unique() if "kappa" in rows else []
    stated = {}
    if len(labels) == len(kappas) == 1:
        stated = predictions.applicable(rows, context, labels)
    left_out = len(points) - limit.points
    return _Line(values, limit, left_out, [*stated.items()], kappas[0] if len(kappas) else np.nan)


def _heights(
    table: plot.Frame, lines: Sequence[_Line], tested: tuple[float, float]
) -> tuple[float, float]:
    inner = [*table["estimate"], *(theta for one in lines for theta in one.predicted)]
    inner += [one.limit.estimate for one in lines]
    ends = [*table["low"], *table["high"]]
    ends += [end for one in lines for end in (one.limit.low, one.limit.high)]
    # A limit may lie outside the tested range, and its interval may extend some way further.
    room = (tested[1] - tested[0]) / 2
    return plot.linear_limits(inner, ends, (tested[0] - room, tested[1] + room))


def _draw(axis: plot.Axes, one: _Line, shift: float, widest: float, style: plot.Style) -> None:
    """Draw the line through thresholds, its limit, shifted to the right, and the prediction."""
    limit, colour = one.limit, style["color"]
    if not np.isnan(limit.estimate):
        reach = np.array([0.0, widest])
        fitted: plot.Style = {"linestyle": style["linestyle"], "linewidth": 0.9, "gid": "fit"}
        axis.plot(reach, limit.estimate + limit.slope * reach, color=colour, **fitted)
        ends = {"low": [limit.low], "high": [limit.high]}
        plot.draw_intervals(axis, [0.0], ends, colour, shift)
        at: plot.Style = {"transform": plot.shifted(axis, shift), "zorder": 3, "gid": "limit"}
        axis.plot(0.0, limit.estimate, color=colour, **at, **_DIAMOND)
    left, right = axis.get_xlim()
    for (_, prediction), theta in zip(one.stated, one.predicted, strict=True):
        # One marker, at its right end.
        look = predictions.style_of(prediction, style)
        look |= {"linewidth": _MARKED_WIDTH, "markevery": [1], "gid": "prediction"}
        axis.plot([left, left + 0.16 * (right - left)], [theta, theta], **look)


def _draw_sizes(axis: plot.Axes, table: plot.Frame, x: str) -> None:
    """Write the sizes along the top."""
    known = table.groupby(x, sort=True)["place"].first()
    texts = [f"{plot.short_name(x)} = ∞", *map(plot.number_text, known.index)]
    top = axis.secondary_xaxis("top")
    top.set_xticks([0.0, *known], texts, ha="left", rotation=40, rotation_mode="anchor")
    top.tick_params(labelsize=plot.small_text(), length=2, pad=1)
    top.spines["top"].set_visible(False)


def _fits_text(lines: Sequence[_Line], context: plot.Context, axis_name: str) -> str:
    """Describe the assumption of the extrapolation and the fit of the lines."""
    left_out = sum(one.left_out for one in lines)
    without = f" ({left_out} without a bounded interval left out)" if left_out else ""
    text = f"Limits assume that thresholds are linear in {axis_name}{without}."
    fitted = [one for one in lines if one.limit.points > 2]
    if not fitted:
        return f"{text} Too few points to see whether they are."
    worst = max(fitted, key=lambda one: one.limit.misfit)
    least = min(one.limit.misfit for one in fitted)
    return (
        f"{text} χ² of the lines over its expectation: {least:.2g} to"
        f" {worst.limit.misfit:.2g}, largest for {plot.group_text(worst.values, context)}."
    )
