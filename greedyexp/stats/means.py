"""Intervals for means, for ratios of paired means, and for mean positions of peaks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from greedyexp.stats.contrasts import CANCELLED
from greedyexp.stats.level import LEVEL
from greedyexp.stats.proportions import checked_confidence


def t_interval(values, confidence: float = LEVEL, added: float = 0.0) -> tuple[float, float, float]:
    """Return Student's interval for a mean.

    Parameters
    ----------
    values : array_like, shape (n,)
    confidence : float in (0, 1)
    added : float >= 0
        Added to 1 / n, the variance of the mean in units of the sample variance: rho / (1 - rho)
        for values that have the correlation rho with each other.

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
    half = float(half_widths(values, confidence, added))
    if not len(values):
        return np.nan, -np.inf, np.inf
    mean = float(mean_of(values))
    return mean, mean - half, mean + half


def mean_of(values: np.ndarray) -> np.ndarray:
    """Return the mean of each sample along the last axis, without rounding if all are equal."""
    return np.where(np.ptp(values, axis=-1) > 0, values.mean(axis=-1), values[..., 0])


def half_widths(values: np.ndarray, confidence: float = LEVEL, added: float = 0.0) -> np.ndarray:
    """Return half the length of Student's interval for the mean of each sample.

    Parameters
    ----------
    values : array, shape (..., n)
        Samples of finite numbers along the last axis.
    confidence : float in (0, 1)
    added : float >= 0
        As for ``t_interval``.

    Returns
    -------
    array, shape (...)
        Infinite if n is less than 2 or ``added`` is infinite.
    """
    n = values.shape[-1]
    if n < 2 or added == np.inf:
        return np.full(values.shape[:-1], np.inf)
    # The mean of equal values is rounded, and so would be their deviation from it.
    varies = np.ptp(values, axis=-1) > 0
    return np.asarray(
        quantile(n, confidence) * varies * values.std(axis=-1, ddof=1) * np.sqrt(1 / n + added)
    )


def fieller(a, b, confidence: float = LEVEL, added: float = 0.0) -> tuple[float, float, float]:
    """Return Fieller's interval for the ratio mean(a) / mean(b) of paired samples.

    It contains every r for which the paired t-test does not reject mean(a) = r mean(b). If the mean
    of b does not differ from 0 at this level, these r are all real numbers except for at most one
    bounded interval. The function then returns (-inf, inf).

    Parameters
    ----------
    a, b : array_like, shape (n,)
        Values measured on the same replicates.
    confidence : float in (0, 1)
    added : float >= 0
        As for ``t_interval``.

    Returns
    -------
    ratio, low, high : float
        The ratio is nan if mean(b) is 0 or the samples are empty. The ends are infinite for fewer
        than two pairs, or if ``added`` is infinite.

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
    n = len(a)
    mean_a, mean_b = (a.mean(), b.mean()) if n else (np.nan, np.nan)
    if n < 2 or mean_b == 0 or added == np.inf:
        return (float(mean_a / mean_b) if mean_b != 0 else np.nan), -np.inf, np.inf
    ratio = float(mean_a / mean_b)
    scale = quantile(n, confidence) ** 2 * (1 / n + added)
    (v_aa, v_ab), (_, v_bb) = np.cov(a, b) * scale
    square = mean_b**2 - v_bb
    if square <= 0:
        return ratio, -np.inf, np.inf
    # The mean of d = a - ratio * b is 0. Computed from the variances of a and b, its variance would
    # be lost to rounding for samples that are nearly proportional.
    (v_dd, v_db), _ = np.cov(a - ratio * b, b) * scale
    v_dd = max(v_dd, CANCELLED * (v_aa + ratio**2 * v_bb + 2 * abs(ratio * v_ab)))
    # The interval contains ratio + t if square * t^2 + 2 * v_db * t - v_dd <= 0.
    root = np.sqrt(v_db**2 + square * v_dd)
    return ratio, float(ratio - (v_db + root) / square), float(ratio - (v_db - root) / square)


def _checked(values) -> np.ndarray:
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or not np.all(np.isfinite(values)):
        raise ValueError("values must be a vector of finite numbers.")
    return values


def quantile(n: int, confidence: float) -> float:
    """Return the two-sided quantile of Student's t for n values."""
    return float(scipy.special.stdtrit(max(n - 1, 1), 0.5 + checked_confidence(confidence) / 2))


@dataclass(frozen=True)
class Peaks:
    """Positions at which each of n curves is largest.

    Parameters
    ----------
    low, high : arrays (n,)
        The first and the last point at which the curve has its largest value.
    below, above : arrays (n,)
        Limits of the peak, halfway to the neighbouring points; infinite at an end of the curve.
    """

    low: np.ndarray
    high: np.ndarray
    below: np.ndarray
    above: np.ndarray


def peaks_of(x: Sequence[float] | np.ndarray, values: np.ndarray) -> Peaks:
    """Return the positions at which curves through common points are largest.

    Parameters
    ----------
    x : array_like, shape (m,)
        Positions in any order; values may be repeated.
    values : array, shape (n, m)
        One curve in each row. Values may be infinite but not nan.
    """
    x, values = np.asarray(x, dtype=float), np.asarray(values, dtype=float)
    points = np.unique(x)
    largest = values == values.max(axis=1, keepdims=True)
    low = np.where(largest, x, np.inf).min(axis=1)
    high = np.where(largest, x, -np.inf).max(axis=1)
    before, after = np.append(-np.inf, points[:-1]), np.append(points[1:], np.inf)
    below = (low + before[np.searchsorted(points, low)]) / 2
    above = (high + after[np.searchsorted(points, high)]) / 2
    return Peaks(low, high, below, above)


def peak_interval(peaks: Peaks, confidence: float) -> tuple[float, float]:
    """Return an interval for the mean position of peaks known up to the neighbouring points."""
    low, high = -np.inf, np.inf
    # A peak at an end of the sweep is unbounded on this side.
    if np.isfinite(peaks.below).all():
        _, low, _ = t_interval(peaks.below, confidence)
    if np.isfinite(peaks.above).all():
        _, _, high = t_interval(peaks.above, confidence)
    return low, high
