"""Layers of a figure: each draws one thing in every panel, from a table of points.

A figure declares its layers, axes and texts; ``chart`` draws them. A layer is called with the axes
of a panel and the values of the columns that it shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from greedyexp.figures._plot.coincident import bound_label
from greedyexp.figures._plot.marks import arrow_shifts, bound_style, draw_bars, shifted
from greedyexp.figures._plot.panels import Panels, inside
from greedyexp.figures._plot.points import attach
from greedyexp.figures._plot.style import LineStyles, Style
from greedyexp.results.context import Context
from greedyexp.results.curves import REPLICATES, facts
from greedyexp.results.text import title_text
from greedyexp.stats.level import INTERVAL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Layer = Callable[["Axes", Mapping[str, Any]], object]


@dataclass(frozen=True)
class Curves:
    """A line for each combination of some columns, with an interval at each point.

    Parameters
    ----------
    points : DataFrame
        ``estimate``, ``low`` and ``high`` of each point, and the columns below.
    x : str
        Column of the places along the horizontal axis.
    keys : sequence of str
        Columns that tell points apart, for the rows behind them.
    styles : LineStyles
    name, interval : str
        Names of estimate and interval beside the numbers of a point.
    counts : mapping of str to str
        Further columns, by the names beside their numbers.
    bars : bool
        Draw intervals as bars, shifted with their line so that they do not overlap; otherwise as a
        pale band. For bars, vertical limits must be final. An infinite estimate is an open arrow
        at the edge; those at one place stand in a row.
    shown : callable, optional
        Returns the points of a line that are drawn, at their heights; all by default.
    beside : callable, optional
        Draws what else belongs to a line, from the axes, its points and its style.
    along : str
        Name of the place beside the numbers of a point; none without it.
    every : float or callable, optional
        Distance of the marks of a line, in parts of the diagonal of the panel; all by default. A
        function of the line and its points returns a ``markevery``.
    alpha : float
        Opacity of bands.
    look : mapping
        What differs from the styles.
    ordered : bool
        Draw lines in the order of the styles, otherwise in that of their values.
    """

    points: pd.DataFrame
    x: str
    keys: Sequence[str]
    styles: LineStyles
    name: str
    interval: str = INTERVAL
    counts: Mapping[str, str] = field(default_factory=lambda: REPLICATES)
    bars: bool = False
    shown: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    beside: Callable[[Axes, pd.DataFrame, Style], object] | None = None
    along: str = ""
    every: float | Callable[[tuple, pd.DataFrame], Any] | None = None
    alpha: float = 0.15
    look: Style = field(default_factory=dict)
    ordered: bool = False

    def __call__(self, axis: Axes, values: Mapping[str, Any]) -> None:
        shown = inside(self.points, values)
        if self.bars:
            keys = shown[self.styles.line].itertuples(index=False, name=None)
            still = shown["low"].isna().all()
            shifts = [0.0 if still else self.styles.shift(*key) for key in keys]
            shown = shown.assign(shift=arrow_shifts(shown, self.x, shifts))
        for key in self._lines(shown):
            own = inside(shown, dict(zip(self.styles.line, key, strict=True)))
            style = {**self.styles.of(*key), **self.look}
            if callable(self.every):
                style["markevery"] = self.every(key, own)
            elif self.every is not None:
                style["markevery"] = self.styles.marker_phase(key, self.every)
            points = self.shown(own) if self.shown else own
            behind = own.loc[points.index]
            numbers = {self.along: behind[self.x]} if self.along else {}
            numbers |= facts(behind, self.name, self.interval, self.counts)
            at, heights = points[self.x], points["estimate"]
            if self.bars:
                heights = heights.mask(np.isinf(heights))
            else:
                band: Style = {"color": style["color"], "alpha": self.alpha, "linewidth": 0}
                axis.fill_between(at, points["low"], points["high"], **band)
            (line,) = axis.plot(at, heights, **style)
            attach(line, behind[list(self.keys)], numbers)
            if self.bars:
                line.set_transform(shifted(axis, 0.0 if still else self.styles.shift(*key)))
                draw_bars(axis, self.x, points, style["color"])
            if self.beside:
                self.beside(axis, own, style)

    def _lines(self, shown: pd.DataFrame) -> Iterable[tuple]:
        if self.ordered:
            return self.styles.keys(shown)
        return sorted(set(shown[self.styles.line].itertuples(index=False, name=None)))


@dataclass(frozen=True)
class Theory:
    """Curves that do not depend on a run, such as bounds and predictions, one for each line.

    Parameters
    ----------
    points : DataFrame
        ``estimate`` of each point, nan where there is none.
    x : str
    styles : LineStyles
        Of the measured lines, whose colours and marks the curves have.
    dash : matplotlib line style
    name : str
        Name in notes on curves that coincide, before the label of the line; none without it.
    gid : str
    """

    points: pd.DataFrame
    x: str
    styles: LineStyles
    dash: Any
    name: str = ""
    gid: str = "promise"

    def __call__(self, axis: Axes, values: Mapping[str, Any]) -> None:
        shown = inside(self.points, values)
        for key in self.styles.keys(shown):
            own = inside(shown, dict(zip(self.styles.line, key, strict=True)))
            style = self.styles.of(*key)
            look = {**bound_style(self.dash, style), "gid": self.gid}
            if self.name:
                look["label"] = bound_label(f"{self.name} of {style['label']}")
            axis.plot(own[self.x].to_numpy(), own["estimate"].to_numpy(), **look)


def chart(
    panels: Panels,
    context: Context,
    layers: Sequence[Layer],
    labels: tuple[str, str] | None,
    legends: Sequence[Sequence[Artist]] | Callable[[], Sequence[Sequence[Artist]]],
    note: Sequence[str],
    where: Mapping[str, Any] | None = None,
    *,
    titled: Callable[[Mapping[str, Any]], Mapping[str, Any] | None] = dict,
    then: Callable[[], object] | None = None,
) -> Figure:
    """Draw the layers in each panel, in their order, and add titles, labels, legends and notes.

    Parameters
    ----------
    layers : sequence of callable
        A layer may return the parameters of the title of its panel (``Panels.title``) as a dict.
    labels : pair of str, optional
        Labels of the horizontal and the vertical axes; without them, a layer writes labels.
    legends, note
        As for ``Panels.finish``. A function returns the legends when all layers are drawn.
    where : mapping, optional
        The choice of rows, for the title.
    titled : callable
        Returns the values in the title of a panel, or None for no title; all by default.
    then : callable, optional
        Called when panels have titles and labels, for example to add a bar of colours.
    """
    for axis, values in panels:
        place: dict[str, Any] = {}
        for layer in layers:
            given = layer(axis, values)
            place |= given if isinstance(given, dict) else {}
        heading = titled(values)
        if heading is not None:
            panels.title(axis, heading, context, **place)
    if labels:
        panels.label(*labels)
    if then:
        then()
    legends = legends() if callable(legends) else legends
    return panels.finish(*legends, title=title_text(where or {}, context), note=note)
