"""Iterations that each accuracy takes, against a property of the data or of the algorithm."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from pydantic import Field

from greedyexp.core.registry import figure
from greedyexp.figures import unreached
from greedyexp.figures.axes import LogAxis, number_texts
from greedyexp.figures.marks import Mark, draw_mark, mark_handle
from greedyexp.figures.options import Panel, Row, apart, named_columns
from greedyexp.figures.panels import Panels, inside, laid_out
from greedyexp.figures.style import shades
from greedyexp.results import notes
from greedyexp.results.context import Context
from greedyexp.results.counts import require_numbers
from greedyexp.results.hits import hits
from greedyexp.results.labels import axis_label
from greedyexp.results.records import records, replicates, told_apart
from greedyexp.results.spread import spread_text


@figure(
    "epsilon_curve",
    title="Iterations to reach an accuracy",
    columns=named_columns("record", "epsilon", "iterations"),
    apart=apart,
)
def epsilon_curve(
    frame: pd.DataFrame,
    context: Context,
    *,
    x: Annotated[str, Field(description="column along the horizontal axis")] = "p",
    panel: Panel = None,
    row: Row = "algorithm",
    scale: Annotated[
        Literal["linear", "log"], Field(description="scale of the horizontal axis")
    ] = "log",
    mark: Mark = None,
    budget: Annotated[
        int | None,
        Field(gt=0, description="iterations made, if the table does not tell"),
    ] = None,
) -> Figure:
    """The first iteration at which the objective is within epsilon of its minimum, against ``x``.

    One line for each accuracy: the median over replicates, with a band. A replicate whose run
    ended before it reached the accuracy counts as longer than all others, and has a triangle in
    the strip above the axis: open where no replicate reached the accuracy, half filled where some
    did. On a logarithmic axis 0 stands apart at the left and no line leads to it. Replicates that
    failed are left out and counted below.
    """
    frame, keys = told_apart(frame, context, row, panel, x)
    rows = records(frame, "epsilon", keys)
    require_numbers(rows, x)
    table = hits(frame, keys)
    along = LogAxis(x, table[x]) if scale == "log" else None
    table = table.assign(place=along.places(table[x]) if along else table[x])
    # Brightest where an accuracy is easy: dark lines are the hard ones, on top.
    colours = shades(sorted(table["epsilon"].unique()))
    strip = unreached.Strip(table, budget or _last_iteration(frame))
    panels = Panels(laid_out(rows, context, row=row, panel=panel))
    for axis, values in panels:
        shown = inside(table, values)
        for epsilon in sorted(colours, reverse=True):
            points = shown[shown["epsilon"] == epsilon].sort_values("place")
            _draw_line(axis, points, x, along, strip.budget, colours[epsilon])
        strip.draw(axis, shown, colours)
        if along:
            along.apply(axis)
        draw_mark(axis, inside(rows, values), mark)
        panels.title(axis, values, context)
    panels.label(axis_label(x), axis_label("iterations"))
    panels.scale(colours, axis_label("epsilon"), number_texts(list(colours)))
    panels.legend([*_handles(table), *strip.handles(), *mark_handle(mark, x)])
    panels.note(_note(frame, table, context))
    return panels.figure


def _draw_line(axis, points: pd.DataFrame, x: str, along: LogAxis | None, budget, colour) -> None:
    apart = points[x].eq(0) if along else pd.Series(False, index=points.index)
    low, high = points["low"].clip(upper=budget), points["high"].clip(upper=budget)
    median = points["median"].where(np.isfinite(points["median"]))
    joined = ~apart
    axis.fill_between(
        points["place"][joined], low[joined], high[joined], color=colour, alpha=0.13, linewidth=0
    )
    look = {"color": colour, "marker": "o", "markersize": 2.6, "linewidth": 1.1}
    axis.plot(points["place"][joined], median[joined], **look, gid="median")
    if apart.any():
        axis.plot(points["place"][apart], median[apart], **look, gid="zero")
        for place, *ends in zip(points["place"][apart], low[apart], high[apart], strict=True):
            axis.plot([place, place], ends, color=colour, linewidth=0.9, gid="interval")


def _last_iteration(frame: pd.DataFrame) -> int | None:
    """The last iteration that was recorded; runs that record any do so up to their end."""
    last = frame["iteration"].max() if "iteration" in frame.columns else np.nan
    return None if np.isnan(last) else int(last)


def _handles(table: pd.DataFrame) -> list:
    line = Line2D([], [], color="0.3", marker="o", markersize=2.6, linewidth=1.1, label="median")
    if table["replicates"].max() == 1:
        return []
    return [line, Patch(color="0.3", alpha=0.2, linewidth=0, label="band of replicates")]


def _note(frame: pd.DataFrame, table: pd.DataFrame, context: Context) -> list[str]:
    lost = 1 - table["reached"].sum() / table["replicates"].sum()
    return [
        f"{notes.origin(context)}: {spread_text(table)}",
        f"{notes.failures_text(replicates(frame), 'left out')},"
        f" accuracy not reached: {lost:.2%} of all pairs of replicate and accuracy",
    ]
