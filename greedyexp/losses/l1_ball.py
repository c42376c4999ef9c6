"""The minimiser of a convex smooth risk over an l1 ball, with a certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedyexp.errors import DataError
from greedyexp.losses.l1_ball_conic import conic_start, has_conic
from greedyexp.losses.l1_ball_face import settle_on_face
from greedyexp.losses.l1_ball_kinks import minimise_unsmoothed_over_ball
from greedyexp.losses.l1_ball_minimum import BallMinimum, check_radius, duality_gap
from greedyexp.losses.l1_ball_path import start_on_path
from greedyexp.losses.l1_ball_softer import start_by_softer
from greedyexp.losses.l1_ball_spread import is_spread, minimise_spread
from greedyexp.losses.loss import Loss

__all__ = ["BallMinimum", "duality_gap", "minimise_over_ball", "minimise_unsmoothed_over_ball"]

# What the gap is to be, as part of R(0), and what the rounding of derivatives may be, as part of
# their terms.
GAP = 1e-11
EPS = np.finfo(float).eps
ROUNDING = 4 * EPS
# Below this part of R(0) nothing is gained by going on.
FINEST = 1e-16


def minimise_over_ball(loss: Loss, radius: float) -> BallMinimum:
    """min R(w) subject to ||w||_1 <= radius.

    The weight of an l1 penalty is found at which its minimiser has the norm; an active-set method
    goes on from there, exactly on the face of the ball. Losses with kinks that are smoothed little
    are reached through some that are smoothed more, and should that fail by an interior point
    method. Of moments of features that share a hidden variable the minimiser is a root in two
    numbers, and no matrix is formed. Of several minimisers any is given.

    It is converged when the gap is at most 1e-11 R(0), with an allowance for rounding: 1e-15 radius
    times the sizes of what derivatives are summed from.

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
    if is_spread(loss):
        return judge(minimise_spread(loss, radius))
    finest = FINEST * value + EPS * radius * judge.steepest
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
        gap = duality_gap(params, gradient, self.radius)
        size = max(self.steepest, float(self.loss.smoothness.max() * np.abs(params).sum()))
        allowed = GAP * self.value + ROUNDING * self.radius * size
        return BallMinimum.judged(params, value, gap, allowed)
