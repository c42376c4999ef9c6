"""The smoothed hinge loss."""

from __future__ import annotations

import numpy as np

from greedyexp.core.registry import loss
from greedyexp.kernels.scalar_losses import HINGE
from greedyexp.losses.signed_columns import two_values
from greedyexp.losses.smoothed import SmoothedLoss
from greedyexp.problems.problem import Problem


class HingeLoss(SmoothedLoss):
    """Q(b) = mean_i H(1 - y_i x_i b) + ridge / 2 ||b||^2.

    H(m) = 0 if m <= 0, beta m^2 / 2 if 0 < m <= 1 / beta, and m - 1 / (2 beta) otherwise.
    Equivalently, H(m) = inf_v beta v^2 / 2 + max(0, m - v).

    Parameters
    ----------
    X : array (n, p) or sparse array
    y : array (n,)
        Labels; each is one of the two ``values``, and all may be equal.
    beta : float > 0
        Lipschitz constant of H'.
    ridge : float >= 0
    values : pair of float
        Labels encoded as -1 and 1.

    References
    ----------
    Shalev-Shwartz, Srebro & Zhang (2009), "Trading accuracy for sparsity", Lemma 2.
    """

    kind = HINGE
    scores = True
    low = 0.0

    def __init__(
        self,
        X,
        y: np.ndarray,
        *,
        beta: float,
        ridge: float = 0.0,
        values: tuple[float, float] = (-1.0, 1.0),
    ):
        self.values = values
        labels = self._labels(y)
        super().__init__(X, -labels, np.ones(len(labels)), labels, beta=beta, ridge=ridge)

    def row_losses(self, X, y: np.ndarray, params: np.ndarray) -> np.ndarray:
        """Return max(0, 1 - y x b) without smoothing, shape (m, n)."""
        return np.maximum(0.0, 1.0 - self._labels(y) * (params @ X.T))

    def _labels(self, y: np.ndarray) -> np.ndarray:
        return np.where(np.asarray(y) == self.values[1], 1.0, -1.0)


@loss(
    "hinge",
    title="Hinge loss",
    requires=("two_values",),
    intercept=False,
    smoothed=True,
    has_kernel=True,
)
def hinge(problem: Problem, *, ridge: float, beta: float) -> HingeLoss:
    """Mean of max(0, 1 - y_i x_i b) for labels y_i = -1 and 1, smoothed."""
    y = problem.y[0]
    return HingeLoss(problem.X[0], y, beta=beta, ridge=ridge, values=two_values(y, "hinge"))
