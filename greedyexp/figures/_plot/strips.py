"""Logarithmic vertical axes of counts, with a strip for accuracies that were not reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from greedyexp.core.errors import ConfigError
from greedyexp.figures._plot.axes import MAX_ABOVE, log_ticks, set_ticks, tick_labels
from greedyexp.figures._plot.layers import Curves
from greedyexp.figures._plot.style import GREY, LineStyles, Style, legend_entry, small_text
from greedyexp.results.curves import BAND

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# Fractions of the height for a line of triangles, and the gap below it.
_MARKS, _GAP = 0.045, 0.015
# Distance of 0 below the other numbers, in parts of their height.
_ZERO = 0.07
# Largest height of all lines of triangles, as a fraction of the axis below.
_MAX_HEIGHT = 0.36
_STRIP: Style = {"color": "0.955", "zorder": 0.5, "linewidth": 0}


class _Unreached:
    """Triangles for accuracies that some replicates did not reach, a line for each level.

    Triangles on one line would hide each other. They are half filled if some replicates reached
    the accuracy, and open otherwise.

    Parameters
    ----------
    table : DataFrame
        The result of ``medians_reached``.
    by : str
        Column with the level.
    falling : bool
        The largest level is at the bottom.
    """

    def __init__(self, table: pd.DataFrame, by: str, *, falling: bool = False):
        rows = table[table["reached"] < table["trials"]]
        self.levels = sorted(rows[by].unique(), reverse=falling)
        self._by, self._kinds = by, sorted(set(rows["reached"] > 0))

    def draw(
        self,
        axis: Axes,
        points: pd.DataFrame,
        x: str,
        height: Callable[[int], float],
        colour_of: Callable[[Any], Any],
        **style: Any,
    ) -> None:
        """Draw the triangles of some points; ``height`` is that of a line, from the bottom."""
        rows = points[points["reached"] < points["trials"]]
        for (level, partly), cells in rows.groupby([rows[self._by], rows["reached"] > 0]):
            heights = [height(self.levels.index(level))] * len(cells)
            look = _style(partly, colour_of(level)) | style
            axis.plot(cells[x], heights, **look, gid="unreached")

    def handles(self, limit: str = "") -> list[Line2D]:
        """Return the legend entries; ``limit`` is the budget, such as " within 100 steps"."""
        labels = {False: f"not reached{limit}", True: "not reached by some replicates"}
        return [legend_entry(labels[kind], **_style(kind, GREY)) for kind in self._kinds]


def _style(partly: bool, colour: Any) -> Style:
    style: Style = {"linestyle": "none", "marker": "^", "markersize": 4, "markeredgewidth": 0.8}
    style |= {"markeredgecolor": colour, "markerfacecolor": colour, "color": colour}
    if partly:
        return style | {"fillstyle": "bottom", "markerfacecoloralt": "white"}
    return style | {"markerfacecolor": "white"}


class CountsAxis:
    """An axis of steps or features along accuracies, one line for each algorithm.

    It is a layer, which sets scale, ticks and limits, and shades the strip.

    Parameters
    ----------
    measured : DataFrame
        The result of ``medians_reached``, with columns ``algorithm`` and ``epsilon``.
    bounds : array_like
        Other numbers, shown up to a factor above the measurements.
    """

    def __init__(self, measured: pd.DataFrame, bounds: Any):
        self._measured, self._unreached = measured, _Unreached(measured, "algorithm")
        seen, bounds = _finite(measured[["low", "estimate", "high"]]), _finite(bounds)
        most = max(seen.max(initial=1.0), 1.0) if len(seen) else bounds.max(initial=10.0)
        self.most = max(min(bounds.max(initial=most), MAX_ABOVE * most), most, 10.0) * 1.3
        least = max(min(seen.min(initial=most), bounds.min(initial=most)), 1.0) / 1.15
        self._first = least
        # The place of 0, which is below the least number, and the lower edge.
        has_zero = bool((seen == 0.0).any() or (bounds == 0.0).any())
        self._zero = least / (self.most / least) ** _ZERO if has_zero else None
        self.least = (self._zero or least) / (1.15 if has_zero else 1.0)
        lines = len(self._unreached.levels)
        self._edge = 1.0 - (lines * _MARKS + _GAP if lines else 0.0)
        self.handles = self._unreached.handles

    def heights(self, values: pd.Series) -> pd.Series:
        """Return the heights of numbers; nan for infinite ones."""
        return values.where(np.isfinite(values)).clip(lower=self._zero or self.least)

    def curves(self, keys: Sequence[str], styles: LineStyles) -> Curves:
        """Return lines with bands where accuracies were reached, and triangles elsewhere."""
        return Curves(
            *(self._measured, "epsilon", [*keys, "epsilon"], styles, "median", BAND),
            shown=self._reached,
            beside=self._beside,
            look={"gid": "measured"},
        )

    def _reached(self, points: pd.DataFrame) -> pd.DataFrame:
        shown = points[np.isfinite(points["estimate"])]
        shown = shown.assign(
            **{name: self.heights(shown[name]) for name in ("low", "estimate", "high")}
        )
        # The band extends to the strip if some replicates did not reach the accuracy.
        return shown.assign(high=shown["high"].fillna(self.most))

    def _beside(self, axis: Axes, points: pd.DataFrame, style: Style) -> None:
        shown, colour = self._reached(points), style["color"]
        if len(shown) == 1:
            ends = shown[["epsilon", "low", "high"]].to_numpy().T
            axis.vlines(*ends, color=colour, alpha=0.4, linewidth=3)
        self._unreached.draw(
            *(axis, points, "epsilon"),
            lambda line: self._edge + _GAP / 2 + _MARKS * (line + 0.5),
            lambda _: colour,
            transform=axis.get_xaxis_transform(),
        )

    def __call__(self, axis: Axes, _: Any = None) -> None:
        from matplotlib.patches import Rectangle

        axis.set_yscale("log")
        ticks = log_ticks(self._first, self.most)
        zero = [] if self._zero is None else [self._zero]
        set_ticks(axis.yaxis, [*zero, *ticks], [*["0"] * len(zero), *tick_labels(ticks)])
        axis.set_ylim(self.least, self.least * (self.most / self.least) ** (1.0 / self._edge))
        if self._unreached.levels:
            strip = {**_STRIP, "transform": axis.transAxes}
            axis.add_patch(Rectangle((0, self._edge), 1, 1.0 - self._edge, **strip))
        for line in (*axis.lines, *axis.collections):
            if line.get_gid() != "unreached":
                line.set_clip_path(Rectangle((0, 0), 1, self._edge, transform=axis.transAxes))

    def write_hidden(self, axis: Axes, bounds: Mapping[str, pd.Series]) -> None:
        """Write below the strip which bounds are entirely above the axis.

        Parameters
        ----------
        bounds : mapping of str to Series
            Maps the title of each bound to the numbers of all lines in the panel.
        """
        hidden = [title for title, numbers in bounds.items() if (numbers > self.most).all()]
        if hidden:
            text = "promised" if len(hidden) == len(bounds) else ", ".join(hidden)
            style: Style = {"va": "top", "fontsize": small_text(), "color": "0.45"}
            style |= {"gid": "beyond", "transform": axis.transAxes}
            axis.text(0.02, self._edge - _GAP, f"{text}: beyond the axis", **style)


class IterationsAxis:
    """An axis of iterations along some column, one line for each accuracy.

    It is a layer, as ``CountsAxis`` is. The least accurate triangles are at the bottom.

    Parameters
    ----------
    table : DataFrame
        The result of ``medians_reached``, with columns ``epsilon`` and ``place``.
    colours : mapping of float to colour
        Colour of each accuracy.
    budget : int or None
        Number of iterations made; the largest finite number in the table if None.

    Raises
    ------
    ConfigError
        If the table has a larger number of iterations.
    """

    def __init__(self, table: pd.DataFrame, colours: Mapping[float, Any], budget: int | None):
        finite = _finite(table[["low", "estimate", "high"]])
        most = finite.max(initial=0.0)
        if budget is not None and budget < most:
            raise ConfigError(
                f"the budget is {budget}, but {most:.0f} iterations were made.",
                remedy="Leave out `budget`, or give the iterations of the protocol.",
            )
        self._colours, self._unreached = colours, _Unreached(table, "epsilon", falling=True)
        limit = "" if budget is None else f" within {budget:.0f} iterations"
        self.handles = self._unreached.handles(limit)
        self.budget = float(budget or most) or 1.0
        self._least = min(finite, default=1.0)
        decades = np.log10(max(self.budget / max(self._least, 1.0), 10.0))
        lines = len(self._unreached.levels)
        self._line = min(_MARKS, _MAX_HEIGHT / max(lines, 1)) * decades

    def __call__(self, axis: Axes, points: pd.DataFrame) -> None:
        """Set scale, ticks and limits, shade the strip, and draw the triangles of a panel."""
        lines = len(self._unreached.levels)
        top = self._height(lines + 0.5 if lines else 0.05 / self._line)
        if self._least < 1:
            # An accuracy that the start already reaches takes 0 iterations.
            axis.set_yscale("symlog", linthresh=1, linscale=0.35)
            ticks, bottom = [0.0, *log_ticks(1.0, self.budget)], -0.15
        else:
            axis.set_yscale("log")
            ticks, bottom = log_ticks(self._least, self.budget), self._least / 1.25
        set_ticks(axis.yaxis, ticks)
        axis.set_ylim(bottom, top)
        if lines:
            axis.axhspan(self.budget, top, **_STRIP)
            axis.axhline(self.budget, color="0.35", linewidth=0.7, zorder=0.9, gid="budget")
        self._unreached.draw(
            axis, points, "place", lambda line: self._height(line + 0.75), self._colours.__getitem__
        )

    def _height(self, line: float) -> float:
        return self.budget * 10 ** (self._line * line)


def _finite(values: Any) -> np.ndarray:
    values = np.asarray(values, dtype=float).ravel()
    return values[np.isfinite(values)]
