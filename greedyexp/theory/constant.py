"""A number with the bounds that prove it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Constant:
    """The best estimate of a constant, and an interval that holds it, rounding errors included.

    Parameters
    ----------
    value : float
        Best estimate, lower <= value <= upper.
    lower, upper : float
        Proved bounds on the constant.
    """

    value: float
    lower: float
    upper: float

    def __truediv__(self, divisor: float) -> Constant:
        """The constant divided by a positive number."""
        return Constant(self.value / divisor, self.lower / divisor, self.upper / divisor)
