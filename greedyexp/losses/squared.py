"""Least squares, with an optional ridge and intercept."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from greedyexp.core.registry import loss
from greedyexp.kernels.column_basis import Basis
from greedyexp.kernels.gram_fit import GAIN_FLOOR, REFIT, SPAN
from greedyexp.kernels.scalar_losses import SQUARED
from greedyexp.losses.loss import TOLERANCE, Restricted
from greedyexp.losses.products_ahead import ProductsAhead
from greedyexp.losses.quadratic import QuadraticFit, QuadraticLoss
from greedyexp.problems.checks import (
    Indices,
    check_response_sizes,
    constant_columns,
    is_sparse,
    largest_feature,
    require_memory,
)
from greedyexp.problems.problem import Problem

# A sum smaller than this fraction of its terms is within rounding error.
_SUM_ROUNDING = 8 * np.finfo(float).eps
# A singular value smaller than this fraction of the largest is within rounding error.
_RANK = 1e-13

# Largest number of corrections of the coefficients from a fresh residual.
CORRECTIONS = 3
# A design is compact if it has at most this many columns, and at least this many rows for each.
_MOST_COLUMNS, _ROWS_PER_COLUMN = 256, 16
# Rows that are centred at a time.
_BLOCK = 4096
# A centred column is zero if its norm is at most this fraction of the norm before centring.
_CONSTANT = 1e-14
# A column may be constant if centring leaves at most this fraction of its squared norm.
_NEARLY_CONSTANT = 1e-20


class SquaredLoss(QuadraticLoss):
    """Q(b) = ||y - X b - b_0||^2 / (2 n) + ridge/2 ||b||^2.

    Parameters
    ----------
    X : array (n, p) or CSR array of scipy.sparse
        Finite float64 values.
    y : array (n,)
        Response.
    ridge : float >= 0
        Penalty on the selectable coefficients. The intercept is not penalised.
    intercept : bool
        If true, b_0 is the dense coefficient (q = 1). Otherwise b_0 = 0 and q = 0.

    Notes
    -----
    If y is orthogonal to all columns up to rounding, ``scale`` is max ||x_j|| ||y|| / n, or one if
    that is zero. With an intercept, y and x_j are centred first. If all columns are constant, their
    uncentred norms are used instead.

    The kernels of ``scalar_losses`` use ``kind`` and ``responses`` (n,).
    """

    kind = SQUARED

    def __init__(self, X, y, *, ridge: float = 0.0, intercept: bool = False):
        self.X = X
        self.y = self.responses = np.asarray(y, dtype=np.float64)
        self.n_samples = len(self.y)
        self.shape = (X.shape[1], 1)
        self.ridge = float(ridge)
        self.n_dense = int(intercept)
        self._data = CentredData(X, self.y, intercept)
        self.means = self._data.means if intercept else None
        own = self._data.powers / self.n_samples + self.ridge
        self._curvature = np.append(own, np.ones(self.n_dense))

    @cached_property
    def scale(self) -> float:
        response = self._data.response
        power = self._data.powers.max(initial=0.0) or self._data.squares.max(initial=0.0)
        largest = np.sqrt(power) * np.linalg.norm(response)
        slope = np.abs(self._data.correlation).max(initial=0.0)
        scale = slope if slope > _CONSTANT * largest else largest
        return float(scale) / self.n_samples if scale > 0.0 else 1.0

    @cached_property
    def largest_feature(self) -> float:
        return largest_feature(self.X)

    def value(self, params: np.ndarray) -> float:
        """Return Q."""
        residual = self._residual(params)
        selectable = params[: self.size]
        loss = residual @ residual / (2 * self.n_samples)
        return float(loss + 0.5 * self.ridge * (selectable @ selectable))

    def gradient(self, params: np.ndarray) -> np.ndarray:
        """Return the gradient of Q, shape (p + q,)."""
        data, selectable = self._data, params[: self.size]
        # Distance of the intercept from its optimum, zero if it is within rounding error.
        terms = np.concatenate((params[self.size :], data.means * selectable, [-data.mean]))
        offset = terms.sum() if self.n_dense else 0.0
        if abs(offset) <= _SUM_ROUNDING * np.abs(terms).sum():
            offset = 0.0
        residual = data.response - (self.X @ selectable - data.means @ selectable)
        gradient = np.empty(self.size + self.n_dense)
        gradient[: self.size] = self.ridge * selectable
        gradient[: self.size] -= data.correlate(residual) / self.n_samples - offset * data.means
        gradient[self.size :] = offset
        return gradient

    def strong_convexity(self, support: Indices) -> float:
        """Return the smallest eigenvalue of X_S^T X_S / n + ridge I; infinite for an empty support.

        With an intercept, the columns of X are centred. If there are more columns than rows (rows
        minus one with an intercept), the columns are linearly dependent and the result is the
        ridge.
        """
        support = np.asarray(support, dtype=np.int64)
        if not len(support):
            return np.inf
        if len(support) > self.n_samples - self.n_dense:
            return self.ridge
        values = np.linalg.svd(self._data.columns(support), compute_uv=False)
        # The smallest singular value of dependent columns is rounding error; no bound can use it.
        least = values[-1] if values[-1] > _RANK * values[0] else 0.0
        return float(least**2 / self.n_samples + self.ridge)

    def minimise(self, support: Indices, start: np.ndarray | None = None) -> Restricted:
        """Return the minimiser over the coefficients ``support`` and the intercept, by LAPACK.

        Parameters
        ----------
        support : sequence of int in [0, p)
            If its columns are linearly dependent and there is no ridge, the result is the minimiser
            of least norm, with columns scaled to norm one.
        start : array (p + q,), optional
            Ignored.
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
        return self._restricted(params, np.append(support, np.arange(self.size, len(params))))

    def removal_costs(self, params: np.ndarray, support: Indices) -> np.ndarray:
        """Return Q(b - b_i e_i) - Q(b) = h_i b_i^2 / 2 - g_i b_i for each i of the support."""
        support = np.asarray(support, dtype=np.int64)
        own = params[support]
        columns = self._data.columns(support)
        slope = self.ridge * own - columns.T @ self._residual(params) / self.n_samples
        return own * (0.5 * self._curvature[support] * own - slope)

    def row_losses(self, X, y: np.ndarray, params: np.ndarray) -> np.ndarray:
        """Return the squared residuals, shape (m, n)."""
        predicted = params[:, : self.size] @ X.T + params[:, self.size :].sum(axis=1)[:, None]
        return (y - predicted) ** 2

    def fit(self) -> SquaredFit:
        """Return the fit without features."""
        return SquaredFit(self, self._data)

    def _residual(self, params: np.ndarray) -> np.ndarray:
        return self.y - self.X @ params[: self.size] - params[self.size :].sum()


class SquaredFit(QuadraticFit[SquaredLoss]):
    """Least squares on a support that grows and shrinks.

    Adding a feature costs one product with the design. Removing one costs plane rotations. The
    coefficients are checked on a residual that is computed from the columns, and corrected if
    needed.

    With an intercept, columns are centred first; constant columns then count as zero columns. The
    additional entry of each column in a model with a ridge is sqrt(n ridge).

    Parameters
    ----------
    loss : SquaredLoss
    data : CentredData
        Design and response of the loss.
    """

    def __init__(self, loss: SquaredLoss, data: CentredData):
        super().__init__(loss)
        self._mean, self._means = data.mean, data.means
        self._data = data = data.compact()
        self._edge = float(np.sqrt(loss.n_samples * loss.ridge))
        self._powers = data.powers + self._edge**2
        # A zero column stays barred, even if its computed distance drifts.
        self._limits = np.where(self._powers > 0.0, SPAN * self._powers, np.inf)
        self._basis = Basis(data.response, data.correlation, self._powers, self._edge)
        # Additional entries would have to be projected, too.
        self._ahead = None if self._edge else ProductsAhead(data, self._basis)
        self._floor = GAIN_FLOOR * float(data.response @ data.response) / loss.n_samples
        self._solve()

    def refit_gains(self) -> np.ndarray:
        """Return the decrease of Q when a feature is added and all are refitted, for every feature.

        The decrease is (x_j^T res)^2 / (2 n d_j), the score of orthogonal least squares, where d_j
        is the squared distance of x_j from the span of the support. It is zero on the support and
        for barred columns.

        Returns
        -------
        array (p,)
        """
        self._measure_close_columns()
        outside = self._basis.outside
        outside = np.where(outside > self._limits, outside, np.inf)
        return self._gains(outside / self.loss.n_samples)

    def refit_removal_costs(self) -> np.ndarray:
        """Return the increase of Q when a feature is removed and the others are refitted.

        The increase is b_i^2 / (2 n (G^-1)_ii), with G = X_S^T X_S + n ridge I.

        Returns
        -------
        array (k,)
            In the order of the support.
        """
        own = self.params[self.support]
        return own * own / (2.0 * self.loss.n_samples * self._basis.inverse_diagonal())

    def _is_barred(self, feature: int) -> bool:
        return bool(self._basis.outside[feature] <= self._limits[feature])

    def _prepare_removal(self, place: int) -> None:
        self._basis.drop(place)
        if self._ahead:
            self._ahead.forget()

    def _add_feature(self, feature: int) -> None:
        if self._basis.size == self._basis.room:
            count = 2 * self._basis.room
            require_memory(
                8.0 * count * (2 * self.loss.n_samples + self.loss.size + count),
                f"a basis for up to {count} features",
                "End the selection earlier, by max_features or a threshold.",
            )
        column = self._data.column(feature)
        vector = self._basis.stage(column)
        if self._ahead:
            scores = np.abs(self.full_gradient[: self.loss.size])
            row = self._ahead.row(feature, column, vector, scores)
        else:
            row = self._data.correlate(vector)
        self._basis.take(row)
        self.support.append(feature)

    def _solve(self) -> None:
        n, size = self.loss.n_samples, len(self.support)
        coef = self._basis.coefficients()
        for left in range(CORRECTIONS, -1, -1):
            slopes, power = self._basis.check(coef)
            error = np.abs(slopes).max(initial=0.0) / n
            if error <= TOLERANCE * self.loss.scale or left == 0:
                break
            coef += self._basis.correction()
        self.value = power / (2 * n)
        self._params = np.zeros(self.loss.size + self.loss.n_dense)
        self.params[self.support] = coef
        self.params[self.loss.size :] = self._mean - self._means[self.support] @ coef
        gradient = np.zeros(len(self.params))
        barred = self._basis.outside <= self._limits
        barred[self.support] = True
        np.divide(self._basis.correlation, -n, out=gradient[: self.loss.size], where=~barred)
        self._full_gradient = gradient
        barred &= self._powers > 0.0
        barred[self.support] = False
        if size + self.loss.n_dense >= n:
            # The support spans all columns.
            barred[:] = False
        self._conclude(error, barred)

    def _measure_close_columns(self) -> None:
        """Recompute small distances of columns from the span, since updates lose digits."""
        outside = self._basis.outside
        close = (outside <= REFIT * self._powers) & (outside > self._limits)
        close[self.support] = False
        for feature in np.flatnonzero(close):
            outside[feature] = self._basis.distance(self._data.column(int(feature)))


class CentredData:
    """A design and a response, centred or not, without a centred copy of the design.

    Parameters
    ----------
    X : array (n, p) or CSR array of scipy.sparse
    y : array (n,)
    center : bool
        Whether to subtract means. Constant columns then count as zero, and so does a constant
        response.

    Attributes
    ----------
    squares : array (p,)
        ||x_j||^2 of the columns before centring.
    means : array (p,)
        Means of the columns; zero without centring.
    mean : float
        Mean of the response; zero without centring.
    response : array (n,)
        The response minus its mean.
    """

    def __init__(self, X, y: np.ndarray, center: bool):
        self.X = X
        n, p = X.shape
        if is_sparse(X):
            self.squares = np.asarray(X.multiply(X).sum(axis=0)).ravel()
        else:
            self.squares = np.einsum("ni,ni->i", X, X)
        self.means = np.asarray(X.mean(axis=0)).ravel() if center else np.zeros(p)
        self.mean = float(y.mean()) if center else 0.0
        self.response = y - self.mean
        if np.linalg.norm(self.response) <= _CONSTANT * np.linalg.norm(y):
            self.response = np.zeros(n)

    @cached_property
    def correlation(self) -> np.ndarray:
        """Inner products of the response with the centred columns, shape (p,)."""
        return self.correlate(self.response)

    @cached_property
    def powers(self) -> np.ndarray:
        """Squared norms of the centred columns, computed from differences, shape (p,)."""
        if not self.means.any():
            return self.squares
        if is_sparse(self.X):
            powers = self._sparse_powers()
        else:
            powers = np.empty(len(self.means))
            # Use blocks of columns to avoid a full copy of the design.
            for start in range(0, len(powers), 256):
                block = slice(start, start + 256)
                apart = self.X[:, block] - self.means[block]
                powers[block] = np.einsum("ni,ni->i", apart, apart)
        # The mean of a constant column has rounding errors.
        near = np.flatnonzero(powers <= _NEARLY_CONSTANT * self.squares)
        if len(near):
            powers[near[constant_columns(self.X[:, near])]] = 0.0
        powers[powers <= _CONSTANT**2 * self.squares] = 0.0
        return powers

    def compact(self) -> CentredData:
        """Return data of few rows with the same inner products, if there are many rows.

        They are the triangular factor of the centred design and response. Its squared condition
        number enters the rounding errors, so nearly dependent columns keep their rows, and so does
        a response that is nearly in the span of the columns.
        """
        n, p = self.X.shape
        if is_sparse(self.X) or p > _MOST_COLUMNS or n < max(_ROWS_PER_COLUMN * p, _BLOCK):
            return self
        gram = np.zeros((p + 1, p + 1))
        for start in range(0, n, _BLOCK):
            rows = slice(start, start + _BLOCK)
            block = np.column_stack((self.X[rows] - self.means, self.response[rows]))
            gram += block.T @ block
        norms = np.sqrt(np.diag(gram))
        if not (self.powers.all() and norms[p]):
            return self
        gram /= np.outer(norms, norms)
        if np.linalg.eigvalsh(gram)[0] < REFIT:
            return self
        factor = np.linalg.cholesky(gram).T * norms
        return CentredData(factor[:, :p], factor[:, p], center=False)

    def column(self, index: int) -> np.ndarray:
        """Return one centred column, shape (n,)."""
        return self.columns(np.array([index]))[:, 0]

    def columns(self, indices: np.ndarray) -> np.ndarray:
        """Return centred columns as a dense array, shape (n, k)."""
        columns = self.X[:, indices]
        columns = columns.toarray() if is_sparse(columns) else columns
        return columns - self.means[indices]

    def correlate(self, vector: np.ndarray) -> np.ndarray:
        """Return inner products of a vector (n,) with the centred columns, shape (p,)."""
        return self.X.T @ vector - vector.sum() * self.means

    def _sparse_powers(self) -> np.ndarray:
        entries = self.X.tocsc()
        filled = np.diff(entries.indptr)
        column = np.repeat(np.arange(len(filled)), filled)
        apart = (entries.data - self.means[column]) ** 2
        powers = np.bincount(column, weights=apart, minlength=len(filled))
        return powers + (self.X.shape[0] - filled) * self.means**2


@loss("squared", title="Squared loss", least_squares=True, has_kernel=True)
def squared(problem: Problem, *, ridge: float, intercept: bool) -> SquaredLoss:
    """Mean of (y_i - x_i b)^2 / 2."""
    check_response_sizes(problem.y)
    return SquaredLoss(problem.X[0], problem.y[0], ridge=ridge, intercept=intercept)
