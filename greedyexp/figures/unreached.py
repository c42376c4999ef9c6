"""Accuracies that were not reached: a strip above the last iteration with a mark for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from greedyexp.core.errors import ConfigError
from greedyexp.figures.axes import log_ticks, number_texts

# Heights in parts of the axis below the strip: of one line of marks, and of all at most.
_LINE, _MOST = 0.045, 0.36


class Strip:
    """The vertical axis of numbers of iterations, logarithmic, and the strip above it.

    In the strip, each accuracy that some replicate did not reach has a line of its own, the least
    accurate at the bottom: marks on one line would hide one another.

    Parameters
    ----------
    table : DataFrame
        As ``frames.hits`` gives it.
    budget : int or None
        Iterations that were made; the largest number that is known when None.

    Raises
    ------
    ConfigError
        When more iterations than that were made.
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
        self.stated = budget is not None
        self.budget = float(budget or most) or 1.0
        self._least = min(finite, default=1.0)
        lost = table[table["reached"] < table["replicates"]]
        self.levels = sorted(lost["epsilon"].unique(), reverse=True)
        self.kinds = set(lost["reached"] > 0)
        self._decades = np.log10(max(self.budget / max(self._least, 1.0), 10.0))
        self._line = min(_LINE, _MOST / max(len(self.levels), 1)) * self._decades

    def place(self, epsilon: float) -> float:
        """The height of an accuracy's marks."""
        return self.budget * 10 ** (self._line * (self.levels.index(epsilon) + 0.75))

    def draw(self, axis: Axes, points: pd.DataFrame, colours: Mapping) -> None:
        """Scale, ticks and limits of the vertical axis, and the marks of one panel.

        Parameters
        ----------
        points : DataFrame
            Rows of the table, with a ``place`` along the horizontal axis.
        colours : mapping of float to colour
            By accuracy.
        """
        self._apply(axis)
        lost = points[points["reached"] < points["replicates"]]
        for epsilon, some in lost.groupby("epsilon"):
            for part, cells in some.groupby(some["reached"] > 0):
                axis.plot(
                    cells["place"],
                    [self.place(epsilon)] * len(cells),
                    **mark_look(part, colours[epsilon]),
                    gid="unreached",
                )

    def handles(self) -> list[Line2D]:
        """The legend's entries for the marks that are drawn."""
        within = f" within {self.budget:.0f} iterations" if self.stated else ""
        return mark_handles(self.kinds, within)

    def _apply(self, axis: Axes) -> None:
        top = self.budget * 10 ** (self._line * (len(self.levels) + 0.5) if self.levels else 0.05)
        if self._least < 1:
            # An accuracy that the start has takes 0 iterations, which no logarithm shows.
            axis.set_yscale("symlog", linthresh=1, linscale=0.35)
            ticks, bottom = [0.0, *log_ticks(1.0, self.budget)], -0.15
        else:
            axis.set_yscale("log")
            ticks, bottom = log_ticks(self._least, self.budget), self._least / 1.25
        axis.set_yticks(ticks, number_texts(ticks))
        axis.yaxis.set_minor_locator(NullLocator())
        axis.set_ylim(bottom, top)
        if self.levels:
            axis.axhspan(self.budget, top, color="0.955", zorder=0.5, linewidth=0)
            axis.axhline(self.budget, color="0.35", linewidth=0.7, zorder=0.9, gid="budget")


def mark_look(part: bool, colour) -> dict:
    """Half filled where some replicates reached the accuracy, open where none did."""
    look = {"linestyle": "none", "marker": "^", "markersize": 4, "markeredgewidth": 0.8}
    look |= {"markeredgecolor": colour, "markerfacecolor": colour, "color": colour}
    if part:
        return look | {"fillstyle": "bottom", "markerfacecoloralt": "white"}
    return look | {"markerfacecolor": "white"}


def mark_handles(kinds: Iterable[bool], within: str) -> list[Line2D]:
    """The legend's entries for marks.

    Parameters
    ----------
    kinds : iterable of bool
        Whether some replicates reached an accuracy, of the marks that are drawn.
    within : str
        What accuracies were not reached within; may be empty.
    """
    words = {False: f"not reached{within}", True: "not reached by some replicates"}
    return [Line2D([], [], **mark_look(one, "0.3"), label=words[one]) for one in sorted(kinds)]
