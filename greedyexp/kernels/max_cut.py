"""The largest value of a quadratic form over sign vectors, exactly and by its relaxation.

``largest_form`` tries all sign vectors of few coordinates. ``ascend`` solves the relaxation of
maximum cut: max Tr(C V^T V) over matrices V (k, p) with unit columns. With k (k + 1) / 2 > p every
local maximum is one of max Tr(C Z), Z positive semidefinite, diag Z = 1 (Burer & Monteiro 2003,
Boumal et al. 2016). One sweep sets each column to its best value given the others (the mixing
method, Wang & Kolter 2018). Extrapolation between sweeps, restarted whenever the objective falls,
saves most of them.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel

# Allows sums in any order: the certificate allows for rounding whatever the order.
ANY_ORDER = {"reassoc", "contract"}
# ``is_dual`` is first tried when the relative deviation of the rows of C V from those of y V is at
# most this many tolerances, and after a failure when it has fallen by the second factor.
FIRST_TRIAL = 64.0
NEXT_TRIAL = 0.5
# ``largest_form`` computes its running sums afresh after so many steps.
REFRESH = 4096


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
    """Set each column in turn to its best value given the others."""
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
    """True if a Cholesky factor proves that (1 + slack) Diag(y) - C is positive semidefinite.

    The matrix is scaled by D^(-1/2) on both sides, D = Diag(y), which makes its entries at most
    about one. ``allowance`` is subtracted from its diagonal to cover all rounding errors.
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
        Largest number of sweeps.

    Returns
    -------
    y : array (p,)
        Multipliers with sum Tr(C V^T V).
    sweeps : int
    certified : bool
        True if (1 + slack) y is dual feasible.
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


@kernel
def largest_form(C):
    """max v^T C v over v in {-1, 1}^p in the order of a Gray code, one flip after the other.

    Parameters
    ----------
    C : array (p, p)
        Symmetric; v and -v have the same value, so the last sign stays 1.

    Returns
    -------
    best : array (p,)
        The first sign vector with the largest value.
    value : float
        Within about REFRESH p eps sum |C_ij| of the maximum.
    """
    p = len(C)
    v = np.ones(p)
    w = C @ v
    value = v @ w
    best, most = v.copy(), value
    for step in range(1, 2 ** (p - 1)):
        # The place of the lowest bit of step is the sign that the Gray code flips.
        i, rest = 0, step
        while rest % 2 == 0:
            rest //= 2
            i += 1
        value += 4.0 * (C[i, i] - v[i] * w[i])
        for j in range(p):
            w[j] -= 2.0 * v[i] * C[j, i]
        v[i] = -v[i]
        if step % REFRESH == 0:
            w = C @ v
            value = v @ w
        if value > most:
            most = value
            best[:] = v
    return best, most
