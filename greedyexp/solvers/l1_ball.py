"""Minimise a convex risk over an l1 ball, with a certificate."""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy

from greedyexp.core.errors import DataError
from greedyexp.losses.loss import Loss
from greedyexp.losses.smoothed import SmoothedLoss
from greedyexp.solvers.l1_ball_face import (
    BallMinimum,
    check_radius,
    duality_gap,
    newton_on_face,
    shrink_into_ball,
)
from greedyexp.solvers.l1_ball_starts import (
    conic_start,
    has_conic,
    minimise_spread,
    solve_dual,
    spread_moments,
    start_on_path,
    start_through_smoother,
)

# Required gap relative to R(0), and rounding error of derivatives relative to their terms.
GAP = 1e-11
EPS = np.finfo(float).eps
ROUNDING = 4 * EPS
# Largest allowance for rounding relative to R(0): a larger gap proves nothing.
_COARSEST = 1e-9
# Below this fraction of R(0), no further progress is possible.
_FINEST = 1e-16
# For moments, the largest number of coefficients for which a matrix is formed.
_MOST_SETTLED = 2000

# Required gap relative to R(0), for unsmoothed losses.
_UNSMOOTHED_GAP = 1e-10
_FEASIBLE = 1e-10
# Largest number of entries of a design for which the simplex method is used; it is faster there.
_SIMPLEX_SIZE = 200_000


def minimise_over_ball(loss: Loss, radius: float) -> BallMinimum:
    """Minimise R(w) subject to ||w||_1 <= radius.

    An l1 penalty is adjusted until its minimiser has the right norm. An active-set method continues
    exactly on the face of the ball. Losses with little smoothing are reached through losses with
    more smoothing, or by an interior point method if that fails. For moments of features that share
    a hidden variable, the minimiser is a root in two numbers and no matrix is formed. If rounding
    spoils these numbers, as with near copies of features, the active-set method continues on at
    most 2000 coefficients. If the minimiser is not unique, any one is returned.

    The gap is the duality gap, or R(w) if that is smaller, because R >= 0. In a ball much larger
    than the minimiser, rounding makes the duality gap large. Then ||grad R(w)||^2 / (2 mu) is used
    if it is smaller, where mu is the strong convexity. The solution has converged if the gap is at
    most 1e-11 R(0) plus an allowance for rounding. The allowance is 1e-15 radius times the sizes of
    the terms of derivatives; the sum is at most 1e-9 R(0).

    Parameters
    ----------
    loss : Loss
        A loss without dense coefficients.
    radius : float > 0

    Raises
    ------
    ConfigError
        If the radius is not positive and finite.
    DataError
        If the loss has an intercept or other dense coefficients.

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
    steepest = float(np.abs(gradient).max())
    certify = partial(_certified, loss=loss, radius=radius, value_at_zero=value, steepest=steepest)
    if radius * steepest <= _FINEST * value:
        return certify(origin)
    finest = _FINEST * value + min(EPS * radius * steepest, GAP * value)
    moments = spread_moments(loss)
    if moments is not None:
        best = certify(minimise_spread(loss, moments, radius))
        if best.converged:
            return best
        other = certify(newton_on_face(loss, best.params, radius, finest, _MOST_SETTLED))
        return min(best, other, key=lambda one: one.gap)
    start = start_through_smoother(loss, radius) if has_conic(loss) else start_on_path(loss, radius)
    best = certify(newton_on_face(loss, start, radius, finest))
    if not best.converged and has_conic(loss):
        start = conic_start(loss, radius, best.params)
        other = certify(newton_on_face(loss, start, radius, finest))
        best = min(best, other, key=lambda one: one.gap)
    return best


def _certified(
    params: np.ndarray, loss: Loss, radius: float, value_at_zero: float, steepest: float
) -> BallMinimum:
    """Return a point of the ball with its gap; ``steepest`` is max |grad R(0)|."""
    value, gradient = loss.value_and_gradient(params)
    gap: float = min(duality_gap(params, gradient, radius), value)
    size = max(steepest, float(loss.smoothness.max() * np.abs(params).sum()))
    allowed = float(GAP * value_at_zero + ROUNDING * radius * size)
    allowed = min(allowed, _COARSEST * value_at_zero)
    if gap > allowed:
        gap = min(gap, _unconstrained_gap(loss, gradient, allowed))
    return BallMinimum.with_gap(params, value, gap, allowed)


def _unconstrained_gap(loss: Loss, gradient: np.ndarray, allowed: float) -> float:
    """Return an upper bound of R(w) - min R without a ball; infinite if it would not help."""
    square = float(gradient @ gradient)
    # The strong convexity is at most the smallest smoothness. This test avoids most computations.
    if square > 2.0 * allowed * float(loss.smoothness.min()):
        return np.inf
    convexity = loss.strong_convexity(range(loss.size))
    return square / (2.0 * convexity) if convexity > 0.0 else np.inf


def minimise_unsmoothed_over_ball(loss: SmoothedLoss, radius: float) -> BallMinimum:
    """Minimise R(w) subject to ||w||_1 <= radius for a smoothed loss before its smoothing.

    R is the mean of |x_i w - y_i| or max(0, 1 - y_i x_i w), plus ridge / 2 ||w||^2. Its dual is a
    linear program; with a ridge it is a quadratic program. The gap is R(w) minus the value of the
    dual, computed here at the weights of the solver, after they are clipped to their box. It is at
    most R(w). If the quadratic program fails because the ridge is tiny, the linear program is
    solved too; its minimiser is within ridge radius^2 / 2.

    Parameters
    ----------
    loss : SmoothedLoss
    radius : float > 0

    Raises
    ------
    ConfigError
        If the radius is not positive and finite.
    """
    check_radius(radius)
    dual = _Dual(loss, radius)
    methods = [dual.conic, dual.linear] if loss.ridge > 0.0 else [dual.linear, dual.conic]
    params = np.zeros(loss.size)
    value, below = loss.unsmoothed(params), 0.0
    allowed = _UNSMOOTHED_GAP * value
    for method in methods:
        point, weights = method()
        reached = loss.unsmoothed(point)
        if reached < value:
            params, value = point, reached
        below = max(below, dual.bound(weights))
        if value - below <= allowed:
            break
    return BallMinimum.with_gap(params, value, max(0.0, value - below), allowed)


class _Dual:
    """max over a in [low, 1]^n of mean_i a_i c_i + min over the ball of <z, w> + ridge term.

    z_j = mean_i a_i rows_ji.

    Parameters
    ----------
    loss : SmoothedLoss
    radius : float > 0
    """

    def __init__(self, loss: SmoothedLoss, radius: float):
        self.rows = loss.rows(range(loss.size))
        self.offsets = loss.arguments(np.zeros(loss.size))
        self.low, self.ridge, self.radius = loss.low, loss.ridge, radius

    def linear(self) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients and weights from a linear program; a ridge is ignored."""
        d, n = self.rows.shape
        ones = np.ones((d, 1))
        matrix = np.block([[self.rows, -ones], [-self.rows, -ones]])
        found = scipy.optimize.linprog(  # type: ignore[call-overload]  # The stub lacks sparse arrays.
            np.append(-self.offsets, self.radius),
            A_ub=scipy.sparse.csc_array(matrix),
            b_ub=np.zeros(2 * d),
            bounds=[(self.low, 1.0)] * n + [(0.0, None)],
            method="highs-ds" if n * d <= _SIMPLEX_SIZE else "highs-ipm",
            options={
                "primal_feasibility_tolerance": _FEASIBLE,
                "dual_feasibility_tolerance": _FEASIBLE,
            },
        )
        if found.x is None:
            return np.zeros(d), np.zeros(n)
        slopes = found.ineqlin.marginals
        w = slopes[:d] - slopes[d:]
        return shrink_into_ball(w, self.radius), found.x[:n]

    def conic(self) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients and weights from an interior point method."""
        return solve_dual(self.rows, self.offsets, self.low, 0.0, self.ridge, self.radius)

    def bound(self, weights: np.ndarray) -> float:
        """Return the value of the dual, a lower bound of the risk in the ball up to rounding.

        Without a ridge it is mean_i a_i c_i - radius max_j |z_j|, which is also a bound with a
        ridge. With a ridge, <z, w> + ridge / 2 ||w||^2 + lam (||w||_1 - radius) has the minimum
        -sum_j (|z_j| - lam)_+^2 / (2 ridge) - lam radius. Choose lam such that its minimiser is in
        the ball. For a tiny ridge, this is inaccurate: rounding errors are divided by the ridge.
        """
        weights = np.clip(weights, self.low, 1.0)
        n = len(weights)
        sizes = np.abs(self.rows @ weights) / n
        gain = float(weights @ self.offsets) / n
        plain = -self.radius * float(sizes.max(initial=0.0))
        if self.ridge == 0.0:
            return gain + plain
        lam = _soft_threshold_level(sizes, self.ridge * self.radius)
        over = np.maximum(sizes - lam, 0.0)
        curved = -float(over @ over) / (2.0 * self.ridge) - lam * self.radius
        return gain + max(plain, curved)


def _soft_threshold_level(sizes: np.ndarray, total: float) -> float:
    """Return lam >= 0 with sum_j (sizes_j - lam)_+ = total; zero if the sum is always smaller."""
    ordered = np.sort(sizes)[::-1]
    levels = (np.cumsum(ordered) - total) / np.arange(1, len(ordered) + 1)
    return max(0.0, float(levels.max(initial=0.0)))
