"""Least squares over a distribution with known second moments."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from greedyexp.kernels import cholesky
from greedyexp.kernels.linear_algebra import subtract_rows
from greedyexp.losses.loss import TOLERANCE, Fit, Loss, PlainFit, Restricted, remarks
from greedyexp.problems.checks import Indices
from greedyexp.problems.moments import SPAN, DenseMoments, Moments, SpreadMoments

# Initial number of features to allocate; doubled when full.
ROOM = 16


class PopulationSquaredLoss(Loss):
    """R(w) = E[(<w, x> - y)^2] / 2 + ridge/2 ||w||^2.

    With the best linear predictor wbar = ``moments.predictor``, R is half of ``moments.least`` plus
    (w - wbar)^T E[x x^T] (w - wbar) / 2 plus the penalty. All three terms are nonnegative, hence R
    is accurate even if it is close to zero. The gradient is computed from w - wbar for the same
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
    beta = 1.0
    rho = np.inf

    def __init__(self, moments: Moments, *, ridge: float = 0.0):
        self.moments = moments
        self.largest_feature = 1.0
        self.shape = (moments.size, 1)
        self.ridge = float(ridge)
        self._curvature = moments.diagonal + self.ridge
        self._best = moments.predictor
        self._least = moments.least
        largest = float(np.sqrt(moments.diagonal.max() * moments.power))
        self.scale = float(np.abs(moments.cross).max()) or largest or 1.0

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

    @property
    def smoothness(self) -> np.ndarray:
        """The constant second derivatives E[x_j^2] + ridge, shape (d,)."""
        return self._curvature.copy()

    def strong_convexity(self, support: Indices) -> float:
        """Return the smallest eigenvalue of E[x_S x_S^T] + ridge I; infinite without features."""
        return self.moments.smallest_eigenvalue(support) + self.ridge

    def coordinate_minima(self, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return steps -g_j / h_j and gains g_j^2 / (2 h_j), both (d,); zero for a zero feature."""
        slope = self.gradient(params)
        step = np.zeros(self.size)
        np.divide(-slope, self._curvature, out=step, where=self._curvature > 0.0)
        return step, -0.5 * slope * step

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
        value, gradient = self.value_and_gradient(params)
        certified = np.abs(gradient[support]).max(initial=0.0) <= TOLERANCE * self.scale
        return Restricted(params, value, gradient, bool(certified))

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


class PopulationFit(Fit[PopulationSquaredLoss]):
    """Base class of fits to moments: the support, barred features and convergence.

    A feature is barred if the squared sine of its angle to the span of the support is at most
    1e-10. ``add`` skips it, its gradient and gains are zero until a removal frees it, and
    ``message`` lists it. With a ridge, each feature has an additional entry sqrt(ridge) of its own;
    only with a tiny ridge can it lie in the span of others. Zero features stay barred.

    Parameters
    ----------
    loss : PopulationSquaredLoss
    """

    def __init__(self, loss: PopulationSquaredLoss):
        self.loss = loss
        self.support: list[int] = []
        # The support as an array and as a mask.
        self._held = np.zeros(ROOM, dtype=np.int64)
        self._inside = np.zeros(loss.size, dtype=bool)
        self._curvature = loss.smoothness
        self._barred = self._curvature <= 0.0
        self._solve()

    def add(self, features: Indices) -> None:
        """Add features to the support, except for those in its span, and refit."""
        for feature in features:
            if not (self._inside[feature] or self._barred[feature]):
                self._make_room(len(self.support) + 1)
                self._add_feature(int(feature))
        self._solve()

    def remove(self, features: Indices) -> None:
        """Remove features from the support and refit."""
        for feature in features:
            place = self.support.index(feature)
            self._prepare_removal(place)
            del self.support[place]
            self._inside[feature] = False
            self._held[place : len(self.support)] = self._held[place + 1 : len(self.support) + 1]
        self._solve()

    @property
    def gradient(self) -> np.ndarray:
        """Gradient over the features, zero on the support and for barred features; shape (d,)."""
        return self.full_gradient.copy()

    def gains(self) -> np.ndarray:
        """Return R(w) - min_a R(w + a e_j) = g_j^2 / (2 h_j) for every feature, shape (d,)."""
        slope = self.full_gradient
        gains = np.zeros(len(slope))
        np.divide(slope * slope, 2.0 * self._curvature, out=gains, where=slope != 0.0)
        return gains

    def removal_costs(self) -> np.ndarray:
        """Return R(w - w_i e_i) - R(w) = h_i w_i^2 / 2 for each i of the support."""
        held = self._held[: len(self.support)]
        own = self.params[held]
        return 0.5 * self._curvature[held] * own * own

    @abstractmethod
    def _add_feature(self, feature: int) -> None:
        """Add one feature to the support, and bar the features in the new span."""

    @abstractmethod
    def _prepare_removal(self, place: int) -> None:
        """Prepare the removal of the feature at this position; free barred features."""

    @abstractmethod
    def _coefficients(self, held: np.ndarray) -> np.ndarray:
        """Return the minimiser over the support ``held``, shape (k,)."""

    @abstractmethod
    def _image(self, held: np.ndarray) -> tuple[np.ndarray, float]:
        """Return E[x x^T] (w - wbar), (d,), and (w - wbar)^T E[x x^T] (w - wbar) at ``params``."""

    def _solve(self) -> None:
        """Compute coefficients, value, gradient and convergence on the current support."""
        loss, held = self.loss, self._held[: len(self.support)]
        self._params = np.zeros(loss.size)
        self.params[held] = self._coefficients(held)
        gradient, apart = self._image(held)
        self.value = loss.value_at(self.params, apart)
        gradient += loss.ridge * self.params
        error = np.abs(gradient[held]).max(initial=0.0)
        self.converged = bool(error <= TOLERANCE * loss.scale)
        gradient[held] = 0.0
        gradient[self._barred] = 0.0
        self._full_gradient = gradient
        skipped = np.flatnonzero(self._barred & (self._curvature > 0.0))
        self.message = remarks(skipped, self.converged)

    def _append(self, feature: int) -> None:
        self._held[len(self.support)] = feature
        self._inside[feature] = True
        self.support.append(feature)

    def _make_room(self, needed: int) -> None:
        if needed > len(self._held):
            self._held = np.append(self._held, np.zeros_like(self._held))


class SpreadFit(PopulationFit):
    """A fit to features that share a hidden variable; every change costs O(d)."""

    def __init__(self, loss: PopulationSquaredLoss, moments: SpreadMoments):
        self._moments = moments
        super().__init__(loss)

    def _add_feature(self, feature: int) -> None:
        self._append(feature)
        self._bar()

    def _prepare_removal(self, place: int) -> None:
        """Do nothing."""

    def _coefficients(self, held: np.ndarray) -> np.ndarray:
        # Recompute the barred features, because a removal shrinks the span.
        self._bar()
        loss = self.loss
        return loss.moments.solve(held, loss.moments.cross[held], loss.ridge)

    def _image(self, held: np.ndarray) -> tuple[np.ndarray, float]:
        moments = self.loss.moments
        apart = self.params - moments.predictor
        return moments.times(apart), moments.quadratic(apart)

    def _bar(self) -> None:
        """Bar all features in the span of the support."""
        held = self._held[: len(self.support)]
        outside = self._moments.outside(held, self.loss.ridge)
        self._barred = outside <= SPAN * self._curvature
        self._barred[held] = False


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
        cross = moments.matrix[feature, self._held]
        own = self._curvature[feature]
        if cholesky.append(self._factor, size, cross, own) <= SPAN:
            self._barred[feature] = True
            return
        cholesky.extend_solution(self._factor, size, moments.cross[feature], self._rotated)
        self._append(feature)

    def _prepare_removal(self, place: int) -> None:
        cholesky.remove(self._factor, len(self.support), place, self._rotated)
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

    def _make_room(self, needed: int) -> None:
        old = len(self._held)
        super()._make_room(needed)
        if len(self._held) > old:
            self._factor = np.pad(self._factor, (0, old))
            self._rotated = np.pad(self._rotated, (0, old))
