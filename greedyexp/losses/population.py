"""Least squares over a distribution with known second moments."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np

from greedyexp.kernels import cholesky
from greedyexp.kernels.linear_algebra import subtract_rows
from greedyexp.losses.loss import Fit, PlainFit, Restricted
from greedyexp.losses.quadratic import QuadraticFit, QuadraticLoss
from greedyexp.problems.checks import Indices
from greedyexp.problems.moments import SPAN, DenseMoments, Moments, SpreadMoments

# Initial number of features to allocate; doubled when full.
ROOM = 16


class PopulationSquaredLoss(QuadraticLoss):
    """R(w) = E[(<w, x> - y)^2] / 2 + ridge/2 ||w||^2.

    With the best linear predictor wbar = ``moments.predictor``, R is half of ``moments.least`` plus
    (w - wbar)^T E[x x^T] (w - wbar) / 2 plus the penalty. All three terms are nonnegative, so R is
    accurate even if it is close to zero. The gradient is computed from w - wbar for the same
    reason.

    Parameters
    ----------
    moments : Moments
    ridge : float >= 0

    Attributes
    ----------
    n_samples : int
        One, since there are no rows.

    Raises
    ------
    DataError
        If no distribution has these moments.

    Notes
    -----
    If the response is uncorrelated with all features, ``scale`` is the largest (E[x_j^2]
    E[y^2])^(1/2), or one if that is zero.
    """

    n_samples = 1
    largest_feature = 1.0

    def __init__(self, moments: Moments, *, ridge: float = 0.0):
        self.moments = moments
        self.shape = (moments.size, 1)
        self.ridge = float(ridge)
        self._curvature = moments.diagonal + self.ridge
        self._best = moments.predictor
        self._least = moments.least

    @cached_property
    def scale(self) -> float:
        largest = float(np.sqrt(self.moments.diagonal.max() * self.moments.power))
        return float(np.abs(self.moments.cross).max()) or largest or 1.0

    def value(self, params: np.ndarray) -> float:
        """Return R."""
        return self.value_at(params, self.moments.quadratic(params - self._best))

    def gradient(self, params: np.ndarray) -> np.ndarray:
        """Return E[x x^T] w - E[y x] + ridge w, shape (d,)."""
        return self.moments.times(params - self._best) + self.ridge * params

    def value_and_gradient(self, params: np.ndarray) -> tuple[float, np.ndarray]:
        """Return R and its gradient from a single product with E[x x^T]."""
        apart = params - self._best
        image = self.moments.times(apart)
        value = self.value_at(params, self.moments.quadratic(apart, image))
        return value, image + self.ridge * params

    def value_at(self, params: np.ndarray, apart: float) -> float:
        """Return R from the known value of (w - wbar)^T E[x x^T] (w - wbar)."""
        # Avoid BLAS: for long vectors it starts threads, which cost more than the sum.
        return 0.5 * (self._least + apart + self.ridge * float((params * params).sum()))

    def strong_convexity(self, support: Indices) -> float:
        """Return the smallest eigenvalue of E[x_S x_S^T] + ridge I; infinite without features."""
        return self.moments.smallest_eigenvalue(support) + self.ridge

    def minimise(self, support: Indices, start: np.ndarray | None = None) -> Restricted:
        """Return the minimiser over the coefficients ``support``, of least norm if not unique.

        Parameters
        ----------
        support : sequence of int in [0, d)
        start : array (d,), optional
            Ignored.
        """
        support = np.asarray(support, dtype=np.int64)
        params = np.zeros(self.size)
        params[support] = self.moments.solve(support, self.moments.cross[support], self.ridge)
        return self._restricted(params, support)

    def removal_costs(self, params: np.ndarray, support: Indices) -> np.ndarray:
        """Return R(w - w_i e_i) - R(w) = h_i w_i^2 / 2 - g_i w_i for each i of the support."""
        support = np.asarray(support, dtype=np.int64)
        own = params[support]
        return own * (0.5 * self._curvature[support] * own - self.gradient(params)[support])

    def fit(self) -> Fit:
        """Return the fit without features."""
        if isinstance(self.moments, SpreadMoments):
            return SpreadFit(self, self.moments)
        if isinstance(self.moments, DenseMoments):
            return DenseFit(self, self.moments)
        return PlainFit(self)


class PopulationFit(QuadraticFit[PopulationSquaredLoss]):
    """Base class of fits to moments.

    Parameters
    ----------
    loss : PopulationSquaredLoss
    """

    def __init__(self, loss: PopulationSquaredLoss):
        super().__init__(loss)
        self._barred = self._curvature <= 0.0
        self._solve()

    @abstractmethod
    def _coefficients(self, held: np.ndarray) -> np.ndarray:
        """Return the minimiser over the support ``held``, shape (k,)."""

    @abstractmethod
    def _image(self, held: np.ndarray) -> tuple[np.ndarray, float]:
        """Return E[x x^T] (w - wbar), (d,), and (w - wbar)^T E[x x^T] (w - wbar) at ``params``."""

    @property
    def _held(self) -> np.ndarray:
        """The support as an array (k,)."""
        return np.array(self.support, dtype=np.int64)

    def _is_barred(self, feature: int) -> bool:
        return bool(self._barred[feature])

    def _solve(self) -> None:
        loss, held = self.loss, self._held
        self._params = np.zeros(loss.size)
        self.params[held] = self._coefficients(held)
        gradient, apart = self._image(held)
        self.value = loss.value_at(self.params, apart)
        gradient += loss.ridge * self.params
        error = np.abs(gradient[held]).max(initial=0.0)
        gradient[held] = 0.0
        gradient[self._barred] = 0.0
        self._full_gradient = gradient
        self._conclude(error, self._barred & (self._curvature > 0.0))


class SpreadFit(PopulationFit):
    """A fit to features that share a hidden variable; every change costs O(d)."""

    def __init__(self, loss: PopulationSquaredLoss, moments: SpreadMoments):
        self._moments = moments
        super().__init__(loss)

    def _add_feature(self, feature: int) -> None:
        self.support.append(feature)
        self._bar()

    def _prepare_removal(self, place: int) -> None:
        """Do nothing."""

    def _coefficients(self, held: np.ndarray) -> np.ndarray:
        # Recompute the barred features, because a removal shrinks the span.
        self._bar()
        return self._moments.solve(held, self._moments.cross[held], self.loss.ridge)

    def _image(self, held: np.ndarray) -> tuple[np.ndarray, float]:
        apart = self.params - self._moments.predictor
        return self._moments.times(apart), self._moments.quadratic(apart)

    def _bar(self) -> None:
        """Bar all features in the span of the support."""
        outside = self._moments.outside(self._held, self.loss.ridge)
        self._barred = outside <= SPAN * self._curvature
        self._barred[self._held] = False


class DenseFit(PopulationFit):
    """A fit to any matrix of moments, by a Cholesky factor that follows the support.

    A change costs O(k^2) and the gradient O(k d) for k of d features. A feature is barred only when
    ``add`` finds that it lies in the span of the support.
    """

    def __init__(self, loss: PopulationSquaredLoss, moments: DenseMoments):
        self._moments = moments
        self._factor = np.zeros((ROOM, ROOM))
        self._rotated = np.zeros(ROOM)
        # E[y x] as the product with the best predictor; differences then agree to rounding.
        self._cross = moments.times(moments.predictor)
        super().__init__(loss)

    def _add_feature(self, feature: int) -> None:
        moments, size = self._moments, len(self.support)
        if size == len(self._rotated):
            self._factor = np.pad(self._factor, (0, size))
            self._rotated = np.pad(self._rotated, (0, size))
        cross = moments.matrix[feature, self._held]
        own = self._curvature[feature]
        if cholesky.append(self._factor, size, cross, own) <= SPAN:
            self._barred[feature] = True
            return
        cholesky.extend_solution(self._factor, size, moments.cross[feature], self._rotated)
        self.support.append(feature)

    def _prepare_removal(self, place: int) -> None:
        cholesky.remove(self._factor, len(self.support), place, self._rotated)
        # The removal may free any feature that is not zero.
        self._barred = self._curvature <= 0.0

    def _coefficients(self, held: np.ndarray) -> np.ndarray:
        coef = np.zeros(len(held))
        cholesky.solve_transposed(self._factor, len(held), self._rotated, coef)
        return coef

    def _image(self, held: np.ndarray) -> tuple[np.ndarray, float]:
        moments = self._moments
        image = self._cross.copy()
        subtract_rows(image, self.params[held], moments.matrix, held, len(held))
        np.negative(image, out=image)
        return image, max(0.0, float((self.params - moments.predictor) @ image))
