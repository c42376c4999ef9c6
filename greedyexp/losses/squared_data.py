"""A design and a response less their means, without a centred copy of the design."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

# What centring leaves of a constant is rounding, at most this part of its norm.
CONSTANT = 1e-14


class CentredData:
    """Columns x_j - mean(x_j) and the response y - mean(y), or both as they are.

    Parameters
    ----------
    X : array (n, p) or CSR array of scipy.sparse
    y : array (n,)
    center : bool
        Whether means are taken off. Columns that are constant count as zero then, and so does a
        constant response.

    Attributes
    ----------
    squares : array (p,)
        ||x_j||^2 of the columns as they are.
    means : array (p,)
        Zero without centring.
    mean : float
        Of the response, zero without centring.
    response : array (n,)
        The response less its mean.
    """

    def __init__(self, X, y: np.ndarray, center: bool):
        self.X = X
        n, p = X.shape
        if sparse.issparse(X):
            self.squares = np.asarray(X.multiply(X).sum(axis=0)).ravel()
        else:
            self.squares = np.einsum("ni,ni->i", X, X)
        self.means = np.asarray(X.mean(axis=0)).ravel() if center else np.zeros(p)
        self.mean = float(y.mean()) if center else 0.0
        self.response = y - self.mean
        if np.linalg.norm(self.response) <= CONSTANT * np.linalg.norm(y):
            self.response = np.zeros(n)

    @cached_property
    def powers(self) -> np.ndarray:
        """Squared norms of the centred columns, (p,); from differences, not from squared means."""
        if not self.means.any():
            return self.squares
        if sparse.issparse(self.X):
            powers = self._sparse_powers()
        else:
            powers = np.empty(len(self.means))
            # By blocks, so that no second copy of the design is ever held.
            for start in range(0, len(powers), 256):
                block = slice(start, start + 256)
                apart = self.X[:, block] - self.means[block]
                powers[block] = np.einsum("ni,ni->i", apart, apart)
        powers[powers <= CONSTANT**2 * self.squares] = 0.0
        return powers

    def column(self, index: int) -> np.ndarray:
        """One centred column, (n,)."""
        return self.columns(np.array([index]))[:, 0]

    def columns(self, indices: np.ndarray) -> np.ndarray:
        """Centred columns (n, k), dense."""
        columns = self.X[:, indices]
        columns = columns.toarray() if sparse.issparse(columns) else columns
        return columns - self.means[indices]

    def correlate(self, vector: np.ndarray) -> np.ndarray:
        """Inner products (p,) of a vector (n,) with the centred columns."""
        return self.X.T @ vector - vector.sum() * self.means

    def _sparse_powers(self) -> np.ndarray:
        entries = self.X.tocsc()
        filled = np.diff(entries.indptr)
        column = np.repeat(np.arange(len(filled)), filled)
        apart = (entries.data - self.means[column]) ** 2
        powers = np.bincount(column, weights=apart, minlength=len(filled))
        return powers + (self.X.shape[0] - filled) * self.means**2
