"""Low-rank ascent for the relaxation of maximum cut, and the test that proves it done.

max Tr(C V^T V) over matrices V (k, p) with unit columns; with k (k + 1) / 2 > p every local maximum
is one of max Tr(C Z), Z positive semidefinite, diag Z = 1 (Burer & Monteiro 2003, Boumal et al.
2016). One sweep sets each column to its best given the others (the mixing method, Wang & Kolter
2018). Extrapolation between sweeps, begun anew whenever the objective falls, saves most of them.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel

# Sums may be taken in any order: the certificate allows for rounding whatever the order.
ANY_ORDER = {"reassoc", "contract"}
# The slack matrix is tried when rows of C V are parallel to V but for this many tolerances, and
# after a failure when the deviation has fallen by this factor.
FIRST_TRIAL = 64.0
NEXT_TRIAL = 0.5


@kernel(fastmath=ANY_ORDER)
def _pull(C, V, i, out):
    """out = sum_j C_ij v_j."""
    k, p = V.shape
    for t in range(k):
        total = 0.0
        for j in range(p):
            total += C[i, j] * V[t, j]
        out[t] = total


@kernel
def _sweep(C, V, pull):
    """Each column in turn to its best given the others; one that nothing pulls stays."""
    k, p = V.shape
    for i in range(p):
        _pull(C, V, i, pull)
        square = 0.0
        for t in range(k):
            pull[t] -= C[i, i] * V[t, i]
            square += pull[t] * pull[t]
        if square > 0.0:
            scale = 1.0 / np.sqrt(square)
            for t in range(k):
                V[t, i] = scale * pull[t]


@kernel
def _multipliers(C, V, pull, y):
    """y_i = v_i^T sum_j C_ij v_j; returns the largest relative deviation of C V from y V."""
    k, p = V.shape
    worst = 0.0
    for i in range(p):
        _pull(C, V, i, pull)
        along, square = 0.0, 0.0
        for t in range(k):
            along += pull[t] * V[t, i]
            square += pull[t] * pull[t]
        y[i] = along
        if along <= 0.0:
            worst = np.inf
        else:
            worst = max(worst, np.sqrt(max(square / along**2 - 1.0, 0.0)))
    return worst


@kernel
def _extrapolate(V, before, momentum):
    """V + momentum (V - before) with unit columns; ``before`` becomes the old V."""
    k, p = V.shape
    for i in range(p):
        square = 0.0
        for t in range(k):
            now = V[t, i]
            V[t, i] = now + momentum * (now - before[t, i])
            before[t, i] = now
            square += V[t, i] * V[t, i]
        scale = 1.0 / np.sqrt(square)
        for t in range(k):
            V[t, i] *= scale


@kernel(fastmath=ANY_ORDER)
def is_dual(C, y, slack, allowance, work):
    """Whether (1 + slack) Diag(y) - C is positive semidefinite, proved by a Cholesky factor.

    The matrix is scaled to D^(-1/2) . D^(-1/2), D = Diag(y), so that its entries are at most about
    one; ``allowance`` is taken off its diagonal for all rounding errors.
    """
    p = len(y)
    for i in range(p):
        if not y[i] > 0.0:
            return False
        scale = 1.0 / np.sqrt(y[i])
        for j in range(i):
            work[i, j] = -C[i, j] * scale / np.sqrt(y[j])
        work[i, i] = 1.0 + slack - allowance - C[i, i] / y[i]
    for i in range(p):
        for j in range(i + 1):
            total = work[i, j]
            for t in range(j):
                total -= work[i, t] * work[j, t]
            if i > j:
                work[i, j] = total / work[j, j]
            elif total > 0.0:
                work[i, i] = np.sqrt(total)
            else:
                return False
    return True


@kernel
def ascend(C, V, slack, allowance, most):
    """Sweep until (1 + slack) y is dual feasible.

    Parameters
    ----------
    C : array (p, p)
        Symmetric positive semidefinite with a positive diagonal.
    V : array (k, p)
        Start with unit columns; overwritten.
    slack, allowance : float
        See ``is_dual``.
    most : int
        Most sweeps.

    Returns
    -------
    y : array (p,)
        Multipliers with sum Tr(C V^T V).
    sweeps : int
    certified : bool
        Whether (1 + slack) y is dual feasible.
    """
    k, p = V.shape
    pull, y, work = np.empty(k), np.empty(p), np.empty((p, p))
    before = V.copy()
    value, step, trial = -np.inf, 1.0, FIRST_TRIAL * slack
    for sweep in range(1, most + 1):
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * step * step))
        _extrapolate(V, before, (step - 1.0) / following)
        _sweep(C, V, pull)
        deviation = _multipliers(C, V, pull, y)
        now = y.sum()
        step = following if now >= value else 1.0
        value = now
        if deviation <= trial:
            if is_dual(C, y, slack, allowance, work):
                return y, sweep, True
            trial = NEXT_TRIAL * deviation
    return y, most, False
