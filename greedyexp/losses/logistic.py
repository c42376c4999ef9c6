"""The logistic loss with a ridge: log(1 + exp(-y x b)) in the mean over samples."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from greedyexp.kernels import logistic_lines
from greedyexp.kernels.scalar_losses import LOGISTIC
from greedyexp.losses.logistic_columns import SignedColumns, two_values
from greedyexp.losses.logistic_fit import LogisticFit
from greedyexp.losses.loss import TOLERANCE, Loss, LossKind, Restricted
from greedyexp.problems.problem import Problem

# The rounding of a derivative, relative to the mean |value| of its column.
SLOPE_ROUNDING = 16 * np.finfo(float).eps
TINY = np.finfo(float).tiny


class LogisticLoss(Loss):
    """Q(b, c) = mean_i log(1 + exp(-y_i (x_i b + c))) + ridge / 2 ||b||^2.

    Parameters
    ----------
    X : array (n, p) or sparse array
    y : array (n,)
        Labels, the two ``values``.
    ridge : float >= 0
        Weight of the squared selectable coefficients.
    intercept : bool
        Whether there is a c: a dense coefficient, without a ridge. Otherwise c = 0.
    values : pair of float
        What stands for -1 and for 1.

    Notes
    -----
    A derivative over a support may remain as large as 1e-10 times the lesser of ``scale`` and the
    mean |value| of its own column, or as the rounding of the latter.

    Without a ridge a minimum exists unless the columns separate the classes: unless some
    combination of them is nonnegative on one class, nonpositive on the other and not zero.

    ``kind`` and ``responses`` (n,), -1 and 1, are what the kernels of ``scalar_losses`` take.
    """

    kind = LOGISTIC
    beta = 0.25
    rho = 1.0

    def __init__(
        self,
        X,
        y: np.ndarray,
        *,
        ridge: float = 0.0,
        intercept: bool = False,
        values: tuple[float, float] = (-1.0, 1.0),
    ):
        self.values = values
        self.labels = self._signs(y)
        self.columns = SignedColumns(X, self.labels)
        self.shape = (self.columns.n_features, 1)
        self.n_dense = int(intercept)
        self.n_samples = self.columns.n_samples
        self.ridge = float(ridge)
        self.penalty = np.full(self.size + self.n_dense, self.ridge)
        self.penalty[self.size :] = 0.0
        self.two_classes = bool((self.labels != self.labels[0]).any())
        self.scale = 1.0
        start = LogisticFit(self)
        slopes = np.abs(start.full_gradient[: self.size])
        steepest = int(slopes.argmax())
        row = np.empty(self.n_samples)
        self.columns.write(steepest, row)
        size = np.abs(row).mean()
        if slopes[steepest] > SLOPE_ROUNDING * size:
            self.scale = float(slopes[steepest])
        elif size > 0.0:
            # No column has a slope, which leaves how large it could be.
            self.scale = float(size)
        # Without an intercept the fit without features is exact, and this is its gradient.
        self._at_zero = None if intercept else start.full_gradient
        # All fits without features share it.
        start.full_gradient.flags.writeable = False

    @property
    def responses(self) -> np.ndarray:
        return self.labels

    @cached_property
    def largest_feature(self) -> float:
        return self.columns.largest

    def value(self, params: np.ndarray) -> float:
        margins = self._margins(params)
        mean = logistic_lines.losses(margins, np.empty_like(margins))
        return mean + 0.5 * self.ridge * float(params[: self.size] @ params[: self.size])

    def gradient(self, params: np.ndarray) -> np.ndarray:
        margins = self._margins(params)
        weights = np.empty_like(margins)
        logistic_lines.losses(margins, weights)
        return self.gradient_of(params, weights)

    def curvature(self, params: np.ndarray) -> np.ndarray:
        margins = self._margins(params)
        weights = np.empty_like(margins)
        logistic_lines.losses(margins, weights)
        return self._powers(weights * (1.0 - weights))

    @property
    def smoothness(self) -> np.ndarray:
        return self._powers(np.full(self.n_samples, 0.25))

    def coordinate_minima(self, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Steps a_j and gains Q(b) - min_a Q(b + a e_j), both (d,).

        Without a ridge a column of one sign (after signing by the labels) has no minimum: its step
        is infinite, its gain the fall to the infimum.
        """
        return self.minima(self._margins(params), params)

    def minima(self, margins: np.ndarray, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``coordinate_minima`` where the margins (n,) are known."""
        steps, gains = np.empty(self.size), np.empty(self.size)
        columns, coef = self.columns.columns, params[: self.size]
        logistic_lines.line_minima(columns, margins, self.ridge, coef, steps, gains)
        return steps, gains

    def gradient_of(self, params: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The gradient, given 1 / (1 + exp(m_i)) for the margins m (n,)."""
        sums = self.columns.times(weights)
        if self.n_dense:
            sums = np.append(sums, self.labels @ weights)
        return self.penalty * params - sums / self.n_samples

    def minimise(self, support: Sequence[int], start: np.ndarray | None = None) -> Restricted:
        found = LogisticFit(self, support, start)
        gradient = found.full_gradient
        return Restricted(found.params, found.value, gradient, found.converged, found.message)

    def row_losses(self, X, y: np.ndarray, params: np.ndarray) -> np.ndarray:
        """log(1 + exp(-y (x b + c))), (m, n)."""
        predicted = params[:, : self.size] @ X.T + params[:, self.size :].sum(axis=1)[:, None]
        return np.logaddexp(0.0, -self._signs(y) * predicted)

    def fit(self) -> LogisticFit:
        return LogisticFit(self, full_gradient=self._at_zero)

    def tolerance(self, sizes: np.ndarray) -> np.ndarray:
        """How large a derivative may remain, given mean |values| of the columns."""
        finest = np.maximum(TOLERANCE * np.minimum(sizes, self.scale), SLOPE_ROUNDING * sizes)
        return finest + TINY

    def _signs(self, y: np.ndarray) -> np.ndarray:
        return np.where(y == self.values[1], 1.0, -1.0)

    def _margins(self, params: np.ndarray) -> np.ndarray:
        margins = self.columns.sum_of(params[: self.size])
        return margins + params[self.size] * self.labels if self.n_dense else margins

    def _powers(self, weights: np.ndarray) -> np.ndarray:
        sums = np.append(self.columns.powers(weights), np.full(self.n_dense, weights.sum()))
        return sums / self.n_samples + self.penalty


def _build(problem: Problem, *, ridge: float, intercept: bool) -> LogisticLoss:
    y = problem.y[0]
    values = two_values(y, "logistic")
    return LogisticLoss(problem.X[0], y, ridge=ridge, intercept=intercept, values=values)


KIND = LossKind("logistic", _build)
