"""Intervals for differences of estimates, from the interval of each.

The method of variance estimates recovery (MOVER): the distance from an estimate to the end of its
interval stands for its standard error on that side, so that skewed intervals keep their shape.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtr, ndtri

# p-values below this are not told apart.
SMALLEST_P = 1e-9
# What rounding may leave of a variance whose terms cancel, as a part of their sizes.
CANCELLED = 1e-14


def combination(coefficients, estimates, lows, highs, correlation) -> tuple[float, float, float]:
    """Interval for sum_i c_i theta_i.

    With e_i = c_i (theta_i - low_i) for c_i > 0 and c_i (high_i - theta_i) for c_i < 0 the lower
    end is the estimate less sqrt(e^T R e), and likewise for the upper one. Symmetric t intervals
    and the sample correlation give the paired t interval, Wilson intervals and ``phi`` Newcombe's
    method 10.

    Where the terms of e^T R e cancel, which they do for samples that are equal, what is left is
    rounding. The variance is taken to be at least 1e-14 of the sizes of its terms: nothing smaller
    is known, and the interval is the same on every processor.

    Where an estimate or an end it needs is infinite, the end is that of interval arithmetic: the
    sum of the lower (upper) ends, and infinite outward if those oppose each other.

    Parameters
    ----------
    coefficients, estimates, lows, highs : array_like, shape (k,)
        Terms with coefficient 0 are left out. Estimates may be infinite or nan, for which nothing
        is known.
    correlation : array_like, shape (k, k)
        Of the estimates, R.

    Returns
    -------
    estimate, low, high : float
        The estimate is nan when infinite terms oppose each other; low and high never are.

    References
    ----------
    Zou and Donner (2008), Construction of confidence limits about effect measures: a general
    approach, Statistics in Medicine 27.
    """
    c, theta, lows, highs = _vectors(coefficients, estimates, lows, highs)
    used = c != 0
    matrix = np.asarray(correlation, dtype=float)[np.ix_(used, used)]
    c, theta, lows, highs = c[used], theta[used], lows[used], highs[used]
    down, up = np.where(c > 0, lows, highs), np.where(c > 0, highs, lows)
    with np.errstate(invalid="ignore"):
        estimate = float(np.sum(c * theta))
        low = _end(c, theta, down, matrix, -1)
        high = _end(c, theta, up, matrix, 1)
    return estimate, low, high


def level_of(interval_at: Callable[[float], tuple[float, float]], value: float) -> float:
    """The p-value of a value: how sure an interval can be before it holds the value.

    Parameters
    ----------
    interval_at : callable
        Confidence in (0, 1) to (low, high), wider for a higher confidence. It is called at most
        twenty times, with up to 1 - 1e-9.
    value : float

    Returns
    -------
    float in [0, 1]
        1 less the largest confidence whose interval leaves the value out, rounded up by at most
        0.1%: at this confidence the value is left out. 1 when even the shortest interval holds
        the value, and 1e-9 when the widest does not.
    """

    def left_out(z: float) -> bool:
        low, high = interval_at(1 - 2 * ndtr(-z))
        return value < low or value > high

    out, inside = 1e-3, float(-ndtri(SMALLEST_P / 2))
    if not left_out(out):
        return 1.0
    if left_out(inside):
        return SMALLEST_P
    # Below 1e-9 the p-value falls by a factor exp(-z dz) with z at most 6.2.
    while inside - out > 1.5e-4:
        middle = (out + inside) / 2
        if left_out(middle):
            out = middle
        else:
            inside = middle
    return float(2 * ndtr(-out))


def _vectors(*values) -> list[np.ndarray]:
    vectors = [np.asarray(v, dtype=float) for v in values]
    if any(v.ndim != 1 or v.shape != vectors[0].shape for v in vectors):
        raise ValueError("coefficients, estimates and ends must be vectors of one length.")
    return vectors


def _end(c, theta, ends, correlation, side: int) -> float:
    """One end of the sum, on the side -1 or 1."""
    moves = c * (ends - theta)
    if np.all(np.isfinite(moves)):
        signed = moves * np.sign(c)
        terms = signed[:, None] * correlation * signed
        variance = max(float(terms.sum()), CANCELLED * float(np.abs(terms).sum()))
        return float(np.sum(c * theta) + side * np.sqrt(variance))
    total = float(np.sum(c * ends))
    return side * np.inf if np.isnan(total) else total
