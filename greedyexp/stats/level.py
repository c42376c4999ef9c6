"""The confidence level of all intervals and tests, which is set here alone, and its words."""

from __future__ import annotations

# The coverage of an interval, unless another level is given.
LEVEL = 0.95
# The probability of an error that tests allow; rounded, as 1 - 0.95 is not 0.05 in floats.
ALPHA = round(1 - LEVEL, 12)


def percent(level: float = LEVEL) -> str:
    """Return ``95%`` or ``99.92%``, with enough digits to differ from 100%."""
    number, digits = 100 * level, 0
    while digits < 8 and abs(round(number, digits) - number) > 1e-9 + 0.1 * (100 - number):
        digits += 1
    return f"{number:.{digits}f}%"


# The word for the ends of an interval, beside the numbers of a point.
INTERVAL = f"{percent()} interval"
