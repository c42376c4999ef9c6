"""A Cholesky factor that follows its matrix when an index is added or removed.

The factor L of A = L L^T is kept in the rows of a larger array: row i holds L[i, :i + 1], and the
rest is scratch. Adding an index takes one triangular solve and removing one takes a sweep of plane
rotations. Both cost O(k^2) and read rows in order.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels import native


def append(chol: np.ndarray, size: int, cross: np.ndarray, diagonal: float) -> float:
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
    return native.cholesky.append(chol, size, cross, diagonal)


def remove(chol: np.ndarray, size: int, index: int, rotated: np.ndarray) -> None:
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
    native.cholesky.remove(chol, size, index, rotated)


def extend_solution(chol: np.ndarray, size: int, value: float, rotated: np.ndarray) -> None:
    """Write entry ``size`` of L^{-1} c after ``append``; ``value`` is the new entry of c."""
    native.cholesky.extend_solution(chol, size, value, rotated)


def solve(chol: np.ndarray, size: int, x: np.ndarray) -> None:
    """x <- L^{-1} x on the leading ``size`` entries."""
    native.cholesky.solve(chol, size, x)


def solve_transposed(
    chol: np.ndarray, size: int, rotated: np.ndarray, solution: np.ndarray
) -> None:
    """Solve L^T x = ``rotated`` into ``solution[:size]``, the second half of solving A x = c.

    ``rotated`` and ``solution`` may be the same array.
    """
    native.cholesky.solve_transposed(chol, size, rotated, solution)
