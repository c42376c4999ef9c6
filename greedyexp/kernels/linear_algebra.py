"""Sums of vectors in a fixed order."""

from __future__ import annotations

import numpy as np

from greedyexp.kernels import native


def subtract_rows(
    out: np.ndarray, weights: np.ndarray, matrix: np.ndarray, order: np.ndarray, count: int
) -> None:
    """out -= sum over t < count of weights[t] * matrix[order[t]].

    Parameters
    ----------
    out : array (p,)
        Changed in place; none of the rows below.
    weights : array (>= count,)
    matrix : array (m, p)
    order : int array (>= count,)
    count : int
    """
    native.linear_algebra.subtract_rows(out, weights, matrix, order, count)


def transposed_product(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return A^T x, shape (p,), of a matrix (n, p) and a vector (n,).

    Equal columns have equal products, to the last digit.
    """
    out = np.empty(matrix.shape[1])
    native.linear_algebra.multiply_transposed(matrix, vector, out)
    return out
