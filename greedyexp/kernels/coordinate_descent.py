"""Descent on quadratic losses, with or without an l1 penalty.

``descend`` makes the steps of four methods on a point of ``descent_state``. ``propose`` is the step
of regularised matching pursuit, Algorithm 1 of Moucer, Taylor & Bach (2024), corrected. It
minimises <g, b> + (L/2) ||b||_1^2 + lam ||a + b||_1 over b. Moving an active coordinate towards
zero, by at most |a_i|, lowers the linear terms at the rate z_i = lam + sign(a_i) g_i for each unit
of ||b||_1. Moving any coordinate away from zero lowers them at the rate |g_i| - lam, whose largest
value is z_min. The step therefore uses the best rates first, while they exceed L times the length
used so far.

``descend_diagonal`` is gradient descent in the basis of the singular vectors, and
``descend_quadratic`` cyclic coordinate descent on a small quadratic.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.descent_state import HELD, ITERATION, conclude, move, move_all, reached
from greedyexp.kernels.gram_fit_numba import first_largest
from greedyexp.kernels.linear_algebra_numba import dot

GAUSS_SOUTHWELL, PROXIMAL_GAUSS_SOUTHWELL, PROXIMAL_GRADIENT, MATCHING_PURSUIT = range(4)


@kernel
def descend(state, rule, until, target):
    """Make steps until their total number is ``until`` or the objective is at most ``target``.

    Parameters
    ----------
    state : State
        Updated.
    rule : int
        One of the constants above.
    until : int
    target : float
    """
    while state.counts[ITERATION] < until and not reached(state, target):
        if rule == GAUSS_SOUTHWELL:
            _gauss_southwell(state)
        elif rule == PROXIMAL_GAUSS_SOUTHWELL:
            _proximal_gauss_southwell(state)
        elif rule == PROXIMAL_GRADIENT:
            _proximal_gradient(state)
        else:
            _matching_pursuit(state)
        conclude(state)


@kernel
def _steepest(state):
    """The coordinate along which G falls most steeply away from zero.

    Rates |g_i| - lam are compared, since near an optimum the derivatives g_i are all close to lam.
    """
    for i in range(len(state.grad)):
        state.score[i] = max(abs(state.grad[i]) - state.lam, 0.0)
    return first_largest(state.score)[0]


@kernel
def _gauss_southwell(state):
    i = _steepest(state)
    move(state, i, state.coef[i] - state.grad[i] / state.smoothness)


@kernel
def _shrunk(value, slope, lam, smoothness):
    """argmin over t of slope (t - value) + (L/2) (t - value)^2 + lam |t|."""
    free = value - slope / smoothness
    return np.copysign(max(abs(free) - lam / smoothness, 0.0), free)


@kernel
def _gain(value, slope, lam, smoothness):
    """2 L times the decrease of the model from a nonzero value to its minimum.

    Computed as a sum of positive terms: near an optimum the difference of the values of the model
    would be a rounding error.
    """
    inward = lam + slope if value > 0.0 else lam - slope
    way = smoothness * abs(value)
    if inward <= way:
        return inward * inward
    beyond = max(inward - 2.0 * lam - way, 0.0)
    return way * (2.0 * inward - way) + beyond * beyond


@kernel
def _proximal_gauss_southwell(state):
    coef, grad, score = state.coef, state.grad, state.score
    lam, smoothness = state.lam, state.smoothness
    for i in range(len(grad)):
        outward = max(abs(grad[i]) - lam, 0.0)
        score[i] = outward * outward
    for t in range(state.counts[HELD]):
        i = state.held[t]
        score[i] = _gain(coef[i], grad[i], lam, smoothness)
    i = first_largest(score)[0]
    move(state, i, _shrunk(coef[i], grad[i], lam, smoothness))


@kernel
def _proximal_gradient(state):
    coef, grad, score = state.coef, state.grad, state.score
    lam, smoothness = state.lam, state.smoothness
    for i in range(len(coef)):
        score[i] = _shrunk(coef[i], grad[i], lam, smoothness)
    move_all(state, score)


@kernel
def _matching_pursuit(state):
    moved = propose(
        state.coef,
        state.grad,
        state.lam,
        state.smoothness,
        state.held,
        state.counts[HELD],
        _steepest(state),
        state.score,
        state.features,
        state.values,
    )
    for t in range(moved):
        move(state, state.features[t], state.values[t])


@kernel
def propose(coef, grad, lam, smoothness, held, count, largest, rate, features, values):
    """Write the coordinates that the step moves and their new values; return their number.

    Parameters
    ----------
    coef, grad : arrays (p,)
        a and g.
    lam, smoothness : float
        lam >= 0 and L > 0.
    held : int array
        Features with nonzero coefficients, the first ``count`` entries.
    largest : int
        The feature with the largest |g_i|.
    rate : array (p,)
        Scratch.
    features, values : arrays (p + 1,)
        Output. A feature may occur twice, first with the value zero; the later value counts.
    """
    outward = max(abs(grad[largest]) - lam, 0.0)
    for t in range(count):
        i = held[t]
        inward = lam + grad[i] if coef[i] > 0.0 else lam - grad[i]
        rate[t] = inward if inward > outward else -1.0
    spent, moved, last = 0.0, 0, 0.0
    while True:
        best = _best(rate, held, count)
        if best < 0:
            break
        i = held[best]
        left = rate[best] / smoothness - spent
        if left <= 0.0:
            return moved
        features[moved] = i
        if left < abs(coef[i]):
            values[moved] = coef[i] - np.copysign(left, coef[i])
            return moved + 1
        values[moved] = 0.0
        rate[best] = -1.0
        spent += abs(coef[i])
        moved += 1
        if i == largest:
            last = coef[i]
    left = outward / smoothness - spent
    if left > 0.0:
        features[moved] = largest
        values[moved] = coef[largest] - last - np.copysign(left, grad[largest])
        moved += 1
    return moved


@kernel
def _best(rate, held, count):
    """Place of the largest rate >= 0, the lowest feature among equals, or -1.

    A step removes few coordinates, so repeated searches cost less than sorting.
    """
    best = -1
    for t in range(count):
        if rate[t] >= 0.0 and (
            best < 0 or rate[t] > rate[best] or (rate[t] == rate[best] and held[t] < held[best])
        ):
            best = t
    return best


@kernel
def descend_diagonal(rho, shift, pull, keep, steps, least):
    """Make gradient steps on least squares in the basis of the singular vectors.

    With singular values s, rho = U^T (P a - y) and z = V^T a, a step of length 1 / L is
    z_j -= s_j rho_j / (n L), which multiplies rho_j by 1 - s_j^2 / (n L). Steps end when
    ||rho||^2 is at most ``least``. Returns the number of steps made, at most ``steps``.

    Parameters
    ----------
    rho : array (m,)
        U^T (P a - y); updated.
    shift : array (m,)
        V^T (a - start); updated.
    pull : array (m,)
        s_j / (n L).
    keep : array (m,)
        1 - s_j^2 / (n L).
    steps : int
    least : float
    """
    for made in range(steps):
        if dot(rho, rho) <= least:
            return made
        for j in range(len(rho)):
            shift[j] -= pull[j] * rho[j]
            rho[j] *= keep[j]
    return steps


@kernel
def descend_quadratic(
    hessian: np.ndarray, slope: np.ndarray, u: np.ndarray, lam: float, tolerance: float, limit: int
) -> bool:
    """Minimise a quadratic with an l1 penalty along its coordinates in turn, in place.

    Returns True if the method converged within ``limit`` rounds.

    Parameters
    ----------
    hessian : array (m, m)
        Symmetric; coordinates without curvature do not change.
    slope : array (m,)
        Gradient of the quadratic at u, updated.
    u : array (m,)
    lam : float >= 0
        Weight of the l1 norm.
    tolerance : float
        The method has converged when no step of a round changes its own derivative by more.
    limit : int
        Largest number of rounds.
    """
    for _ in range(limit):
        largest = 0.0
        for j in range(len(u)):
            own = hessian[j, j]
            if own <= 0.0:
                continue
            target = own * u[j] - slope[j]
            if target > lam:
                new = (target - lam) / own
            elif target < -lam:
                new = (target + lam) / own
            else:
                new = 0.0
            step = new - u[j]
            if step != 0.0:
                u[j] = new
                slope += step * hessian[j]
                largest = max(largest, abs(step) * own)
        if largest <= tolerance:
            return True
    return False
