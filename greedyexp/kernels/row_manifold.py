"""Newton steps for row-penalised least squares on the manifold of an estimate.

An entry is zero, free above the clip level of its row, tied at it, or free below it (the kinds of
``row_penalty``). On a manifold of given kinds the objective is quadratic. Exact steps towards its
minimum stop at the first kink, where one entry is dropped or tied and the factor of the curvature
is updated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.cholesky_numba import append, remove, solve, solve_transposed
from greedyexp.kernels.linear_algebra_numba import dot, gradient
from greedyexp.kernels.row_penalty import LOWER, TIED, UPPER, ZERO

# A variable whose squared distance from the span of the others is below this part of its own
# curvature is dependent on them.
DEPENDENT = 1e-12


class Manifold(NamedTuple):
    """An estimate with the factor of its manifold; arrays changed in place."""

    coef: np.ndarray  # (r, p)
    theta: np.ndarray  # (p,) clip level of each row
    kind: np.ndarray  # (r, p) int8
    grad: np.ndarray  # (r, p) X_j^T (y_j - X_j b_j) / n_j
    slot: np.ndarray  # (r, p) variable an entry belongs to, or -1
    tie: np.ndarray  # (p,) variable of the tied entries of a row, or -1
    factor: np.ndarray  # (K + 1, K + 1) Cholesky factor as in ``cholesky``
    row: np.ndarray  # (K + 1,) row of each variable
    weight: np.ndarray  # (K + 1, r) direction of each variable
    excess: np.ndarray  # (K + 1,) <weight, grad> - price
    step: np.ndarray  # (K + 1,)
    work: np.ndarray  # (K + 1,) scratch
    size: np.ndarray  # (1,) number of variables
    todo: np.ndarray  # rows whose variables must be set up again


@kernel
def price(M, v, lam_s, lam_b):
    """Slope of the penalty along variable v."""
    i = M.row[v]
    if v != M.tie[i]:
        for j in range(len(M.coef)):
            if M.weight[v, j] != 0.0:
                return lam_s if M.kind[j, i] == UPPER else 0.0
    left = lam_b
    for j in range(len(M.coef)):
        if M.kind[j, i] == UPPER:
            left -= lam_s
    return left


@kernel
def _detach(M, v):
    """Remove variable v from the factor and close the gap it leaves."""
    size = M.size[0]
    remove(M.factor, size, v, M.work)
    r = len(M.coef)
    for u in range(v, size):
        i = M.row[u]
        for j in range(r):
            if M.weight[u, j] != 0.0:
                M.slot[j, i] = u - 1 if u > v else -1
        if M.tie[i] == u:
            M.tie[i] = u - 1 if u > v else -1
    for u in range(v, size - 1):
        M.row[u] = M.row[u + 1]
        M.excess[u] = M.excess[u + 1]
        for j in range(r):
            M.weight[u, j] = M.weight[u + 1, j]
    M.size[0] = size - 1


@kernel
def _attach(G, M, i, tied):
    """Add the variable whose direction is at the end of ``weight``; return False if dependent.

    In either case its number is the current size, and that row of ``factor`` holds L^-1 of its
    products with the others.
    """
    size = M.size[0]
    M.row[size] = i
    M.work[:size] = 0.0
    curvature = 0.0
    for j in range(len(M.coef)):
        own = M.weight[size, j]
        if own != 0.0:
            M.slot[j, i] = size
            line = G[min(j, len(G) - 1), i]
            for u in range(size):
                M.work[u] += own * M.weight[u, j] * line[M.row[u]]
            curvature += line[i]
    if tied:
        M.tie[i] = size
    sine = append(M.factor, size, M.work, curvature)
    if size < len(M.factor) - 1 and sine > DEPENDENT:
        M.size[0] = size + 1
        return True
    return False


@kernel
def _first_kink(M, size, limit):
    """Step length <= limit at which an entry first leaves its kind: (length, task, row)."""
    task, place = -1, -1
    for v in range(size):
        i = M.row[v]
        tie = M.tie[i]
        tie_step = M.step[tie] if tie >= 0 else 0.0
        for j in range(len(M.coef)):
            if M.weight[v, j] == 0.0:
                continue
            size_now = abs(M.coef[j, i])
            kind = M.kind[j, i]
            if kind == UPPER:
                rate = M.step[v] - tie_step
                room = size_now - M.theta[i]
            elif kind == TIED:
                rate = M.step[v]
                room = M.theta[i]
                limit, task, place = _waiting_kink(M, v, limit, task, place)
            else:
                outward = M.step[v] * M.weight[v, j]
                outward = outward if M.coef[j, i] >= 0.0 else -outward
                rate = tie_step - outward
                room = M.theta[i] - size_now
                inward = tie_step + outward
                opposite = M.theta[i] + size_now
                if inward < 0.0 and opposite + limit * inward < 0.0:
                    limit, task, place = opposite / -inward, j, i
            if rate < 0.0 and room + limit * rate < 0.0:
                limit, task, place = max(room, 0.0) / -rate, j, i
    return limit, task, place


@kernel
def _waiting_kink(M, v, limit, task, place):
    """Kinks of the entries without a variable in the row of tied variable v."""
    i = M.row[v]
    for j in range(len(M.coef)):
        if M.slot[j, i] < 0 and (M.kind[j, i] == UPPER or M.kind[j, i] == LOWER):
            room = abs(M.coef[j, i]) - M.theta[i]
            rate = -M.step[v]
            if M.kind[j, i] == LOWER:
                room, rate = -room, -rate
            if rate < 0.0 and room + limit * rate < 0.0:
                limit, task, place = max(room, 0.0) / -rate, j, i
    return limit, task, place


@kernel
def _move(M, size, length):
    for v in range(size):
        i = M.row[v]
        if v == M.tie[i]:
            M.theta[i] += length * M.step[v]
            for j in range(len(M.coef)):
                if M.weight[v, j] != 0.0:
                    M.coef[j, i] = M.weight[v, j] * M.theta[i]
        else:
            for j in range(len(M.coef)):
                if M.weight[v, j] != 0.0:
                    M.coef[j, i] += length * M.step[v] * M.weight[v, j]


@kernel
def cross(M, j, i):
    """Change the kinds of row i after its entry j has reached a kink."""
    if not np.any(M.kind[:, i] == TIED):
        M.coef[j, i] = 0.0
        M.kind[j, i] = ZERO
    elif M.kind[j, i] == TIED or M.theta[i] <= 0.0:
        M.theta[i] = 0.0
        for task in range(len(M.coef)):
            if M.kind[task, i] != UPPER:
                M.coef[task, i] = 0.0
                M.kind[task, i] = ZERO
    else:
        M.coef[j, i] = M.theta[i] if M.coef[j, i] > 0.0 else -M.theta[i]
        M.kind[j, i] = TIED


@kernel
def settle(G, correlation, M, row, lam_s, lam_b):
    """Set up the variables of a row again after its kinds have changed.

    If a variable depends on the others, the loss is constant and the penalty linear along the null
    direction that it spans. The estimate then moves downhill to the next kink, and the attempt is
    repeated. Every kink removes a variable, so this ends.
    """
    M.todo[0] = row
    waiting = 1
    while waiting > 0:
        waiting -= 1
        i = M.todo[waiting]
        changed = _set_up(G, correlation, M, i, lam_s, lam_b)
        if changed >= 0:
            M.todo[waiting] = i
            waiting += 1
            if changed != i:
                M.todo[waiting] = changed
                waiting += 1


@kernel
def _detach_outdated(M, i):
    """Remove the variables of row i that no longer match its kinds and signs."""
    tie = M.tie[i]
    if tie >= 0:
        for j in range(len(M.coef)):
            sign = np.sign(M.coef[j, i]) if M.kind[j, i] == TIED else 0.0
            if M.weight[tie, j] != sign:
                _detach(M, tie)
                break
    for j in range(len(M.coef)):
        v = M.slot[j, i]
        if v < 0 or v == M.tie[i]:
            continue
        turned = M.kind[j, i] == UPPER and M.weight[v, j] * M.coef[j, i] < 0.0
        if turned or M.kind[j, i] == ZERO or M.kind[j, i] == TIED:
            _detach(M, v)


@kernel
def _set_up(G, correlation, M, i, lam_s, lam_b):
    """Set up the variables of row i; return the row changed by a null move, else -1."""
    r = len(M.coef)
    _detach_outdated(M, i)
    fresh = False
    for j in range(-1, r):
        size = M.size[0]
        if j == -1:
            if M.tie[i] >= 0 or not np.any(M.kind[:, i] == TIED):
                continue
            for task in range(r):
                tied = M.kind[task, i] == TIED
                M.weight[size, task] = np.sign(M.coef[task, i]) if tied else 0.0
        else:
            free = M.kind[j, i] == UPPER or M.kind[j, i] == LOWER
            if M.slot[j, i] >= 0 or not free:
                continue
            M.weight[size] = 0.0
            M.weight[size, j] = -1.0 if M.kind[j, i] == UPPER and M.coef[j, i] < 0.0 else 1.0
        if not fresh:
            for task in range(r):
                line = G[min(task, len(G) - 1), i]
                M.grad[task, i] = correlation[task, i] - dot(line, M.coef[task])
            fresh = True
        if not _attach(G, M, i, j == -1):
            return _null_move(G, correlation, M, lam_s, lam_b)
        M.excess[size] = dot(M.weight[size], M.grad[:, i]) - price(M, size, lam_s, lam_b)
    return -1


@kernel
def _null_move(G, correlation, M, lam_s, lam_b):
    """Go downhill along the null direction of the variable that could not be attached.

    The direction is null up to rounding only, so its slope is that of the whole objective.
    """
    size = M.size[0]
    solve_transposed(M.factor, size, M.factor[size], M.step)
    M.step[:size] = -M.step[:size]
    M.step[size] = 1.0
    gradient(G, correlation, M.coef, M.grad)
    slope = 0.0
    for v in range(size + 1):
        along = dot(M.weight[v], M.grad[:, M.row[v]])
        slope += M.step[v] * (price(M, v, lam_s, lam_b) - along)
    if slope > 0.0:
        for v in range(size + 1):
            M.step[v] = -M.step[v]
    length, task, place = _first_kink(M, size + 1, np.inf)
    i = M.row[size]
    if place < 0:
        length, task, place = 0.0, np.argmax(np.abs(M.weight[size])), i
    _move(M, size + 1, length)
    cross(M, task, place)
    gradient(G, correlation, M.coef, M.grad)
    for j in range(len(M.coef)):
        if M.weight[size, j] != 0.0:
            M.slot[j, i] = -1
    if M.tie[i] == size:
        M.tie[i] = -1
    return place


@kernel
def newton(G, correlation, M, lam_s, lam_b):
    """Minimise over the manifold, dropping and tying entries at the kinks on the way."""
    for v in range(M.size[0]):
        along = dot(M.weight[v], M.grad[:, M.row[v]])
        M.excess[v] = along - price(M, v, lam_s, lam_b)
    while True:
        size = M.size[0]
        M.step[:size] = M.excess[:size]
        solve(M.factor, size, M.step)
        solve_transposed(M.factor, size, M.step, M.step)
        length, task, place = _first_kink(M, size, 1.0)
        _move(M, size, length)
        M.excess[:size] *= 1.0 - length
        if place < 0:
            return
        cross(M, task, place)
        settle(G, correlation, M, place, lam_s, lam_b)


@kernel
def stationarity(M, lam_s, lam_b):
    """Largest slope of the objective along a variable."""
    worst = 0.0
    for v in range(M.size[0]):
        along = dot(M.weight[v], M.grad[:, M.row[v]])
        worst = max(worst, abs(along - price(M, v, lam_s, lam_b)))
    return worst
