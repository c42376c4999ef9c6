"""Logarithmic axes with plain numbers and a separate place for 0, and limits of axes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from greedyexp.core.errors import ConfigError
from greedyexp.figures._plot.typeset import power_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

# An axis is extended to show a bound by at most this factor above the measurements.
MAX_ABOVE = 1e3
# Multiples of powers of ten, and the step between the powers, from many ticks to few.
_FEW = (((1, 2, 5), 1), ((1, 3), 1), *(((1,), step) for step in range(1, 99)))
# If a label is longer than this, labels are written as powers of ten.
_MAX_CHARACTERS = 5
# Powers of ten that have room in an inch.
_LABELS_PER_INCH = 3.0


class LinearAxis:
    """A linear horizontal axis; see ``LogAxis``."""

    def places(self, values: pd.Series) -> pd.Series:
        return values

    def __call__(self, axis: Axes, _: Any = None) -> None:
        """Do nothing: matplotlib's axes are linear."""


class LogAxis:
    """A logarithmic horizontal axis. 0 has a separate place at the left.

    Parameters
    ----------
    name : str
        Column along the axis.
    values : sequence of float
        All values to draw.
    falling : bool
        The largest value is at the left.

    Raises
    ------
    ConfigError
        If a value is negative, or none is positive.
    """

    def __init__(self, name: str, values: Sequence[float] | pd.Series, *, falling: bool = False):
        levels = np.unique(np.asarray(values, dtype=float))
        if levels[0] < 0 or levels[-1] == 0:
            raise ConfigError(
                f"a logarithmic axis needs positive values of '{name}'.",
                remedy="Write `scale: linear`.",
            )
        positive = levels[levels > 0]
        self.low, self.high, self._falling = positive[0], positive[-1], falling
        self.has_zero = levels[0] == 0
        decades = np.log10(self.high / self.low) or 1.0
        self._margin = 10 ** (0.04 * decades)
        self.zero = self.low / 10 ** (0.1 * decades)

    def places(self, values: pd.Series) -> pd.Series:
        """Return the places of values on the axis."""
        return values.astype(float).replace(0.0, self.zero)

    def __call__(self, axis: Axes, _: Any = None) -> None:
        """Set scale, limits and ticks, and mark the break between 0 and the rest."""
        axis.set_xscale("log")
        ticks = log_ticks(self.low, self.high, _room(axis))
        labels = tick_labels(ticks)
        left = self.low
        if self.has_zero:
            ticks, labels, left = [self.zero, *ticks], ["0", *labels], self.zero
            self._mark_break(axis)
        ends = left / self._margin, self.high * self._margin
        axis.set_xlim(*(ends[::-1] if self._falling else ends))
        set_ticks(axis.xaxis, ticks, labels)

    def _mark_break(self, axis: Axes) -> None:
        """Draw two strokes across the spine, where the axis is interrupted."""
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


def horizontal_axis(
    scale: str, name: str, values: Sequence[float] | pd.Series
) -> LinearAxis | LogAxis:
    """Return the horizontal axis of a scale, "linear" or "log"."""
    return LogAxis(name, values) if scale == "log" else LinearAxis()


def iteration_axis(axis: Axes, last: float, scale: str) -> None:
    """Set a horizontal axis from iteration 0 to the last one.

    Parameters
    ----------
    scale : {"linear", "log"}
    """
    if scale == "linear":
        axis.set_xlim(-0.015 * last, 1.015 * last)
        return
    # Linear up to 1, to show iteration 0.
    axis.set_xscale("symlog", linthresh=1, linscale=0.3)
    ticks = log_ticks(1.0, max(last, 10.0), _room(axis))
    set_ticks(axis.xaxis, [0.0, *ticks], ["0", *tick_labels(ticks)])
    axis.set_xlim(-0.12, last * 1.1)


def _room(axis: Axes) -> int:
    """Return how many labels have room along a horizontal axis."""
    inches = axis.get_window_extent().width / axis.figure.dpi
    return max(3, int(_LABELS_PER_INCH * inches))


def set_ticks(axis: Axis, ticks: Sequence[float], labels: Sequence[str] | None = None) -> None:
    """Set major ticks, labelled by their numbers if no labels are given; no minor ticks."""
    from matplotlib.ticker import NullLocator

    axis.set_ticks(ticks, tick_labels(ticks) if labels is None else labels)
    axis.set_minor_locator(NullLocator())


def log_ticks(low: float, high: float, most: int = 8) -> list[float]:
    """Return readable ticks: 1, 2, 5 or 1, 3 times powers of ten, or only powers of ten.

    Ticks are closer if the limits are less than a factor of twenty apart.
    """
    first, last = int(np.floor(np.log10(low))), int(np.ceil(np.log10(high)))
    close: list[tuple[tuple[float, ...], int]]
    close = [((1, 1.5, 2, 3, 4, 5, 6, 8), 1)] if high < 8 * low else []
    close += [((1, 2, 3, 4, 6, 8), 1)] if high < 20 * low else []
    for subs, step in (*close, *_FEW):
        powers = range(step * (first // step), last + 1, step)
        ticks = [float(f"{sub}e{power}") for power in powers for sub in subs]
        # The limits may be off by rounding.
        shown = [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
        if len(shown) <= most:
            break
    return shown if len(shown) > 1 else sorted({low, high})


def tick_labels(values: Iterable[float]) -> list[str]:
    """Format numbers plainly if all are short, otherwise as powers of ten."""
    values = list(values)
    plain = [f"{value:g}" for value in values]
    if all("e" not in text and len(text) <= _MAX_CHARACTERS for text in plain):
        return plain
    return [_power_text(value) for value in values]


def _power_text(value: float) -> str:
    digits, power = f"{value:.3e}".split("e")
    if value == 0 or int(power) == 0:
        return f"{value:g}"
    return power_text(f"{float(digits):g}", power)


def linear_limits(
    estimates: Any, ends: Any, tested: tuple[float, float] | None = None
) -> tuple[float, float]:
    """Return limits of the vertical axis that show all finite estimates.

    Parameters
    ----------
    estimates : array_like
        Estimates and predictions.
    ends : array_like
        Ends of intervals.
    tested : (float, float), optional
        Range of the trials. The axis is not stretched beyond it for ends of intervals, which are
        extrapolations there.
    """
    estimates, ends = (np.asarray(values, dtype=float) for values in (estimates, ends))
    estimates, ends = estimates[np.isfinite(estimates)], ends[np.isfinite(ends)]
    shown = np.concatenate([estimates, np.clip(ends, *tested) if tested else ends])
    if not len(shown):
        shown = np.array(tested or (0.0, 1.0))
    low, high = shown.min(), shown.max()
    margin = 0.06 * (high - low) or 0.5
    return low - margin, high + margin


def set_limits(
    axis: Axes, estimates: Any, ends: Any, tested: tuple[float, float] | None, scale: str
) -> None:
    """Set ``linear_limits`` of the vertical axis, or those of logarithms for the scale "log"."""
    if scale == "linear":
        axis.set_ylim(*linear_limits(estimates, ends, tested))
        return
    assert tested is not None
    if tested[0] <= 0.0:
        raise ConfigError(
            f"a logarithmic axis needs positive values, but the smallest is {tested[0]:g}.",
            remedy="Use of_scale: linear.",
        )
    with np.errstate(divide="ignore"):
        estimates, ends = (np.log(np.clip(values, 0.0, None)) for values in (estimates, ends))
    low, high = np.exp(linear_limits(estimates, ends, (np.log(tested[0]), np.log(tested[1]))))
    log_heights(low, high)(axis)


def log_heights(low: float, high: float) -> Callable[..., None]:
    """Return the layer of a logarithmic vertical axis with these limits."""

    def draw(axis: Axes, _: Any = None) -> None:
        axis.set_yscale("log")
        axis.set_ylim(low, high)
        set_ticks(axis.yaxis, log_ticks(*axis.get_ylim()))

    return draw
