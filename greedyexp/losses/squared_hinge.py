"""The squared hinge loss, for two classes."""

from __future__ import annotations

import numpy as np

from greedyexp.core.registry import loss
from greedyexp.losses.sample import SampleLoss
from greedyexp.losses.signed_columns import two_values
from greedyexp.problems.problem import Problem


class SquaredHingeLoss(SampleLoss):
    """Q(b, c) = mean_i max(0, 1 - y_i (x_i b + c))^2 + ridge / 2 ||b||^2.

    The responses are those of two classes; the higher value counts as 1 and the lower as -1. A
    minimum always exists.
    """

    beta = 2.0
    scores = True

    def __init__(self, X, y: np.ndarray, **options):
        self.values = two_values(y, "squared hinge")
        super().__init__(X, y, **options)

    def coded(self, y: np.ndarray) -> np.ndarray:
        return np.where(np.asarray(y) == self.values[1], 1.0, -1.0)

    def losses(self, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.square(np.maximum(0.0, 1.0 - y * predictions))

    def slopes(self, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
        return -2.0 * y * np.maximum(0.0, 1.0 - y * predictions)

    def curvatures(self, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(y * predictions < 1.0, 2.0, 0.0)


@loss("squared_hinge", title="Squared hinge loss", requires=("two_values",))
def squared_hinge(problem: Problem, *, ridge: float, intercept: bool) -> SquaredHingeLoss:
    """Mean of max(0, 1 - y_i x_i b)^2 for labels y_i = -1 and 1."""
    return SquaredHingeLoss(problem.X[0], problem.y[0], ridge=ridge, intercept=intercept)
