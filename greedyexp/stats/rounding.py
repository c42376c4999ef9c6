"""Which differences between numbers are rounding errors."""

from __future__ import annotations

import numpy as np

# Numbers count as equal up to this share of the larger.
ROUNDING = 1e-9


def vary(values: np.ndarray, size: np.ndarray | float | None = None) -> np.ndarray:
    """Return True for each sample, along the last axis, that varies by more than rounding errors.

    Parameters
    ----------
    values : array, shape (..., n)
        n is at least 1.
    size : array, shape (...), or float, optional
        The size of the numbers that the values were computed from; by default, of the values. The
        differences of two samples have the rounding errors of the samples.
    """
    size = np.abs(values).max(axis=-1) if size is None else size
    varies: np.ndarray = np.ptp(values, axis=-1) > ROUNDING * size
    return varies
