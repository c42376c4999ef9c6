"""Least squares, with a ridge and an intercept when asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from greedyexp.kernels.scalar_losses import SQUARED
from greedyexp.losses.feature_size import largest_feature
from greedyexp.losses.loss import TOLERANCE, Loss, LossKind, Restricted
from greedyexp.losses.squared_data import CONSTANT, CentredData
from greedyexp.losses.squared_fit import SquaredFit
from greedyexp.problems.problem import Problem
from greedyexp.problems.scales import refuse_response_size

# A sum that is a smaller part of its terms is their rounding.
SUM_ROUNDING = 8 * np.finfo(float).eps
# A singular value that is a smaller part of the largest is the rounding of the decomposition.
RANK = 1e-13


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
    Where y is orthogonal to all columns, but for rounding, ``scale`` is max ||x_j|| ||y|| / n (one
    when that is zero), y and x_j less their means when there is an intercept, unless all x_j are
    constant then, which leaves nothing but their size to judge rounding by.

    ``kind`` and ``responses`` (n,) are what the kernels of ``scalar_losses`` take.
    """

    kind = SQUARED
    beta = 1.0

    def __init__(self, X, y, *, ridge: float = 0.0, intercept: bool = False):
        self.X = X
        self.y = np.asarray(y, dtype=np.float64)
        self.n_samples = len(self.y)
        self.shape = (X.shape[1], 1)
        self.ridge = float(ridge)
        self.n_dense = int(intercept)
        self._data = CentredData(X, self.y, intercept)
        own = self._data.squares / self.n_samples + self.ridge
        self._curvature = np.append(own, np.ones(self.n_dense))
        response = self._data.response
        power = self._data.powers.max(initial=0.0) or self._data.squares.max(initial=0.0)
        largest = np.sqrt(power) * np.linalg.norm(response)
        slope = np.abs(self._data.correlate(response)).max(initial=0.0)
        scale = slope if slope > CONSTANT * largest else largest
        self.scale = float(scale) / self.n_samples if scale > 0.0 else 1.0

    @property
    def responses(self) -> np.ndarray:
        return self.y

    @cached_property
    def largest_feature(self) -> float:
        return largest_feature(self.X)

    def value(self, params: np.ndarray) -> float:
        """Q."""
        residual = self._residual(params)
        selectable = params[: self.size]
        loss = residual @ residual / (2 * self.n_samples)
        return float(loss + 0.5 * self.ridge * (selectable @ selectable))

    def gradient(self, params: np.ndarray) -> np.ndarray:
        """Gradient of Q, shape (p + q,)."""
        data, selectable = self._data, params[: self.size]
        # How far the intercept is from the best one, unless only rounding tells them apart.
        terms = np.concatenate((params[self.size :], data.means * selectable, [-data.mean]))
        offset = terms.sum() if self.n_dense else 0.0
        if abs(offset) <= SUM_ROUNDING * np.abs(terms).sum():
            offset = 0.0
        residual = data.response - (self.X @ selectable - data.means @ selectable)
        gradient = np.empty(self.size + self.n_dense)
        gradient[: self.size] = self.ridge * selectable
        gradient[: self.size] -= data.correlate(residual) / self.n_samples - offset * data.means
        gradient[self.size :] = offset
        return gradient

    def curvature(self, params: np.ndarray) -> np.ndarray:
        """||x_j||^2 / n + ridge, and one for the intercept: the same everywhere, (p + q,)."""
        return self._curvature.copy()

    @property
    def smoothness(self) -> np.ndarray:
        """The curvature itself, shape (p + q,)."""
        return self._curvature.copy()

    def strong_convexity(self, support: Sequence[int]) -> float:
        """The smallest eigenvalue of X_S^T X_S / n + ridge I, infinite for no column.

        With an intercept X stands for the columns less their means. More columns than there are
        rows (less one) depend on each other, which leaves the ridge.
        """
        support = np.asarray(support, dtype=np.int64)
        if not len(support):
            return np.inf
        if len(support) > self.n_samples - self.n_dense:
            return self.ridge
        values = np.linalg.svd(self._data.columns(support), compute_uv=False)
        # A singular value of dependent columns is rounding, which no bound can rest on.
        least = values[-1] if values[-1] > RANK * values[0] else 0.0
        return float(least**2 / self.n_samples + self.ridge)

    def coordinate_minima(self, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Steps -g_j / h_j and gains g_j^2 / (2 h_j), both (p,); zero for a zero column."""
        slope = self.gradient(params)[: self.size]
        own = self._curvature[: self.size]
        step = np.zeros(self.size)
        np.divide(-slope, own, out=step, where=own > 0.0)
        return step, -0.5 * slope * step

    def minimise(self, support: Sequence[int], start: np.ndarray | None = None) -> Restricted:
        """The minimiser over the coefficients ``support`` and the intercept, by LAPACK.

        Parameters
        ----------
        support : sequence of int in [0, p)
            Of columns that depend on each other, and no ridge, the minimiser is the one with the
            least norm in units of the columns.
        start : array (p + q,), optional
            Not needed.
        """
        support = np.asarray(support, dtype=np.int64)
        below = np.diag(np.full(len(support), np.sqrt(self.n_samples * self.ridge)))
        matrix = np.vstack([self._data.columns(support), below])
        norms = np.sqrt(np.einsum("ni,ni->i", matrix, matrix))
        norms[norms == 0.0] = 1.0
        right = np.append(self._data.response, np.zeros(len(support)))
        fitted = np.linalg.lstsq(matrix / norms, right, rcond=None)[0] / norms
        params = np.zeros(self.size + self.n_dense)
        params[support] = fitted
        params[self.size :] = self._data.mean - self._data.means[support] @ fitted
        gradient = self.gradient(params)
        free = np.append(support, np.arange(self.size, len(params)))
        certified = np.abs(gradient[free]).max(initial=0.0) <= TOLERANCE * self.scale
        return Restricted(params, self.value(params), gradient, bool(certified))

    def removal_costs(self, params: np.ndarray, support: Sequence[int]) -> np.ndarray:
        """Q(b - b_i e_i) - Q(b) for each i of the support: h_i b_i^2 / 2 - g_i b_i."""
        support = np.asarray(support, dtype=np.int64)
        own = params[support]
        columns = self.X[:, support]
        slope = self.ridge * own - columns.T @ self._residual(params) / self.n_samples
        return own * (0.5 * self._curvature[support] * own - slope)

    def row_losses(self, X, y: np.ndarray, params: np.ndarray) -> np.ndarray:
        """Squared residuals, (m, n)."""
        predicted = params[:, : self.size] @ X.T + params[:, self.size :].sum(axis=1)[:, None]
        return (y - predicted) ** 2

    def fit(self) -> SquaredFit:
        """The fit without any feature, ready to take some."""
        return SquaredFit(self, self._data)

    def _residual(self, params: np.ndarray) -> np.ndarray:
        return self.y - self.X @ params[: self.size] - params[self.size :].sum()


def _build(problem: Problem, *, ridge: float, intercept: bool) -> SquaredLoss:
    refuse_response_size(problem.y[0])
    return SquaredLoss(problem.X[0], problem.y[0], ridge=ridge, intercept=intercept)


KIND = LossKind("squared", _build)
