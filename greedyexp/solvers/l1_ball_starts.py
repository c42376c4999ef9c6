"""Points close to the minimiser of a risk over an l1 ball."""

from __future__ import annotations

import copy
from typing import TypeGuard

import numpy as np
import scipy

from greedyexp.losses.loss import Loss
from greedyexp.losses.population import PopulationSquaredLoss
from greedyexp.losses.smoothed import SmoothedLoss
from greedyexp.problems.moments import SpreadMoments
from greedyexp.solvers.l1_ball_face import newton_on_face, shrink_into_ball
from greedyexp.solvers.l1_path import l1_fit
from greedyexp.theory.semidefinite import settings

# Factor between weights of the penalty until the path leaves the ball, and the smallest weight
# relative to the first.
_PATH_FACTOR = 0.3
_LAST_WEIGHT = 1e-8
# Accuracy of the path relative to the largest weight, and of the norm relative to the radius.
_VIOLATION = 1e-9
_CLOSE_TO_BALL = 1e-6
_MAX_STEPS = 60
_PATH_ROOTS = 30
# A fit that violates its conditions by more than this fraction of the weight is useless.
_LOST_PATH = 0.1

# Factor of beta from one loss to the next.
_SOFTER_FACTOR = 3.0
# Gap at which to leave a smoother loss, relative to its risk at zero.
_ROUGH = 1e-5
# Largest number of Newton and bisection steps to the root of a monotone piecewise linear function.
_SPREAD_ROOTS = 200
CORRECTIONS = 3
# Accuracy of the solver, relative and absolute.
_CONIC_TOLERANCE = 1e-12
# Coefficients smaller than this fraction of the radius are zero at the accuracy of the solver.
_CONIC_ZERO = 1e-9
# Number of rounds that add features; numbers to add at first and later; relative violation below
# which no feature is missing.
_CONIC_ROUNDS = 30
FIRST_FEATURES, MORE_FEATURES, MORE_PART = 30, 20, 0.25
_CONIC_EXCESS = 1e-8


def start_on_path(loss: Loss, radius: float) -> np.ndarray:
    """Return a point of the ball, close to the minimiser unless the path fails, shape (d,).

    The norm of the penalised minimiser decreases with the weight. For least squares it is piecewise
    linear. The weight is found by the secant method, safeguarded by bisection.

    Parameters
    ----------
    loss : Loss
    radius : float > 0
    """
    fit = l1_fit(loss)
    tolerance = _VIOLATION * (fit.largest or loss.scale)

    def norm_at(weight: float) -> float | None:
        fit.follow(weight, tolerance, _MAX_STEPS)
        return None if fit.residual > _LOST_PATH * weight else float(np.abs(fit.params).sum())

    above, inside, lam = fit.largest, 0.0, fit.largest
    while True:
        if lam <= _LAST_WEIGHT * fit.largest:
            return shrink_into_ball(fit.params, radius)
        lam *= _PATH_FACTOR
        norm = norm_at(lam)
        if norm is None or norm >= radius:
            break
        above, inside = lam, norm
    if norm is None:
        return shrink_into_ball(fit.params, radius)
    below, outside = lam, norm
    for count in range(_PATH_ROOTS):
        if abs(norm - radius) <= _CLOSE_TO_BALL * radius:
            break
        part = (radius - inside) / (outside - inside)
        # Halve in every third step: the secant method is slow on strongly curved paths.
        lam = above + (below - above) * (0.5 if count % 3 == 2 else part)
        norm = norm_at(lam)
        if norm is None:
            break
        if norm >= radius:
            below, outside = lam, norm
        else:
            above, inside = lam, norm
    return shrink_into_ball(fit.params, radius)


def start_through_smoother(loss: SmoothedLoss, radius: float) -> np.ndarray:
    """Return a point of the ball close to the minimiser, through smoother losses, shape (d,).

    The smoothest loss is quadratic around zero. Each minimiser is the start for the next loss.

    Parameters
    ----------
    loss : SmoothedLoss
    radius : float > 0
    """
    origin = np.zeros(loss.size)
    softest = 1.0 / float(np.abs(loss.arguments(origin)).max())
    betas = [loss.beta]
    while betas[-1] > softest:
        betas.append(betas[-1] / _SOFTER_FACTOR)
    w = start_on_path(_with_beta(loss, betas[-1]), radius)
    for beta in betas[-2:0:-1]:
        softer = _with_beta(loss, beta)
        w = newton_on_face(softer, w, radius, _ROUGH * softer.value(origin))
    return w


def _with_beta(loss: SmoothedLoss, beta: float) -> SmoothedLoss:
    """Return the same loss with another smoothness."""
    other = copy.copy(loss)
    other.beta = beta
    return other


def spread_moments(loss: Loss) -> SpreadMoments | None:
    """Return the moments if E[x x^T] + ridge I is a positive diagonal matrix plus u u^T."""
    if not isinstance(loss, PopulationSquaredLoss) or not isinstance(loss.moments, SpreadMoments):
        return None
    return loss.moments if (loss.moments.alpha + loss.ridge > 0.0).all() else None


def minimise_spread(loss: Loss, moments: SpreadMoments, radius: float) -> np.ndarray:
    """Return the minimiser of w^T (diag(a) + u u^T) w / 2 - c^T w over the ball, shape (d,).

    Let t = <u, w>, and let lam be the multiplier of the ball. Then w_j is c_j - u_j t,
    soft-thresholded by lam and divided by a_j. For each lam, t is the root of a decreasing
    piecewise linear function. The norm decreases with lam. Once the signs are known, t and lam
    solve two linear equations.

    Parameters
    ----------
    loss : Loss
    moments : SpreadMoments
        The result of ``spread_moments``.
    radius : float > 0
    """
    model = _SpreadQuadratic(moments, loss.ridge)
    w = model.at(0.0)
    if np.abs(w).sum() <= radius:
        return w
    low, high = 0.0, float(np.abs(model.cross).max())
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if np.abs(model.at(middle)).sum() > radius:
            low = middle
        else:
            high = middle
    w = model.at(high)
    for _ in range(CORRECTIONS):
        w = model.corrected_on_face(w, loss.gradient(w), radius)
    return shrink_into_ball(w, radius)


class _SpreadQuadratic:
    """The quadratic function, and its minimisers as a function of the multiplier.

    Parameters
    ----------
    moments : SpreadMoments
    ridge : float >= 0
    """

    def __init__(self, moments: SpreadMoments, ridge: float):
        self.own = moments.alpha + ridge
        self.u = moments.u
        self.cross = moments.cross
        self._shared = 0.0

    def at(self, lam: float) -> np.ndarray:
        """Return the minimiser with penalty lam ||w||_1, shape (d,)."""
        below, above = -np.inf, np.inf
        t = self._shared
        for _ in range(_SPREAD_ROOTS):
            w = self._soft(t, lam)
            excess = float(self.u @ w) - t
            if excess > 0.0:
                below = t
            else:
                above = t
            used = w != 0.0
            step = excess / (1.0 + float((self.u[used] ** 2 / self.own[used]).sum()))
            # A step out of the bracket would cycle.
            ahead = t + step if below < t + step < above else 0.5 * (below + above)
            if ahead == t or not np.isfinite(ahead):
                break
            t = ahead
        self._shared = t
        return w

    def corrected_on_face(self, w: np.ndarray, gradient: np.ndarray, radius: float) -> np.ndarray:
        """Return the minimiser on the face of w, computed from the gradient at w to keep digits.

        The component of the gradient along the signs is the multiplier. It is removed first: it
        would dominate sums over many features.
        """
        used = np.flatnonzero(w)
        signs, own, u = np.sign(w[used]), self.own[used], self.u[used]
        weights, tilts = u / own, signs / own
        left = np.array([[1.0 + weights @ u, weights @ signs], [tilts @ u, tilts @ signs]])
        slope = gradient[used]
        slope = slope - signs * float(signs @ slope) / len(used)
        missing = radius - float(np.abs(w).sum())
        right = np.array([-(weights @ slope), -(tilts @ slope) - missing])
        shared, more = np.linalg.solve(left, right)
        moved = w[used] - (slope + u * shared + signs * more) / own
        found = np.zeros_like(w)
        found[used] = np.where(moved * signs > 0.0, moved, 0.0)
        return found

    def _soft(self, t: float, lam: float) -> np.ndarray:
        pull = self.cross - self.u * t
        return np.sign(pull) * np.maximum(np.abs(pull) - lam, 0.0) / self.own


def has_conic(loss: Loss) -> TypeGuard[SmoothedLoss]:
    """Return whether the loss has a conic form: its conjugate is quadratic on an interval."""
    return isinstance(loss, SmoothedLoss)


def conic_start(loss: SmoothedLoss, radius: float, near: np.ndarray) -> np.ndarray:
    """Return a point close to the minimiser over the ball, shape (d,).

    The program is solved for the features in use at a given point. Features that violate the
    conditions at the solution are then added.

    Parameters
    ----------
    loss : SmoothedLoss
    radius : float > 0
    near : array (d,)
        A point that may be far from the minimiser.
    """
    steepest = np.argsort(-np.abs(loss.gradient(near)), kind="stable")[:FIRST_FEATURES]
    used = np.union1d(np.flatnonzero(near), steepest)
    w = np.zeros(loss.size)
    offsets = loss.arguments(w)
    for _ in range(_CONIC_ROUNDS):
        w[:] = 0.0
        w[used] = solve_dual(
            loss.rows(used), offsets, loss.low, 1.0 / loss.beta, loss.ridge, radius
        )[0]
        outside = np.abs(loss.gradient(w))
        level = float(outside[used].max())
        outside[used] = 0.0
        over = np.flatnonzero(outside > level * (1.0 + _CONIC_EXCESS))
        if not len(over):
            break
        order = np.argsort(-outside[over], kind="stable")
        used = np.union1d(used, over[order[: MORE_FEATURES + int(MORE_PART * len(used))]])
    return w


def solve_dual(
    rows: np.ndarray, offsets: np.ndarray, low: float, flat: float, ridge: float, radius: float
) -> tuple[np.ndarray, np.ndarray]:
    """Solve min mean_i phi(c_i + <rows_i, w>) + ridge / 2 ||w||^2 over ||w||_1 <= radius.

    phi(u) = max over a in [low, 1] of a u - flat a^2 / 2. With z_j = sum_i a_i rows_ji / n the dual
    is

        max mean_i (a_i c_i - flat a_i^2 / 2) - radius t - sum_j e_j^2 / 2

    subject to |z_j| <= t + ridge^(1/2) e_j; without a ridge there is no e. In this form, no number
    becomes large when the ridge is small. It has one variable per row instead of three.

    Parameters
    ----------
    rows : array (k, n)
    offsets : array (n,)
        c.
    low : float < 1
    flat : float >= 0
        1 / beta; zero without smoothing.
    ridge : float >= 0
    radius : float > 0

    Returns
    -------
    w : array (k,)
        A point of the ball; exactly zero where it is zero at the accuracy of the solver.
    weights : array (n,)
        a, in [low, 1].
    """
    import clarabel

    k, n = rows.shape
    spare = k if ridge > 0.0 else 0
    curvature = np.concatenate([np.full(n, flat / n), [0.0], np.ones(spare)])
    cost = np.concatenate([-offsets / n, [radius], np.zeros(spare)])
    products, ones = scipy.sparse.csc_matrix(rows / n), scipy.sparse.csc_matrix(np.ones((k, 1)))
    slack, box = np.sqrt(ridge) * scipy.sparse.eye(k, spare), scipy.sparse.eye(n, n + 1 + spare)
    below = scipy.sparse.eye(1 + spare, n + 1 + spare, k=n)
    bounds = scipy.sparse.vstack(
        [
            scipy.sparse.hstack([products, -ones, -slack]),
            scipy.sparse.hstack([-products, -ones, -slack]),
            box,
            -box,
            -below,
        ]
    )
    right = np.concatenate([np.zeros(2 * k), np.ones(n), np.full(n, -low), np.zeros(1 + spare)])
    solver = clarabel.DefaultSolver(
        scipy.sparse.csc_matrix(scipy.sparse.diags(curvature)),
        cost,
        scipy.sparse.csc_matrix(bounds),
        right,
        [clarabel.NonnegativeConeT(len(right))],
        settings(_CONIC_TOLERANCE, _CONIC_TOLERANCE),
    )
    solution = solver.solve()
    multipliers = np.array(solution.z)
    w = multipliers[k : 2 * k] - multipliers[:k]
    weights = np.clip(np.array(solution.x)[:n], low, 1.0)
    if not (np.isfinite(w).all() and np.isfinite(weights).all()):
        return np.zeros(k), np.zeros(n)
    w[np.abs(w) <= _CONIC_ZERO * radius] = 0.0
    return shrink_into_ball(w, radius), weights
