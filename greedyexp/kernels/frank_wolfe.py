"""Forward greedy steps over an l1 ball on a quadratic risk, with an updated gradient.

R(w) = w^T H w / 2 - c^T w + constant. A step w <- (1 - eta) w + eta s B e_j turns the gradient
theta = H w - c into (1 - eta) theta + eta (s B H_j - c), at the cost of a column of H. Rounding
errors add up, so the gradient is computed afresh at intervals and to confirm that a gap is reached.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.linear_algebra_numba import FAST, dot

# Steps between two fresh gradients: a constant, and a number for each feature, which keeps the cost
# of fresh gradients small compared with that of the steps.
REFRESH, REFRESH_PER_FEATURE = 1000, 8
# A gap this near to its target, relative to the largest possible gap, is computed afresh.
DOUBT = 1e-13
# Rounding error of a gap, relative to the gap at zero.
ROUNDING = 4 * np.finfo(float).eps

# Places in ``counts`` and ``sizes``.
STEPS, AGE, ENDED = range(3)
GAP, DOUBTED, ROUNDED = range(3)

# Without nan, maxima run in vector registers.
ORDERED = FAST | {"nnan"}


class Quadratic(NamedTuple):
    """A point of d coordinates and the data of the next step.

    Column j of H is ``scale[j] * rows[j] + bump[j] e_j``, or ``scale[j] * rows[0] + bump[j] e_j``
    if there is a single row.
    """

    rows: np.ndarray  # (d, d) or (1, d)
    scale: np.ndarray  # (d,)
    bump: np.ndarray  # (d,)
    cross: np.ndarray  # (d,): c
    radius: float  # B
    smoothness: float  # of R, by the l1 norm
    exact: bool  # whether steps end at the minimum along their direction
    coef: np.ndarray  # (d,)
    grad: np.ndarray  # (d,)
    column: np.ndarray  # (d,): scratch, s B H_j - c
    other: np.ndarray  # (d,): scratch, another gradient
    counts: np.ndarray  # (3,): steps; steps since a refresh; whether the run has ended
    sizes: np.ndarray  # (3,): the gap; its error by rounding; a gap that is only rounding


@kernel(fastmath=ORDERED)
def largest(grad):
    """max |grad_j| and the lowest j that attains it."""
    most = 0.0
    for i in range(len(grad)):
        most = max(most, abs(grad[i]))
    for i in range(len(grad)):
        if abs(grad[i]) >= most:
            return most, i
    return most, 0


@kernel
def begin(rows, scale, bump, cross, radius, smoothness, exact):
    """The state at zero before the first step; see ``Quadratic``."""
    d = len(cross)
    most = largest(cross)[0]
    doubt = DOUBT * radius * (most + smoothness * radius)
    return Quadratic(
        rows,
        scale,
        bump,
        cross,
        radius,
        smoothness,
        exact,
        np.zeros(d),
        -cross,
        np.empty(d),
        np.empty(d),
        np.zeros(3, np.int64),
        np.array([radius * most, doubt, ROUNDING * radius * most]),
    )


@kernel(fastmath=FAST)
def _gradient(state, out):
    """out <- H w - c, computed from w alone."""
    coef, rows, d = state.coef, state.rows, len(state.coef)
    for i in range(d):
        out[i] = state.bump[i] * coef[i] - state.cross[i]
    if len(rows) == 1:
        total = dot(state.scale, coef)
        for i in range(d):
            out[i] += total * rows[0, i]
        return
    for j in range(d):
        weight = state.scale[j] * coef[j]
        if weight != 0.0:
            for i in range(d):
                out[i] += weight * rows[j, i]


@kernel
def _refresh(state):
    _gradient(state, state.grad)
    state.counts[AGE] = 0


@kernel
def fresh_gap(state):
    """<theta, w> + B max |theta| with the gradient theta computed from w alone."""
    _gradient(state, state.other)
    return dot(state.other, state.coef) + state.radius * largest(state.other)[0]


@kernel(fastmath=FAST)
def _column(state, j, vertex):
    """column <- vertex H_j - c."""
    row = state.rows[j if len(state.rows) > 1 else 0]
    weight = vertex * state.scale[j]
    for i in range(len(row)):
        state.column[i] = weight * row[i] - state.cross[i]
    state.column[j] += vertex * state.bump[j]


@kernel(fastmath=FAST)
def _curvature(state, j, vertex):
    """v^T H v of the direction v = vertex e_j - w."""
    total = vertex * (state.column[j] - state.grad[j])
    for i in range(len(state.coef)):
        total -= state.coef[i] * (state.column[i] - state.grad[i])
    return total


@kernel(fastmath={"contract"})
def _mix(eta, column, grad, coef):
    keep = 1.0 - eta
    for i in range(len(coef)):
        grad[i] = keep * grad[i] + eta * column[i]
        coef[i] = keep * coef[i] + 0.0  # no negative zeros, which FAST would allow


@kernel
def length(gap, curvature, exact, radius, smoothness):
    """The step length of the paper, or the minimum of a parabola over [0, 1]."""
    bound = curvature if exact else 4.0 * smoothness * radius * radius
    return 1.0 if gap >= bound else gap / bound


@kernel
def advance(state, until, target):
    """Make steps up to number ``until``, or until the gap is at most ``target`` if that is > 0.

    The run ends, which sets ``counts[ENDED]``, when the gap is a rounding error or a step would
    not change any digit. ``sizes[GAP]`` is the gap at the end. The steps of a run do not depend on
    where earlier calls stopped.
    """
    counts, sizes, coef = state.counts, state.sizes, state.coef
    refresh = REFRESH + REFRESH_PER_FEATURE * len(coef)
    while counts[ENDED] == 0:
        most, j = largest(state.grad)
        gap = dot(state.grad, coef) + state.radius * most
        if counts[AGE] > 0 and (gap <= sizes[ROUNDED] or counts[AGE] >= refresh):
            _refresh(state)
            continue
        sizes[GAP] = gap
        if counts[STEPS] >= until:
            return
        if target > 0.0 and gap <= target + sizes[DOUBTED] and fresh_gap(state) <= target:
            return
        vertex = -np.copysign(state.radius, state.grad[j])
        _column(state, j, vertex)
        curvature = _curvature(state, j, vertex) if state.exact else 0.0
        eta = length(gap, curvature, state.exact, state.radius, state.smoothness)
        value = (1.0 - eta) * coef[j] + eta * vertex
        if gap <= sizes[ROUNDED] or (1.0 - eta == 1.0 and value == coef[j]):
            counts[ENDED] = counts[AGE] == 0
            _refresh(state)
            continue
        _mix(eta, state.column, state.grad, coef)
        coef[j] = value
        counts[STEPS] += 1
        counts[AGE] += 1
