"""Least squares, with an optional ridge and intercept."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from greedyexp.kernels import column_basis as kernel
from greedyexp.kernels.gram_fit import GAIN_FLOOR, REFIT, SPAN
from greedyexp.kernels.scalar_losses import SQUARED
from greedyexp.losses.loss import TOLERANCE, Fit, Loss, LossKind, Restricted
from greedyexp.problems.checks import Indices, is_sparse, largest_feature, refuse_response_size
from greedyexp.problems.problem import Problem

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

    def strong_convexity(self, support: Indices) -> float:
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

    def minimise(self, support: Indices, start: np.ndarray | None = None) -> Restricted:
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

    def removal_costs(self, params: np.ndarray, support: Indices) -> np.ndarray:
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


# Columns there is room for at first; doubled when it is used up.
ROOM = 16
# Fresh residuals that may correct the coefficients before they count as not converged.
CORRECTIONS = 3
# Features named in a message.
NAMED = 6


class SquaredFit(Fit[SquaredLoss]):
    """The least-squares fit on a support that grows and shrinks.

    Adding a feature costs one product with the design, removing one plane rotations. Coefficients
    are checked, and corrected if need be, on a residual computed afresh from the columns.

    A column whose squared sine of the angle to the span of the support is at most 1e-10 (less
    means, with an intercept) is barred: ``add`` leaves it out, and its gradient and gains count as
    zero until a removal frees it. ``message`` names the barred columns other than zero ones and
    those that are constant beside an intercept. With a ridge a column counts as having one entry
    more of its own, sqrt(n ridge), so that only a tiny ridge lets it lie in the span of others.

    Parameters
    ----------
    loss : SquaredLoss
    data : CentredData
        Its design and response.
    """

    def __init__(self, loss: SquaredLoss, data: CentredData):
        self.loss = loss
        self.support: list[int] = []
        self._data = data
        self._slots: list[int] = []
        self._edge = np.sqrt(loss.n_samples * loss.ridge)
        self._curvature = loss.smoothness[: loss.size]
        self._powers = data.powers + self._edge**2
        # A column of zeros is barred for good, whatever drift its distance shows.
        self._limits = np.where(self._powers > 0.0, SPAN * self._powers, np.inf)
        self._response = self._widened(data.response, ROOM)
        self._columns = np.zeros((ROOM, len(self._response)))
        correlation = data.correlate(data.response)
        self._basis = kernel.empty(self._response, correlation, self._powers, ROOM)
        self._floor = GAIN_FLOOR * float(data.response @ data.response) / loss.n_samples
        self._settle()

    def add(self, features: Indices) -> None:
        """Take features into the support, but for those in its span, and fit."""
        for feature in features:
            if feature not in self.support:
                self._take(int(feature))
        self._settle()

    def remove(self, features: Indices) -> None:
        """Take features out of the support and fit."""
        for feature in features:
            place = self.support.index(feature)
            kernel.drop(self._basis, len(self.support), place)
            del self.support[place]
            del self._slots[place]
        self._settle()

    def gains(self) -> np.ndarray:
        """Q(b) - min_a Q(b + a e_j) for every feature (p,): g_j^2 / (2 h_j)."""
        return self._gains(self._curvature)

    def refit_gains(self) -> np.ndarray:
        """Decrease of Q when a feature joins and all are fitted again, for every feature (p,).

        (x_j^T res)^2 / (2 n d_j) with d_j the squared distance of x_j from the span of the support,
        the score of orthogonal least squares; zero on the support and for barred columns.
        """
        self._measure_close_columns()
        outside = self._basis.outside
        outside = np.where(outside > self._limits, outside, np.inf)
        return self._gains(outside / self.loss.n_samples)

    def removal_costs(self) -> np.ndarray:
        """Q(b - b_i e_i) - Q(b) for each i of the support: h_i b_i^2 / 2, the gradient being 0."""
        own = self.params[self.support]
        return 0.5 * self._curvature[self.support] * own * own

    def refit_removal_costs(self) -> np.ndarray:
        """Increase of Q when a feature leaves and the others are fitted again, in support order.

        b_i^2 / (2 n (G^-1)_ii), with G = X_S^T X_S + n ridge I.
        """
        own = self.params[self.support]
        diagonal = kernel.inverse_diagonal(self._basis, len(self.support))
        return own * own / (2.0 * self.loss.n_samples * diagonal)

    def _gains(self, curvature: np.ndarray) -> np.ndarray:
        """g_j^2 / (2 curvature_j), zero where it is not above rounding."""
        slope = self.full_gradient[: self.loss.size]
        gains = np.zeros(len(slope))
        np.divide(slope * slope, 2.0 * curvature, out=gains, where=slope != 0.0)
        gains[gains <= self._floor] = 0.0
        return gains

    def _take(self, feature: int) -> None:
        size = len(self.support)
        if self._basis.outside[feature] <= self._limits[feature]:
            return
        self._make_room(size + 1)
        n = self.loss.n_samples
        slot = next(free for free in range(len(self._columns)) if free not in self._slots)
        column = self._columns[slot]
        column[:n] = self._data.column(feature)
        column[n:] = 0.0
        if self._edge:
            column[n + slot] = self._edge
        vector = column.copy()
        length = np.sqrt(kernel.project(self._basis, size, vector))
        vector /= length
        kernel.take(self._basis, size, vector, self._data.correlate(vector[:n]), length)
        self.support.append(feature)
        self._slots.append(slot)

    def _settle(self) -> None:
        """Coefficients, value, gradient and certificate of the present support."""
        n, size = self.loss.n_samples, len(self.support)
        slots = np.array(self._slots, dtype=np.int64)
        coef = kernel.coefficients(self._basis, size)
        for left in range(CORRECTIONS, -1, -1):
            residual, slope = kernel.residual_of(self._response, self._columns, slots, coef)
            error = np.abs(slope).max(initial=0.0) / n
            if error <= TOLERANCE * self.loss.scale or left == 0:
                break
            coef += kernel.correction(self._basis, size, residual)
        self.converged = bool(error <= TOLERANCE * self.loss.scale)
        self.value = float(residual @ residual) / (2 * n)
        self._params = np.zeros(self.loss.size + self.loss.n_dense)
        self.params[self.support] = coef
        self.params[self.loss.size :] = self._data.mean - self._data.means[self.support] @ coef
        gradient = np.zeros(len(self.params))
        barred = self._basis.outside <= self._limits
        barred[self.support] = True
        np.divide(self._basis.correlation, -n, out=gradient[: self.loss.size], where=~barred)
        self._full_gradient = gradient
        self.message = self._report(barred)

    def _report(self, barred: np.ndarray) -> str:
        """A sentence on columns left out, none when the support spans all there is."""
        barred = barred & (self._powers > 0.0)
        barred[self.support] = False
        features = np.flatnonzero(barred)
        complete = len(self.support) + self.loss.n_dense >= self.loss.n_samples
        parts = []
        if len(features) and not complete:
            named = ", ".join(str(feature) for feature in features[:NAMED])
            more = f" and {len(features) - NAMED} more" if len(features) > NAMED else ""
            parts.append(f"features in the span of those selected were left out: {named}{more}.")
        if not self.converged:
            parts.append("the least-squares fit does not reach its tolerance.")
        return " ".join(parts)

    def _measure_close_columns(self) -> None:
        """Distances of columns close to the span afresh: differences have lost their digits."""
        outside = self._basis.outside
        close = (outside <= REFIT * self._powers) & (outside > self._limits)
        close[self.support] = False
        vectors = self._basis.vectors[: len(self.support)]
        column = np.zeros(len(self._response))
        for feature in np.flatnonzero(close):
            column[: self.loss.n_samples] = self._data.column(int(feature))
            column[self.loss.n_samples :] = 0.0
            for _ in range(2):
                column -= vectors.T @ (vectors @ column)
            outside[feature] = column @ column + self._edge**2

    def _make_room(self, needed: int) -> None:
        if needed < len(self._columns):
            return
        room = 2 * len(self._columns)
        self._response = self._widened(self._response[: self.loss.n_samples], room)
        width = len(self._response)
        self._columns = _grown(self._columns, (room, width))
        old = self._basis
        self._basis = kernel.Basis(
            _grown(old.vectors, (room, width)),
            _grown(old.rows, (room, self.loss.size)),
            _grown(old.factor, (room, room)),
            _grown(old.rotated, (room,)),
            _grown(old.residual, (width,)),
            old.correlation,
            old.outside,
        )

    def _widened(self, vector: np.ndarray, room: int) -> np.ndarray:
        """A vector over the samples, with zeros for the ridge's entries of that many columns."""
        return np.append(vector, np.zeros(room if self._edge else 0))


def _grown(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    larger = np.zeros(shape)
    larger[tuple(slice(length) for length in array.shape)] = array
    return larger


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
        if is_sparse(X):
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
        if is_sparse(self.X):
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
        columns = columns.toarray() if is_sparse(columns) else columns
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
