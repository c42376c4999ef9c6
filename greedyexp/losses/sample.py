"""Losses that are a mean over samples of a function of the prediction and the response."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable

import numpy as np
import scipy

from greedyexp.core.listing import listed
from greedyexp.losses.loss import TIE, UNCONVERGED, Loss, PlainFit, Restricted, highest
from greedyexp.losses.quasi_newton import Descent, descend
from greedyexp.losses.recession import NAMED, NO_WEIGHT, direction_of_fall
from greedyexp.losses.signed_columns import SignedColumns, derivative_tolerance
from greedyexp.problems.checks import Indices

# Entries of the columns whose lines are searched together.
_BLOCK = 1 << 15
_MOST_NEWTON, _MOST_SEARCHES = 50, 200
# Number of lines of largest expected gain that are searched before others are ruled out.
_FEW = 4
# Along a line without a minimum, the search ends where the column has moved predictions this far.
_FARTHEST = 1e12
# Eigenvalues of a Hessian below this fraction of the largest count as this fraction.
_LEAST_CURVATURE = 1e-12
# If the pivots of a Hessian differ by less, its eigenvalues are not computed.
_WELL = 1e-4

# Steps of a search at which a function of the loss overflows are too long.
_may_overflow = np.errstate(over="ignore", invalid="ignore")


class SampleLoss(Loss):
    """Q(b, c) = mean_i L(x_i b + c, y_i) + ridge / 2 ||b||^2 for a convex smooth L >= 0.

    A subclass defines L by three functions of predictions and responses, and ``beta``. Everything
    that algorithms need follows from these. A loss with closed forms can override more. If L can
    fall forever, the subclass also defines ``falls_forever``, so that a fit without a minimum is
    not converged, and ``message`` lists features along which the loss falls. The functions may
    overflow for large predictions; searches then take shorter steps.

    Parameters
    ----------
    X : array (n, p) or sparse array, or SignedColumns with signs of 1, which are then shared
    y : array (n,)
        Responses; the three functions take what ``coded`` makes of them.
    ridge : float >= 0
        Penalty on the selectable coefficients.
    intercept : bool
        If true, c is a dense coefficient without a penalty. Otherwise c = 0.

    Attributes
    ----------
    beta : float > 0
        Upper bound of the second derivative of L in the prediction; infinite if there is none.
        Every subclass sets it.
    concordance : float > 0
        M with |L'''| <= M L'', where derivatives are in the prediction; infinite if there is none.
        It makes searches shorter and proves that minima exist.

    References
    ----------
    F. Bach, Self-concordant analysis for logistic regression, 2010, section 2.2.
    """

    concordance = math.inf
    scale = 1.0

    def __init__(self, X, y: np.ndarray, *, ridge: float = 0.0, intercept: bool = False):
        self.y = self.coded(y)
        self.n_samples = len(self.y)
        self.columns = (
            X
            if isinstance(X, SignedColumns)
            else SignedColumns(X, np.ones(self.n_samples), centre=intercept)
        )
        self.means = self.columns.means if intercept else None
        self.shape = (self.columns.n_features, 1)
        self.n_dense = int(intercept)
        self.ridge = float(ridge)
        self.penalty = np.append(np.full(self.size, self.ridge), np.zeros(self.n_dense))
        self._slope = self.scale = self._mean_slope(np.zeros(self.n_samples))
        null = self.minimise([])
        predictions = self.predictions(null.params)
        self._slope = self._mean_slope(predictions)
        bends = self.columns.powers(self.curvatures(predictions, self.y)) / self.n_samples
        self._bends = bends + self.ridge
        self.scale = self.columns.scale_of(null.gradient[: self.size], self._slope)

    def _mean_slope(self, predictions: np.ndarray) -> float:
        return float(np.abs(self.slopes(predictions, self.y)).mean()) or 1.0

    def _tolerance(self, rows: np.ndarray) -> np.ndarray:
        """Return tolerances of derivatives along columns (k, n), which grow with those of L."""
        return derivative_tolerance(self._slope * np.abs(rows).mean(axis=1), self.scale)

    def coded(self, y: np.ndarray) -> np.ndarray:
        """Return responses (n,), of any rows, as the three functions take them."""
        return np.asarray(y, dtype=np.float64)

    def falls_forever(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return for which samples L has no minimum, None if it always has one.

        Returns
        -------
        up, down : bool arrays (n,)
            Whether L falls forever as the prediction goes to infinity, and to minus infinity.
        """
        return None

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
        powers = self.columns.powers(np.ones(self.n_samples)) / self.n_samples
        bounds = np.append(powers, np.ones(self.n_dense))
        # A column of zeros has no curvature even if beta is infinite.
        bounds[bounds > 0.0] *= self.beta
        return bounds + self.penalty

    @property
    def inverse_units(self) -> np.ndarray:
        """Without a bound of second derivatives, the roots of those at the fit without features."""
        if math.isfinite(self.beta):
            return super().inverse_units
        bends = np.append(self._bends, np.ones(self.n_dense))
        return np.sqrt(np.maximum(bends, np.finfo(float).tiny))

    def steepest(self, value: float) -> np.ndarray:
        """Return the bound of each |derivative| from ``smoothness``, shape (d,).

        If there is none, the second derivatives at the fit without features take its place. The
        numbers are then sizes of derivatives, with which rounding errors are compared.
        """
        if math.isfinite(self.beta):
            return super().steepest(value)
        return np.sqrt(2.0 * abs(value) * self._bends)

    @_may_overflow
    def value(self, params: np.ndarray) -> float:
        mean = float(self.losses(self.predictions(params), self.y).mean())
        return mean + 0.5 * float(self.penalty @ params**2)

    def gradient(self, params: np.ndarray) -> np.ndarray:
        return self.value_and_gradient(params)[1]

    @_may_overflow
    def value_and_gradient(self, params: np.ndarray) -> tuple[float, np.ndarray]:
        predictions = self.predictions(params)
        value = float(self.losses(predictions, self.y).mean())
        slopes = self.slopes(predictions, self.y) / self.n_samples
        sums = self.columns.times(slopes)
        if self.means is not None:
            sums = np.append(sums + slopes.sum() * self.means, slopes.sum())
        return value + 0.5 * float(self.penalty @ params**2), sums + self.penalty * params

    def coordinate_minima(self, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return steps a_j and gains Q(b) - min_a Q(b + a e_j), both (d,).

        Along a column without a minimum the step is large, and the gain is that of this step.
        """
        found = self.minima(np.arange(self.size), self.predictions(params), params)
        return found[0], found[1]

    @_may_overflow
    def largest_gain(
        self, predictions: np.ndarray, params: np.ndarray, slopes: np.ndarray
    ) -> tuple[int, float]:
        """Return the feature of the largest gain, and that gain, from few line searches.

        A gain is at most that of a line with third derivative M r_j times the second, where r_j is
        the largest |x_ij|. Without M, a line that has turned before it could fall by the largest
        gain found so far has a smaller one, since L is convex.

        Parameters
        ----------
        predictions : array (n,)
        params : array (d + q,)
        slopes : array (d,)
            Derivatives along the columns; zero for features to leave out.
        """
        bends = self.columns.powers(self.curvatures(predictions, self.y)) / self.n_samples
        bends += self.ridge
        guesses = np.zeros(self.size)
        np.divide(slopes**2, 2.0 * bends, out=guesses, where=bends > 0.0)
        # A step of Newton's method along the most promising lines is a lower bound.
        few = np.argsort(-guesses, kind="stable")[:_FEW]
        few = few[guesses[few] > 0.0]
        least = self.gains(few, -slopes[few] / bends[few], predictions, params).max(initial=0.0)
        features = np.flatnonzero(slopes)
        if math.isfinite(self.concordance):
            reach = self.concordance * self.columns.reach[features]
            most = _gain_bounds(slopes[features], bends[features], reach)
            features = features[most >= least * (1.0 - TIE)]
        else:
            features = features[self._turns_late(features, predictions, params, slopes, least)]
        gains = np.zeros(self.size)
        gains[features] = self.minima(features, predictions, params)[1]
        return highest(gains)

    def _turns_late(self, features, predictions, params, slopes, gain: float) -> np.ndarray:
        """Return which lines may fall by more than ``gain``: they still fall at gain / |slope|."""
        late = []
        for block in self._blocks(features):
            rows, steps = self.columns.rows(block), -gain * (1.0 - TIE) / slopes[block]
            moved = steps[:, None] * rows
            moved += predictions
            ahead = np.einsum("kn,kn->k", self.slopes(moved, self.y), rows) / self.n_samples
            ahead += self.ridge * (params[block] + steps)
            late.append(ahead * slopes[block] >= 0.0)
        return np.concatenate([np.zeros(0, dtype=bool), *late])

    def _blocks(self, features: np.ndarray) -> list[np.ndarray]:
        """Return the features in blocks of limited memory."""
        width = max(1, _BLOCK // self.n_samples)
        return [features[first : first + width] for first in range(0, len(features), width)]

    @_may_overflow
    def minima(self, features, predictions, params) -> np.ndarray:
        """Return steps and gains of ``coordinate_minima`` for some features, shape (2, k)."""
        found = [np.zeros((2, 0))]
        for block in self._blocks(features):
            steps = self._line_minima(self.columns.rows(block), predictions, params[block])
            gains = self.gains(block, steps, predictions, params)
            found.append(np.stack([steps, np.maximum(gains, 0.0)]))
        return np.concatenate(found, axis=1)

    @_may_overflow
    def gains(self, features, steps, predictions, params) -> np.ndarray:
        """Return the decreases of Q by steps (k,) along some features (k,)."""
        moved = predictions + steps[:, None] * self.columns.rows(features)
        gains = (self.losses(predictions, self.y) - self.losses(moved, self.y)).mean(axis=1)
        return gains - 0.5 * self.ridge * steps * (2.0 * params[features] + steps)

    @_may_overflow
    def removal_costs(self, params: np.ndarray, support: Indices) -> np.ndarray:
        coef = params[list(support)]
        predictions = self.predictions(params)
        without = self.losses(predictions - coef[:, None] * self.columns.rows(support), self.y)
        costs = (without - self.losses(predictions, self.y)).mean(axis=1)
        return costs - 0.5 * self.ridge * coef**2

    def fit(self) -> SampleFit:
        return SampleFit(self)

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
        tolerance = self._tolerance(rows)
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

    @_may_overflow
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

        def hessian(weights: np.ndarray) -> np.ndarray:
            bends = self.curvatures(weights @ rows, self.y) / self.n_samples
            return (rows * bends) @ rows.T + np.diag(penalty)

        end = newton(function, hessian, weights, self._tolerance(rows))
        params = np.zeros(self.size + self.n_dense)
        params[places] = end.x[self.n_dense :]
        params[self.size :] = end.x[: self.n_dense] - shift @ params[places]
        message = "" if end.converged else UNCONVERGED
        falls = self.falls_forever()
        if falls is not None:
            free = slice(self.n_dense if self.ridge > 0.0 else None)
            least = self.curvatures(end.x @ rows, self.y).min() / self.n_samples
            least /= self.concordance**2
            if not exists(hessian(end.x)[free, free], end.gradient[free], least):
                message = self._falling(rows[free], places, *falls) or message
        return Restricted(params, end.value, self.gradient(params), not message, message)

    def _falling(self, rows: np.ndarray, places: np.ndarray, up, down) -> str:
        """Return along which features, those of rows after the intercept, Q falls forever."""
        direction = direction_of_fall(rows, up, down)[0] if len(rows) else None
        if direction is None:
            return ""
        used = np.abs(direction[self.n_dense :]) > NO_WEIGHT * np.abs(direction).max()
        features = places[: len(used)][used].tolist()
        if not features:
            return "the loss falls forever along the intercept."
        return (
            f"the loss falls forever along feature{'s' * (len(features) > 1)}"
            f" {listed(features, NAMED)}; without a ridge no minimum exists."
        )

    @_may_overflow
    def row_losses(self, X, y: np.ndarray, params: np.ndarray) -> np.ndarray:
        predictions = params[:, : self.size] @ X.T + params[:, self.size :].sum(axis=1)[:, None]
        return self.losses(predictions, self.coded(y))

    def predictions(self, params: np.ndarray) -> np.ndarray:
        """Return x_i b + c for all samples, shape (n,)."""
        coef = params[: self.size]
        predictions = self.columns.sum_of(coef)
        return (
            predictions
            if self.means is None
            else predictions + params[self.size] + self.means @ coef
        )


class SampleFit(PlainFit):
    """A fit that searches few lines for the best gain."""

    loss: SampleLoss

    def best_gain(self) -> tuple[int, float]:
        loss, slopes = self.loss, self.full_gradient[: self.loss.size].copy()
        if loss.means is not None:
            slopes -= self.full_gradient[loss.size] * loss.means
        slopes[self.support] = 0.0
        return loss.largest_gain(loss.predictions(self.params), self.params, slopes)


def _gain_bounds(slopes: np.ndarray, bends: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Return upper bounds of the decrease of h, given h'(0), h''(0) and |h'''| <= reach h''.

    h''(t) >= h''(0) exp(-reach |t|), so h falls by at most h''(0) / reach^2 times
    u + (1 - u) log(1 - u), where u = |h'(0)| reach / h''(0) is below 1.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.abs(slopes) * reach / bends
        # The difference loses its digits to a small u.
        share = np.where(u < 1e-4, 0.5 * u**2 * (1.0 + u), u + (1.0 - u) * np.log1p(-u))
        return np.where(u < 1.0, bends / reach**2 * share, np.inf)


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


def newton(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]],
    hessian: Callable[[np.ndarray], np.ndarray],
    weights: np.ndarray,
    tolerance: np.ndarray,
) -> Descent:
    """Minimise by Newton's method as long as whole steps lower the value, then by ``descend``."""
    value, gradient = function(weights)
    inverse = _inverse(hessian(weights))
    for _ in range(_MOST_NEWTON):
        if inverse is None or not (np.abs(gradient) > tolerance).any():
            break
        trial = weights - inverse @ gradient
        reached, slopes = function(trial)
        if not reached < value:
            break
        weights, value, gradient = trial, reached, slopes
        inverse = _inverse(hessian(weights))
    return descend(function, weights, tolerance, inverse)


def exists(hessian: np.ndarray, gradient: np.ndarray, least: float) -> bool:
    """Return whether a point proves that a convex function Q has a minimum.

    Let |.| be a norm with |h'''| <= M |v| h'' for h(t) = Q(b + t v). Along any v with |v| = 1 the
    slope rises by at least v^T H v / M, which is more than |g v| if g^T H^-1 g < v^T H v / M^2.

    Parameters
    ----------
    hessian, gradient : arrays (k, k) and (k,)
        H and g at the point.
    least : float
        Lower bound of v^T H v / M^2 for |v| = 1.
    """
    if not hessian.size or not hessian.diagonal().min() > 0.0:
        return not hessian.size
    units = np.sqrt(hessian.diagonal())
    factor, failed = scipy.linalg.lapack.dpotrf(hessian / np.outer(units, units), lower=True)
    if failed or not factor.diagonal().min() > _WELL:
        return False
    part = scipy.linalg.solve_triangular(factor, gradient / units, lower=True)
    return bool(part @ part < least)


def _inverse(hessian: np.ndarray) -> np.ndarray | None:
    """Return the inverse of a positive semidefinite matrix whose small eigenvalues are raised."""
    if not hessian.size:
        return None
    factor, failed = scipy.linalg.lapack.dpotrf(hessian, lower=True)
    pivots = factor.diagonal()
    if not failed and pivots.min() > _WELL * pivots.max():
        half = scipy.linalg.lapack.dpotri(factor, lower=True)[0]
        return half + np.tril(half, -1).T
    values, vectors = np.linalg.eigh(hessian)
    if values[-1] <= 0:
        return None
    return (vectors / np.maximum(values, _LEAST_CURVATURE * values[-1])) @ vectors.T
