"""The Huber loss, which limits the influence of single responses."""

from __future__ import annotations

import numpy as np

from greedyexp.core.registry import loss
from greedyexp.losses.sample import SampleLoss
from greedyexp.problems.problem import Problem


class HuberLoss(SampleLoss):
    """Q(b, c) = mean_i H(y_i - x_i b - c) + ridge / 2 ||b||^2.

    H(e) = e^2 / 2 for |e| <= 1 and |e| - 1/2 beyond. A minimum always exists. The width is 1 in
    units of the response, so these units count: divide the response by the residual beyond which
    H should be a line, such as 1.345 standard deviations of the noise.

    References
    ----------
    P. J. Huber, Robust estimation of a location parameter, 1964.
    """

    beta = 1.0
    rho = 1.0

    def losses(self, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
        size = np.abs(predictions - y)
        near = np.minimum(size, 1.0)
        return near * (size - 0.5 * near)

    def slopes(self, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.clip(predictions - y, -1.0, 1.0)

    def curvatures(self, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(np.abs(predictions - y) <= 1.0, 1.0, 0.0)


@loss("huber", title="Huber loss", paper="Huber (1964)")
def huber(problem: Problem, *, ridge: float, intercept: bool) -> HuberLoss:
    """Mean of e_i^2 / 2, or |e_i| - 1/2 if |e_i| > 1, for residuals e_i = y_i - x_i b."""
    return HuberLoss(problem.X[0], problem.y[0], ridge=ridge, intercept=intercept)
