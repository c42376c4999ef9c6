"""Cholesky factor of the curvature on a manifold of rows, with variables added and removed.

A variable is a vector supported on one row: one entry, or the tied entries with their signs. The
factor is upper triangular and stored by rows, so that every inner loop runs along memory.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from greedyexp.kernels.row_gradient import FAST, axpy, dot

# A variable whose squared distance from the span of the others is below this part of its own
# curvature is dependent on them.
DEPENDENT = 1e-12


@njit(cache=True)
def solve_transposed(factor, size, x):
    """x <- R^-T x for the leading ``size`` rows of R = factor."""
    for q in range(size):
        x[q] /= factor[q, q]
        axpy(-x[q], factor[q, q + 1 : size], x[q + 1 : size])


@njit(cache=True)
def solve_upper(factor, size, x):
    """x <- R^-1 x for the leading ``size`` rows of R = factor."""
    for q in range(size - 1, -1, -1):
        x[q] = (x[q] - dot(factor[q, q + 1 : size], x[q + 1 : size])) / factor[q, q]


@njit(cache=True)
def append(factor, size, column, curvature):
    """Add a variable with the given products against the others and with itself.

    ``column`` is overwritten by R^-T column.

    Returns
    -------
    bool
        False, with the factor unchanged, when the variable depends on the others.
    """
    solve_transposed(factor, size, column)
    rest = curvature - dot(column[:size], column[:size])
    if size == len(factor) or rest <= DEPENDENT * curvature:
        return False
    factor[:size, size] = column[:size]
    factor[size, size] = np.sqrt(rest)
    return True


@njit(cache=True, fastmath=FAST)
def _rotate(c, s, carried, row, out):
    for a in range(len(out)):
        first = carried[a]
        second = row[a]
        out[a] = c * first + s * second
        carried[a] = c * second - s * first


@njit(cache=True)
def remove(factor, size, position, carried):
    """Remove one variable; ``carried`` (size,) is workspace."""
    for q in range(position):
        line = factor[q]
        for a in range(position, size - 1):
            line[a] = line[a + 1]
    carried[position + 1 : size] = factor[position, position + 1 : size]
    for q in range(position, size - 1):
        first = carried[q + 1]
        second = factor[q + 1, q + 1]
        length = np.hypot(first, second)
        _rotate(
            first / length,
            second / length,
            carried[q + 1 : size],
            factor[q + 1, q + 1 : size],
            factor[q, q : size - 1],
        )
