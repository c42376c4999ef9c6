"""A logarithmic axis of risks above a reference, and a strip below for those that are not above."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import NullLocator

from greedyexp.figures.axes import log_ticks, number_texts
from greedyexp.figures.promises import ABOVE

# Bands are shown below the least median by at most this factor.
_BELOW = 10.0
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
        seen = pd.concat(list(lines))[["low", "median", "high"]].astype(float)
        bounds = np.asarray(bounds, dtype=float)
        above = seen.where(seen > floor)
        high = np.nanmax(above.to_numpy(), initial=2.0 * floor)
        median = np.nanmin(above["median"].to_numpy(), initial=high)
        band = np.nanmin(above["low"].to_numpy(), initial=median)
        self.low = max(max(band, median / _BELOW) / 1.5, floor)
        shown = bounds[np.isfinite(bounds)].max(initial=high)
        self.high = max(min(shown, ABOVE * high) * 1.5, 10.0 * self.low)
        self.has_zero = bool((seen["median"] <= floor).any())
        decades = np.log10(self.high / self.low)
        self.bottom = self.low / 10 ** (_STRIP * decades) if self.has_zero else self.low

    def heights(self, values: pd.Series) -> pd.Series:
        """Where values stand: in the middle of the strip where they are zero or below."""
        return values.clip(lower=float(np.sqrt(self.low * self.bottom)))

    def apply(self, axis: Axes) -> None:
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
