"""Cells of a table: a number with its interval and what a paper printed for it."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """One measured number.

    Parameters
    ----------
    value, low, high : float
        Estimate and interval, in the unit of the table; infinite ends say that nothing is known,
        nan that there is no interval to speak of.
    published : float
        The printed number; nan when there is none.
    digits : int
        Decimals shown.
    significant : bool
        Whether ``digits`` are those that count instead, for ratios of all sizes in one column.
    """

    value: float
    low: float
    high: float
    published: float = math.nan
    digits: int = 3
    significant: bool = False

    def __str__(self) -> str:
        if math.isnan(self.value):
            text = "none"
        elif math.isnan(self.high - self.low):
            text = self._text(self.value)
        elif math.isinf(self.high - self.low):
            text = f"{self._text(self.value)} ± ∞"
        else:
            half = (self.high - self.low) / 2
            text = f"{self._text(self.value)} ± {self._text(half)}"
        # As printed: a paper's digits are not ours to round.
        return text if math.isnan(self.published) else f"{text} ({self.published:g})"

    def _text(self, number: float) -> str:
        if math.isinf(number):
            return "∞" if number > 0 else "-∞"
        return f"{number:#.{self.digits}g}" if self.significant else f"{number:.{self.digits}f}"
