"""A vertical axis of steps or features: what was counted, what was not reached, what is said."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullLocator

from greedyexp.figures.axes import log_ticks, number_texts
from greedyexp.figures.promises import ABOVE
from greedyexp.figures.unreached import mark_handles, mark_look

# Parts of the height: of a line of marks, of a line of text, and of the gap below either.
_MARKS, _TEXT, _GAP = 0.045, 0.06, 0.015
# Distance of 0 below the other numbers, in parts of their height.
_ZERO = 0.07


class CountsAxis:
    """A logarithmic axis; above it a strip for accuracies not reached, and room for words.

    Parameters
    ----------
    measured : DataFrame
        ``algorithm``, ``median``, ``low`` and ``high``, infinite where not reached, ``reached`` and
        ``replicates``.
    bounds : array_like
        Other numbers to show, as far as they do not squeeze what is measured.
    texts : int >= 0
        Lines of text at most in a panel.
    """

    def __init__(self, measured: pd.DataFrame, bounds, texts: int = 0):
        lost = measured[measured["reached"] < measured["replicates"]]
        self.lines = sorted(lost["algorithm"].unique())
        self.kinds = set(lost["reached"] > 0)
        seen = _known(measured[["low", "median", "high"]].to_numpy())
        bounds = _known(bounds)
        most = max(seen.max(initial=1.0), 1.0) if len(seen) else bounds.max(initial=10.0)
        self.most = max(min(bounds.max(initial=most), ABOVE * most), most, 10.0) * 1.3
        least = max(min(seen.min(initial=most), bounds.min(initial=most)), 1.0) / 1.15
        zero = bool((seen == 0.0).any() or (bounds == 0.0).any())
        self._first = least
        # Where 0 stands, apart below the least number, and the lower edge.
        self.zero = least / (self.most / least) ** _ZERO if zero else None
        self.least = (self.zero or least) / (1.15 if zero else 1.0)
        marks = len(self.lines) * _MARKS + _GAP if self.lines else 0.0
        words = texts * _TEXT + _GAP if texts else 0.0
        self._edge, self._words = 1.0 - marks - words, 1.0 - words

    def heights(self, values: pd.Series) -> pd.Series:
        """Where numbers stand; nan for those that are not reached."""
        return values.where(np.isfinite(values)).clip(lower=self.zero or self.least)

    def draw(self, axis: Axes, points: pd.DataFrame, look: Mapping) -> None:
        """One line with its band, as far as accuracies are reached, and marks for the others.

        Parameters
        ----------
        points : DataFrame
            Rows of ``measured`` of one algorithm in one panel, with their ``epsilon``.
        look : mapping
            Keywords of the line.
        """
        shown = points[np.isfinite(points["median"])]
        # A band goes on to the strip where some replicates did not reach the accuracy.
        high = self.heights(shown["high"]).fillna(self.most)
        axis.fill_between(
            shown["epsilon"],
            self.heights(shown["low"]),
            high,
            color=look["color"],
            alpha=0.15,
            linewidth=0,
        )
        if len(shown) == 1:
            ends = self.heights(shown["low"]), high
            axis.vlines(shown["epsilon"], *ends, color=look["color"], alpha=0.4, linewidth=3)
        axis.plot(shown["epsilon"], self.heights(shown["median"]), **look, gid="measured")
        self._mark_unreached(axis, points, look["color"])

    def apply(self, axis: Axes) -> None:
        """Scale, ticks, limits and the strip."""
        axis.set_yscale("log")
        ticks = log_ticks(self._first, self.most)
        apart = {} if self.zero is None else {self.zero: "0"}
        axis.set_yticks([*apart, *ticks], [*apart.values(), *number_texts(ticks)])
        axis.yaxis.set_minor_locator(NullLocator())
        axis.set_ylim(self.least, self.least * (self.most / self.least) ** (1.0 / self._edge))
        if self.lines:
            at = {"transform": axis.transAxes, "linewidth": 0}
            size = self._words - self._edge
            axis.add_patch(Rectangle((0, self._edge), 1, size, color="0.955", zorder=0.5, **at))
        for line in (*axis.lines, *axis.collections):
            if line.get_gid() != "unreached":
                line.set_clip_path(Rectangle((0, 0), 1, self._edge, transform=axis.transAxes))

    def write(self, axis: Axes, texts: list[tuple[str, str]]) -> None:
        """Texts with their colours, one below the other at the top of a panel."""
        for place, (text, colour) in enumerate(texts):
            height = 1.0 - _GAP / 2 - place * _TEXT
            look = {"va": "top", "fontsize": 7, "color": colour, "gid": "said"}
            axis.text(0.02, height, text, transform=axis.transAxes, **look)

    def write_beyond(self, axis: Axes, bounds: Mapping[str, pd.Series]) -> None:
        """Small words below the strip for bounds of which nothing is on the axis.

        Parameters
        ----------
        bounds : mapping of str to Series
            By what they are called, the numbers of all lines of that name in the panel.
        """
        beyond = [name for name, numbers in bounds.items() if (numbers > self.most).all()]
        if not beyond:
            return
        words = "promised" if len(beyond) == len(bounds) else ", ".join(beyond)
        look = {"va": "top", "fontsize": 7, "color": "0.45", "gid": "beyond"}
        height = self._edge - _GAP
        axis.text(0.02, height, f"{words}: beyond the axis", transform=axis.transAxes, **look)

    def handles(self, budget: str = "") -> list[Line2D]:
        """The legend's entries for the marks.

        Parameters
        ----------
        budget : str
            Within what accuracies were not reached.
        """
        return mark_handles(self.kinds, budget)

    def _mark_unreached(self, axis: Axes, points: pd.DataFrame, colour) -> None:
        """A line of marks for each algorithm."""
        lost = points[points["reached"] < points["replicates"]]
        for (label, part), cells in lost.groupby([lost["algorithm"], lost["reached"] > 0]):
            height = self._edge + _GAP / 2 + _MARKS * (self.lines.index(label) + 0.5)
            axis.plot(
                cells["epsilon"],
                [height] * len(cells),
                transform=axis.get_xaxis_transform(),
                **mark_look(part, colour),
                gid="unreached",
            )


def _known(values) -> np.ndarray:
    values = np.asarray(values, dtype=float).ravel()
    return values[np.isfinite(values)]
