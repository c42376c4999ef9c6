"""A logarithmic axis of risks above a reference, and a strip below for those that are not above."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.patches import Patch
from matplotlib.ticker import NullLocator

from greedyexp.figures.axes import log_ticks, number_texts

# Bounds are shown above what is measured by at most this factor.
_ABOVE = 1e3
# Height of the strip in parts of the axis above it.
_STRIP = 0.05
_SHADE = "0.93"


class ExcessAxis:
    """The vertical axis of all panels of a figure.

    Parameters
    ----------
    lines : sequence of DataFrame
        What is measured, as ``spread`` gives it.
    bounds : array_like
        Other values to show, as far as they do not squeeze what is measured.
    floor : float > 0
        What is not above it counts as zero.
    """

    def __init__(self, lines: Sequence[pd.DataFrame], bounds, floor: float):
        ends = [table[["median", "high"]].to_numpy(dtype=float).ravel() for table in lines]
        lows = np.concatenate([table["median"].to_numpy(dtype=float) for table in lines])
        seen, bounds = np.concatenate(ends), np.asarray(bounds, dtype=float)
        above = seen[seen > floor]
        high = above.max(initial=2.0 * floor)
        low = lows[lows > floor].min(initial=high) / 1.5
        self.low = max(low, floor)
        shown = bounds[np.isfinite(bounds)].max(initial=high)
        self.high = max(min(shown, _ABOVE * high) * 1.5, 10.0 * self.low)
        self.has_zero = bool((lows <= floor).any())
        decades = np.log10(self.high / self.low)
        self.bottom = self.low / 10 ** (_STRIP * decades) if self.has_zero else self.low

    def heights(self, values: pd.Series) -> pd.Series:
        """Where values stand: in the middle of the strip where they are zero or below."""
        return values.clip(lower=float(np.sqrt(self.low * self.bottom)))

    def apply(self, axis: plt.Axes) -> None:
        """Scale, ticks, limits and the strip."""
        axis.set_yscale("log")
        ticks = log_ticks(self.low, self.high)
        axis.set_yticks(ticks, number_texts(ticks))
        axis.yaxis.set_minor_locator(NullLocator())
        axis.set_ylim(self.bottom, self.high)
        if self.has_zero:
            axis.axhspan(self.bottom, self.low, color=_SHADE, zorder=0.5, linewidth=0, gid="zero")

    def handles(self, excess: bool) -> list[Patch]:
        """The legend's entry for the strip.

        Parameters
        ----------
        excess : bool
            Whether an excess is drawn, which may be below zero.
        """
        words = "at or below the reference" if excess else "zero"
        return [Patch(color=_SHADE, linewidth=0, label=words)] if self.has_zero else []
