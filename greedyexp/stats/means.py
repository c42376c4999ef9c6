"""Intervals for means and for ratios of paired means."""

from __future__ import annotations

import numpy as np
import scipy

from greedyexp.stats.contrasts import CANCELLED
from greedyexp.stats.proportions import CONFIDENCE, checked_confidence


def t_interval(values, confidence: float = CONFIDENCE) -> tuple[float, float, float]:
    """Return Student's interval for a mean.

    Parameters
    ----------
    values : array_like, shape (n,)
    confidence : float in (0, 1)

    Returns
    -------
    mean, low, high : float
        The ends are infinite for one value, and the mean is nan for none. Equal values give an
        interval of length 0.

    Raises
    ------
    ValueError
        If values are not a vector of finite numbers.
    """
    values = _checked(values)
    half = float(half_widths(values, confidence))
    if not len(values):
        return np.nan, -np.inf, np.inf
    mean = float(mean_of(values))
    return mean, mean - half, mean + half


def mean_of(values: np.ndarray) -> np.ndarray:
    """Return the mean of each sample along the last axis, without rounding if all are equal."""
    return np.where(np.ptp(values, axis=-1) > 0, values.mean(axis=-1), values[..., 0])


def half_widths(values: np.ndarray, confidence: float = CONFIDENCE) -> np.ndarray:
    """Return half the length of Student's interval for the mean of each sample.

    Parameters
    ----------
    values : array, shape (..., n)
        Samples of finite numbers along the last axis.
    confidence : float in (0, 1)

    Returns
    -------
    array, shape (...)
        Infinite if n is less than 2.
    """
    n = values.shape[-1]
    quantile = _quantile(n, confidence)
    if n < 2:
        return np.full(values.shape[:-1], np.inf)
    # The mean of equal values is rounded, and so would be their deviation from it.
    varies = np.ptp(values, axis=-1) > 0
    return np.asarray(quantile * varies * values.std(axis=-1, ddof=1) / np.sqrt(n))


def fieller(a, b, confidence: float = CONFIDENCE) -> tuple[float, float, float]:
    """Return Fieller's interval for the ratio mean(a) / mean(b) of paired samples.

    It contains every r for which the paired t-test does not reject mean(a) = r mean(b). If the mean
    of b does not differ from 0 at this level, these r are all real numbers except for at most one
    bounded interval. The function then returns (-inf, inf).

    Parameters
    ----------
    a, b : array_like, shape (n,)
        Values measured on the same replicates.
    confidence : float in (0, 1)

    Returns
    -------
    ratio, low, high : float
        The ratio is nan if mean(b) is 0 or the samples are empty. The ends are infinite for fewer
        than two pairs.

    Raises
    ------
    ValueError
        If a and b are not vectors of finite numbers of one length.

    References
    ----------
    Fieller (1954), Some problems in interval estimation, J. R. Statist. Soc. B 16.
    """
    a, b = _checked(a), _checked(b)
    if a.shape != b.shape:
        raise ValueError("paired samples must have one length.")
    n, quantile = len(a), _quantile(len(a), confidence)
    mean_a, mean_b = (a.mean(), b.mean()) if n else (np.nan, np.nan)
    if n < 2 or mean_b == 0:
        return (float(mean_a / mean_b) if mean_b != 0 else np.nan), -np.inf, np.inf
    ratio = float(mean_a / mean_b)
    (v_aa, v_ab), (_, v_bb) = np.cov(a, b) * quantile**2 / n
    square = mean_b**2 - v_bb
    if square <= 0:
        return ratio, -np.inf, np.inf
    # The mean of d = a - ratio * b is 0. Computed from the variances of a and b, its variance would
    # be lost to rounding for samples that are nearly proportional.
    (v_dd, v_db), _ = np.cov(a - ratio * b, b) * quantile**2 / n
    v_dd = max(v_dd, CANCELLED * (v_aa + ratio**2 * v_bb + 2 * abs(ratio * v_ab)))
    # The interval contains ratio + t if square * t^2 + 2 * v_db * t - v_dd <= 0.
    root = np.sqrt(v_db**2 + square * v_dd)
    return ratio, float(ratio - (v_db + root) / square), float(ratio - (v_db - root) / square)


def _checked(values) -> np.ndarray:
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or not np.all(np.isfinite(values)):
        raise ValueError("values must be a vector of finite numbers.")
    return values


def _quantile(n: int, confidence: float) -> float:
    """Return the two-sided quantile of Student's t for n values."""
    return float(scipy.special.stdtrit(max(n - 1, 1), 0.5 + checked_confidence(confidence) / 2))
