"""Iterations to reach each accuracy, against a property of the data or of the algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot

_LINE: plot.Style = {"marker": "o", "markersize": 2.6, "linewidth": 1.1}


@figure(
    "epsilon_curve",
    title="Iterations to reach an accuracy",
    **plot.declared("record", "epsilon", "iterations"),
)
def epsilon_curve(
    frame: plot.Frame,
    context: plot.Context,
    *,
    x: plot.X = "p",
    panel: plot.Panel = None,
    row: plot.Row = "algorithm",
    scale: plot.Scale = "log",
    mark: plot.Mark = None,
    budget: Annotated[
        int | None, Field(gt=0, description="iterations made, if the table does not record them")
    ] = None,
) -> plot.Figure:
    """The first iteration at which the objective is within epsilon of its minimum, against ``x``.

    One line for each accuracy: the median over replicates, with a band. A replicate whose run
    ended before it reached the accuracy counts as longer than all others, and has a triangle in
    the strip above the axis: open if no replicate reached the accuracy, half filled if some
    did. On a logarithmic axis, 0 has a separate place at the left and no line leads to it.
    Replicates that failed are left out and counted below.
    """
    from matplotlib.patches import Patch

    frame, keys = plot.group_columns(frame, context, row, panel, x)
    rows = plot.records(frame, "epsilon", keys, finite=["epsilon", x], numeric=["iterations"])
    keys = [*keys, "epsilon"]
    table = plot.medians_reached(rows, keys, "iterations")
    along = plot.horizontal_axis(scale, x, table[x])
    table = table.assign(place=along.places(table[x]), apart=table[x].eq(0) & (scale == "log"))
    # The easiest accuracy gets the brightest colour, because dark lines are drawn on top.
    colours = plot.shades(sorted(table["epsilon"].unique()))
    vertical = plot.IterationsAxis(table, colours, budget or _last_iteration(frame))

    def lines(axis: plot.Axes, values: Mapping[str, Any]) -> None:
        shown = plot.inside(table, values)
        for epsilon in sorted(colours, reverse=True):
            points = shown[shown["epsilon"] == epsilon].sort_values("place")
            _draw_line(axis, points, vertical.budget, colours[epsilon], keys)
        vertical(axis, shown)

    layers = [lines, along, plot.vertical_marks(rows, mark)]
    panels = plot.Panels.by_columns(rows, context, row, panel)
    accuracy = f"{context.accuracy} {plot.axis_label('epsilon')}".strip()
    handles: list[plot.Artist] = []
    if table["trials"].max() > 1:
        handles = [
            plot.legend_entry("median", **_LINE),
            Patch(color=plot.GREY, alpha=0.2, linewidth=0, label=plot.band_name(table)),
        ]
    handles += [*vertical.handles, *plot.mark_handles(mark, x)]
    note = [
        *plot.run_notes(frame, context, plot.medians_text(table, context)),
        plot.unreached_text(table),
    ]
    texts = plot.axis_label(x), plot.axis_label("iterations")
    return plot.chart(
        *(panels, context, layers, texts, [handles], note),
        then=lambda: panels.colour_bar([*colours.values()], accuracy, plot.tick_labels(colours)),
    )


def _draw_line(
    axis: plot.Axes, points: plot.Frame, budget: float, colour: str, keys: list[str]
) -> None:
    """Draw the line of one accuracy; points drawn apart are not joined to it."""
    points = points.assign(
        first=points["low"].clip(upper=budget),
        last=points["high"].clip(upper=budget),
        median=points["estimate"].where(np.isfinite(points["estimate"])),
    )
    apart, joined = points[points["apart"]], points[~points["apart"]]
    # A band goes as far as its line: towards an infinite median it would be a sliver.
    band: plot.Style = {"where": joined["median"].notna(), "alpha": 0.13, "linewidth": 0}
    axis.fill_between(joined["place"], joined["first"], joined["last"], color=colour, **band)
    for some, gid in ((joined, "median"), (apart, "zero")):
        if gid == "median" or len(some):
            (line,) = axis.plot(some["place"], some["median"], color=colour, **_LINE, gid=gid)
            numbers = plot.facts(some, "median of the iterations", plot.BAND)
            plot.attach(line, some[keys], numbers)
    alone = joined.iloc[plot.isolated(joined["median"])]
    for some in (apart, alone):
        for at, *ends in some[["place", "first", "last"]].to_numpy():
            axis.plot([at, at], ends, color=colour, linewidth=0.9, gid="interval")


def _last_iteration(frame: plot.Frame) -> int | None:
    """Return the last recorded iteration; runs that record iterations do so to their end."""
    last = frame["iteration"].max() if "iteration" in frame.columns else np.nan
    return None if np.isnan(last) else int(last)
