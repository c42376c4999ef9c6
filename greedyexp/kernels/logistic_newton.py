"""Newton's method for the mean logistic loss over the columns of a support."""

from __future__ import annotations

import numpy as np

from greedyexp.kernels import cholesky_numba as cholesky
from greedyexp.kernels._compile import kernel
from greedyexp.kernels.logistic_lines import losses

# Status: minimum found; all margins are positive, so there is no minimum; a minimum may not exist;
# no progress and no minimum found.
CONVERGED, SEPARATED, DOUBTFUL, STALLED = range(4)
MOST_STEPS = 200
# Steps after which an unproved existence of a minimum counts as doubtful.
PATIENCE = 15
# A column with a smaller squared sine to the span of the others, in the metric of the Hessian, does
# not move; its gradient vanishes with theirs.
SPAN = 1e-13
# A step must achieve this part of the decrease predicted by the slope.
ARMIJO = 1e-4
# Decreases below this part of the loss are rounding errors and are not compared.
VALUE_ROUNDING = 1e-11


@kernel
def _hessian_step(signed, weights, penalty, gradient, step):
    """step <- -H^{-1} gradient on the independent columns; return the number of the others."""
    k, n = signed.shape
    scaled, curvature = np.empty((k, n)), weights * (1.0 - weights) / n
    for t in range(k):
        for i in range(n):
            scaled[t, i] = curvature[i] * signed[t, i]
    hessian = np.dot(signed, scaled.T)
    chol, cross, kept, size = np.empty((k + 1, k + 1)), np.empty(k), np.empty(k, np.int64), 0
    dependent = 0
    for t in range(k):
        step[t] = 0.0
        diagonal = hessian[t, t] + penalty[t]
        if not diagonal > 0.0:
            continue
        for s in range(size):
            cross[s] = hessian[t, kept[s]]
        if cholesky.append(chol, size, cross, diagonal) > SPAN:
            kept[size] = t
            size += 1
        else:
            dependent += 1
    for s in range(size):
        cross[s] = -gradient[kept[s]]
    cholesky.solve(chol, size, cross)
    cholesky.solve_transposed(chol, size, cross, cross)
    for s in range(size):
        step[kept[s]] = cross[s]
    return dependent


@kernel
def _separates(margins):
    """True if every margin is positive by more than the rounding error of the largest."""
    return margins.min() > 1e-12 * margins.max()


@kernel
def _proves(weights, moves):
    """True if a Newton step with these moves of the margins proves that a minimum exists.

    With the weights s_i = 1 / (1 + exp(m_i)), the vector s_i (1 - (1 - s_i) move_i) is orthogonal
    to all columns. If it is positive, every combination of columns that is not zero has a negative
    entry (Stiemke's lemma), and then a minimum exists.
    """
    most = 0.0
    for i in range(len(moves)):
        most = max(most, (1.0 - weights[i]) * moves[i])
    return most < 0.5


@kernel
def _value(margins, weights, penalty, coef):
    total = losses(margins, weights)
    for t in range(len(coef)):
        total += 0.5 * penalty[t] * coef[t] * coef[t]
    return total


@kernel
def _advance(margins, moves, coef, step, slope, value, penalty, weights):
    """Halve the step until the loss falls enough; return the new value, or nan if it never does."""
    length = 1.0
    for _ in range(60):
        coef += length * step
        margins += length * moves
        found = _value(margins, weights, penalty, coef)
        if found <= value + ARMIJO * length * slope or -slope <= VALUE_ROUNDING * abs(value):
            return found
        coef -= length * step
        margins -= length * moves
        length *= 0.5
    return np.nan


@kernel
def minimise(signed, penalty, tolerance, coef, margins, weights, known, patient):
    """Minimise over the coefficients of ``signed``, starting from ``coef``.

    Parameters
    ----------
    signed : array (k, n)
        Signed columns.
    penalty, tolerance : arrays (k,)
        Ridge of each coefficient, and the largest derivative allowed at the end.
    coef : array (k,)
        Start; overwritten.
    margins, weights : arrays (n,)
        Output: margins at the end, and 1 / (1 + exp(m_i)).
    known : bool
        True if a minimum is known to exist.
    patient : bool
        Continue until the existence of a minimum is proved, even if the gradient is small.

    Returns
    -------
    status : int
        One of the constants above.
    value : float
    known : bool
        True if the existence of a minimum has been proved.
    """
    margins[:] = np.dot(coef, signed)
    value = _value(margins, weights, penalty, coef)
    step, n = np.empty(len(coef)), len(margins)
    worst_before = np.inf
    for count in range(MOST_STEPS):
        gradient = penalty * coef - np.dot(signed, weights) / n
        worst = 0.0
        for t in range(len(coef)):
            worst = max(worst, abs(gradient[t]) / tolerance[t])
        if worst <= 1.0 and known:
            return CONVERGED, value, known
        if not known and _separates(margins):
            return SEPARATED, value, known
        dependent = _hessian_step(signed, weights, penalty, gradient, step)
        moves = np.dot(step, signed)
        known = known or (dependent == 0 and _proves(weights, moves))
        if worst <= 1.0 and known:
            return CONVERGED, value, known
        if not (known or patient) and (worst <= 1.0 or count >= PATIENCE):
            return DOUBTFUL, value, known
        slope = np.dot(gradient, step)
        if -slope <= VALUE_ROUNDING * abs(value) and worst >= worst_before:
            return STALLED, value, known
        worst_before = worst if -slope <= VALUE_ROUNDING * abs(value) else np.inf
        found = _advance(margins, moves, coef, step, slope, value, penalty, weights)
        if np.isnan(found):
            value = _value(margins, weights, penalty, coef)
            return STALLED, value, known
        value = found
    return STALLED, value, known
