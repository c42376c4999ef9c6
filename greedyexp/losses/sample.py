"""Losses that are a mean over samples of a function of the prediction and the response."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from greedyexp.losses.loss import UNCONVERGED, Loss, Restricted
from greedyexp.losses.quasi_newton import descend
from greedyexp.losses.signed_columns import SignedColumns, derivative_tolerance
from greedyexp.problems.checks import Indices

# Entries of the columns whose lines are searched together.
_BLOCK = 1 << 18
_MOST_SEARCHES = 200
# Along a line without a minimum, the search ends where the column has moved predictions this far.
_FARTHEST = 1e12
# Eigenvalues of a Hessian below this fraction of the largest count as this fraction.
_LEAST_CURVATURE = 1e-12


class SampleLoss(Loss):
    """Q(b, c) = mean_i L(x_i b + c, y_i) + ridge / 2 ||b||^2 for a convex smooth L >= 0.

    A subclass defines L by three functions of predictions and responses, and ``beta``. Everything
    that algorithms need follows from these. A loss with closed forms can override more.

    Parameters
    ----------
    X : array (n, p) or sparse array
    y : array (n,)
        Responses, as the three functions take them.
    ridge : float >= 0
        Penalty on the selectable coefficients.
    intercept : bool
        If true, c is a dense coefficient without a penalty. Otherwise c = 0.

    Attributes
    ----------
    beta : float > 0
        Upper bound of the second derivative of L in the prediction. Every subclass sets it.
    """

    # For the fit without features, which gives each loss its own scale.
    scale = 1.0

    def __init__(self, X, y: np.ndarray, *, ridge: float = 0.0, intercept: bool = False):
        self.y = np.asarray(y, dtype=np.float64)
        self.n_samples = len(self.y)
        self.columns = SignedColumns(X, np.ones(self.n_samples), centre=intercept)
        self.means = self.columns.means if intercept else None
        self.shape = (self.columns.n_features, 1)
        self.n_dense = int(intercept)
        self.ridge = float(ridge)
        self.penalty = np.append(np.full(self.size, self.ridge), np.zeros(self.n_dense))
        null = self.minimise([])
        slopes = self.slopes(self._predictions(null.params), self.y)
        largest = float(np.abs(slopes).mean()) or 1.0
        self.scale = self.columns.scale_of(null.gradient[: self.size], largest)

    @abstractmethod
    def losses(self, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return L >= 0, in the shape of the predictions (..., n); y has shape (n,)."""

    @abstractmethod
    def slopes(self, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the derivatives of L in the prediction, in the shape of the predictions."""

    @abstractmethod
    def curvatures(self, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the second derivatives of L in the prediction, from 0 to ``beta``."""

    @property
    def largest_feature(self) -> float:
        return self.columns.largest

    @property
    def smoothness(self) -> np.ndarray:
        powers = self.columns.powers(np.full(self.n_samples, self.beta)) / self.n_samples
        return np.append(powers, np.full(self.n_dense, self.beta)) + self.penalty

    def value(self, params: np.ndarray) -> float:
        mean = float(self.losses(self._predictions(params), self.y).mean())
        return mean + 0.5 * float(self.penalty @ params**2)

    def gradient(self, params: np.ndarray) -> np.ndarray:
        slopes = self.slopes(self._predictions(params), self.y) / self.n_samples
        sums = self.columns.times(slopes)
        if self.means is not None:
            sums = np.append(sums + slopes.sum() * self.means, slopes.sum())
        return sums + self.penalty * params

    def coordinate_minima(self, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return steps a_j and gains Q(b) - min_a Q(b + a e_j), both (d,).

        Along a column without a minimum the step is large, and the gain is that of this step.
        """
        predictions, coef = self._predictions(params), params[: self.size]
        width = max(1, _BLOCK // self.n_samples)
        blocks = [range(first, first + width) for first in range(0, self.size, width)]
        found = []
        for block in blocks:
            features = np.array(block[: self.size - block.start])
            rows = self.columns.rows(features)
            steps = self._line_minima(rows, predictions, coef[features])
            moved = self.losses(predictions + steps[:, None] * rows, self.y)
            gains = (self.losses(predictions, self.y) - moved).mean(axis=1)
            gains -= 0.5 * self.ridge * steps * (2.0 * coef[features] + steps)
            found.append((steps, np.maximum(gains, 0.0)))
        steps, gains = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return steps, gains

    def _line_minima(
        self, rows: np.ndarray, predictions: np.ndarray, coef: np.ndarray
    ) -> np.ndarray:
        """Return the minimising steps along columns, by Newton's method inside a bracket.

        Parameters
        ----------
        rows : array (k, n)
            The columns.
        coef : array (k,)
            Their coefficients.
        """
        tolerance = derivative_tolerance(np.abs(rows).mean(axis=1), self.scale)
        reach = np.abs(rows).max(axis=1, initial=0.0)
        steps, low, high = (
            np.zeros(len(rows)),
            np.full(len(rows), -np.inf),
            np.full(len(rows), np.inf),
        )
        open_ = np.flatnonzero(reach > 0)
        for _ in range(_MOST_SEARCHES):
            columns, at = rows[open_], steps[open_]
            moved = predictions + at[:, None] * columns
            slope = (self.slopes(moved, self.y) * columns).mean(axis=1)
            slope += self.ridge * (coef[open_] + at)
            left = np.abs(slope) > tolerance[open_]
            left &= np.abs(at) * reach[open_] < _FARTHEST
            if not left.any():
                break
            open_, columns, at, slope = open_[left], columns[left], at[left], slope[left]
            bend = (self.curvatures(moved[left], self.y) * columns**2).mean(axis=1) + self.ridge
            high[open_] = np.where(slope > 0, at, high[open_])
            low[open_] = np.where(slope < 0, at, low[open_])
            steps[open_] = _next_steps(at, slope, bend, low[open_], high[open_], reach[open_])
        return steps

    def minimise(self, support: Indices, start: np.ndarray | None = None) -> Restricted:
        places = np.asarray(support, dtype=np.int64)
        rows = np.vstack([np.ones((self.n_dense, self.n_samples)), self.columns.rows(places)])
        penalty = np.append(np.zeros(self.n_dense), np.full(len(places), self.ridge))
        weights = np.zeros(len(rows))
        # The intercept of centred columns differs from that of the columns.
        shift = np.zeros(len(places)) if self.means is None else self.means[places]
        if start is not None:
            weights[self.n_dense :] = start[places]
            weights[: self.n_dense] = start[self.size :] + shift @ start[places]

        def function(weights: np.ndarray) -> tuple[float, np.ndarray]:
            predictions = weights @ rows
            value = float(self.losses(predictions, self.y).mean() + penalty @ weights**2 / 2)
            slopes = self.slopes(predictions, self.y) / self.n_samples
            return value, rows @ slopes + penalty * weights

        tolerance = derivative_tolerance(np.abs(rows).mean(axis=1), self.scale)
        bends = self.curvatures(weights @ rows, self.y) / self.n_samples
        inverse = _inverse((rows * bends) @ rows.T + np.diag(penalty))
        end = descend(function, weights, tolerance, inverse)
        params = np.zeros(self.size + self.n_dense)
        params[places] = end.x[self.n_dense :]
        params[self.size :] = end.x[: self.n_dense] - shift @ params[places]
        message = "" if end.converged else UNCONVERGED
        return Restricted(params, end.value, self.gradient(params), end.converged, message)

    def row_losses(self, X, y: np.ndarray, params: np.ndarray) -> np.ndarray:
        predictions = params[:, : self.size] @ X.T + params[:, self.size :].sum(axis=1)[:, None]
        return self.losses(predictions, np.asarray(y, dtype=np.float64))

    def _predictions(self, params: np.ndarray) -> np.ndarray:
        coef = params[: self.size]
        predictions = self.columns.sum_of(coef)
        return (
            predictions
            if self.means is None
            else predictions + params[self.size] + self.means @ coef
        )


def _next_steps(at, slope, bend, low, high, reach) -> np.ndarray:
    """Return Newton steps where they stay in the bracket, and otherwise its middle.

    Without a bracket, a step at most quadruples, or begins at a prediction of 1.
    """
    farther = 4.0 * np.maximum(np.abs(at), 0.25 / reach)
    with np.errstate(divide="ignore", invalid="ignore"):
        newton = at - np.where(
            bend > 0, np.clip(slope / bend, -farther, farther), farther * np.sign(slope)
        )
    inside = (low < newton) & (newton < high)
    with np.errstate(invalid="ignore"):
        middle = np.where(np.isfinite(low) & np.isfinite(high), (low + high) / 2, at)
        return np.where(inside, newton, middle)


def _inverse(hessian: np.ndarray) -> np.ndarray | None:
    """Return the inverse of a positive semidefinite matrix whose small eigenvalues are raised."""
    if not hessian.size:
        return None
    values, vectors = np.linalg.eigh(hessian)
    if values[-1] <= 0:
        return None
    return (vectors / np.maximum(values, _LEAST_CURVATURE * values[-1])) @ vectors.T
