"""Minimisers of the loss of a conditional random field, and tests whether one exists.

Without a ridge there is no minimum if some change of the parameters makes the observed labelling no
less likely than any other labelling, and more likely than some: the loss falls for ever along it.
Any sequence of labels is allowed. A label, start, end or transition that never occurs is therefore
such a change by itself.
"""

from __future__ import annotations

import numpy as np

from greedyexp.losses.crf_likelihood import CrfLikelihood, NullFit, Reduced
from greedyexp.losses.loss import TOLERANCE, Fit
from greedyexp.losses.quasi_newton import Descent, append, descend, inverse_hessian, remove
from greedyexp.problems.checks import Indices

# Log odds below this leave a gradient that no tolerance takes for zero.
DEEP = 5.0
# Part of the gradient to which a minimiser is followed, and the steps that may take.
FURTHER = 1e-2
STEPS = 20
# Log odds by which a minimiser may move on the way. Where there is none they move by 4.6.
MOVED = 1.0
# Log odds from which on directions are looked for in which the loss is flat, the step in log odds
# that tells, and the part of the largest curvature that is none.
FAR = 20.0
STEP = 1e-3
FLAT = 1e-9
# Multiple of the tolerance that no gauge, but for rounding, leaves of the gradient.
STEEPER = 1e3
# Missing things that a message names.
NAMED = 4

ENDING = "so that without a ridge no minimum exists. Give a ridge above zero."


def unseen(loss: CrfLikelihood) -> str:
    """A sentence on classes, starts, ends and moves that no labelling has; empty without any."""
    r = loss.shape[1]
    if loss.ridge > 0.0 or r == 1:
        return ""
    starts, ends = loss.observed[loss.size :][: 2 * r].reshape(2, r)
    moves = loss.observed[loss.size + 2 * r :].reshape(r, r)
    seen = np.bincount(loss.labels, minlength=r) > 0
    said = [f"class {k} never occurs" for k in np.flatnonzero(~seen)]
    said += [f"no chain starts with class {k}" for k in np.flatnonzero(seen & (starts == 0))]
    said += [f"no chain ends with class {k}" for k in np.flatnonzero(seen & (ends == 0))]
    if loss.chains.max() > 1:
        absent = (moves == 0) & seen & seen[:, None]
        said += [f"class {k} never follows class {j}" for j, k in np.argwhere(absent)]
    more = [f"{len(said) - NAMED} more of this kind"] if len(said) > NAMED else []
    return f"{', '.join(said[:NAMED] + more)}, {ENDING}" if said else ""


def separating(loss: CrfLikelihood, function: Reduced) -> str:
    """A sentence on free coefficients that tell a class by their sign alone; empty without any."""
    if loss.ridge > 0.0 or loss.shape[1] == 1:
        return ""
    said = []
    for feature, column in function.selected():
        i, k = divmod(feature, loss.shape[1])
        signed = np.where(loss.labels == k, column, -column)
        if signed.any() and ((signed >= 0.0).all() or (signed <= 0.0).all()):
            said.append(f"feature {i} separates class {k} from the others")
    return f"{', '.join(said)}, {ENDING}" if said else ""


def growing(loss: CrfLikelihood, function: Reduced, found: Descent, tolerance: float) -> str:
    """A sentence when weights grow for as long as the minimum is looked for; empty otherwise.

    A gradient within the tolerance says nothing where log odds may change at will and leave it
    there. At a minimiser they stay when the gradient is made smaller still; where there is none
    they move by the logarithm of that.
    """
    if loss.ridge > 0.0 or function.odds(found.x) < DEEP:
        return ""
    if found.converged:
        target = FURTHER * min(tolerance, np.abs(found.gradient).max(initial=0.0))
        further = descend(function, found.x, target, found.inverse.copy(), STEPS)
        if function.odds(further.x - found.x) < MOVED and not _beyond(function, found, tolerance):
            return ""
    return (
        "the weights grow for as long as a minimum is looked for, so that without a ridge none "
        "seems to exist. Give a ridge above zero."
    )


def _beyond(function: Reduced, found: Descent, tolerance: float) -> bool:
    """Whether the gradient is flat only because the weights went so far.

    Some parameters can be traded for each other, and the loss is flat in these directions
    everywhere. In others it is flat far out alone: without its part in all flat directions the
    point has a gradient again.
    """
    if function.odds(found.x) < FAR:
        return False
    sizes = function.sizes()
    rows = [
        (function(found.x + move)[1] - found.gradient) / (STEP * sizes)
        for move in np.diag(STEP / sizes)
    ]
    # Each difference is orthogonal to what can be traded, which the symmetric part would not keep.
    _, values, vectors = np.linalg.svd(np.array(rows))
    flat = vectors[values <= FLAT * values[0]]
    back = found.x - flat.T @ (flat @ (found.x * sizes)) / sizes
    return bool(np.abs(function(back)[1]).max() > STEEPER * tolerance)


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


class CrfFit(Fit[CrfLikelihood]):
    """A restricted minimiser that carries its inverse Hessian through additions and removals.

    Where no minimum exists the parameters stay as they were before, ``converged`` is False and
    ``message`` says why.

    Attributes
    ----------
    evaluations : int
        Passes over the data that the present minimiser took.
    """

    _x: np.ndarray
    _inverse: np.ndarray

    def __init__(self, loss: CrfLikelihood):
        self.loss = loss
        self.support = []
        self._settle(Reduced(loss, ()), loss.null.found, loss.null.reason)

    def begin(self, support: Indices, start: np.ndarray | None) -> None:
        """Take a support into an empty one and minimise, from ``start`` if it is given."""
        function = self._enter(support)
        self._minimise(function, self._x if start is None else np.asarray(start)[function.free])

    def add(self, features: Indices) -> None:
        """Take features into the support and minimise."""
        self._minimise(self._enter(features), self._x)

    def remove(self, features: Indices) -> None:
        """Take features out of the support and minimise."""
        for feature in features:
            place = self.support.index(feature)
            self.support.pop(place)
            place += self.loss.n_dense
            self._inverse = remove(self._inverse, place)
            self._x = np.delete(self._x, place)
        self._minimise(Reduced(self.loss, self.support), self._x)

    def _enter(self, features: Indices) -> Reduced:
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
        self._params = function.spread(descent.x)
        self.value, self._full_gradient = self.loss.value_and_gradient(self.params)
        self.converged = descent.converged
        self.message = reason
        if not (descent.converged or reason):
            self.message = _unconverged(descent, self.loss)


def minimum_without_features(loss: CrfLikelihood) -> NullFit:
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
    return NullFit(found, _scale_of(loss, loss.gradient(function.spread(zero))), reason)


def unmoved(function: Reduced, x: np.ndarray, inverse: np.ndarray) -> Descent:
    """A descent that has not left its start."""
    value, gradient = function(x)
    return Descent(x, value, gradient, inverse, evaluations=1)


def _descend_without_features(loss: CrfLikelihood, function: Reduced) -> NullFit:
    x = np.zeros(loss.n_dense)
    scale = np.abs(function(x)[1]).max() or 1.0
    found = descend(function, x, COARSE * scale)
    inverse = inverse_hessian(function, found, DIFFERENCE, loss.ridge)
    for _ in range(ROUNDS):
        found = descend(function, found.x, 0.5 * TOLERANCE * scale, inverse)
        scale = _scale_of(loss, loss.gradient(function.spread(found.x)))
        if not found.converged or np.abs(found.gradient).max() <= TOLERANCE * scale:
            return NullFit(found, scale)
        inverse = found.inverse
    found.converged = False
    return NullFit(found, scale)


def _scale_of(loss: CrfLikelihood, gradient: np.ndarray) -> float:
    """The largest |derivative| by a feature, or what it is a difference of if it is only rounding.

    No less than lets the tolerance stay above the rounding of derivatives by dense parameters.
    """
    largest = np.abs(gradient[: loss.size]).max()
    counts = np.abs(loss.observed).astype(float) / loss.n_samples
    own, dense = counts[: loss.size].max(), counts[loss.size :].max()
    scale = float(largest if largest > COUNT_ROUNDING * own else own or 1.0)
    return max(scale, float(DENSE_ROUNDING / TOLERANCE * dense))


def _unconverged(found: Descent, loss: CrfLikelihood) -> str:
    left = np.abs(found.gradient).max() / loss.scale
    remedy = "" if loss.ridge else " A ridge above zero gives it a finite minimiser."
    return (
        f"The minimiser of the chain model was not found: {found.iterations} iterations left "
        f"{left:.1e} of the gradient.{remedy}"
    )
