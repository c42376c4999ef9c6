"""A least-squares fit that follows its support without ever starting again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from greedyexp.kernels import column_basis as kernel
from greedyexp.kernels.gram_fit import GAIN_FLOOR, REFIT, SPAN
from greedyexp.losses.loss import TOLERANCE, Fit, Loss
from greedyexp.losses.squared_data import CentredData

# Columns there is room for at first; doubled when it is used up.
ROOM = 16
# Fresh residuals that may correct the coefficients before they count as not converged.
CORRECTIONS = 3
# Features named in a message.
NAMED = 6


class SquaredFit(Fit):
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
    loss : Loss
        The squared loss.
    data : CentredData
        Its design and response.
    """

    def __init__(self, loss: Loss, data: CentredData):
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

    def add(self, features: Sequence[int]) -> None:
        """Take features into the support, but for those in its span, and fit."""
        for feature in features:
            if feature not in self.support:
                self._take(int(feature))
        self._settle()

    def remove(self, features: Sequence[int]) -> None:
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
        self.params = np.zeros(self.loss.size + self.loss.n_dense)
        self.params[self.support] = coef
        self.params[self.loss.size :] = self._data.mean - self._data.means[self.support] @ coef
        gradient = np.zeros(len(self.params))
        barred = self._basis.outside <= self._limits
        barred[self.support] = True
        np.divide(self._basis.correlation, -n, out=gradient[: self.loss.size], where=~barred)
        self.full_gradient = gradient
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
