"""Iterations to reach each accuracy, against a property of the data or of the algorithm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot
from greedyexp.results.context import Context
from greedyexp.results.records import group_columns, records, replicates, require_finite
from greedyexp.results.summaries import (
    band_name,
    spread_facts,
    spread_reached,
    spread_text,
    unreached_text,
)
from greedyexp.results.text import failures_text, origin_text
from greedyexp.results.words import axis_label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# Height of a line of triangles, and largest height of all lines, as fractions of the axis below.
_LINE_HEIGHT, _MAX_HEIGHT = 0.045, 0.36
_LINE: plot.Style = {"marker": "o", "markersize": 2.6, "linewidth": 1.1}


@figure(
    "epsilon_curve",
    title="Iterations to reach an accuracy",
    **plot.declared("record", "epsilon", "iterations"),
)
def epsilon_curve(
    frame: pd.DataFrame,
    context: Context,
    *,
    x: plot.X = "p",
    panel: plot.Panel = None,
    row: plot.Row = "algorithm",
    scale: plot.Scale = "log",
    mark: plot.Mark = None,
    budget: Annotated[
        int | None, Field(gt=0, description="iterations made, if the table does not record them")
    ] = None,
) -> Figure:
    """The first iteration at which the objective is within epsilon of its minimum, against ``x``.

    One line for each accuracy: the median over replicates, with a band. A replicate whose run
    ended before it reached the accuracy counts as longer than all others, and has a triangle in
    the strip above the axis: open if no replicate reached the accuracy, half filled if some
    did. On a logarithmic axis, 0 has a separate place at the left and no line leads to it.
    Replicates that failed are left out and counted below.
    """
    from matplotlib.patches import Patch

    frame, keys = group_columns(frame, context, row, panel, x)
    rows = records(frame, "epsilon", keys, finite=["epsilon"], numeric=["iterations"])
    require_finite(rows, x)
    table = spread_reached(rows, [*keys, "epsilon"], "iterations")
    along = plot.horizontal_axis(scale, x, table[x])
    table = table.assign(place=along.places(table[x]))
    # The easiest accuracy gets the brightest colour, because dark lines are drawn on top.
    colours = plot.shades(sorted(table["epsilon"].unique()))
    vertical = _IterationsAxis(table, budget or _last_iteration(frame))
    panels = plot.Panels.by_columns(rows, context, row, panel)
    for axis, values in panels:
        shown = plot.inside(table, values)
        for epsilon in sorted(colours, reverse=True):
            points = shown[shown["epsilon"] == epsilon].sort_values("place")
            apart = points[x].eq(0) & (scale == "log")
            _draw_line(axis, points, apart, vertical.budget, colours[epsilon], [*keys, "epsilon"])
        vertical.apply(axis)
        vertical.draw_unreached(axis, shown, colours)
        along.apply(axis)
        plot.draw_mark(axis, plot.inside(rows, values), mark)
        panels.title(axis, values, context)
    panels.label(axis_label(x), axis_label("iterations"))
    accuracy = f"{context.accuracy} {axis_label('epsilon')}".strip()
    panels.colour_bar(colours, accuracy, plot.tick_labels(colours))
    handles: list[Artist] = []
    if table["replicates"].max() > 1:
        handles = [
            plot.legend_entry("median", **_LINE),
            Patch(color=plot.GREY, alpha=0.2, linewidth=0, label=band_name(table)),
        ]
    note = [
        f"{origin_text(context)}: {spread_text(table)}.",
        failures_text(replicates(frame), "left out"),
        unreached_text(table),
    ]
    handles += [*vertical.handles(), *plot.mark_handles(mark, x)]
    return panels.finish(handles, title=context.title, note=note)


def _draw_line(
    axis: Axes,
    points: pd.DataFrame,
    apart: pd.Series,
    budget: float,
    colour: str,
    keys: list[str],
) -> None:
    """Draw the line of one accuracy; points drawn apart are not joined to it."""
    low, high = points["low"].clip(upper=budget), points["high"].clip(upper=budget)
    median = points["median"].where(np.isfinite(points["median"]))
    at, joined = points["place"], ~apart
    # A band goes as far as its line: towards an infinite median it would be a sliver.
    seen = median[joined].notna()
    band: plot.Style = {"where": seen, "color": colour, "alpha": 0.13, "linewidth": 0}
    axis.fill_between(at[joined], low[joined], high[joined], **band)
    for some, gid in ((joined, "median"), (apart, "zero")):
        if gid == "median" or some.any():
            (line,) = axis.plot(at[some], median[some], color=colour, **_LINE, gid=gid)
            facts = spread_facts(points[some], "median of the iterations")
            plot.attach(line, points.loc[some, keys], facts)
    alone = at[joined].iloc[plot.isolated(median[joined])].index
    for one in [*at[apart].index, *alone]:
        ends = [low[one], high[one]]
        axis.plot([at[one]] * 2, ends, color=colour, linewidth=0.9, gid="interval")


def _last_iteration(frame: pd.DataFrame) -> int | None:
    """Return the last recorded iteration; runs that record iterations do so to their end."""
    last = frame["iteration"].max() if "iteration" in frame.columns else np.nan
    return None if np.isnan(last) else int(last)


class _IterationsAxis:
    """A logarithmic vertical axis, and a strip above it for accuracies that were not reached.

    In the strip, each such accuracy has a line of triangles, the least accurate at the bottom:
    triangles on one line would hide each other.

    Parameters
    ----------
    table : DataFrame
        The result of ``spread_reached``.
    budget : int or None
        Number of iterations made; the largest finite number in the table if None.

    Raises
    ------
    ConfigError
        If the table has a larger number of iterations.
    """

    def __init__(self, table: pd.DataFrame, budget: int | None):
        ends = table[["low", "median", "high"]].to_numpy().ravel()
        finite = ends[np.isfinite(ends)]
        most = max(finite, default=0.0)
        if budget is not None and budget < most:
            raise ConfigError(
                f"the budget is {budget}, but {most:.0f} iterations were made.",
                remedy="Leave out `budget`, or give the iterations of the protocol.",
            )
        self._stated = budget is not None
        self.budget = float(budget or most) or 1.0
        self._least = min(finite, default=1.0)
        unreached = table[table["reached"] < table["replicates"]]
        self._levels: list[float] = sorted(unreached["epsilon"].unique(), reverse=True)
        self._kinds = set(unreached["reached"] > 0)
        decades = np.log10(max(self.budget / max(self._least, 1.0), 10.0))
        self._line = min(_LINE_HEIGHT, _MAX_HEIGHT / max(len(self._levels), 1)) * decades

    def apply(self, axis: Axes) -> None:
        """Set scale, ticks and limits, and shade the strip."""
        top = self.budget * 10 ** (self._line * (len(self._levels) + 0.5) if self._levels else 0.05)
        if self._least < 1:
            # An accuracy that the start already reaches takes 0 iterations.
            axis.set_yscale("symlog", linthresh=1, linscale=0.35)
            ticks, bottom = [0.0, *plot.log_ticks(1.0, self.budget)], -0.15
        else:
            axis.set_yscale("log")
            ticks, bottom = plot.log_ticks(self._least, self.budget), self._least / 1.25
        plot.set_ticks(axis.yaxis, ticks)
        axis.set_ylim(bottom, top)
        if self._levels:
            axis.axhspan(self.budget, top, color="0.955", zorder=0.5, linewidth=0)
            axis.axhline(self.budget, color="0.35", linewidth=0.7, zorder=0.9, gid="budget")

    def draw_unreached(
        self, axis: Axes, points: pd.DataFrame, colours: Mapping[float, Any]
    ) -> None:
        """Draw the triangles of one panel.

        Parameters
        ----------
        points : DataFrame
            Rows of the table, with a ``place`` along the horizontal axis.
        colours : mapping of float to colour
            Colour of each accuracy.
        """
        unreached = points[points["reached"] < points["replicates"]]
        for epsilon, some in unreached.groupby("epsilon"):
            height = self.budget * 10 ** (self._line * (self._levels.index(epsilon) + 0.75))
            for partly, cells in some.groupby(some["reached"] > 0):
                style = plot.unreached_style(partly, colours[epsilon])
                axis.plot(cells["place"], [height] * len(cells), **style, gid="unreached")

    def handles(self) -> Sequence[Line2D]:
        """Return the legend entries of the triangles that are drawn."""
        limit = f" within {self.budget:.0f} iterations" if self._stated else ""
        return plot.unreached_handles(self._kinds, limit)
