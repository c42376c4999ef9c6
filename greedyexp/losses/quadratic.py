"""Quadratic losses, and fits that leave out the features in the span of their support."""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeVar

import numpy as np

from greedyexp.core.listing import listed
from greedyexp.losses.loss import TOLERANCE, Fit, Loss, Restricted
from greedyexp.problems.checks import Indices

# Largest number of features listed in a message.
NAMED = 6


class QuadraticLoss(Loss):
    """A loss with constant second derivatives along coefficients, ``_curvature`` (d + q,)."""

    beta = 1.0
    _curvature: np.ndarray

    @property
    def smoothness(self) -> np.ndarray:
        """The constant second derivatives, shape (d + q,)."""
        return self._curvature.copy()

    def coordinate_minima(self, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return steps -g_j / h_j and gains g_j^2 / (2 h_j), both (d,); zero for a zero feature."""
        gradient, own = self.gradient(params), self._curvature[: self.size]
        slope = gradient[: self.size]
        if self.means is not None:
            slope = slope - gradient[self.size] * self.means
        step = np.zeros(self.size)
        np.divide(-slope, own, out=step, where=own > 0.0)
        return step, -0.5 * slope * step

    def _restricted(self, params: np.ndarray, free: np.ndarray) -> Restricted:
        """Return a minimiser over the coefficients ``free``, with its certificate."""
        value, gradient = self.value_and_gradient(params)
        certified = np.abs(gradient[free]).max(initial=0.0) <= TOLERANCE * self.scale
        return Restricted(params, value, gradient, bool(certified))


Q = TypeVar("Q", bound=QuadraticLoss)


class QuadraticFit(Fit[Q]):
    """A fit of a quadratic loss, in which features in the span of the support are barred.

    A feature is barred if the squared sine of its angle to the span of the support is at most
    1e-10. ``add`` skips it, its gradient and gains are zero until a removal frees it, and
    ``message`` lists it. With a ridge, each feature has an additional entry of its own, and it can
    lie in the span of others only if the ridge is tiny. Zero features stay barred.

    Parameters
    ----------
    loss : QuadraticLoss
    """

    # Gains up to this number are rounding errors.
    _floor = 0.0

    def __init__(self, loss: Q):
        self.loss = loss
        self.support: list[int] = []
        self._curvature = loss.smoothness[: loss.size]

    def add(self, features: Indices) -> None:
        """Add features to the support, except for those in its span, and refit."""
        for feature in features:
            if feature not in self.support and not self._is_barred(feature):
                self._add_feature(int(feature))
        self._solve()

    def remove(self, features: Indices) -> None:
        """Remove features from the support and refit."""
        for feature in features:
            place = self.support.index(feature)
            self._prepare_removal(place)
            del self.support[place]
        self._solve()

    def gains(self) -> np.ndarray:
        """Return Q(b) - min_a Q(b + a e_j) = g_j^2 / (2 h_j) for every feature, shape (d,)."""
        return self._gains(self._curvature)

    def removal_costs(self, most: float = np.inf) -> np.ndarray:
        """Return Q(b - b_i e_i) - Q(b) = h_i b_i^2 / 2 for each i of the support."""
        own = self.params[self.support]
        return 0.5 * self._curvature[self.support] * own * own

    def _gains(self, curvature: np.ndarray) -> np.ndarray:
        """Return g_j^2 / (2 curvature_j), and zero where it is within rounding error."""
        slope = self.full_gradient[: self.loss.size]
        gains = np.zeros(len(slope))
        np.divide(slope * slope, 2.0 * curvature, out=gains, where=slope != 0.0)
        gains[gains <= self._floor] = 0.0
        return gains

    def _conclude(self, error: float, skipped: np.ndarray) -> None:
        """Set convergence and message from the largest |derivative| over the support.

        Parameters
        ----------
        error : float
        skipped : bool array (d,)
            Barred features to list.
        """
        self.converged = bool(error <= TOLERANCE * self.loss.scale)
        parts, features = [], np.flatnonzero(skipped)
        if len(features):
            named = listed(features.tolist(), NAMED)
            parts.append(f"features in the span of those selected were left out: {named}.")
        if not self.converged:
            parts.append("the least-squares fit does not reach its tolerance.")
        self.message = " ".join(parts)

    @abstractmethod
    def _is_barred(self, feature: int) -> bool:
        """Return whether a feature is in the span of the support."""

    @abstractmethod
    def _add_feature(self, feature: int) -> None:
        """Append a feature to ``support``, unless it lies in the span of the support."""

    @abstractmethod
    def _prepare_removal(self, place: int) -> None:
        """Prepare the removal of the feature at this position of ``support``."""

    @abstractmethod
    def _solve(self) -> None:
        """Compute coefficients, value, gradient and convergence on the current support."""
