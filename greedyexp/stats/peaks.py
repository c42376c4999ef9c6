"""Positions at which measured curves are largest, and intervals for their mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from greedyexp.stats.means import t_interval


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
