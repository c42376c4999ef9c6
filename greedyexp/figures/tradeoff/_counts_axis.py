"""A vertical axis of steps or features, with a strip for accuracies that were not reached."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from greedyexp.figures import _plot as plot
from greedyexp.results.summaries import spread_facts

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# Fractions of the height for a line of triangles, and the gap below it.
_MARKS, _GAP = 0.045, 0.015
# Distance of 0 below the other numbers, in parts of their height.
_ZERO = 0.07


class CountsAxis:
    """A logarithmic axis, with a strip for accuracies that were not reached.

    Parameters
    ----------
    measured : DataFrame
        The result of ``spread_reached``, with columns ``algorithm`` and ``epsilon``.
    bounds : array_like
        Other numbers, shown up to a factor above the measurements.
    """

    def __init__(self, measured: pd.DataFrame, bounds: Any):
        unreached = measured[measured["reached"] < measured["replicates"]]
        self._algorithms = sorted(unreached["algorithm"].unique())
        self._kinds = set(unreached["reached"] > 0)
        seen = _finite(measured[["low", "median", "high"]].to_numpy())
        bounds = _finite(bounds)
        most = max(seen.max(initial=1.0), 1.0) if len(seen) else bounds.max(initial=10.0)
        self.most = max(min(bounds.max(initial=most), plot.MAX_ABOVE * most), most, 10.0) * 1.3
        least = max(min(seen.min(initial=most), bounds.min(initial=most)), 1.0) / 1.15
        has_zero = bool((seen == 0.0).any() or (bounds == 0.0).any())
        self._first = least
        # The place of 0, which is below the least number, and the lower edge.
        self._zero = least / (self.most / least) ** _ZERO if has_zero else None
        self.least = (self._zero or least) / (1.15 if has_zero else 1.0)
        marks = len(self._algorithms) * _MARKS + _GAP if self._algorithms else 0.0
        self._edge = 1.0 - marks

    def heights(self, values: pd.Series) -> pd.Series:
        """Return the heights of numbers; nan for infinite ones."""
        return values.where(np.isfinite(values)).clip(lower=self._zero or self.least)

    def draw(self, axis: Axes, points: pd.DataFrame, style: Mapping[str, Any]) -> None:
        """Draw a line with its band where accuracies were reached, and triangles elsewhere.

        Parameters
        ----------
        points : DataFrame
            Rows of ``measured`` of one algorithm in one panel.
        style : mapping
            Style of the line.
        """
        shown, colour = points[np.isfinite(points["median"])], style["color"]
        at, low = shown["epsilon"], self.heights(shown["low"])
        # The band extends to the strip if some replicates did not reach the accuracy.
        high = self.heights(shown["high"]).fillna(self.most)
        axis.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)
        if len(shown) == 1:
            axis.vlines(at, low, high, color=colour, alpha=0.4, linewidth=3)
        (line,) = axis.plot(at, self.heights(shown["median"]), **style, gid="measured")
        names = ["median", "low", "high", "replicates", "reached"]
        plot.attach(line, shown.drop(columns=names), spread_facts(shown, "median"))
        unreached = points[points["reached"] < points["replicates"]]
        for (label, partly), cells in unreached.groupby(
            [unreached["algorithm"], unreached["reached"] > 0]
        ):
            height = self._edge + _GAP / 2 + _MARKS * (self._algorithms.index(label) + 0.5)
            axis.plot(
                cells["epsilon"],
                [height] * len(cells),
                transform=axis.get_xaxis_transform(),
                **plot.unreached_style(partly, colour),
                gid="unreached",
            )

    def apply(self, axis: Axes) -> None:
        """Set scale, ticks and limits, and shade the strip."""
        from matplotlib.patches import Rectangle

        axis.set_yscale("log")
        ticks = plot.log_ticks(self._first, self.most)
        zero = [] if self._zero is None else [self._zero]
        plot.set_ticks(axis.yaxis, [*zero, *ticks], [*["0"] * len(zero), *plot.tick_labels(ticks)])
        axis.set_ylim(self.least, self.least * (self.most / self.least) ** (1.0 / self._edge))
        if self._algorithms:
            strip: plot.Style = {"color": "0.955", "zorder": 0.5, "linewidth": 0}
            strip["transform"] = axis.transAxes
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
            style: plot.Style = {"va": "top", "fontsize": plot.small_text(), "color": "0.45"}
            style |= {"gid": "beyond", "transform": axis.transAxes}
            axis.text(0.02, self._edge - _GAP, f"{text}: beyond the axis", **style)

    def handles(self, limit: str = "") -> list[Line2D]:
        """Return the legend entries of the triangles.

        Parameters
        ----------
        limit : str
            The budget, such as " within 100 steps".
        """
        return plot.unreached_handles(self._kinds, limit)


def _finite(values: Any) -> np.ndarray:
    values = np.asarray(values, dtype=float).ravel()
    return values[np.isfinite(values)]
