"""Losses with kinks, smoothed little or not, over an l1 ball by an interior point method."""

from __future__ import annotations

import clarabel
import numpy as np
from scipy import sparse

from greedyexp.losses.loss import Loss
from greedyexp.losses.smoothed import SmoothedLoss
from greedyexp.solvers.l1_ball.minimum import into_ball

# Accuracy of the solver, relative and absolute.
TOLERANCE = 1e-12
# Coefficients below this part of the radius are zero at that accuracy.
INACTIVE = 1e-9
# Rounds of taking features in, how many at first and at once, and when none is missing.
ROUNDS = 30
FIRST, MORE, MORE_PART = 30, 20, 0.25
BEYOND = 1e-8


def has_conic(loss: Loss) -> bool:
    """Whether the conjugate of the loss is a quadratic on an interval."""
    return isinstance(loss, SmoothedLoss)


def conic_start(loss: SmoothedLoss, radius: float, near: np.ndarray) -> np.ndarray:
    """A point close to the minimiser over the ball, shape (d,).

    The programme is solved for the features that matter: those of a point that may be far from the
    minimiser, and then those that a solution asks for.

    Parameters
    ----------
    loss : SmoothedLoss
    radius : float > 0
    near : array (d,)
    """
    steepest = np.argsort(-np.abs(loss.gradient(near)), kind="stable")[:FIRST]
    used = np.union1d(np.flatnonzero(near), steepest)
    w = np.zeros(loss.size)
    offsets = loss.arguments(w)
    for _ in range(ROUNDS):
        w[:] = 0.0
        w[used] = solve_dual(
            loss.rows(used), offsets, loss.low, 1.0 / loss.beta, loss.ridge, radius
        )[0]
        outside = np.abs(loss.gradient(w))
        level = float(outside[used].max())
        outside[used] = 0.0
        over = np.flatnonzero(outside > level * (1.0 + BEYOND))
        if not len(over):
            break
        order = np.argsort(-outside[over], kind="stable")
        used = np.union1d(used, over[order[: MORE + int(MORE_PART * len(used))]])
    return w


def solve_dual(
    rows: np.ndarray, offsets: np.ndarray, low: float, flat: float, ridge: float, radius: float
) -> tuple[np.ndarray, np.ndarray]:
    """min mean_i phi(c_i + <rows_i, w>) + ridge / 2 ||w||^2 over ||w||_1 <= radius, by its dual.

    phi(u) = max over a in [low, 1] of a u - flat a^2 / 2. With z_j = sum_i a_i rows_ji / n the dual
    is max mean_i (a_i c_i - flat a_i^2 / 2) - radius t - sum_j e_j^2 / 2 with |z_j| <= t +
    ridge^(1/2) e_j, in which no number is large when the ridge is small; there is no e without
    one. It has a variable for each row instead of three.

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
        In the ball, exact zeros where it is zero at the accuracy of the solver.
    weights : array (n,)
        a, in [low, 1].
    """
    k, n = rows.shape
    spare = k if ridge > 0.0 else 0
    curvature = np.concatenate([np.full(n, flat / n), [0.0], np.ones(spare)])
    cost = np.concatenate([-offsets / n, [radius], np.zeros(spare)])
    products, ones = sparse.csc_matrix(rows / n), sparse.csc_matrix(np.ones((k, 1)))
    slack, box = np.sqrt(ridge) * sparse.eye(k, spare), sparse.eye(n, n + 1 + spare)
    below = sparse.eye(1 + spare, n + 1 + spare, k=n)
    bounds = sparse.vstack(
        [
            sparse.hstack([products, -ones, -slack]),
            sparse.hstack([-products, -ones, -slack]),
            box,
            -box,
            -below,
        ]
    )
    right = np.concatenate([np.zeros(2 * k), np.ones(n), np.full(n, -low), np.zeros(1 + spare)])
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.diags(curvature)),
        cost,
        sparse.csc_matrix(bounds),
        right,
        [clarabel.NonnegativeConeT(len(right))],
        _settings(),
    )
    solution = solver.solve()
    multipliers = np.array(solution.z)
    w = multipliers[k : 2 * k] - multipliers[:k]
    weights = np.clip(np.array(solution.x)[:n], low, 1.0)
    if not (np.isfinite(w).all() and np.isfinite(weights).all()):
        return np.zeros(k), np.zeros(n)
    w[np.abs(w) <= INACTIVE * radius] = 0.0
    return into_ball(w, radius), weights


def _settings() -> clarabel.DefaultSettings:
    """Quiet and on one thread, so that sums are added in one order whatever the machine."""
    chosen = clarabel.DefaultSettings()
    chosen.verbose = False
    chosen.max_threads = 1
    chosen.tol_gap_rel = chosen.tol_gap_abs = chosen.tol_feas = TOLERANCE
    return chosen
