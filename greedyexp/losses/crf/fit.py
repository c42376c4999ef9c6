"""The minimiser of a chain loss over a support that grows and shrinks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from greedyexp.losses._quasi_newton import Descent, append, descend, inverse_hessian, remove
from greedyexp.losses.crf.existence import growing, separating, unseen
from greedyexp.losses.crf.reduced import Reduced
from greedyexp.losses.loss import TOLERANCE, Fit

if TYPE_CHECKING:
    from greedyexp.losses.crf.crf import CrfLoss

# Step of the difference of gradients that tells the Hessian's column of a new coefficient, longer
# for a column of small values.
DIFFERENCE = 1e-5
# Derivatives that are a smaller part of the counts they come from are rounding.
COUNT_ROUNDING = 1e-13
# The rounding of a derivative by a dense parameter, relative to the largest of its counts.
DENSE_ROUNDING = 256 * np.finfo(float).eps
# Part of the first gradient at which the Hessian over the dense parameters is computed.
COARSE = 1e-3
# Fits without features, each to the tolerance that the one before has shown to be needed.
ROUNDS = 10


class CrfFit(Fit):
    """A restricted minimiser that carries its inverse Hessian through additions and removals.

    Where no minimum exists the parameters stay as they were before, ``converged`` is False and
    ``message`` says why.

    Attributes
    ----------
    evaluations : int
        Passes over the data that the present minimiser took.
    """

    def __init__(self, loss: CrfLoss):
        self.loss = loss
        self.support = []
        self._settle(Reduced(loss, ()), loss.null.found, loss.null.reason)

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
        sizes = function.sizes()
        for place in range(n_before, len(free)):
            ahead, step = self._x.copy(), DIFFERENCE / min(sizes[place], 1.0)
            ahead[place] += step
            column = (function(ahead)[1] - self.full_gradient[free]) / step
            self._inverse = append(self._inverse, column[:place], column[place])
        return function

    def _minimise(self, function: Reduced, x: np.ndarray) -> None:
        reason = self.loss.null.reason or separating(self.loss, function)
        if not reason:
            before, tolerance = self._inverse.copy(), TOLERANCE * self.loss.scale
            found = descend(function, x, self.loss.tolerances[function.free], self._inverse)
            reason = growing(self.loss, function, found, tolerance)
            self._inverse = before if reason else found.inverse
        self._settle(function, unmoved(function, x, self._inverse) if reason else found, reason)

    def _settle(self, function: Reduced, descent: Descent, reason: str) -> None:
        """Take over where a descent ended; ``reason`` says why there is no minimum, if so."""
        self._x, self._inverse = descent.x, descent.inverse
        self.evaluations = descent.evaluations
        self.params = function.spread(descent.x)
        self.value, self.full_gradient = self.loss.value_and_gradient(self.params)
        self.converged = descent.converged
        self.message = reason
        if not (descent.converged or reason):
            self.message = _unconverged(descent, self.loss)


@dataclass(frozen=True)
class Null:
    """The fit without features.

    Parameters
    ----------
    found : Descent
        The minimiser over the dense parameters; zero where there is none.
    scale : float > 0
        The largest gradient of a feature there, no less than what rounding allows.
    reason : str
        Why there is no minimum, a sentence; empty if there is one.
    """

    found: Descent
    scale: float
    reason: str = ""


def minimum_without_features(loss: CrfLoss) -> Null:
    """The minimiser over the dense parameters.

    The Hessian is computed once on the way: transitions are so ill-conditioned that what a
    quasi-Newton method finds out about it would cost more, in this fit and in all that follow.
    """
    function, reason = Reduced(loss, ()), unseen(loss)
    if not reason:
        null = _descend_without_features(loss, function)
        tolerance = TOLERANCE * null.scale
        reason = growing(loss, function, null.found, tolerance)
        if not reason:
            return null
    zero = np.zeros(loss.n_dense)
    found = unmoved(function, zero, np.eye(loss.n_dense))
    return Null(found, _scale_of(loss, loss.gradient(function.spread(zero))), reason)


def unmoved(function: Reduced, x: np.ndarray, inverse: np.ndarray) -> Descent:
    """A descent that has not left its start."""
    value, gradient = function(x)
    return Descent(x, value, gradient, inverse, evaluations=1)


def _descend_without_features(loss: CrfLoss, function: Reduced) -> Null:
    x = np.zeros(loss.n_dense)
    scale = np.abs(function(x)[1]).max() or 1.0
    found = descend(function, x, COARSE * scale)
    inverse = inverse_hessian(function, found, DIFFERENCE, loss.ridge)
    for _ in range(ROUNDS):
        found = descend(function, found.x, 0.5 * TOLERANCE * scale, inverse)
        scale = _scale_of(loss, loss.gradient(function.spread(found.x)))
        if not found.converged or np.abs(found.gradient).max() <= TOLERANCE * scale:
            return Null(found, scale)
        inverse = found.inverse
    found.converged = False
    return Null(found, scale)


def _scale_of(loss: CrfLoss, gradient: np.ndarray) -> float:
    """The largest |derivative| by a feature, or what it is a difference of if it is only rounding.

    No less than lets the tolerance stay above the rounding of derivatives by dense parameters.
    """
    largest = np.abs(gradient[: loss.size]).max()
    counts = np.abs(loss.observed).astype(float) / loss.n_samples
    own, dense = counts[: loss.size].max(), counts[loss.size :].max()
    scale = float(largest if largest > COUNT_ROUNDING * own else own or 1.0)
    return max(scale, float(DENSE_ROUNDING / TOLERANCE * dense))


def _unconverged(found: Descent, loss: CrfLoss) -> str:
    left = np.abs(found.gradient).max() / loss.scale
    remedy = "" if loss.ridge else " A ridge above zero gives it a finite minimiser."
    return (
        f"The minimiser of the chain model was not found: {found.iterations} iterations left "
        f"{left:.1e} of the gradient.{remedy}"
    )
