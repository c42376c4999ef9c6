"""l1/l2 group lasso along a decreasing path, by Newton's method in the scales of the rows.

``l2_scales`` has the problem in one scale for each row. A point starts from the scales of the one
before, whose fit does not depend on lam; the first step follows the path on the rows at hand, and
the rows whose gradient then leaves the dual ball join the next.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.l2_rows import l2_certificate, row_norms, violation
from greedyexp.kernels.l2_scales import (
    bounded_step,
    curvature,
    ridge_fit,
    scale_slope,
    secular_pull,
)
from greedyexp.kernels.row_gradient import dot

# Optimality conditions hold to this part of lam before a point is called finished.
PRECISION = 1e-9

# After so many steps without that (ill-conditioned data), the duality gap alone decides.
PATIENCE = 20

# A step is halved while the slope along it has turned and is steeper than this part of the slope
# at its start; below that, a nearly quadratic convex function has decreased.
TURNED = 0.5
SHORTEST = 1e-6


@kernel
def _search(G, correlation, scale, rows, change, slope, lam, coef, grad):
    """Move the scales along ``change`` and fit there: the active rows and the inverse."""
    before = scale[rows]
    downhill = dot(slope, change)
    length = 1.0
    while True:
        for a in range(len(rows)):
            scale[rows[a]] = max(before[a] + length * change[a], 0.0)
        active = np.flatnonzero(scale)
        inverse = ridge_fit(G, correlation, scale, active, coef, grad)
        turned = dot(scale_slope(grad, rows, lam), change) > -TURNED * downhill
        if not turned or length <= SHORTEST:
            return active, inverse
        length *= 0.5


@kernel
def _outside(grad, scale, bound):
    """Rows of scale 0 whose gradient is longer than ``bound``."""
    return np.flatnonzero((row_norms(grad) > bound) & (scale == 0.0))


@kernel
def _solve(G, correlation, power, scale, state, lam, slack, accuracy, max_sweeps, coef, grad):
    """Newton steps to the optimum at lam; ``state`` is the active rows and their inverse."""
    active, inverse = state
    for sweep in range(max_sweeps):
        if violation(coef, grad, lam) <= slack:
            break
        if sweep >= PATIENCE and l2_certificate(coef, grad, correlation, power, lam)[1] <= accuracy:
            break
        follow_only = sweep == 0 and len(active) > 0
        entering = _outside(grad, scale, np.inf if follow_only else lam * (1.0 + slack))
        rows = np.concatenate((active, entering))
        matrix = curvature(G, grad, scale, active, entering, inverse)
        slope = scale_slope(grad, rows, lam)
        change = bounded_step(matrix, -secular_pull(grad, rows, lam), scale[rows])
        if dot(slope, change) >= 0.0:
            change = bounded_step(matrix, slope, scale[rows])
        active, inverse = _search(G, correlation, scale, rows, change, slope, lam, coef, grad)
    return active, inverse


@kernel
def l2_path(G, correlation, power, lams, accuracy, max_sweeps, max_support):
    """Minimise sum_j ||y_j - X_j b_j||^2 / (2 n_j) + lam sum_i ||b_i||_2 for each lam in turn.

    Parameters
    ----------
    G : array (1 or r, p, p)
        Gram matrices X_j^T X_j / n_j; a single one is shared.
    correlation : array (r, p)
        X_j^T y_j / n_j.
    power : float
        sum_j ||y_j||^2 / n_j.
    lams : array (m,)
        Best decreasing.
    accuracy : float
        Duality gap to reach.
    max_sweeps : int
        Most Newton steps for one point.
    max_support : array (m,) of int
        Stop after the first point with more nonzero entries than allowed there.

    Returns
    -------
    coef : array (m, p, r)
    objective, gap : arrays (m,)
    done : int
        Number of points computed.
    """
    r, p = correlation.shape
    size = len(lams)
    path = np.zeros((size, p, r))
    objective = np.zeros(size)
    gap = np.full(size, np.inf)
    scale = np.zeros(p)
    coef, grad = np.zeros((r, p)), correlation.copy()
    state = np.zeros(0, np.int64), np.zeros((len(G), 0, 0))
    rounding = 1e-15 * np.max(np.abs(correlation))
    for m in range(size):
        lam = lams[m]
        slack = PRECISION + rounding / lam
        state = _solve(
            G, correlation, power, scale, state, lam, slack, accuracy, max_sweeps, coef, grad
        )
        objective[m], gap[m] = l2_certificate(coef, grad, correlation, power, lam)
        support = 0
        for i in range(p):
            for j in range(r):
                if coef[j, i] != 0.0:
                    path[m, i, j] = coef[j, i]
                    support += 1
        if support > max_support[m]:
            return path, objective, gap, m + 1
    return path, objective, gap, size
