"""Products with a large design for several columns at once, before they are needed.

A product X^T v of a large design is limited by memory, and sixteen in one pass take as long as four
by themselves. Forward selection takes one column at a time, but it can be guessed which ones come
next: those with large derivatives now.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from greedyexp.kernels.column_basis import Basis
from greedyexp.problems.checks import is_sparse

# Number of products computed together, and largest number kept.
TOGETHER, MOST = 16, 96
# So many products must be used before others are computed; otherwise single ones are faster.
WORTH = 4
# Smaller designs stay in the caches of most processors, where a product is fast.
LARGE = 2**23
# A column must keep this part of its squared length outside the columns taken since its product was
# computed. Otherwise the product has lost digits.
KEPT = 0.1


class Data(Protocol):
    """A design (n, p), see ``losses.squared.CentredData``."""

    X: np.ndarray
    means: np.ndarray

    def columns(self, indices: np.ndarray) -> np.ndarray: ...

    def correlate(self, vector: np.ndarray) -> np.ndarray: ...


class ProductsAhead:
    """Inner products of a design with the vectors that its columns add to a basis.

    Parameters
    ----------
    data : Data
    basis : Basis
        A basis of columns of the design, without additional entries.
    """

    def __init__(self, data: Data, basis: Basis):
        self._data, self._basis = data, basis
        large = not is_sparse(data.X) and data.X.size >= LARGE
        self._ahead = large
        self._used = WORTH
        # Products of columns less their projections, with their squared lengths, and the size of
        # the basis that they were projected on.
        self._known: dict[int, tuple[np.ndarray, float, int]] = {}

    def row(
        self, feature: int, column: np.ndarray, vector: np.ndarray, scores: np.ndarray
    ) -> np.ndarray:
        """Return the inner products of the staged unit vector with the design, shape (p,).

        Parameters
        ----------
        feature : int
        column, vector : arrays (n,)
            The column of the feature, and the unit vector that it adds to the basis.
        scores : array (p,)
            Large for features that are likely to be added soon; written to.
        """
        if self._ahead and feature not in self._known:
            self._look_ahead(feature, scores)
        if feature in self._known:
            products, power, size = self._known.pop(feature)
            self._used += 1
            if (vector @ column) ** 2 > KEPT * power:
                return self._basis.derive(products, size)
        return self._data.correlate(vector)

    def forget(self) -> None:
        """Forget all products, because a column is dropped from the basis."""
        self._known.clear()

    def _look_ahead(self, feature: int, scores: np.ndarray) -> None:
        self._ahead = self._used >= WORTH
        if not self._ahead:
            return
        if len(self._known) + TOGETHER > MOST:
            self._known.clear()
        scores[list(self._known)] = 0.0
        scores[feature] = np.inf
        features = np.argsort(-scores, kind="stable")[:TOGETHER]
        columns = np.ascontiguousarray(self._data.columns(features).T)
        self._basis.project_rows(columns)
        products = columns @ self._data.X - np.outer(columns.sum(axis=1), self._data.means)
        powers = np.einsum("mn,mn->m", columns, columns)
        for index, row, power in zip(features, products, powers, strict=True):
            self._known[int(index)] = row, float(power), self._basis.size
        self._used = 0
