"""Least squares over a distribution whose second moments are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from greedyexp.losses.loss import TOLERANCE, Fit, Loss, PlainFit, Restricted
from greedyexp.losses.population_fit import DenseFit, SpreadFit
from greedyexp.problems.moments import DenseMoments, Moments, SpreadMoments


class PopulationSquaredLoss(Loss):
    """R(w) = E[(<w, x> - y)^2] / 2 + ridge/2 ||w||^2.

    With wbar the best linear predictor, ``moments.predictor``, that is half of ``moments.least``
    plus (w - wbar)^T E[x x^T] (w - wbar) / 2 plus the penalty: three numbers that are not negative,
    so that R keeps its digits where it is close to zero. The gradient is computed from w - wbar
    for the same reason.

    Parameters
    ----------
    moments : Moments
    ridge : float >= 0

    Attributes
    ----------
    n_samples : int
        One: there are no rows, and what papers print as a sum is the mean.

    Raises
    ------
    DataError
        When the moments are not those of any distribution.

    Notes
    -----
    Where the response is uncorrelated with all features, ``scale`` is the largest
    (E[x_j^2] E[y^2])^(1/2), one when that is zero.
    """

    n_samples = 1
    beta = 1.0
    rho = np.inf
    largest_feature = 1.0

    def __init__(self, moments: Moments, *, ridge: float = 0.0):
        self.moments = moments
        self.shape = (moments.size, 1)
        self.ridge = float(ridge)
        self._curvature = moments.diagonal + self.ridge
        self._best = moments.predictor
        self._least = moments.least
        largest = float(np.sqrt(moments.diagonal.max() * moments.power))
        self.scale = float(np.abs(moments.cross).max()) or largest or 1.0

    def value(self, params: np.ndarray) -> float:
        """R."""
        return self.value_at(params, self.moments.quadratic(params - self._best))

    def gradient(self, params: np.ndarray) -> np.ndarray:
        """E[x x^T] w - E[y x] + ridge w, shape (d,)."""
        return self.moments.times(params - self._best) + self.ridge * params

    def value_and_gradient(self, params: np.ndarray) -> tuple[float, np.ndarray]:
        """R and its gradient, by one product with E[x x^T]."""
        apart = params - self._best
        image = self.moments.times(apart)
        value = self.value_at(params, self.moments.quadratic(apart, image))
        return value, image + self.ridge * params

    def value_at(self, params: np.ndarray, apart: float) -> float:
        """R where (w - wbar)^T E[x x^T] (w - wbar) is known."""
        # Not by BLAS, which starts threads for long vectors that cost more than the sum.
        return 0.5 * (self._least + apart + self.ridge * float((params * params).sum()))

    def curvature(self, params: np.ndarray) -> np.ndarray:
        """E[x_j^2] + ridge, the same everywhere, (d,)."""
        return self._curvature.copy()

    @property
    def smoothness(self) -> np.ndarray:
        """The curvature itself, shape (d,)."""
        return self._curvature.copy()

    def strong_convexity(self, support: Sequence[int]) -> float:
        """The smallest eigenvalue of E[x_S x_S^T] + ridge I, infinite for no feature."""
        return self.moments.smallest_eigenvalue(support) + self.ridge

    def coordinate_minima(self, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Steps -g_j / h_j and gains g_j^2 / (2 h_j), both (d,); zero for a zero feature."""
        slope = self.gradient(params)
        step = np.zeros(self.size)
        np.divide(-slope, self._curvature, out=step, where=self._curvature > 0.0)
        return step, -0.5 * slope * step

    def minimise(self, support: Sequence[int], start: np.ndarray | None = None) -> Restricted:
        """The minimiser over the coefficients ``support``; of several the one of least norm.

        Parameters
        ----------
        support : sequence of int in [0, d)
        start : array (d,), optional
            Not needed.
        """
        support = np.asarray(support, dtype=np.int64)
        params = np.zeros(self.size)
        params[support] = self.moments.solve(support, self.moments.cross[support], self.ridge)
        value, gradient = self.value_and_gradient(params)
        certified = np.abs(gradient[support]).max(initial=0.0) <= TOLERANCE * self.scale
        return Restricted(params, value, gradient, bool(certified))

    def removal_costs(self, params: np.ndarray, support: Sequence[int]) -> np.ndarray:
        """R(w - w_i e_i) - R(w) for each i of the support: h_i w_i^2 / 2 - g_i w_i."""
        support = np.asarray(support, dtype=np.int64)
        own = params[support]
        return own * (0.5 * self._curvature[support] * own - self.gradient(params)[support])

    def fit(self) -> Fit:
        """The fit without any feature, ready to take some."""
        if isinstance(self.moments, SpreadMoments):
            return SpreadFit(self)
        return DenseFit(self) if isinstance(self.moments, DenseMoments) else PlainFit(self)
