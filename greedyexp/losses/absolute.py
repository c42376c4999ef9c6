"""The smoothed absolute loss (Huber loss)."""

from __future__ import annotations

import numpy as np

from greedyexp.core.registry import loss
from greedyexp.kernels.scalar_losses import ABSOLUTE
from greedyexp.losses.smoothed import SmoothedLoss
from greedyexp.problems.checks import check_response_sizes
from greedyexp.problems.problem import Problem


class AbsoluteLoss(SmoothedLoss):
    """Q(b) = mean_i H(x_i b - y_i) + ridge / 2 ||b||^2.

    H(u) = beta u^2 / 2 if |u| <= 1 / beta, and |u| - 1 / (2 beta) otherwise. Equivalently, H(u) =
    inf_v beta v^2 / 2 + |u - v|.

    Parameters
    ----------
    X : array (n, p) or sparse array
    y : array (n,)
    beta : float > 0
        Lipschitz constant of H'.
    ridge : float >= 0

    References
    ----------
    Shalev-Shwartz, Srebro & Zhang (2009), "Trading accuracy for sparsity", Lemma 2.
    """

    kind = ABSOLUTE
    low = -1.0

    def __init__(self, X, y: np.ndarray, *, beta: float, ridge: float = 0.0):
        y = np.asarray(y, dtype=np.float64)
        super().__init__(X, np.ones(len(y)), -y, y, beta=beta, ridge=ridge)

    def row_losses(self, X, y: np.ndarray, params: np.ndarray) -> np.ndarray:
        """Return |x b - y| without smoothing, shape (m, n)."""
        return np.abs(params @ X.T - y)


@loss("absolute", title="Absolute loss", intercept=False, smoothed=True, has_kernel=True)
def absolute(problem: Problem, *, ridge: float, beta: float) -> AbsoluteLoss:
    """Mean of |x_i b - y_i|, smoothed."""
    check_response_sizes(problem.y)
    return AbsoluteLoss(problem.X[0], problem.y[0], beta=beta, ridge=ridge)
