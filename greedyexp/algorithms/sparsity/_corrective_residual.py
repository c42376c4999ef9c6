"""The rule that takes the column closest to the residual in angle."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms.foba._rules import Rule
from greedyexp.losses.loss import Fit, Loss


class Residual(Rule):
    """How well one column, scaled at will, matches the slopes of the loss.

    With R(w) = Q(X w) and u = grad Q(X w), min_a ||a X^j - u||^2 is ||u||^2 less <X^j, u>^2 /
    ||X^j||^2, so the feature with the largest |<X^j, u>| / ||X^j|| is best (Shalev-Shwartz, Srebro
    & Zhang 2009, section 2.3). The numerator is n |grad_j R| where w_j = 0: a ridge has no slope
    there, so that it is of no account. Columns of zeros are never taken.

    Parameters
    ----------
    loss : Loss
    squares : array (d,)
        E[x_j^2], in the mean over samples or over the distribution.
    """

    def __init__(self, loss: Loss, squares: np.ndarray):
        super().__init__(loss)
        self._sizes = np.where(squares > 0.0, np.sqrt(squares), np.inf)

    def goodness(self, fit: Fit) -> np.ndarray:
        return np.abs(fit.gradient) / self._sizes
