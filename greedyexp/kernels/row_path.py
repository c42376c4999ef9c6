"""Row-penalised least squares along a decreasing path: block coordinate descent and Newton steps.

At each point Newton steps minimise over the manifold of the previous point. Rows whose gradient
leaves the dual unit set are then released by one exact block update each. The two alternate until
no row is left. Every step decreases the objective, and every manifold is solved to rounding.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.linear_algebra_numba import axpy, gradient, write_point
from greedyexp.kernels.row_manifold import Manifold, newton, settle, stationarity
from greedyexp.kernels.row_penalty import certificate, row_gauge, row_minimiser

# A point is finished when its optimality conditions hold to this part of the penalty.
PRECISION = 1e-10

# After so many rounds without that (ill-conditioned data), the duality gap alone decides.
PATIENCE = 20


@kernel
def _manifold(r, p, capacity):
    return Manifold(
        np.zeros((r, p)),
        np.zeros(p),
        np.zeros((r, p), np.int8),
        np.zeros((r, p)),
        np.full((r, p), -1),
        np.full(p, -1),
        np.empty((capacity + 1, capacity + 1)),
        np.zeros(capacity + 1, np.int64),
        np.zeros((capacity + 1, r)),
        np.zeros(capacity + 1),
        np.zeros(capacity + 1),
        np.zeros(capacity + 1),
        np.zeros(1, np.int64),
        np.zeros(2 * capacity + 2 * p, np.int64),
    )


@kernel
def _release(G, correlation, M, lam_s, lam_b, slack):
    """Update every row outside the dual unit set, exactly.

    Rows that leave the set only through the update of another wait for the next Newton step.
    """
    r, p = M.coef.shape
    g, h, row = np.empty(r), np.empty(r), np.empty(r)
    kind = np.empty(r, np.int8)
    cuts = np.empty(2 * r + 1)
    outside = np.empty(p, np.bool_)
    for i in range(p):
        outside[i] = row_gauge(M.grad, i, lam_s, lam_b) > 1.0 + slack
    for i in range(p):
        if not outside[i]:
            continue
        for j in range(r):
            h[j] = G[min(j, len(G) - 1), i, i]
            g[j] = h[j] * M.coef[j, i] + M.grad[j, i]
        M.theta[i] = row_minimiser(g, h, lam_s, lam_b, row, kind, cuts)
        same_shape = True
        for j in range(r):
            change = row[j] - M.coef[j, i]
            if change != 0.0:
                axpy(-change, G[min(j, len(G) - 1), i], M.grad[j])
            if kind[j] != M.kind[j, i] or row[j] * M.coef[j, i] < 0.0:
                same_shape = False
            M.coef[j, i] = row[j]
            M.kind[j, i] = kind[j]
        if not same_shape:
            settle(G, correlation, M, i, lam_s, lam_b)


@kernel
def _worst_gauge(M, lam_s, lam_b):
    worst = 0.0
    for i in range(M.coef.shape[1]):
        worst = max(worst, row_gauge(M.grad, i, lam_s, lam_b))
    return worst


@kernel
def _solve(G, correlation, power, M, prices, slack, accuracy, max_sweeps):
    """Move M to the optimum for prices (lam_s, lam_b) and compute its gradient afresh."""
    for sweep in range(max_sweeps):
        newton(G, correlation, M, *prices)
        gradient(G, correlation, M.coef, M.grad)
        outside = _worst_gauge(M, *prices) > 1.0 + slack
        if not outside and stationarity(M, *prices) <= slack * prices[0]:
            return
        if sweep >= PATIENCE:
            _, gap = certificate(M.coef, M.theta, M.grad, correlation, power, *prices)
            if gap <= accuracy:
                return
        _release(G, correlation, M, *prices, slack)
    gradient(G, correlation, M.coef, M.grad)


@kernel
def row_path(G, correlation, power, lam_s, lam_b, capacity, accuracy, max_sweeps, max_support):
    """Minimise sum_j ||y_j - X_j b_j||^2 / (2 n_j) + row penalty for each (lam_s, lam_b) in turn.

    Parameters
    ----------
    G : array (1 or r, p, p)
        Gram matrices X_j^T X_j / n_j; a single one is shared.
    correlation : array (r, p)
        X_j^T y_j / n_j.
    power : float
        sum_j ||y_j||^2 / n_j.
    lam_s, lam_b : arrays (m,)
        Box and l1 radius of the dual unit set, preferably decreasing.
    capacity : int
        Largest possible number of independent variables.
    accuracy : float
        Duality gap to reach.
    max_sweeps : int
        Largest number of rounds of Newton steps and row updates for one point.
    max_support : array (m,) of int
        The path ends after the first point with more nonzero entries than this.

    Returns
    -------
    coef : array (m, p, r)
    objective, gap : arrays (m,)
    done : int
        Number of points computed.
    """
    r, p = correlation.shape
    size = len(lam_s)
    coef = np.zeros((size, p, r))
    objective = np.zeros(size)
    gap = np.full(size, np.inf)
    M = _manifold(r, p, capacity)
    M.grad[:] = correlation
    rounding = 1e-15 * np.max(np.abs(correlation))
    for m in range(size):
        prices = lam_s[m], lam_b[m]
        slack = PRECISION + rounding / lam_s[m]
        _solve(G, correlation, power, M, prices, slack, accuracy, max_sweeps)
        objective[m], gap[m] = certificate(M.coef, M.theta, M.grad, correlation, power, *prices)
        support = write_point(M.coef, coef[m])
        if support > max_support[m]:
            return coef, objective, gap, m + 1
    return coef, objective, gap, size
