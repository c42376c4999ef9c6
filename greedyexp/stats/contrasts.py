"""Intervals of linear combinations of estimates, and the correlations they need.

The method of variance estimates recovery (MOVER): the distance from an estimate to the end of its
interval replaces its standard error on that side, which keeps the shape of skewed intervals.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy

# p-values below this are reported as this value.
SMALLEST_P = 1e-9
# Relative rounding error of a variance, or a sum, whose terms cancel.
CANCELLED = 1e-14
# Weights of a line below this share of the largest are rounding errors.
_ROUNDED = 1e-12


def combined_interval(
    coefficients, estimates, lows, highs, correlation
) -> tuple[float, float, float]:
    """Return an interval for sum_i c_i theta_i.

    With e_i = c_i (theta_i - low_i) for c_i > 0 and c_i (high_i - theta_i) for c_i < 0 the lower
    end is the estimate minus sqrt(e^T R e), and likewise for the upper one. Symmetric t intervals
    and the sample correlation give the paired t interval. Wilson intervals and ``phi`` give
    Newcombe's method 10.

    For equal samples the terms of e^T R e cancel and only rounding errors remain. The variance is
    therefore at least 1e-14 times the sum of the sizes of its terms, which makes the interval the
    same on every processor. Likewise, each end is at least 1e-14 times the sum of |c_i theta_i|
    away from the estimate.

    If an estimate or a required end is infinite, the end follows interval arithmetic: the sum of
    the lower (upper) ends, or infinity outward if infinite terms have opposite signs.

    Parameters
    ----------
    coefficients, estimates, lows, highs : array_like, shape (k,)
        Terms with coefficient 0 are ignored. Estimates may be infinite, or nan if unknown.
    correlation : array_like, shape (k, k)
        Correlation R of the estimates.

    Returns
    -------
    estimate, low, high : float
        The estimate is nan if infinite terms have opposite signs; low and high are never nan.

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


def p_value_of(
    interval_at: Callable[[float], tuple[float, float]], value: float, slack: float = 0.0
) -> float:
    """Return the p-value of a value by inverting an interval.

    Parameters
    ----------
    interval_at : callable
        Maps a confidence in (0, 1) to (low, high), wider for a higher confidence. It is called at
        most twenty times, with a confidence up to 1 - 1e-9.
    value : float
    slack : float >= 0
        Rounding error of the ends: values so near to the interval are not excluded.

    Returns
    -------
    float in [0, 1]
        1 minus the largest confidence whose interval excludes the value, rounded up by at most
        0.1%, so that the interval at 1 - p excludes the value. It is 1 if even the shortest
        interval contains the value, and 1e-9 if the widest excludes it.
    """

    def excluded(z: float) -> bool:
        low, high = interval_at(1 - 2 * scipy.special.ndtr(-z))
        return value < low - slack or value > high + slack

    out, inside = 1e-3, float(-scipy.special.ndtri(SMALLEST_P / 2))
    if not excluded(out):
        return 1.0
    if excluded(inside):
        return SMALLEST_P
    # Down to 1e-9 the p-value falls by a factor exp(-z dz) with z at most 6.2.
    while inside - out > 1.5e-4:
        middle = (out + inside) / 2
        if excluded(middle):
            out = middle
        else:
            inside = middle
    return float(2 * scipy.special.ndtr(-out))


def _vectors(*values) -> list[np.ndarray]:
    vectors = [np.asarray(v, dtype=float) for v in values]
    if any(v.ndim != 1 or v.shape != vectors[0].shape for v in vectors):
        raise ValueError("coefficients, estimates and ends must be vectors of one length.")
    return vectors


def _end(c, theta, ends, correlation, side: int) -> float:
    """Return the lower (side -1) or upper (side 1) end for the sum."""
    moves = c * (ends - theta)
    if np.all(np.isfinite(moves)):
        signed = moves * np.sign(c)
        terms = signed[:, None] * correlation * signed
        variance = max(float(terms.sum()), CANCELLED * float(np.abs(terms).sum()))
        distance = max(np.sqrt(variance), CANCELLED * np.abs(c * theta).sum())
        return float(np.sum(c * theta) + side * distance)
    total = float(np.sum(c * ends))
    return side * np.inf if np.isnan(total) else total


def correlation(samples) -> np.ndarray:
    """Return the sample correlation of values measured on the same replicates.

    Parameters
    ----------
    samples : array_like, shape (k, n)

    Returns
    -------
    array, shape (k, k)
        Unit diagonal; 0 off the diagonal for a constant sample.
    """
    samples = np.atleast_2d(np.asarray(samples, dtype=float))
    centred = samples - samples.mean(axis=1, keepdims=True) if samples.shape[1] else samples
    # The mean of equal values is rounded: their centred values are not exactly 0.
    varies = np.ptp(samples, axis=1) > 0 if samples.shape[1] else np.zeros(len(samples), bool)
    return uncentred_correlation(centred * varies[:, None])


def uncentred_correlation(deviations) -> np.ndarray:
    """Return the correlation of estimates from the contribution of each replicate.

    Parameters
    ----------
    deviations : array_like, shape (k, n)
        Row i contains the deviation of estimate i due to each replicate, with expectation 0; it is
        0 for unused replicates. For crossings the deviations are w (y - p), see ``influence``.

    Returns
    -------
    array, shape (k, k)
        Unit diagonal; 0 off the diagonal in rows of zeros.
    """
    deviations = np.atleast_2d(np.asarray(deviations, dtype=float))
    norm = np.linalg.norm(deviations, axis=1, keepdims=True)
    unit = np.divide(deviations, norm, out=np.zeros_like(deviations), where=norm > 0)
    # A matrix product would differ between processors in its last digits.
    matrix = np.clip(np.einsum("in,jn->ij", unit, unit), -1.0, 1.0)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def assumed_worst(matrix, coefficients, known) -> np.ndarray:
    """Replace the correlations of estimates with unknown ones by those that add up all errors.

    Parameters
    ----------
    matrix : array_like, shape (k, k)
        Correlation of the estimates.
    coefficients : array_like, shape (k,)
        Coefficients of the linear combination.
    known : array_like of bool, shape (k, k)
        Pairs of estimates whose correlation is known.

    Returns
    -------
    array, shape (k, k)
        Unit diagonal. It need not be positive semidefinite, but with it ``combined_interval`` is at
        least as long as with any correlations of the unknown errors.
    """
    signs = np.sign(coefficients)
    worst = np.where(known, matrix, np.outer(signs, signs))
    np.fill_diagonal(worst, 1.0)
    return worst


def line_weights(x) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of the values at ``x`` in the least-squares line through them.

    All values have equal weight, regardless of their standard errors. The fit is unbiased for any
    errors, and a single precise point does not determine the line of a curve that is only nearly
    straight.

    Parameters
    ----------
    x : array_like, shape (k,)

    Returns
    -------
    intercept, slope : array, shape (k,)
        The line through the values y is ``intercept @ y + x * (slope @ y)``.

    Raises
    ------
    ValueError
        If x does not have two values that differ by more than rounding.
    """
    x = np.asarray(x, dtype=float)
    if len(x) < 2 or np.ptp(x) <= 1e-12 * np.abs(x).max():
        raise ValueError("a line needs two different x.")
    # An infinite value makes the line infinite unless its weight is exactly 0.
    distance = _without_rounding(x - x.mean())
    slope = distance / (distance @ distance)
    return _without_rounding(1 / len(x) - x.mean() * slope), slope


def _without_rounding(weights: np.ndarray) -> np.ndarray:
    """Set weights to 0 that are 0 but for rounding errors."""
    return np.where(np.abs(weights) > _ROUNDED * np.abs(weights).max(), weights, 0.0)
