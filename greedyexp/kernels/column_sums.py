"""Largest absolute values, sums and sums of squares of the columns of a matrix, in one pass."""

from __future__ import annotations

import numpy as np

from greedyexp.kernels import native


def column_sums(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return max_i |x_ij|, sum_i x_ij and sum_i x_ij^2 of each column of X (n, p), shape (p,) each.

    The numbers must be finite; sums of squares may overflow to infinity.
    """
    largest, total, squares = np.zeros((3, X.shape[1]))
    native.column_sums.column_sums(X, largest, total, squares)
    return largest, total, squares
