"""Constants of a design against its size: means over replicates, with intervals."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field

from greedyexp.core.registry import figure
from greedyexp.figures.axes import LogAxis
from greedyexp.figures.intervals import draw_interval, least_gap
from greedyexp.figures.looks import Looks
from greedyexp.figures.marks import Mark, draw_mark, mark_handle
from greedyexp.figures.options import Line, Panel, Row, apart, named_columns
from greedyexp.figures.panels import Panels, inside, laid_out
from greedyexp.results import notes
from greedyexp.results.constants import enclosure_text, means
from greedyexp.results.context import Context
from greedyexp.results.counts import require_numbers
from greedyexp.results.labels import axis_label
from greedyexp.results.records import told_apart


@figure(
    "constants", title="Constants", columns=named_columns("value", "lower", "upper"), apart=apart
)
def constants(
    frame: pd.DataFrame,
    context: Context,
    *,
    x: Annotated[str, Field(description="column along the horizontal axis")] = "p",
    panel: Panel = None,
    row: Row = None,
    line: Line = ["algorithm"],  # noqa: B006 - a default that pydantic copies
    scale: Annotated[
        Literal["linear", "log"], Field(description="scale of the horizontal axis")
    ] = "linear",
    mark: Mark = None,
) -> Figure:
    """The mean of each constant over replicates against ``x``, one line for each.

    The vertical axis is that of all panels, the horizontal one that of a row, or of a panel alone
    without ``row``. Bars are 95% t intervals of the mean, set slightly beside one another; one that
    reaches 0 goes on below the logarithmic axis and ends in an arrow. Replicates that failed are
    not in the means and are counted below, as are means of 0, which the axis cannot show.
    """
    frame, keys = told_apart(frame, context, row, panel, *line, x)
    table = means(frame, keys)
    require_numbers(table, x)
    drawn = table[table["value"] > 0]
    looks = Looks(table, line)
    panels = Panels(
        laid_out(frame, context, row=row, panel=panel),
        height=3.0,
        narrowest=2.1,
        sharex="row" if row else False,
    )
    for axis, values in panels:
        axis.set_yscale("log")
        axis.set_ylim(*_heights(drawn))
        points = inside(drawn, values)
        # All sizes along the axis that this panel shares.
        sizes = inside(table, {row: values[row]} if row else values)[x]
        along = LogAxis(x, sizes) if scale == "log" else None
        _draw_lines(axis, points, x, sizes, line, looks, along)
        if along:
            along.apply(axis)
        draw_mark(axis, inside(frame, values), mark)
        panels.title(axis, values, context)
    panels.label(axis_label(x), "value of the constant")
    panels.legend([*looks.handles(context), *mark_handle(mark, x)])
    panels.note(_note(frame, table, context))
    return panels.figure


def _heights(drawn: pd.DataFrame) -> tuple[float, float]:
    """All means and the upper ends; lower ends as far as they are near."""
    if drawn.empty:
        return 0.1, 1.0
    low, high = drawn["value"].min(), drawn["value"].max()
    ends = drawn["high"][np.isfinite(drawn["high"])]
    high = max(high, *ends) if len(ends) else high
    near = drawn["low"][drawn["low"] > low / 3]
    low = min(low, *near) if len(near) else low
    margin = max((high / low) ** 0.05, 1.1)
    return low / margin, high * margin


def _draw_lines(
    axis,
    table: pd.DataFrame,
    x: str,
    sizes: pd.Series,
    line: list[str],
    looks: Looks,
    along: LogAxis | None,
) -> None:
    at = np.log(along.places(sizes)) if along else sizes
    shifts = looks.places(min(0.3 * least_gap(at), 0.004 * (at.max() - at.min()) * len(looks)))
    for key, points in table.groupby(line, sort=True):
        look = looks.of(*key)
        shift = shifts[key]
        beside = along.places(points[x]) * np.exp(shift) if along else points[x] + shift
        axis.plot(beside, points["value"], **look, gid="mean")
        for where, point in zip(beside, points.itertuples(), strict=True):
            draw_interval(axis, where, point.low, point.high, look["color"])


def _note(frame: pd.DataFrame, table: pd.DataFrame, context: Context) -> list[str]:
    count = notes.count_text(table["replicates"].min(), table["replicates"].max())
    hidden = int((table["value"] <= 0).sum())
    empty = int(table["value"].isna().sum())
    lines = [
        f"{notes.origin(context)}: means over {count} replicates with 95% t intervals",
        notes.failures_text(frame, "not in the means"),
        enclosure_text(frame, context),
    ]
    if hidden:
        lines.append(f"Means of 0, not drawn: {hidden}.")
    if empty:
        lines.append(f"Points without a value: {empty}.")
    return lines
