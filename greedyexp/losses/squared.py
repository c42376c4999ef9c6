"""Least squares, with a ridge and an intercept when asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from greedyexp.losses.loss import TOLERANCE, Loss, Restricted

# A response that centring leaves with less than this part of its norm is a constant.
CONSTANT = 1e-14


class SquaredLoss(Loss):
    """Q(b) = ||y - X b - b_0||^2 / (2 n) + ridge/2 ||b||^2.

    Parameters
    ----------
    X : array (n, p) or CSR array of scipy.sparse
        Finite float64 values.
    y : array (n,)
        Response.
    ridge : float >= 0
        On the selectable coefficients, not on the intercept.
    intercept : bool
        Whether there is b_0, the dense coefficient (q = 1); without it b_0 = 0 and q = 0.

    Notes
    -----
    Without any feature Q is 1/2 the mean square of y, or 1/2 its variance with an intercept. When
    that is zero, so are all gradients there, and ``scale`` is one.
    """

    def __init__(self, X, y, *, ridge: float = 0.0, intercept: bool = False):
        self.X = X
        self.y = np.asarray(y, dtype=np.float64)
        self.n_samples = len(self.y)
        self.shape = (X.shape[1], 1)
        self.ridge = float(ridge)
        self.n_dense = int(intercept)
        if sparse.issparse(X):
            squares = np.asarray(X.multiply(X).sum(axis=0)).ravel()
        else:
            squares = np.einsum("ni,ni->i", X, X)
        own = squares / self.n_samples + self.ridge
        self._curvature = np.append(own, np.ones(self.n_dense))
        self.scale = float(np.abs(X.T @ self._offset_response()).max(initial=0.0) / self.n_samples)
        if not self.scale > 0.0:
            self.scale = 1.0

    def value(self, params: np.ndarray) -> float:
        """Q."""
        residual = self._residual(params)
        selectable = params[: self.size]
        loss = residual @ residual / (2 * self.n_samples)
        return float(loss + 0.5 * self.ridge * (selectable @ selectable))

    def gradient(self, params: np.ndarray) -> np.ndarray:
        """Gradient of Q, shape (p + q,)."""
        residual = self._residual(params)
        gradient = np.empty(self.size + self.n_dense)
        gradient[: self.size] = self.ridge * params[: self.size]
        gradient[: self.size] -= self.X.T @ residual / self.n_samples
        gradient[self.size :] = -residual.mean()
        return gradient

    def curvature(self, params: np.ndarray) -> np.ndarray:
        """||x_j||^2 / n + ridge, and one for the intercept: the same everywhere, (p + q,)."""
        return self._curvature.copy()

    @property
    def smoothness(self) -> np.ndarray:
        """The curvature itself, shape (p + q,)."""
        return self._curvature.copy()

    def coordinate_minima(self, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Steps -g_j / h_j and gains g_j^2 / (2 h_j), both (p,); zero for a zero column."""
        slope = self.gradient(params)[: self.size]
        own = self._curvature[: self.size]
        step = np.zeros(self.size)
        np.divide(-slope, own, out=step, where=own > 0.0)
        return step, -0.5 * slope * step

    def minimise(self, support: Sequence[int], start: np.ndarray | None = None) -> Restricted:
        """The minimiser over the coefficients ``support`` and the intercept, by least squares.

        Parameters
        ----------
        support : sequence of int in [0, p)
            Columns that depend on each other share their coefficient so that its norm, in units
            of the columns, is least.
        start : array (p + q,), optional
            Not needed.
        """
        support = np.asarray(support, dtype=np.int64)
        columns = self._columns(support)
        center = columns.mean(axis=0) if self.n_dense else np.zeros(len(support))
        columns = columns - center
        norms = np.sqrt(np.einsum("ni,ni->i", columns, columns) + self.n_samples * self.ridge)
        norms[norms == 0.0] = 1.0
        below = np.diag(np.full(len(support), np.sqrt(self.n_samples * self.ridge)))
        right = np.append(self._offset_response(), np.zeros(len(support)))
        fitted = np.linalg.lstsq(np.vstack([columns, below]) / norms, right, rcond=None)[0] / norms
        params = np.zeros(self.size + self.n_dense)
        params[support] = fitted
        if self.n_dense:
            params[-1] = self.y.mean() - center @ fitted
        gradient = self.gradient(params)
        free = np.append(support, np.arange(self.size, len(params)))
        certified = np.abs(gradient[free]).max(initial=0.0) <= TOLERANCE * self.scale
        return Restricted(params, self.value(params), gradient, bool(certified))

    def removal_costs(self, params: np.ndarray, support: Sequence[int]) -> np.ndarray:
        """Q(b - b_i e_i) - Q(b) for each i of the support: h_i b_i^2 / 2 - g_i b_i."""
        support = np.asarray(support, dtype=np.int64)
        own = params[support]
        slope = self.ridge * own
        slope -= self._columns(support).T @ self._residual(params) / self.n_samples
        return own * (0.5 * self._curvature[support] * own - slope)

    def _residual(self, params: np.ndarray) -> np.ndarray:
        residual = self.y - self.X @ params[: self.size]
        return residual - params[-1] if self.n_dense else residual

    def _offset_response(self) -> np.ndarray:
        """The response less its mean when there is an intercept, exactly zero for a constant."""
        if not self.n_dense:
            return self.y
        offset = self.y - self.y.mean()
        if np.linalg.norm(offset) <= CONSTANT * np.linalg.norm(self.y):
            return np.zeros_like(offset)
        return offset

    def _columns(self, support: np.ndarray) -> np.ndarray:
        """Columns of the design, a dense array (n, k)."""
        columns = self.X[:, support]
        return columns.toarray() if sparse.issparse(columns) else columns
