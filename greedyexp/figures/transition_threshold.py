"""The control parameter at which success crosses a level, against a property of the data."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field

from greedyexp.core.registry import figure
from greedyexp.figures import predictions
from greedyexp.figures.intervals import draw_thresholds, least_gap, limits
from greedyexp.figures.looks import Looks
from greedyexp.figures.options import Level, Line, Of, Panel, Row, Success, apart, named_columns
from greedyexp.figures.panels import Panels, grid, inside
from greedyexp.figures.threshold_words import threshold_label, threshold_note
from greedyexp.results import notes
from greedyexp.results.context import Context
from greedyexp.results.counts import require_columns, require_numbers, trials_of
from greedyexp.results.labels import axis_label, number
from greedyexp.results.thresholds import thresholds
from greedyexp.theory.transitions import Threshold

# Distance of the outermost of lines set beside one another, as a part of the axis: a marker moved
# along a steep prediction would seem to lie off it.
_BESIDE = 0.012


@figure("transition_threshold", title="Transition threshold", columns=named_columns(), apart=apart)
def transition_threshold(
    frame: pd.DataFrame,
    context: Context,
    *,
    x: Annotated[str, Field(description="column along the horizontal axis")] = "kappa",
    of: Of = "theta",
    panel: Panel = None,
    row: Row = None,
    line: Line = ["algorithm"],  # noqa: B006 - a default that pydantic copies
    success: Success = {"default": "sign_support"},  # noqa: B006
    level: Level = 0.5,
    theory: Annotated[bool, Field(description="draw the predicted two-task transitions")] = True,
) -> Figure:
    """Where the success probability crosses ``level``, against ``x``, one line per algorithm.

    Each threshold is the crossing of a logistic curve fitted to successes against ``of``; vertical
    bars are its 95% intervals, set a hair beside one another. A replicate that
    failed is a trial without success. A threshold outside what was tested is an open arrow at the
    edge of the panel, and named in the note. Thin curves are the predicted transitions, drawn when
    ``x`` is kappa, ``of`` is theta and the coefficients are such as the prediction is stated for.
    That of the Lasso, n = 2 s log(p), depends on p and s in theta: one curve for each size.
    """
    keys = [c for c in (row, panel, *line, x) if c]
    require_columns(frame, [*keys, of])
    frame = trials_of(frame, success, context, [*keys, of])
    require_numbers(frame, x)
    table = thresholds(frame, context, of=of, success=success, by=keys, level=level)
    looks = Looks(table, line)
    panels = Panels(grid(frame, context, row=row, panel=panel), width=4.2, height=3.2)
    stated = {}
    if theory and (x, of) == ("kappa", "theta") and line[0] == "algorithm":
        for axis, values in panels:
            rows = inside(frame, values)
            stated[axis] = predictions.in_panel(rows, context, line, looks.colours)
    drawn = [prediction for curves in stated.values() for _, prediction in curves]
    curve = np.linspace(table[x].min(), table[x].max(), 101)
    ends = table[["low", "high"]].to_numpy().ravel()
    predicted = [prediction.theta(k) for prediction in drawn for k in curve]
    tested = (frame[of].min(), frame[of].max())
    for axis, values in panels:
        axis.set_ylim(*limits([*table["estimate"], *predicted], ends, tested))
        panels.title(axis, values, context)
        _draw_predictions(axis, stated.get(axis, []), curve, looks)
        _draw_lines(axis, inside(table, values), x, line, looks)
        _mark(axis, table[x])
    panels.label(axis_label(x), threshold_label(of, level))
    panels.legend([*looks.handles(context, success), *predictions.handles(drawn)])
    judged = notes.judged_text(frame, context, success, line)
    said = threshold_note(frame, context, table)
    panels.note([*said, judged, predictions.note(drawn)])
    return panels.figure


def _draw_predictions(axis, stated: list[tuple[str, Threshold]], curve, looks: Looks) -> None:
    for label, prediction in stated:
        axis.plot(
            curve,
            [prediction.theta(k) for k in curve],
            color=looks.colours[label],
            linestyle=predictions.dash(prediction),
            **predictions.LOOK,
        )


def _draw_lines(axis, table: pd.DataFrame, x: str, line: list[str], looks: Looks) -> None:
    span = table[x].max() - table[x].min()
    shifts = looks.places(min(0.45 * least_gap(table[x]), _BESIDE * span))
    for key, points in table.groupby(line, sort=True):
        look = looks.of(*key)
        at = points[x] + shifts[key]
        finite = points["estimate"].where(np.isfinite(points["estimate"]))
        axis.plot(at, finite, **look)
        draw_thresholds(axis, at, points, look["color"])


def _mark(axis, x: pd.Series) -> None:
    """Ticks at the values themselves while they are few."""
    levels = np.unique(x)
    if len(levels) <= 8:
        axis.set_xticks(levels, [number(float(value)) for value in levels])
