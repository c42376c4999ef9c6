"""Minimisers of the loss of a conditional random field, and tests whether a minimum exists.

Without a ridge, a minimum may not exist. This happens if some change of the parameters makes the
observed labelling more likely relative to some other labellings and less likely relative to none:
the loss then decreases forever along this change. Since any sequence of labels is allowed, a
label, start, end or transition that never occurs gives such a change.
"""

from __future__ import annotations

import numpy as np

from greedyexp.core.listing import listed
from greedyexp.losses.crf_likelihood import CrfLikelihood, NullFit, ReducedLoss
from greedyexp.losses.loss import TOLERANCE, Fit
from greedyexp.losses.quasi_newton import Descent, append, descend, inverse_hessian, remove
from greedyexp.problems.checks import Indices

# Log odds below this value leave a gradient above any tolerance.
_DEEP = 5.0
# To test a minimiser, continue until the gradient has decreased to this fraction, for at most this
# many steps.
_FURTHER = 1e-2
STEPS = 20
# Log odds may change by this much during that time. Without a minimum they change by 4.6.
_MOVED = 1.0
# Log odds from which to search for flat directions, the step of the differences in log odds, and
# the fraction of the largest curvature that counts as zero.
FAR = 20.0
_STEP = 1e-3
FLAT = 1e-9
# Multiple of the tolerance that the gradient cannot reach along truly flat directions, except by
# rounding.
_STEEPER = 1e3
# Largest number of missing labels or transitions listed in a message.
NAMED = 4

_ENDING = "; without a ridge no minimum exists. Give a ridge above zero."

# Step of the difference of gradients that gives a new coefficient's column of the Hessian; larger
# for a column of small values.
DIFFERENCE = 1e-5
# Derivatives smaller than this fraction of the counts they are computed from are rounding errors.
_COUNT_ROUNDING = 1e-13
# Rounding error of a derivative with respect to a dense parameter, relative to its largest count.
_DENSE_ROUNDING = 256 * np.finfo(float).eps
# Compute the Hessian over the dense parameters when the gradient has decreased to this fraction.
_COARSE = 1e-3
# Largest number of fits without features, each with a tolerance based on the previous one.
ROUNDS = 10


def _missing_transitions(loss: CrfLikelihood) -> str:
    """Return a message about labels and transitions that never occur; empty if there are none."""
    r = loss.shape[1]
    if loss.ridge > 0.0 or r == 1:
        return ""
    starts, ends = loss.observed[loss.size :][: 2 * r].reshape(2, r)
    moves = loss.observed[loss.size + 2 * r :].reshape(r, r)
    seen = np.bincount(loss.labels, minlength=r) > 0
    causes = [f"class {k} never occurs" for k in np.flatnonzero(~seen)]
    causes += [f"no chain starts with class {k}" for k in np.flatnonzero(seen & (starts == 0))]
    causes += [f"no chain ends with class {k}" for k in np.flatnonzero(seen & (ends == 0))]
    if loss.chains.max() > 1:
        absent = (moves == 0) & seen & seen[:, None]
        causes += [f"class {k} never follows class {j}" for j, k in np.argwhere(absent)]
    return f"{listed(causes, NAMED)}{_ENDING}" if causes else ""


def _separating_features(loss: CrfLikelihood, function: ReducedLoss) -> str:
    """Return a message about free features that separate a class; empty if there are none."""
    if loss.ridge > 0.0 or loss.shape[1] == 1:
        return ""
    causes = []
    for feature, column in function.support_columns():
        i, k = divmod(feature, loss.shape[1])
        signed = np.where(loss.labels == k, column, -column)
        if signed.any() and ((signed >= 0.0).all() or (signed <= 0.0).all()):
            causes.append(f"feature {i} separates class {k} from the others")
    return f"{', '.join(causes)}{_ENDING}" if causes else ""


def _unbounded_weights(
    loss: CrfLikelihood, function: ReducedLoss, found: Descent, tolerance: float
) -> str:
    """Return a message if the weights grow without bound; empty otherwise.

    A small gradient alone proves nothing, because it also becomes small where log odds grow without
    limit. The gradient is therefore reduced further. At a minimiser the log odds stay constant.
    Without a minimum they move by the logarithm of the reduction.
    """
    if loss.ridge > 0.0 or function.log_odds_bound(found.x) < _DEEP:
        return ""
    if found.converged:
        target = _FURTHER * min(tolerance, np.abs(found.gradient).max(initial=0.0))
        further = descend(function, found.x, target, found.inverse.copy(), STEPS)
        if function.log_odds_bound(further.x - found.x) < _MOVED and not _far_out(
            function, found, tolerance
        ):
            return ""
    return (
        "the weights grow as long as the minimisation continues; without a ridge there seems to be"
        " no minimum. Give a ridge above zero."
    )


def _far_out(function: ReducedLoss, found: Descent, tolerance: float) -> bool:
    """Return whether the gradient is small only because the weights are very large.

    The loss is constant along directions that trade some parameters for others. Along other
    directions it is flat only where weights are very large. The gradient is recomputed at the point
    without its components in all flat directions. In the second case it is large again.
    """
    if function.log_odds_bound(found.x) < FAR:
        return False
    sizes = function.sizes()
    rows = [
        (function(found.x + move)[1] - found.gradient) / (_STEP * sizes)
        for move in np.diag(_STEP / sizes)
    ]
    # The differences are not symmetrised: each is orthogonal to the constant directions.
    _, values, vectors = np.linalg.svd(np.array(rows))
    flat = vectors[values <= FLAT * values[0]]
    back = found.x - flat.T @ (flat @ (found.x * sizes)) / sizes
    return bool(np.abs(function(back)[1]).max() > _STEEPER * tolerance)


class CrfFit(Fit[CrfLikelihood]):
    """A restricted minimiser that keeps its inverse Hessian through additions and removals.

    If there is no minimum, the parameters stay as they were, ``converged`` is False, and
    ``message`` gives the reason.

    Attributes
    ----------
    evaluations : int
        Number of passes over the data for the current minimiser.
    """

    _x: np.ndarray
    _inverse: np.ndarray

    def __init__(self, loss: CrfLikelihood):
        self.loss = loss
        self.support = []
        self._take_over(ReducedLoss(loss, ()), loss.null.found, loss.null.reason)

    def begin(self, support: Indices, start: np.ndarray | None) -> None:
        """Set the support of an empty fit and minimise, from ``start`` if it is given."""
        function = self._extend(support)
        self._minimise(function, self._x if start is None else np.asarray(start)[function.free])

    def add(self, features: Indices) -> None:
        """Add features to the support and minimise."""
        self._minimise(self._extend(features), self._x)

    def remove(self, features: Indices) -> None:
        """Remove features from the support and minimise."""
        for feature in features:
            place = self.support.index(feature)
            self.support.pop(place)
            place += self.loss.n_dense
            self._inverse = remove(self._inverse, place)
            self._x = np.delete(self._x, place)
        self._minimise(ReducedLoss(self.loss, self.support), self._x)

    def _extend(self, features: Indices) -> ReducedLoss:
        """Add features with coefficient zero, extend the inverse, and return the reduced loss.

        The second derivatives are differences of gradients, one pass per feature.
        """
        n_before = len(self._x)
        self.support.extend(int(feature) for feature in features)
        function = ReducedLoss(self.loss, self.support)
        free = function.free
        self._x = np.concatenate((self._x, np.zeros(len(free) - n_before)))
        sizes = function.sizes()
        for place in range(n_before, len(free)):
            ahead, step = self._x.copy(), DIFFERENCE / min(sizes[place], 1.0)
            ahead[place] += step
            column = (function(ahead)[1] - self.full_gradient[free]) / step
            self._inverse = append(self._inverse, column[:place], column[place])
        return function

    def _minimise(self, function: ReducedLoss, x: np.ndarray) -> None:
        reason = self.loss.null.reason or _separating_features(self.loss, function)
        if not reason:
            before, tolerance = self._inverse.copy(), TOLERANCE * self.loss.scale
            found = descend(function, x, self.loss.tolerances[function.free], self._inverse)
            reason = _unbounded_weights(self.loss, function, found, tolerance)
            self._inverse = before if reason else found.inverse
        self._take_over(
            function, _unmoved_descent(function, x, self._inverse) if reason else found, reason
        )

    def _take_over(self, function: ReducedLoss, descent: Descent, reason: str) -> None:
        """Store the result of a descent; ``reason`` is empty if there is a minimum."""
        self._x, self._inverse = descent.x, descent.inverse
        self.evaluations = descent.evaluations
        self._params = function.all_params(descent.x)
        self.value, self._full_gradient = self.loss.value_and_gradient(self.params)
        self.converged = descent.converged
        self.message = reason
        if not (descent.converged or reason):
            self.message = _unconverged(descent, self.loss)


def minimum_without_features(loss: CrfLikelihood) -> NullFit:
    """Return the minimiser over the dense parameters.

    Transitions are so ill-conditioned that a quasi-Newton method would need many steps, in this fit
    and in all later ones. The Hessian is therefore computed once.
    """
    function, reason = ReducedLoss(loss, ()), _missing_transitions(loss)
    if not reason:
        null = _descend_without_features(loss, function)
        tolerance = TOLERANCE * null.scale
        reason = _unbounded_weights(loss, function, null.found, tolerance)
        if not reason:
            return null
    zero = np.zeros(loss.n_dense)
    found = _unmoved_descent(function, zero, np.eye(loss.n_dense))
    return NullFit(found, _scale_of(loss, loss.gradient(function.all_params(zero))), reason)


def _unmoved_descent(function: ReducedLoss, x: np.ndarray, inverse: np.ndarray) -> Descent:
    """Return the state of a minimisation before its first step."""
    value, gradient = function(x)
    return Descent(x, value, gradient, inverse, evaluations=1)


def _descend_without_features(loss: CrfLikelihood, function: ReducedLoss) -> NullFit:
    x = np.zeros(loss.n_dense)
    scale = np.abs(function(x)[1]).max() or 1.0
    found = descend(function, x, _COARSE * scale)
    inverse = inverse_hessian(function, found, DIFFERENCE, loss.ridge)
    for _ in range(ROUNDS):
        found = descend(function, found.x, 0.5 * TOLERANCE * scale, inverse)
        scale = _scale_of(loss, loss.gradient(function.all_params(found.x)))
        if not found.converged or np.abs(found.gradient).max() <= TOLERANCE * scale:
            return NullFit(found, scale)
        inverse = found.inverse
    found.converged = False
    return NullFit(found, scale)


def _scale_of(loss: CrfLikelihood, gradient: np.ndarray) -> float:
    """Return the largest |derivative| with respect to a feature.

    If it is within rounding error, return the largest count instead. The result is large enough to
    keep the tolerance above the rounding error of derivatives with respect to dense parameters.
    """
    largest = np.abs(gradient[: loss.size]).max()
    counts = np.abs(loss.observed).astype(float) / loss.n_samples
    own, dense = counts[: loss.size].max(), counts[loss.size :].max()
    scale = float(largest if largest > _COUNT_ROUNDING * own else own or 1.0)
    return max(scale, float(_DENSE_ROUNDING / TOLERANCE * dense))


def _unconverged(found: Descent, loss: CrfLikelihood) -> str:
    left = np.abs(found.gradient).max() / loss.scale
    remedy = "" if loss.ridge else " A ridge above zero gives it a finite minimiser."
    return (
        f"The minimiser of the chain model was not found: {found.iterations} iterations left "
        f"{left:.1e} of the gradient.{remedy}"
    )
