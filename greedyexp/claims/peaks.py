"""Where curves are largest, one for each replicate, as far as their points tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Places:
    """Where each of n curves is largest.

    Parameters
    ----------
    low, high : arrays (n,)
        The first and the last point where the curve has its largest value.
    below, above : arrays (n,)
        Between which the peak lies: half the way to the points beside these; infinite beyond the
        end of the curve.
    """

    low: np.ndarray
    high: np.ndarray
    below: np.ndarray
    above: np.ndarray


def places(x, values) -> Places:
    """Where curves through common points are largest.

    Parameters
    ----------
    x : array_like, shape (m,)
        In any order; a value may occur several times.
    values : array_like, shape (n, m)
        One curve in each row. They may be infinite, never nan.
    """
    x, values = np.asarray(x, dtype=float), np.asarray(values, dtype=float)
    points = np.unique(x)
    largest = values == values.max(axis=1, keepdims=True)
    low = np.where(largest, x, np.inf).min(axis=1)
    high = np.where(largest, x, -np.inf).max(axis=1)
    before, after = np.append(-np.inf, points[:-1]), np.append(points[1:], np.inf)
    below = (low + before[np.searchsorted(points, low)]) / 2
    above = (high + after[np.searchsorted(points, high)]) / 2
    return Places(low, high, below, above)
