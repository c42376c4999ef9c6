"""The least-squares line as linear combinations of what it is drawn through."""

from __future__ import annotations

import numpy as np


def line_weights(x) -> tuple[np.ndarray, np.ndarray]:
    """How the line at places ``x`` is made of the values there.

    Every value counts alike, however well it is known: the fit is unbiased for any errors, and one
    point with a short interval does not decide where a line leads that is only nearly straight.

    Parameters
    ----------
    x : array_like, shape (k,)

    Returns
    -------
    intercept, slope : array, shape (k,)
        The line through values y is ``intercept @ y + x * (slope @ y)``.

    Raises
    ------
    ValueError
        When x does not have two values that differ by more than rounding.
    """
    x = np.asarray(x, dtype=float)
    if len(x) < 2 or np.ptp(x) <= 1e-12 * np.abs(x).max():
        raise ValueError("a line needs two different x.")
    distance = x - x.mean()
    slope = distance / (distance @ distance)
    return 1 / len(x) - x.mean() * slope, slope
