"""The Poisson loss, for counts."""

from __future__ import annotations

import math

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.core.registry import loss
from greedyexp.losses.sample import SampleLoss
from greedyexp.problems.problem import Problem


class PoissonLoss(SampleLoss):
    """Q(b, c) = mean_i L(x_i b + c, y_i) + ridge / 2 ||b||^2 for counts y_i.

    L(a, y) = exp(a) - y a - y + y log y is half of the deviance of a Poisson variable with mean
    exp(a).

    Notes
    -----
    The second derivative has no upper bound. Without a ridge there is no minimum if some
    combination of the columns is zero where y_i > 0, never positive where y_i = 0, and not zero.
    """

    beta = math.inf
    concordance = 1.0
    # Predictions are logarithms of means.
    scores = True

    def losses(self, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
        # For large counts, the terms of the definition are much larger than their sum.
        ahead = predictions - np.log(np.where(y > 0.0, y, 1.0))
        return np.where(y > 0.0, y * np.expm1(ahead) - y * ahead, np.exp(predictions))

    def slopes(self, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.exp(predictions) - y

    def curvatures(self, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.exp(predictions)

    def falls_forever(self) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(self.n_samples, dtype=bool), self.y == 0.0


@loss("poisson", title="Poisson loss", requires=("counts",), expected=np.exp)
def poisson(problem: Problem, *, ridge: float, intercept: bool) -> PoissonLoss:
    """Half of the mean deviance of Poisson counts y_i with means exp(x_i b)."""
    y = problem.y[0]
    wrong = np.flatnonzero((y < 0) | (y % 1 != 0))
    if len(wrong):
        raise DataError(
            f"the response {y[wrong[0]]:g} of row {wrong[0]} is no count: the poisson loss takes"
            " whole numbers >= 0.",
            remedy="Give counts, or use the squared loss.",
        )
    return PoissonLoss(problem.X[0], y, ridge=ridge, intercept=intercept)
