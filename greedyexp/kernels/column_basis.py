"""Least squares on a changing set of columns, by an orthonormal basis of their span.

An orthonormal basis loses no digits to nearly dependent columns, unlike a factor of the Gram
matrix. Its inner products with all columns of the design are stored too. A change then costs one
product with the design and plane rotations, which update the correlations of the residual and the
squared distances of the columns from the span.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels import native


class Basis:
    """Columns of a design, a basis of their span, and the least-squares fit; empty at first.

    If ``edge`` is not zero, each column has an additional coordinate of its own, where it has this
    value and the response is zero.

    Parameters
    ----------
    response : array (n,)
    correlation : array (p,)
        Inner products of the response with the columns of the design.
    powers : array (p,)
        Squared norms of the columns, including the additional entry.
    edge : float

    Attributes
    ----------
    correlation : array (p,)
        Inner products of the residual with the columns of the design, up to date.
    outside : array (p,)
        Squared distance of each column from the span, up to date. It may be written to: updates
        lose digits of small distances.
    """

    def __init__(
        self, response: np.ndarray, correlation: np.ndarray, powers: np.ndarray, edge: float
    ):
        self._basis = native.column_basis.Basis(response, correlation, powers, edge)
        self.correlation: np.ndarray = self._basis.correlation
        self.outside: np.ndarray = self._basis.outside

    def distance(self, column: np.ndarray) -> float:
        """Return the squared distance of a column (n,) of the design from the span."""
        return self._basis.distance(column)

    def stage(self, column: np.ndarray) -> np.ndarray:
        """Prepare a column (n,) outside the span; nothing changes until ``take``.

        Returns
        -------
        array (n,)
            The unit vector that the column adds to the basis, without additional entries.
        """
        return self._basis.stage(column)

    def project_rows(self, columns: np.ndarray) -> None:
        """Subtract from each row of an array (m, n) its projection on the span, in place.

        There must be no additional entries.
        """
        self._basis.project_rows(columns)

    def derive(self, products: np.ndarray, size: int) -> np.ndarray:
        """Return the ``row`` of ``take`` from products that were computed with fewer columns.

        Parameters
        ----------
        products : array (p,)
            Inner products of the columns of the design with the staged column, less its projection
            on the span of the first ``size`` columns.
        size : int
            Columns may have been added since then, but none dropped.
        """
        return self._basis.derive(products, size)

    def take(self, row: np.ndarray) -> None:
        """Add the column staged last.

        Parameters
        ----------
        row : array (p,)
            Inner products of the columns of the design with the unit vector of ``stage``.
        """
        self._basis.take(row)

    def drop(self, place: int) -> None:
        """Remove the column at this place; later ones move up."""
        self._basis.drop(place)

    @property
    def size(self) -> int:
        """Number of columns, k."""
        return self._basis.size

    @property
    def room(self) -> int:
        """Number of columns that fit into the allocated memory, doubled when one more is staged."""
        return self._basis.room

    def coefficients(self) -> np.ndarray:
        """Return the least-squares coefficients of the columns, shape (k,)."""
        return self._basis.coefficients()

    def check(self, coef: np.ndarray) -> tuple[np.ndarray, float]:
        """Compute the residual of coefficients (k,) from the columns themselves.

        Returns
        -------
        slopes : array (k,)
            Inner products of the columns with the residual; zero at the minimum.
        power : float
            Squared norm of the residual.
        """
        return self._basis.check(coef)

    def correction(self) -> np.ndarray:
        """Return the correction of the coefficients last passed to ``check``, shape (k,)."""
        return self._basis.correction()

    def inverse_diagonal(self) -> np.ndarray:
        """Return the diagonal of the inverse of the Gram matrix of the columns, shape (k,)."""
        return self._basis.inverse_diagonal()
