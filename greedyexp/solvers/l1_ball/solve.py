"""The minimiser of a convex smooth risk over an l1 ball, with a certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.losses.loss import Loss
from greedyexp.solvers.l1_ball.conic import conic_start, has_conic
from greedyexp.solvers.l1_ball.face import settle_on_face
from greedyexp.solvers.l1_ball.kinks import minimise_unsmoothed_over_ball
from greedyexp.solvers.l1_ball.minimum import BallMinimum, check_radius, duality_gap
from greedyexp.solvers.l1_ball.path import start_on_path
from greedyexp.solvers.l1_ball.softer import start_by_softer
from greedyexp.solvers.l1_ball.spread import is_spread, minimise_spread

__all__ = ["BallMinimum", "duality_gap", "minimise_over_ball", "minimise_unsmoothed_over_ball"]

# What the gap is to be, as part of R(0), and what the rounding of derivatives may be, as part of
# their terms.
GAP = 1e-11
EPS = np.finfo(float).eps
ROUNDING = 4 * EPS
# Rounding is allowed for up to this part of R(0): a larger gap certifies nothing.
COARSEST = 1e-9
# Below this part of R(0) nothing is gained by going on.
FINEST = 1e-16
# Of moments, the most coefficients for which a matrix is formed.
MOST_SETTLED = 2000


def minimise_over_ball(loss: Loss, radius: float) -> BallMinimum:
    """min R(w) subject to ||w||_1 <= radius.

    The weight of an l1 penalty is found at which its minimiser has the norm; an active-set method
    goes on from there, exactly on the face of the ball. Losses with kinks that are smoothed little
    are reached through some that are smoothed more, and should that fail by an interior point
    method. Of moments of features that share a hidden variable the minimiser is a root in two
    numbers, and no matrix is formed; where these are lost to rounding, as with features that are
    all but copies, the active-set method goes on, while at most 2000 are in use. Of several
    minimisers any is given.

    The gap is the duality gap, or R(w) where that is less, since no risk is negative. When it is
    too large, as rounding makes it in a ball that is much larger than the minimiser, ||grad
    R(w)||^2 / (2 mu) may be less, with mu the strong convexity. It is converged when the gap is at
    most 1e-11 R(0), with an allowance for rounding: 1e-15 radius times the sizes of what
    derivatives are summed from, but no more than 1e-9 R(0).

    Parameters
    ----------
    loss : Loss
        Without dense coefficients.
    radius : float > 0

    Raises
    ------
    ConfigError
        When the radius is not positive and finite.
    DataError
        When the loss has an intercept or other dense coefficients.

    References
    ----------
    Shalev-Shwartz, Srebro & Zhang (2009), equation 4.
    """
    check_radius(radius)
    if loss.n_dense:
        raise DataError(
            "a risk over an l1 ball has no coefficients outside it.", remedy="Leave intercept out."
        )
    origin = np.zeros(loss.size)
    value, gradient = loss.value_and_gradient(origin)
    judge = _Judge(loss, radius, value, float(np.abs(gradient).max()))
    if radius * judge.steepest <= FINEST * value:
        return judge(origin)
    finest = FINEST * value + min(EPS * radius * judge.steepest, GAP * value)
    if is_spread(loss):
        best = judge(minimise_spread(loss, radius))
        if best.converged:
            return best
        other = judge(settle_on_face(loss, best.params, radius, finest, MOST_SETTLED))
        return min(best, other, key=lambda one: one.gap)
    near = start_by_softer if has_conic(loss) else start_on_path
    best = judge(settle_on_face(loss, near(loss, radius), radius, finest))
    if not best.converged and has_conic(loss):
        start = conic_start(loss, radius, best.params)
        other = judge(settle_on_face(loss, start, radius, finest))
        best = min(best, other, key=lambda one: one.gap)
    return best


@dataclass(frozen=True)
class _Judge:
    """From points of the ball to what is known of them.

    Parameters
    ----------
    loss : Loss
    radius : float > 0
    value, steepest : float
        R(0) and max |grad R(0)|.
    """

    loss: Loss
    radius: float
    value: float
    steepest: float

    def __call__(self, params: np.ndarray) -> BallMinimum:
        value, gradient = self.loss.value_and_gradient(params)
        gap = min(duality_gap(params, gradient, self.radius), value)
        size = max(self.steepest, float(self.loss.smoothness.max() * np.abs(params).sum()))
        allowed = GAP * self.value + ROUNDING * self.radius * size
        allowed = min(allowed, COARSEST * self.value)
        if gap > allowed:
            gap = min(gap, self._beyond_ball(gradient, allowed))
        return BallMinimum.judged(params, value, gap, allowed)

    def _beyond_ball(self, gradient: np.ndarray, allowed: float) -> float:
        """At least R(w) - min R without a ball; infinite where it is not of use."""
        square = float(gradient @ gradient)
        # No strong convexity is above the least smoothness, so that most need not be computed.
        if square > 2.0 * allowed * float(self.loss.smoothness.min()):
            return np.inf
        convexity = self.loss.strong_convexity(range(self.loss.size))
        return square / (2.0 * convexity) if convexity > 0.0 else np.inf
