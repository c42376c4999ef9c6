"""A Cholesky factor that follows its matrix when an index is added or removed.

The factor L of A = L L^T is kept in the rows of a larger array: row i holds L[i, :i + 1], and the
rest is scratch. Adding an index takes one triangular solve and removing one takes a sweep of plane
rotations. Both cost O(k^2) and read rows in order.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.linear_algebra_numba import FAST


@kernel(fastmath=FAST)
def append(chol, size, cross, diagonal):
    """Write row ``size``: extend the factor by one index of the matrix.

    Parameters
    ----------
    chol : array (m, m), m > size
        Factor in its leading ``size`` rows; row ``size`` is written.
    size : int
        Order of the matrix before the change.
    cross : array (>= size,)
        Entries of the new index with the present ones, in their order.
    diagonal : float
        Entry of the new index with itself.

    Returns
    -------
    float
        New pivot squared over ``diagonal``: for a Gram matrix the squared sine of the angle between
        the new column and the span of the others. Zero if the matrix is not positive definite to
        working precision; the row is then undefined.
    """
    row = chol[size]
    remainder = diagonal
    for i in range(size):
        line = chol[i]
        total = cross[i]
        for t in range(i):
            total -= line[t] * row[t]
        entry = total / line[i]
        row[i] = entry
        remainder -= entry * entry
    if not remainder > 0.0:
        return 0.0
    row[size] = np.sqrt(remainder)
    return remainder / diagonal


@kernel
def remove(chol, size, index, rotated):
    """Remove one index; the factor is of order ``size - 1`` afterwards.

    Parameters
    ----------
    chol : array (m, m)
        Factor of order ``size``, overwritten.
    size : int
        Order of the matrix before the change.
    index : int
        Row and column to remove; later ones move up.
    rotated : array (m,)
        L^{-1} c for a right-hand side c; becomes that of c without the entry ``index``.
    """
    count = size - 1 - index
    cosine = np.empty(count)
    sine = np.empty(count)
    for i in range(index, size - 1):
        row = chol[i]
        lower = chol[i + 1]
        for t in range(index):
            row[t] = lower[t]
        carry = lower[index]
        for t in range(index, i):
            q = t - index
            row[t] = cosine[q] * carry + sine[q] * lower[t + 1]
            carry = cosine[q] * lower[t + 1] - sine[q] * carry
        pivot = np.hypot(carry, lower[i + 1])
        row[i] = pivot
        cosine[i - index] = carry / pivot
        sine[i - index] = lower[i + 1] / pivot
    carry = rotated[index]
    for q in range(count):
        following = rotated[index + q + 1]
        rotated[index + q] = cosine[q] * carry + sine[q] * following
        carry = cosine[q] * following - sine[q] * carry


@kernel
def extend_solution(chol, size, value, rotated):
    """Write entry ``size`` of L^{-1} c after ``append``; ``value`` is the new entry of c."""
    row = chol[size]
    total = value
    for t in range(size):
        total -= row[t] * rotated[t]
    rotated[size] = total / row[size]


@kernel(fastmath=FAST)
def solve(chol, size, x):
    """x <- L^{-1} x on the leading ``size`` entries."""
    for i in range(size):
        row = chol[i]
        total = x[i]
        for t in range(i):
            total -= row[t] * x[t]
        x[i] = total / row[i]


@kernel
def solve_transposed(chol, size, rotated, solution):
    """Solve L^T x = ``rotated`` into ``solution[:size]``, the second half of solving A x = c.

    ``rotated`` and ``solution`` may be the same array.
    """
    for i in range(size):
        solution[i] = rotated[i]
    for i in range(size - 1, -1, -1):
        row = chol[i]
        entry = solution[i] / row[i]
        solution[i] = entry
        for t in range(i):
            solution[t] -= entry * row[t]
