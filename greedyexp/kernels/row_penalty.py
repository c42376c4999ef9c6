"""The row penalty of Lasso, l1/linf group lasso and dirty model: its minimiser and its dual.

For one row v of the coefficients (r tasks) the penalty is the support function of
``{u : |u_j| <= lam_s, sum_j |u_j| <= lam_b}``, equal to
``min over theta >= 0 of lam_b theta + lam_s sum_j max(|v_j| - theta, 0)``. The box alone
(lam_b = r lam_s) is the l1 norm, the l1 ball alone (lam_b = lam_s) the linf norm.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel

ZERO = 0  # |v_j| = 0
UPPER = 1  # |v_j| > theta, price lam_s
TIED = 2  # |v_j| = theta > 0, together at the price lam_b minus that of the UPPER entries
LOWER = 3  # |v_j| < theta, price 0

# Relative tolerance for comparing sums of prices with lam_b. They agree up to rounding only when
# lam_b / lam_s is an integer, and such a tie must be recognised.
ROUNDING = 1e-14


@kernel
def row_minimiser(g, h, lam_s, lam_b, row, kind, cuts):
    """Minimise sum_j h_j v_j^2 / 2 - g_j v_j + penalty(v) over v, exactly.

    The dual solution is u_j = clip(|g_j| - h_j theta, 0, lam_s) with the smallest theta >= 0 for
    which sum_j u_j <= lam_b (the largest when it is not unique), and |v_j| = (|g_j| - u_j) / h_j.

    Parameters
    ----------
    g, h : arrays (r,)
        Linear and quadratic coefficients; v_j = 0 where h_j = 0.
    row, kind : arrays (r,), float and int8
        Filled with the minimiser and the kind of each entry.
    cuts : array (2 r + 1,)
        Workspace.

    Returns
    -------
    float
        theta.
    """
    total = 0.0
    for j in range(len(g)):
        if h[j] > 0.0:
            total += min(abs(g[j]), lam_s)
    theta = 0.0
    if total > lam_b * (1.0 + ROUNDING):
        theta = _tied_row(g, h, lam_s, lam_b, row, kind, cuts)
    if theta <= 0.0:
        theta = 0.0
        for j in range(len(g)):
            row[j] = 0.0
            kind[j] = ZERO
            if h[j] > 0.0 and abs(g[j]) > lam_s:
                row[j] = np.sign(g[j]) * (abs(g[j]) - lam_s) / h[j]
                kind[j] = UPPER
    return theta


@kernel
def _tied_row(g, h, lam_s, lam_b, row, kind, cuts):
    low, high = _bracket(g, h, lam_s, lam_b, cuts)
    numerator = -lam_b
    denominator = 0.0
    for j in range(len(g)):
        kind[j] = ZERO
        if h[j] > 0.0:
            if (abs(g[j]) - lam_s) / h[j] >= high:
                kind[j] = UPPER
                numerator += lam_s
            elif abs(g[j]) / h[j] <= low:
                kind[j] = LOWER
            else:
                kind[j] = TIED
                numerator += abs(g[j])
                denominator += h[j]
    theta = min(max(numerator / denominator, low), high)
    for j in range(len(g)):
        if kind[j] == ZERO:
            row[j] = 0.0
        elif kind[j] == UPPER:
            row[j] = np.sign(g[j]) * (abs(g[j]) - lam_s) / h[j]
        elif kind[j] == LOWER:
            row[j] = g[j] / h[j]
        else:
            row[j] = np.sign(g[j]) * theta
    return theta


@kernel
def _bracket(g, h, lam_s, lam_b, cuts):
    """Neighbouring breakpoints of theta -> sum_j u_j(theta) around its last crossing of lam_b."""
    size = 1
    cuts[0] = 0.0
    for j in range(len(g)):
        if h[j] > 0.0:
            cuts[size] = abs(g[j]) / h[j]
            size += 1
            if abs(g[j]) > lam_s:
                cuts[size] = (abs(g[j]) - lam_s) / h[j]
                size += 1
    ordered = cuts[:size]
    ordered.sort()
    low, high = 0, size - 1
    while high - low > 1:
        middle = (low + high) // 2
        if _spent(g, h, lam_s, ordered[middle]) >= lam_b * (1.0 - ROUNDING):
            low = middle
        else:
            high = middle
    return ordered[low], ordered[high]


@kernel
def _spent(g, h, lam_s, theta):
    """sum_j u_j(theta), with exact flat parts even if lam_s is much smaller than g."""
    total = 0.0
    for j in range(len(g)):
        if h[j] > 0.0 and theta < abs(g[j]) / h[j]:
            if theta <= (abs(g[j]) - lam_s) / h[j]:
                total += lam_s
            else:
                total += abs(g[j]) - h[j] * theta
    return total


@kernel
def row_gauge(grad, i, lam_s, lam_b):
    """Smallest m such that row i of grad (r, p) lies in m times the dual unit set."""
    largest = 0.0
    total = 0.0
    for j in range(grad.shape[0]):
        size = abs(grad[j, i])
        largest = max(largest, size)
        total += size
    return max(largest / lam_s, total / lam_b)


@kernel
def certificate(coef, theta, grad, correlation, power, lam_s, lam_b):
    """Objective and duality gap from the full gradient.

    With R = ||residual||^2 / n, the dual point t * residual / n is feasible for t <= 1 / gauge and
    the gap is R (1 - t)^2 / 2 + sum over rows of (penalty_i - t <b_i, grad_i>). No term is
    negative, so nothing as large as the objective cancels.

    Parameters
    ----------
    coef, grad, correlation : arrays (r, p)
        Coefficients, X_j^T (y_j - X_j b_j) / n_j and X_j^T y_j / n_j.
    theta : array (p,)
        A clip level for each row; at an optimum the best one.
    power : float
        sum_j ||y_j||^2 / n_j.

    Returns
    -------
    tuple of float
        Objective and an upper bound on its distance from the optimum.
    """
    gauge = 1.0
    inner = 0.0
    fitted = 0.0
    penalty = 0.0
    r, p = coef.shape
    for i in range(p):
        gauge = max(gauge, row_gauge(grad, i, lam_s, lam_b))
        penalty += lam_b * theta[i]
        for j in range(r):
            if coef[j, i] != 0.0:
                inner += coef[j, i] * grad[j, i]
                fitted += coef[j, i] * correlation[j, i]
                penalty += lam_s * max(abs(coef[j, i]) - theta[i], 0.0)
    residual = max(power - fitted - inner, 0.0)
    t = 1.0 / gauge
    slack = 0.0
    for i in range(p):
        own = lam_b * theta[i]
        for j in range(r):
            if coef[j, i] != 0.0:
                own += lam_s * max(abs(coef[j, i]) - theta[i], 0.0)
                own -= t * coef[j, i] * grad[j, i]
        slack += max(own, 0.0)
    return 0.5 * residual + penalty, 0.5 * residual * (1.0 - t) ** 2 + slack
