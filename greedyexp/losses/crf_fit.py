"""The minimiser of a chain loss over a support that grows and shrinks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from greedyexp.losses.crf_reduced import Reduced
from greedyexp.losses.loss import TOLERANCE, Fit
from greedyexp.losses.quasi_newton import Descent, append, descend, inverse_hessian, remove

if TYPE_CHECKING:
    from greedyexp.losses.crf import CrfLoss

# Step of the difference of gradients that tells the Hessian's column of a new coefficient.
DIFFERENCE = 1e-5
# Derivatives that are a smaller part of the counts they come from are rounding.
COUNT_ROUNDING = 1e-13
# Part of the first gradient at which the Hessian over the dense parameters is computed.
COARSE = 1e-3
# Fits without features, each to the tolerance that the one before has shown to be needed.
ROUNDS = 10


class CrfFit(Fit):
    """A restricted minimiser that carries its inverse Hessian through additions and removals.

    Attributes
    ----------
    evaluations : int
        Passes over the data that the present minimiser took.
    """

    def __init__(self, loss: CrfLoss):
        self.loss = loss
        self.support = []
        self._settle(Reduced(loss, ()), loss.null[0])

    def begin(self, support: Sequence[int], start: np.ndarray | None) -> None:
        """Take a support into an empty one and minimise, from ``start`` if it is given."""
        function = self._enter(support)
        self._minimise(function, self._x if start is None else np.asarray(start)[function.free])

    def add(self, features: Sequence[int]) -> None:
        """Take features into the support and minimise."""
        self._minimise(self._enter(features), self._x)

    def remove(self, features: Sequence[int]) -> None:
        """Take features out of the support and minimise."""
        for feature in features:
            place = self.support.index(feature)
            self.support.pop(place)
            place += self.loss.n_dense
            self._inverse = remove(self._inverse, place)
            self._x = np.delete(self._x, place)
        self._minimise(Reduced(self.loss, self.support), self._x)

    def _enter(self, features: Sequence[int]) -> Reduced:
        """Give features the coefficient zero, and the inverse Hessian their derivatives.

        These are differences of gradients, one pass for each feature. Returns the loss over what is
        free now.
        """
        n_before = len(self._x)
        self.support.extend(int(feature) for feature in features)
        function = Reduced(self.loss, self.support)
        free = function.free
        self._x = np.concatenate((self._x, np.zeros(len(free) - n_before)))
        for place in range(n_before, len(free)):
            ahead = self._x.copy()
            ahead[place] += DIFFERENCE
            column = (function(ahead)[1] - self.full_gradient[free]) / DIFFERENCE
            self._inverse = append(self._inverse, column[:place], column[place])
        return function

    def _minimise(self, function: Reduced, x: np.ndarray) -> None:
        tolerance = TOLERANCE * self.loss.scale
        self._settle(function, descend(function, x, tolerance, self._inverse))

    def _settle(self, function: Reduced, descent: Descent) -> None:
        self._x, self._inverse = descent.x, descent.inverse
        self.evaluations = descent.evaluations
        self.params = function.spread(descent.x)
        self.value, self.full_gradient = self.loss.value_and_gradient(self.params)
        self.converged = descent.converged
        self.message = "" if descent.converged else _unconverged(descent, self.loss)


def minimum_without_features(loss: CrfLoss) -> tuple[Descent, float]:
    """The minimiser over the dense parameters, and the largest gradient of a feature there.

    The Hessian is computed once on the way: transitions are so ill-conditioned that what a
    quasi-Newton method finds out about it would cost more, in this fit and in all that follow.
    """
    function, x = Reduced(loss, ()), np.zeros(loss.n_dense)
    scale = np.abs(function(x)[1]).max() or 1.0
    found = descend(function, x, COARSE * scale)
    inverse = inverse_hessian(function, found, DIFFERENCE, loss.ridge)
    for _ in range(ROUNDS):
        found = descend(function, found.x, 0.5 * TOLERANCE * scale, inverse)
        scale = _scale_of(loss, loss.gradient(function.spread(found.x))[: loss.size])
        if not found.converged or np.abs(found.gradient).max() <= TOLERANCE * scale:
            return found, scale
        inverse = found.inverse
    found.converged = False
    return found, scale


def _scale_of(loss: CrfLoss, gradient: np.ndarray) -> float:
    """The largest |derivative|, or what it is a difference of if it is only rounding."""
    largest = np.abs(gradient).max()
    counts = np.abs(loss.observed[: loss.size]).max() / loss.n_samples
    return float(largest if largest > COUNT_ROUNDING * counts else counts or 1.0)


def _unconverged(found: Descent, loss: CrfLoss) -> str:
    left = np.abs(found.gradient).max() / loss.scale
    remedy = "" if loss.ridge else " A ridge above zero gives it a finite minimiser."
    return (
        f"The minimiser of the chain model was not found: {found.iterations} iterations left "
        f"{left:.1e} of the gradient.{remedy}"
    )
