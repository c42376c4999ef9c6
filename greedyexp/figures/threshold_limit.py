"""The transition threshold against the problem size, extrapolated to an infinite one."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from pydantic import Field

from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import figure
from greedyexp.figures import predictions
from greedyexp.figures.intervals import draw_interval, draw_thresholds, least_gap, limits
from greedyexp.figures.looks import Looks
from greedyexp.figures.options import Level, Line, Of, Panel, Row, Success, apart, named_columns
from greedyexp.figures.panels import Panels, grid, inside
from greedyexp.figures.threshold_words import threshold_label, threshold_note
from greedyexp.results import notes
from greedyexp.results.context import Context
from greedyexp.results.counts import require_columns, require_numbers, trials_of
from greedyexp.results.labels import letter, number
from greedyexp.results.limits import Limit, limit_at_zero
from greedyexp.results.thresholds import thresholds
from greedyexp.stats.sequential import nominal_confidence
from greedyexp.theory.transitions import Threshold

_TRANSFORMS = {
    "1/log(x)": lambda x: 1 / np.log(x),
    "1/x": lambda x: 1 / x,
    "1/sqrt(x)": lambda x: 1 / np.sqrt(x),
}
# Distance of the outermost of bars set beside one another, as a part of the axis.
_BESIDE = 0.014
_DIAMOND = {"marker": "D", "markersize": 6, "markerfacecolor": "white", "linestyle": "none"}


@figure(
    "threshold_limit",
    title="Limit of the transition threshold",
    columns=named_columns(),
    apart=apart,
)
def threshold_limit(
    frame: pd.DataFrame,
    context: Context,
    *,
    x: Annotated[str, Field(description="column of the problem size")] = "p",
    transform: Annotated[
        Literal["1/log(x)", "1/x", "1/sqrt(x)"],
        Field(description="what goes to 0 along the horizontal axis"),
    ] = "1/log(x)",
    of: Of = "theta",
    panel: Panel = None,
    row: Row = None,
    line: Line = ["kappa"],  # noqa: B006 - a default that pydantic copies
    success: Success = {"default": "sign_support"},  # noqa: B006
    level: Level = 0.5,
    theory: Annotated[bool, Field(description="mark the predicted two-task transitions")] = True,
) -> Figure:
    """Where success crosses ``level``, against a transform of ``x`` that vanishes as ``x`` grows.

    Bars are 95% intervals of a logistic fit, set a hair beside one another. The straight lines are
    least squares fits in which all thresholds count alike, and a diamond at 0 is the intercept with
    its 95% interval: the limit, if the threshold is linear in the transform. How well a line fits
    is in the note. Short lines at the left edge are the predicted transitions, where they are
    stated for the data.
    Thresholds whose interval has an infinite end are drawn but not fitted.
    """
    keys = [c for c in (row, panel, *line, x) if c]
    require_columns(frame, [*keys, of])
    frame = trials_of(frame, success, context, [*keys, of])
    require_numbers(frame, x)
    least = 1 if transform == "1/log(x)" else 0
    if frame[x].min() <= least:
        raise ConfigError(f"{transform} needs values of '{x}' above {least}.")
    table = thresholds(frame, context, of=of, success=success, by=keys, level=level)
    table = table.assign(place=_TRANSFORMS[transform](table[x].astype(float)))
    looks = Looks(table, line)
    panels = Panels(grid(frame, context, row=row, panel=panel), width=3.8, height=3.4)
    confidence = nominal_confidence(0.95, sequential=context.adaptive)
    groups = _groups(table, panels, line, confidence)
    stated = _stated(frame, context, groups) if theory and of == "theta" else {}
    heights = _heights(table, groups, stated, (frame[of].min(), frame[of].max()))
    widest = table["place"].max()
    for axis, values in panels:
        axis.set_xlim(-0.09 * widest, 1.08 * widest)
        axis.set_ylim(*heights)
        panels.title(axis, values, context, pad=24)
        _draw_sizes(axis, table, x)
    # So little that a point is still seen on its line.
    beside = looks.places(min(0.4 * least_gap(table["place"]), _BESIDE * widest))
    for (axis, key), (_, points, fit) in groups.items():
        _draw_points(axis, points, beside[key], looks.of(*key))
        _draw_fit(axis, fit, beside[key], widest, looks.of(*key))
        if (axis, key) in stated:
            _draw_prediction(axis, *stated[axis, key], looks.of(*key))
    panels.label(transform.replace("x", letter(x)), threshold_label(of, level))
    drawn = [prediction for _, prediction in stated.values()]
    diamond = Line2D([], [], color="0.3", label="limit if linear", **_DIAMOND)
    panels.legend([*looks.handles(context, success), *predictions.handles(drawn), diamond])
    said = threshold_note(frame, context, table.drop(columns="place"))
    judged = notes.judged_text(frame, context, success, line)
    panels.note([*said, judged, _fits_text(groups, context, transform.replace("x", letter(x)))])
    return panels.figure


def _groups(table: pd.DataFrame, panels: Panels, line: list[str], confidence: float) -> dict:
    """For each panel and line: the values that name it, its thresholds, the limit of its fit."""
    found = {}
    for axis, values in panels:
        for key, points in inside(table, values).groupby(line, sort=True):
            known = (points[column] for column in ("place", "estimate", "low", "high"))
            fit = limit_at_zero(*known, confidence=confidence)
            found[axis, key] = (dict(zip(line, key, strict=True)) | values, points, fit)
    return found


def _stated(frame: pd.DataFrame, context: Context, groups: dict) -> dict:
    """The predicted theta of each line that has one algorithm and one kappa."""
    found = {}
    for place, (values, _, _) in groups.items():
        rows = inside(frame, values)
        labels = rows["algorithm"].unique()
        kappas = rows["kappa"].unique() if "kappa" in rows else []
        if len(labels) == len(kappas) == 1:
            for prediction in predictions.stated_for(rows, context, labels).values():
                found[place] = (prediction.theta(kappas[0]), prediction)
    return found


def _heights(table: pd.DataFrame, groups: dict, stated: dict, tested: tuple) -> tuple[float, float]:
    fits = [fit for _, _, fit in groups.values()]
    inner = [*table["estimate"], *(fit.estimate for fit in fits), *(t for t, _ in stated.values())]
    ends = [*table["low"], *table["high"]] + [end for fit in fits for end in (fit.low, fit.high)]
    # A limit may lie beyond what was tested, and its interval is shown some way further.
    room = (tested[1] - tested[0]) / 2
    return limits(inner, ends, (tested[0] - room, tested[1] + room))


def _draw_points(axis, points: pd.DataFrame, shift: float, look: dict) -> None:
    at = points["place"] + shift
    finite = points["estimate"].where(np.isfinite(points["estimate"]))
    axis.plot(at, finite, **look | {"linestyle": "none"}, gid="thresholds")
    draw_thresholds(axis, at, points, look["color"])


def _draw_fit(axis, fit: Limit, shift: float, widest: float, look: dict) -> None:
    if np.isnan(fit.estimate):
        return
    ends = np.array([0.0, widest])
    colour = look["color"]
    axis.plot(
        ends,
        fit.estimate + fit.slope * ends,
        color=colour,
        linestyle=look["linestyle"],
        linewidth=0.9,
        gid="fit",
    )
    draw_interval(axis, shift, fit.low, fit.high, colour)
    axis.plot(0.0, fit.estimate, color=colour, zorder=3, gid="limit", **_DIAMOND)


def _draw_prediction(axis, theta: float, prediction: Threshold, look: dict) -> None:
    left, right = axis.get_xlim()
    axis.plot(
        [left, left + 0.16 * (right - left)],
        [theta, theta],
        linestyle=predictions.dash(prediction),
        color=look["color"],
        marker=look["marker"],
        markersize=3,
        # The line's marker at its right end tells predictions apart in greyscale.
        markevery=[1],
        gid="prediction",
        **predictions.LOOK | {"linewidth": 1.6, "alpha": 1.0},
    )


def _draw_sizes(axis, table: pd.DataFrame, x: str) -> None:
    """The sizes themselves along the top."""
    known = table.groupby(x, sort=True)["place"].first()
    top = axis.secondary_xaxis("top")
    top.set_xticks([0.0, *known], [f"{letter(x)} = ∞", *map(number, known.index)])
    top.tick_params(labelsize=7, length=2, pad=1, rotation=40)
    for label in top.get_xticklabels():
        label.set_horizontalalignment("left")
        label.set_rotation_mode("anchor")
    top.spines["top"].set_visible(False)


def _fits_text(groups: dict, context: Context, axis_name: str) -> str:
    """What the extrapolation assumes and how well the lines fit."""
    left_out = sum(len(points) - fit.points for _, points, fit in groups.values())
    without = f" ({left_out} without a bounded interval left out)" if left_out else ""
    misfits = {place: fit.misfit for place, (_, _, fit) in groups.items() if fit.points > 2}
    text = f"Limits assume that thresholds are linear in {axis_name}{without}."
    if not misfits:
        return f"{text} Too few points to see whether they are."
    worst = max(misfits, key=misfits.get)
    name = notes.group_text(groups[worst][0], context)
    return (
        f"{text} χ² of the lines over its expectation: {min(misfits.values()):.2g} to"
        f" {misfits[worst]:.2g}, largest for {name}."
    )
