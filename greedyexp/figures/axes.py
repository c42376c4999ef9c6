"""Logarithmic axes with plain numbers, and a place for 0 beside them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, LogLocator, NullLocator, StrMethodFormatter

from greedyexp.core.errors import ConfigError

# A label wider than this many characters is written as a power of ten.
_WIDEST = 5


def make_logarithmic(axis: Axes) -> None:
    """A logarithmic horizontal axis with ticks at 1, 2, 5, 10 and so on."""
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.xaxis.set_minor_locator(NullLocator())


def iteration_axis(axis: Axes, last: float, scale: str) -> None:
    """A horizontal axis from iteration 0 to the last, which a logarithmic one shows too.

    Parameters
    ----------
    scale : {"linear", "log"}
    """
    if scale == "linear":
        axis.set_xlim(-0.015 * last, 1.015 * last)
        return
    # Linear up to 1, so that iteration 0 has its place.
    axis.set_xscale("symlog", linthresh=1, linscale=0.3)
    ticks = log_ticks(1.0, max(last, 10.0))
    axis.set_xticks([0.0, *ticks], ["0", *number_texts(ticks)])
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xlim(-0.12, last * 1.1)


class LogAxis:
    """Places on a logarithmic axis that has 0 as a tick of its own, apart at the left.

    Parameters
    ----------
    name : str
        Column along the axis.
    values : sequence of float
        All that will be drawn, not negative.

    Raises
    ------
    ConfigError
        When a value is negative, or none is positive.
    """

    def __init__(self, name: str, values: Sequence[float]):
        values = np.unique(np.asarray(values, dtype=float))
        if values[0] < 0 or values[-1] == 0:
            raise ConfigError(
                f"a logarithmic axis needs positive values of '{name}'.",
                remedy="Write `scale: linear`.",
            )
        positive = values[values > 0]
        self.low, self.high = positive[0], positive[-1]
        self.has_zero = values[0] == 0
        decades = np.log10(self.high / self.low) or 1.0
        self._margin = 10 ** (0.04 * decades)
        self.zero = self.low / 10 ** (0.1 * decades)

    def places(self, values: pd.Series) -> pd.Series:
        """Where values stand on the axis."""
        return values.astype(float).replace(0.0, self.zero)

    def apply(self, axis: Axes) -> None:
        """Scale, limits and ticks, and the break between 0 and the rest."""
        axis.set_xscale("log")
        ticks = log_ticks(self.low, self.high)
        labels = number_texts(ticks)
        left = self.low
        if self.has_zero:
            ticks, labels, left = [self.zero, *ticks], ["0", *labels], self.zero
            self._mark_break(axis)
        axis.set_xlim(left / self._margin, self.high * self._margin)
        axis.xaxis.set_major_locator(FixedLocator(ticks))
        axis.set_xticks(ticks, labels)
        axis.xaxis.set_minor_locator(NullLocator())

    def _mark_break(self, axis: Axes) -> None:
        """Two strokes across the spine: the axis does not go on to 0."""
        between = np.sqrt(self.zero * self.low)
        axis.plot(
            [between],
            [0],
            transform=axis.get_xaxis_transform(),
            linestyle="none",
            marker=r"$/\!\!/$",
            markersize=7,
            color="0.2",
            clip_on=False,
            zorder=5,
            gid="break",
        )


def log_ticks(low: float, high: float, most: int = 8) -> list[float]:
    """Ticks at 1, 2 and 5 times powers of ten, or at powers alone, as many as can be read."""
    first, last = int(np.floor(np.log10(low))), int(np.ceil(np.log10(high)))
    for subs, step in ((1, 2, 5), 1), ((1, 3), 1), *(((1,), step) for step in range(1, 99)):
        powers = range(step * (first // step), last + 1, step)
        ticks = [float(f"{sub}e{power}") for power in powers for sub in subs]
        # A value beside a tick by rounding alone is at it.
        shown = [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
        if len(shown) <= most:
            break
    return shown if len(shown) > 1 else sorted({low, high})


def number_texts(values: Sequence[float]) -> list[str]:
    """Numbers as they are while all are short, else those that are powers of ten as such."""
    plain = [f"{value:g}" for value in values]
    if all("e" not in text and len(text) <= _WIDEST for text in plain):
        return plain
    return [_power_text(value) for value in values]


def _power_text(value: float) -> str:
    digits, power = f"{value:.3e}".split("e")
    if value == 0 or int(power) == 0:
        return f"{value:g}"
    factor = f"{float(digits):g}"
    times = "" if factor == "1" else rf"{factor}\cdot"
    return rf"${times}10^{{{int(power)}}}$"
