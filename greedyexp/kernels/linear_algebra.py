"""Sums of vectors."""

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
