"""The l1/l2 group lasso along a decreasing path, as a smooth problem in one scale for each row.

Since lam ||v|| = min over s >= 0 of ||v||^2 / (2 s) + lam^2 s / 2, with the minimum at
s = ||v|| / lam, the l1/l2 estimate minimises over scales s >= 0

    f(s) = min over b of loss(b) + sum_i (||b_i||^2 / s_i + lam^2 s_i) / 2.

The inner problem is ridge regression. f is convex and smooth up to the boundary, where a row
vanishes: with g_i row i of X^T (y - X b) / n, which is b_i / s_i where s_i > 0,

    df / ds_i = (lam^2 - ||g_i||^2) / 2,    d2f / ds_i ds_k = sum_j g_ij g_kj H_j[i, k],

H_j = G_j - G_j S (I + S G_j S)^-1 S G_j with S^2 = diag(s). Block coordinate descent on b would be
slow for correlated features. Newton's method on s has as many variables as there are rows, whatever
the number of tasks, and f has no kinks.

Each point of the path starts from the scales of the previous one, whose fit does not depend on lam.
Its first step follows the path on the active rows. Rows whose gradient then lies outside the dual
ball, ||g_i|| > lam, join the next step.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.cholesky_numba import remove, solve, solve_transposed
from greedyexp.kernels.linear_algebra_numba import dot, gradient, write_point

# A point is finished when its optimality conditions hold to this part of lam.
PRECISION = 1e-9
# After so many steps without that (ill-conditioned data), the duality gap alone decides.
PATIENCE = 20
# A step is halved while the slope along it has turned and is steeper than this part of the slope
# at its start. Below that, a nearly quadratic convex function has decreased.
TURNED = 0.5
SHORTEST = 1e-6
# Added to the diagonal of the curvature, relative to it; it is singular for duplicate columns.
RIDGE = 1e-10


@kernel
def _search(G, correlation, scale, rows, change, slope, lam, coef, grad):
    """Move the scales along ``change`` and fit there; return the active rows and the inverse."""
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
        Preferably decreasing.
    accuracy : float
        Duality gap to reach.
    max_sweeps : int
        Largest number of Newton steps for one point.
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
        support = write_point(coef, path[m])
        if support > max_support[m]:
            return path, objective, gap, m + 1
    return path, objective, gap, size


@kernel
def row_norms(values):
    """Euclidean norm of each column of an array (r, p), that is, of each row of coefficients."""
    r, p = values.shape
    norms = np.zeros(p)
    for j in range(r):
        own = values[j]
        for i in range(p):
            norms[i] += own[i] * own[i]
    for i in range(p):
        norms[i] = np.sqrt(norms[i])
    return norms


@kernel
def violation(coef, grad, lam):
    """Largest distance of a row of the gradient from the subdifferential, in units of lam.

    Parameters
    ----------
    coef, grad : arrays (r, p)
        Coefficients and X_j^T (y_j - X_j b_j) / n_j.
    """
    r, p = coef.shape
    sizes, slopes = row_norms(coef), row_norms(grad)
    worst = 0.0
    for i in range(p):
        if sizes[i] > 0.0:
            distance = 0.0
            for j in range(r):
                distance += (grad[j, i] / lam - coef[j, i] / sizes[i]) ** 2
            worst = max(worst, np.sqrt(distance))
        else:
            worst = max(worst, slopes[i] / lam - 1.0)
    return worst


@kernel
def l2_certificate(coef, grad, correlation, power, lam):
    """Objective and duality gap from the full gradient.

    With R = ||residual||^2 / n, the dual point t * residual / n is feasible for
    t <= lam / max_i ||grad_i|| and the gap is R (1 - t)^2 / 2 + sum over rows of
    (lam ||b_i|| - t <b_i, grad_i>). No term is negative, so nothing as large as the objective
    cancels.

    Parameters
    ----------
    coef, grad, correlation : arrays (r, p)
        Coefficients, X_j^T (y_j - X_j b_j) / n_j and X_j^T y_j / n_j.
    power : float
        sum_j ||y_j||^2 / n_j.

    Returns
    -------
    tuple of float
        Objective and an upper bound on its distance from the optimum.
    """
    r, p = coef.shape
    sizes = row_norms(coef)
    t = 1.0 / max(1.0, row_norms(grad).max() / lam)
    inner, fitted, penalty, slack = 0.0, 0.0, 0.0, 0.0
    for i in range(p):
        if sizes[i] == 0.0:
            continue
        own = 0.0
        for j in range(r):
            own += coef[j, i] * grad[j, i]
            fitted += coef[j, i] * correlation[j, i]
        inner += own
        penalty += lam * sizes[i]
        slack += max(lam * sizes[i] - t * own, 0.0)
    residual = max(power - fitted - inner, 0.0)
    return 0.5 * residual + penalty, 0.5 * residual * (1.0 - t) ** 2 + slack


@kernel
def ridge_fit(G, correlation, scale, active, coef, grad):
    """Coefficients and gradient at the given scales.

    Parameters
    ----------
    G : array (1 or r, p, p)
        Gram matrices X_j^T X_j / n_j; a single one is shared.
    correlation : array (r, p)
        X_j^T y_j / n_j.
    scale : array (p,)
        s, positive on ``active`` only.
    active : array (a,) of int
    coef, grad : arrays (r, p)
        Overwritten.

    Returns
    -------
    array (1 or r, a, a)
        (I + S G_j S)^-1 on the active rows.
    """
    r, size = len(coef), len(active)
    root = np.sqrt(scale[active])
    target = np.empty((r, size))
    for j in range(r):
        for a in range(size):
            target[j, a] = root[a] * correlation[j, active[a]]
    inverse = np.empty((len(G), size, size))
    matrix = np.empty((size, size))
    coef[:] = 0.0
    for m in range(len(G)):
        for a in range(size):
            line = G[m, active[a]]
            for c in range(size):
                matrix[a, c] = root[a] * root[c] * line[active[c]]
            matrix[a, a] += 1.0
        inverse[m] = np.linalg.inv(matrix)
        own = target if len(G) == 1 else target[m : m + 1]
        solution = np.dot(own, inverse[m])
        # One step of refinement: at small lam the matrix is as ill-conditioned as the data.
        solution += np.dot(own - np.dot(solution, matrix), inverse[m])
        for j in range(len(own)):
            for a in range(size):
                coef[m + j, active[a]] = root[a] * solution[j, a]
    gradient(G, correlation, coef, grad)
    return inverse


@kernel
def curvature(G, grad, scale, active, entering, inverse):
    """Second derivatives of f on the active rows followed by the entering ones, whose scale is 0.

    Parameters as for ``ridge_fit``, whose result ``inverse`` is.

    Returns
    -------
    array (a + e, a + e)
    """
    r, size, new = len(grad), len(active), len(entering)
    rows = np.concatenate((active, entering))
    root = np.sqrt(scale[active])
    slopes = np.empty((r, size + new))
    for j in range(r):
        slopes[j] = grad[j][rows]
    total = np.zeros((size + new, size + new))
    cross = np.empty((new, size))
    for m in range(len(G)):
        own = slopes if len(G) == 1 else slopes[m : m + 1]
        weight = np.dot(own.T, own)
        for a in range(size):
            for c in range(size):
                rest = -inverse[m, a, c] if a != c else 1.0 - inverse[m, a, a]
                total[a, c] += weight[a, c] * rest / (root[a] * root[c])
        for e in range(new):
            line = G[m, entering[e]]
            for a in range(size):
                cross[e, a] = line[active[a]] * root[a]
        half = np.dot(cross, inverse[m])
        whole = np.dot(half, cross.T)
        for e in range(new):
            line = G[m, entering[e]]
            for a in range(size):
                value = weight[size + e, a] * half[e, a] / root[a]
                total[size + e, a] += value
                total[a, size + e] += value
            for d in range(new):
                rest = line[entering[d]] - whole[e, d]
                total[size + e, size + d] += weight[size + e, size + d] * rest
    return total


@kernel
def _factor(matrix, lower):
    """Cholesky factor, with a growing ridge until the matrix is definite; False if it never is."""
    diagonal = np.empty(len(matrix))
    for a in range(len(matrix)):
        diagonal[a] = matrix[a, a]
    floor = 1e-16 * max(diagonal.max(), 0.0) + 1e-300
    ridge = RIDGE
    while ridge < 1e6:
        for a in range(len(matrix)):
            matrix[a, a] = diagonal[a] + ridge * max(diagonal[a], floor)
        try:
            lower[:] = np.linalg.cholesky(matrix)
            return True
        except Exception:
            ridge *= 100.0
    return False


@kernel
def bounded_step(matrix, slope, scale):
    """Decrease <slope, d> + <d, matrix d> / 2 subject to scale + d >= 0.

    A Newton step ends at the first bound. The scale at the bound is fixed there and the factor is
    reduced. This is repeated until a step meets no bound; every step decreases the model.

    Parameters
    ----------
    matrix : array (a, a)
        Curvature; its diagonal is changed.
    slope, scale : arrays (a,)

    Returns
    -------
    array (a,)
        d, exactly -scale at the bounds; zero if the matrix has no factor.
    """
    size = len(slope)
    change = np.zeros(size)
    lower = np.empty((size, size))
    if not _factor(matrix, lower):
        return change
    place = np.arange(size)
    left = -slope
    step, carried = np.empty(size), np.zeros(size)
    while size > 0:
        step[:size] = left[:size]
        solve(lower, size, step)
        solve_transposed(lower, size, step, step)
        length, met = 1.0, -1
        for v in range(size):
            room = scale[place[v]] + change[place[v]]
            if step[v] < 0.0 and room + length * step[v] < 0.0:
                length, met = max(room, 0.0) / -step[v], v
        for v in range(size):
            change[place[v]] += length * step[v]
        if met < 0:
            break
        change[place[met]] = -scale[place[met]]
        left[:size] *= 1.0 - length
        remove(lower, size, met, carried)
        for v in range(met, size - 1):
            place[v] = place[v + 1]
            left[v] = left[v + 1]
        size -= 1
    return change


@kernel
def scale_slope(grad, rows, lam):
    """df / ds on the given rows: (lam^2 - ||g_i||^2) / 2."""
    slope = np.empty(len(rows))
    for a in range(len(rows)):
        own = grad[:, rows[a]].copy()
        slope[a] = 0.5 * (lam * lam - dot(own, own))
    return slope


@kernel
def secular_pull(grad, rows, lam):
    """Right-hand side of Newton's method for 1 / ||g_i|| = 1 / lam in place of df / ds_i = 0.

    Both have the same matrix, and to first order the steps agree. For orthogonal features of equal
    mean square 1 / ||g_i|| is linear in s_i, and one step is exact for any change of lam.
    """
    pull = np.empty(len(rows))
    for a in range(len(rows)):
        own = grad[:, rows[a]].copy()
        square = dot(own, own)
        pull[a] = square * (np.sqrt(square) / lam - 1.0)
    return pull
