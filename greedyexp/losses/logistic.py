"""The logistic loss with a ridge: log(1 + exp(-y x b)) in the mean over samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from greedyexp.kernels import logistic_lines, logistic_newton
from greedyexp.losses.loss import TOLERANCE, Loss, Restricted
from greedyexp.losses.signed_columns import SignedColumns

# A derivative is known to a few of these relative to its size at the largest possible loss.
ROUNDING = 16 * np.finfo(float).eps


class LogisticLoss(Loss):
    """Q(b, c) = mean_i log(1 + exp(-y_i (x_i b + c))) + ridge / 2 ||b||^2.

    Parameters
    ----------
    X : array (n, p) or sparse array
    y : array (n,)
        Labels -1 and 1.
    ridge : float >= 0
        Weight of the squared selectable coefficients.
    intercept : bool
        Whether there is a c: a dense coefficient, without a ridge. Otherwise c = 0.

    Notes
    -----
    Without a ridge a minimum exists unless the columns separate the classes: unless some
    combination of them is nonnegative on one class, nonpositive on the other and not zero.
    """

    def __init__(self, X, y: np.ndarray, *, ridge: float = 0.0, intercept: bool = False):
        self.labels = np.ascontiguousarray(y, dtype=np.float64)
        self.columns = SignedColumns(X, self.labels)
        self.shape = (self.columns.n_features, 1)
        self.n_dense = int(intercept)
        self.n_samples = self.columns.n_samples
        self.ridge = float(ridge)
        self._penalty = np.full(self.size + self.n_dense, self.ridge)
        self._penalty[self.size :] = 0.0
        sizes = np.append(self.columns.sizes(), np.ones(self.n_dense))
        # No derivative can be larger than ``sizes``, nor is it known better than to its rounding.
        self.scale = 1.0
        self._tolerance = np.maximum(TOLERANCE * sizes, np.finfo(float).tiny)
        largest = np.abs(self.minimise(()).gradient[: self.size]).max(initial=0.0)
        if largest > ROUNDING * sizes[: self.size].max(initial=0.0):
            self.scale = float(largest)
            finest = np.maximum(TOLERANCE * np.minimum(sizes, largest), ROUNDING * sizes)
            self._tolerance = np.maximum(finest, np.finfo(float).tiny)

    def value(self, params: np.ndarray) -> float:
        margins = self._margins(params)
        mean = logistic_lines.losses(margins, np.empty_like(margins))
        return mean + 0.5 * self.ridge * float(params[: self.size] @ params[: self.size])

    def gradient(self, params: np.ndarray) -> np.ndarray:
        margins = self._margins(params)
        weights = np.empty_like(margins)
        logistic_lines.losses(margins, weights)
        return self._gradient(params, weights)

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
        steps, gains = np.empty(self.size), np.empty(self.size)
        logistic_lines.line_minima(
            self.columns.columns,
            self._margins(params),
            self.ridge,
            params[: self.size],
            steps,
            gains,
        )
        return steps, gains

    def minimise(self, support: Sequence[int], start: np.ndarray | None = None) -> Restricted:
        indices = np.append(np.arange(self.size, self.size + self.n_dense), support).astype(int)
        rows = np.empty((len(indices), self.n_samples))
        rows[: self.n_dense] = self.labels
        for place, feature in enumerate(support):
            self.columns.write(feature, rows[self.n_dense + place])
        coef = np.zeros(len(indices)) if start is None else start[indices].astype(np.float64)
        margins, weights = np.empty(self.n_samples), np.empty(self.n_samples)
        status, value, _ = logistic_newton.minimise(
            rows,
            self._penalty[indices],
            self._tolerance[indices],
            coef,
            margins,
            weights,
            self.ridge > 0.0 and not self.n_dense,
            False,
        )
        params = np.zeros(self.size + self.n_dense)
        params[indices] = coef
        gradient = self._gradient(params, weights)
        converged = status == logistic_newton.CONVERGED
        message = "" if converged else "no minimum was found."
        return Restricted(params, value, gradient, converged, message)

    def _margins(self, params: np.ndarray) -> np.ndarray:
        margins = self.columns.sum_of(params[: self.size])
        return margins + params[self.size] * self.labels if self.n_dense else margins

    def _gradient(self, params: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The gradient, given minus the derivatives of the losses by the margins."""
        sums = self.columns.times(weights)
        if self.n_dense:
            sums = np.append(sums, self.labels @ weights)
        return self._penalty * params - sums / self.n_samples

    def _powers(self, weights: np.ndarray) -> np.ndarray:
        sums = np.append(self.columns.powers(weights), np.full(self.n_dense, weights.sum()))
        return sums / self.n_samples + self._penalty
