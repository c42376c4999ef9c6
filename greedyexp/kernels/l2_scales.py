"""Row-penalised least squares as a smooth problem in one scale for each row.

Since lam ||v|| = min over s >= 0 of ||v||^2 / (2 s) + lam^2 s / 2, with the minimum at
s = ||v|| / lam, the l1/l2 estimate minimises over scales s >= 0

    f(s) = min over b of loss(b) + sum_i (||b_i||^2 / s_i + lam^2 s_i) / 2.

The inner problem is ridge regression. f is convex and smooth up to the boundary, where a row
vanishes: with g_i row i of X^T (y - X b) / n, which is b_i / s_i where s_i > 0,

    df / ds_i = (lam^2 - ||g_i||^2) / 2,    d2f / ds_i ds_k = sum_j g_ij g_kj H_j[i, k],

H_j = G_j - G_j S (I + S G_j S)^-1 S G_j with S^2 = diag(s). Blocks of b would turn slowly when
features are correlated; here Newton's method has as many variables as there are rows, whatever the
number of tasks, and both f and its derivatives are free of kinks.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.cholesky import remove, solve, solve_transposed
from greedyexp.kernels.row_gradient import dot, gradient

# Added to the diagonal of the curvature, relative to it; it is singular for duplicate columns.
RIDGE = 1e-10


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
    """Cholesky factor, with more ridge for as long as the matrix is not definite."""
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
    """Towards the minimum of <slope, d> + <d, matrix d> / 2 subject to scale + d >= 0.

    A Newton step ends at the first bound; the scale that meets it is held there, the factor is
    reduced, and so on until no bound is met. The model decreases all the way.

    Parameters
    ----------
    matrix : array (a, a)
        Curvature; its diagonal is changed.
    slope, scale : arrays (a,)

    Returns
    -------
    array (a,)
        d, exactly -scale at the bounds met; zero when the matrix has no factor.
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

    Both have the same matrix. With orthogonal features of equal mean square 1 / ||g_i|| is linear
    in s_i, so that one step is exact however far lam is; to first order both steps agree.
    """
    pull = np.empty(len(rows))
    for a in range(len(rows)):
        own = grad[:, rows[a]].copy()
        square = dot(own, own)
        pull[a] = square * (np.sqrt(square) / lam - 1.0)
    return pull
