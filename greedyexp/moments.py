"""Second moments of a distribution, which are all that least squares asks of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np


class Moments(ABC):
    """E[x x^T], E[y x] and E[y^2] of a distribution of d features and a response.

    Features are in [-1, 1]. The matrix E[x x^T] is never formed where its structure tells its
    products.

    Attributes
    ----------
    cross : array (d,)
        E[y x].
    power : float
        E[y^2].
    diagonal : array (d,)
        E[x_j^2].
    """

    cross: np.ndarray
    power: float
    diagonal: np.ndarray

    @property
    def size(self) -> int:
        """d."""
        return len(self.cross)

    @abstractmethod
    def times(self, vector: np.ndarray) -> np.ndarray:
        """E[x x^T] v, shape (d,)."""

    @abstractmethod
    def column(self, index: int) -> np.ndarray:
        """E[x x_j], a new array (d,)."""

    @abstractmethod
    def solve(self, support: Sequence[int], right: np.ndarray, ridge: float = 0.0) -> np.ndarray:
        """The least-norm solution of (E[x_S x_S^T] + ridge I) v = right, shape (k,)."""

    @abstractmethod
    def smallest_eigenvalue(self, support: Sequence[int] | None = None) -> float:
        """Of E[x_S x_S^T], or of the whole matrix; infinite for no feature."""
