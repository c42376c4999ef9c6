"""A QR factorisation that follows its matrix when a column is added at the end or removed.

For N of shape (k, m) of full column rank, ``basis`` (k, k) holds the orthogonal factor transposed:
its first m rows span the columns of N, the others their orthogonal complement. ``triangle`` (k, k)
holds R in its leading m x m part. Both changes cost O(k^2).
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.linear_algebra_numba import dot, rotate


@kernel
def append(basis, triangle, size, column):
    """Add a column, by a reflection of the complement.

    Parameters
    ----------
    basis, triangle : arrays (k, k)
        Changed in place.
    size : int < k
        Number of columns before.
    column : array (k,)
        Linearly independent of the present columns.
    """
    k = len(column)
    parts = np.empty(k)
    for j in range(k):
        parts[j] = dot(basis[j], column)
    new = parts[size:]
    length = np.sqrt(np.dot(new, new))
    pivot = -length if new[0] > 0.0 else length
    for j in range(size):
        triangle[j, size] = parts[j]
    triangle[size, size] = pivot
    new[0] -= pivot
    power = np.dot(new, new)
    if power == 0.0:
        return
    image = np.zeros(k)
    for j in range(size, k):
        line, weight = basis[j], parts[j]
        for i in range(k):
            image[i] += weight * line[i]
    for j in range(size, k):
        line, weight = basis[j], 2.0 * parts[j] / power
        for i in range(k):
            line[i] -= weight * image[i]


@kernel
def remove(basis, triangle, size, index):
    """Remove column ``index`` of ``size``; later ones move up.

    The row of ``basis`` that is no longer needed becomes the first of the complement.
    """
    for j in range(index, size - 1):
        for i in range(j + 2):
            triangle[i, j] = triangle[i, j + 1]
    for j in range(index, size - 1):
        upper, lower = triangle[j], triangle[j + 1]
        length = np.hypot(upper[j], lower[j])
        cosine, sine = upper[j] / length, lower[j] / length
        rotate(upper[j : size - 1], lower[j : size - 1], cosine, sine)
        rotate(basis[j], basis[j + 1], cosine, sine)


@kernel
def solve(triangle, size, x):
    """x <- R^-1 x on the leading ``size`` entries."""
    for j in range(size - 1, -1, -1):
        line = triangle[j]
        total = x[j]
        for i in range(j + 1, size):
            total -= line[i] * x[i]
        x[j] = total / line[j]


@kernel
def solve_transposed(triangle, size, x):
    """x <- R^-T x on the leading ``size`` entries."""
    for j in range(size):
        line = triangle[j]
        x[j] /= line[j]
        for i in range(j + 1, size):
            x[i] -= line[i] * x[j]
