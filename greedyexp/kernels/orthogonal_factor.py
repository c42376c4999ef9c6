"""A QR factorisation that follows its matrix when a column is added at the end or removed.

For N of shape (k, m) of full column rank, ``basis`` (k, k) holds the orthogonal factor transposed:
its first m rows span the columns of N, the others their orthogonal complement. ``triangle`` (k, k)
holds R in its leading m x m part. Both changes cost O(k^2).
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels import native


def append(basis: np.ndarray, triangle: np.ndarray, size: int, column: np.ndarray) -> None:
    """Add a column, by a reflection of the complement.

    Parameters
    ----------
    basis, triangle : arrays (k, k)
        Changed in place.
    size : int < k
        Number of columns before the change.
    column : array (k,)
        Linearly independent of the present columns.
    """
    native.orthogonal_factor.append(basis, triangle, size, column)


def remove(basis: np.ndarray, triangle: np.ndarray, size: int, index: int) -> None:
    """Remove column ``index`` of ``size``; later ones move up.

    The row of ``basis`` that is no longer needed becomes the first of the complement.
    """
    native.orthogonal_factor.remove(basis, triangle, size, index)


def solve(triangle: np.ndarray, size: int, x: np.ndarray) -> None:
    """x <- R^-1 x on the leading ``size`` entries."""
    native.orthogonal_factor.solve(triangle, size, x)


def solve_transposed(triangle: np.ndarray, size: int, x: np.ndarray) -> None:
    """x <- R^-T x on the leading ``size`` entries."""
    native.orthogonal_factor.solve_transposed(triangle, size, x)
