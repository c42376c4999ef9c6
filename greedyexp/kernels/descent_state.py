"""The state of coordinate descent on least squares: point, residual and gradient.

Every move updates the residual in time n, which gives the objective at every step. The gradient is
updated by a row of the Gram matrix (time p) if that matrix is kept, else by a product with all
atoms (time n p). Both are computed afresh every ``REFRESH`` steps and whenever the residual has
become ten times smaller, which keeps their errors at the rounding level of their current size.

Functions that every step calls are inlined: passing so many arrays would take half the time of a
step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.linear_algebra_numba import axpy, dot, subtract_rows

REFRESH = 1000
# Squared residual, over that of the last refresh, at which to refresh.
SHRUNK = 1e-2
# An objective this near to its target, relatively, is compared again from a fresh residual. So is
# one that an error of the second size, relative to y and the first residual, could explain.
DOUBT = 1e-12
RESIDUAL_DOUBT = 1e-14

# Places in ``State.counts`` and ``State.power``.
ITERATION, HELD, AGE, OUTSIDE, LAST_OUTSIDE = range(5)
AT_REFRESH, NOW, DOUBTED = range(3)


class State(NamedTuple):
    """A point of p coordinates and the data of the next step."""

    atoms: np.ndarray  # (p, n): columns of P
    gram: np.ndarray  # (p, p): P^T P / n, or (0, 0) when it is not kept
    response: np.ndarray  # (n,)
    lam: float
    smoothness: float  # L1 or L2
    coef: np.ndarray  # (p,)
    residual: np.ndarray  # (n,): P a - y
    grad: np.ndarray  # (p,): P^T residual / n
    held: np.ndarray  # (p,): features with nonzero coefficients in no order, then anything
    position: np.ndarray  # (p,): place in ``held``, or -1
    score: np.ndarray  # (p,): scratch
    features: np.ndarray  # (p + 1,): scratch, the features that a step moves
    values: np.ndarray  # (p + 1,): scratch, their new values
    other: np.ndarray  # (n,): scratch, another residual
    outside: np.ndarray  # (p,): whether to note a nonzero coefficient
    power: np.ndarray  # (3,): squared residual at the last refresh, now, and of rounding errors
    counts: np.ndarray  # (5,): steps; held; steps since a refresh; held outside; last such step


@kernel
def begin(atoms, gram, response, lam, smoothness, start):
    """The state at ``start`` (p,) before the first step; see ``State`` for shapes."""
    p, n = atoms.shape
    state = State(
        atoms,
        gram,
        response,
        lam,
        smoothness,
        np.zeros(p),
        np.zeros(n),
        np.zeros(p),
        np.zeros(p, np.int64),
        np.full(p, -1, np.int64),
        np.zeros(p),
        np.zeros(p + 1, np.int64),
        np.zeros(p + 1),
        np.zeros(n),
        np.zeros(p, np.bool_),
        np.zeros(3),
        np.zeros(5, np.int64),
    )
    state.counts[LAST_OUTSIDE] = -1
    for i in range(p):
        _put(state, i, start[i])
    _refresh(state)
    scale = np.sqrt(dot(response, response)) + np.sqrt(state.power[NOW])
    state.power[DOUBTED] = (RESIDUAL_DOUBT * scale) ** 2
    return state


@kernel
def watch(state, outside):
    """From now on, record the last step with a nonzero coefficient marked in ``outside`` (p,)."""
    counts = state.counts
    state.outside[:] = outside
    _count_outside(state)
    counts[LAST_OUTSIDE] = counts[ITERATION] if counts[OUTSIDE] > 0 else -1


@kernel
def _count_outside(state):
    counts = state.counts
    counts[OUTSIDE] = 0
    for t in range(counts[HELD]):
        counts[OUTSIDE] += state.outside[state.held[t]]


@kernel(inline="always")
def _put(state, i, value):
    held, position, counts = state.held, state.position, state.counts
    if value != 0.0 and position[i] < 0:
        position[i] = counts[HELD]
        held[counts[HELD]] = i
        counts[HELD] += 1
        counts[OUTSIDE] += state.outside[i]
    elif value == 0.0 and position[i] >= 0:
        counts[HELD] -= 1
        last = held[counts[HELD]]
        held[position[i]] = last
        position[last] = position[i]
        position[i] = -1
        counts[OUTSIDE] -= state.outside[i]
    state.coef[i] = value + 0.0  # no negative zeros


@kernel(inline="always")
def move(state, i, value):
    """Set a coefficient; update the residual and, if the Gram matrix is kept, the gradient."""
    change = value - state.coef[i]
    axpy(change, state.atoms[i], state.residual)
    if len(state.gram) > 0:
        axpy(change, state.gram[i], state.grad)
    _put(state, i, value)


@kernel
def _fresh_residual(state, out):
    """out <- P a - y, in time n for each nonzero coefficient."""
    count = state.counts[HELD]
    for t in range(count):
        state.score[t] = -state.coef[state.held[t]]
    for j in range(len(out)):
        out[j] = -state.response[j]
    subtract_rows(out, state.score, state.atoms, state.held, count)


@kernel
def _correlate(state):
    n = len(state.response)
    for i in range(len(state.grad)):
        state.grad[i] = dot(state.atoms[i], state.residual) / n


@kernel
def move_all(state, values):
    """Set all coefficients (p,); ``conclude`` then computes residual and gradient afresh."""
    coef, held, position, counts = state.coef, state.held, state.position, state.counts
    count = 0
    for i in range(len(values)):
        coef[i] = values[i] + 0.0
        position[i] = -1
        if coef[i] != 0.0:
            held[count], position[i] = i, count
            count += 1
    counts[HELD] = count
    _count_outside(state)
    counts[AGE] = REFRESH


@kernel
def _refresh(state):
    _fresh_residual(state, state.residual)
    _correlate(state)
    state.power[NOW] = state.power[AT_REFRESH] = dot(state.residual, state.residual)
    state.counts[AGE] = 0


@kernel(inline="always")
def conclude(state):
    """End a step after its moves: update the gradient and the counts."""
    counts, power = state.counts, state.power
    counts[ITERATION] += 1
    counts[AGE] += 1
    if counts[OUTSIDE] > 0:
        counts[LAST_OUTSIDE] = counts[ITERATION]
    power[NOW] = dot(state.residual, state.residual)
    if counts[AGE] >= REFRESH or power[NOW] < SHRUNK * power[AT_REFRESH]:
        _refresh(state)
    elif len(state.gram) == 0:
        _correlate(state)


@kernel
def _size(state):
    """||a||_1."""
    size = 0.0
    for t in range(state.counts[HELD]):
        size += abs(state.coef[state.held[t]])
    return size


@kernel
def objective(state):
    """||P a - y||^2 / (2 n) + lam ||a||_1 from a residual computed afresh."""
    _fresh_residual(state, state.other)
    return dot(state.other, state.other) / (2.0 * len(state.other)) + state.lam * _size(state)


@kernel(inline="always")
def reached(state, target):
    """True if the objective is at most ``target``; the state does not change."""
    n, power = len(state.residual), state.power
    value = power[NOW] / (2.0 * n)
    doubt = np.sqrt(power[NOW] * power[DOUBTED]) / n
    if value > target + DOUBT * value + doubt:
        return False
    value += state.lam * _size(state)
    return value <= target + DOUBT * value + doubt and objective(state) <= target
