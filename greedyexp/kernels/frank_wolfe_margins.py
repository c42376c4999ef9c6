"""Forward greedy steps over an l1 ball on a mean of losses, with updated predictions.

R(w) = mean_i L(<x_i, w>, y_i) + ridge / 2 ||w||^2. A step w <- (1 - eta) w + eta s B e_j moves the
predictions by a column of the design, and one pass over the design gives the gradient. Predictions
are computed afresh at intervals and to confirm that a gap is reached. A column that equals an
earlier one or its negative gets the derivative of that column, so rounding cannot break the tie.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.frank_wolfe import (
    AGE,
    DOUBT,
    DOUBTED,
    ENDED,
    GAP,
    ROUNDED,
    ROUNDING,
    STEPS,
    largest,
    length,
)
from greedyexp.kernels.linear_algebra_numba import FAST, axpy, dot
from greedyexp.kernels.scalar_losses_numba import SQUARED, slope, slopes

REFRESH = 1000
# A slope along a line counts as zero at this part of the slope at its beginning.
FLAT = 1e-13
MOST_TRIALS = 200


class Margins(NamedTuple):
    """A point of d coordinates and the data of the next step."""

    atoms: np.ndarray  # (d, n): columns of the design
    copies: np.ndarray  # (c,): columns that equal an earlier one, or its negative
    originals: np.ndarray  # (c,): that earlier column
    signs: np.ndarray  # (c,): 1, or -1 of a negative
    response: np.ndarray  # (n,)
    kind: int  # of the loss, see ``scalar_losses``
    beta: float  # of the loss
    ridge: float
    radius: float  # B
    smoothness: float  # of R, by the l1 norm
    exact: bool  # whether steps end at the minimum along their direction
    coef: np.ndarray  # (d,)
    margins: np.ndarray  # (n,): X w
    grad: np.ndarray  # (d,)
    slope: np.ndarray  # (n,): scratch, derivatives of the loss
    moves: np.ndarray  # (n,): scratch, s B X_j - X w, or other margins
    other: np.ndarray  # (d,): scratch, another gradient
    counts: np.ndarray  # (3,): steps; steps since a refresh; whether the run has ended
    sizes: np.ndarray  # (3,): the gap; its error by rounding; a gap that is only rounding


@kernel
def begin(atoms, copies, originals, signs, response, kind, beta, ridge, radius, smoothness, exact):
    """The state at zero before the first step; see ``Margins``."""
    d, n = atoms.shape
    state = Margins(
        atoms,
        copies,
        originals,
        signs,
        response,
        kind,
        beta,
        ridge,
        radius,
        smoothness,
        exact,
        np.zeros(d),
        np.zeros(n),
        np.empty(d),
        np.empty(n),
        np.empty(n),
        np.empty(d),
        np.zeros(3, np.int64),
        np.zeros(3),
    )
    _gradient(state, state.margins, state.grad)
    most = largest(state.grad)[0]
    state.sizes[GAP] = radius * most
    state.sizes[DOUBTED] = DOUBT * radius * (most + smoothness * radius)
    state.sizes[ROUNDED] = ROUNDING * radius * most
    return state


@kernel
def _gradient(state, margins, out):
    """out <- X^T L'(margins) / n + ridge w."""
    slopes(state.kind, state.beta, margins, state.response, state.slope)
    np.dot(state.atoms, state.slope, out)
    for t in range(len(state.copies)):
        out[state.copies[t]] = state.signs[t] * out[state.originals[t]]
    n = len(margins)
    for i in range(len(out)):
        out[i] = out[i] / n + state.ridge * state.coef[i]


@kernel
def _predict(state, out):
    """out <- X w."""
    out[:] = 0.0
    for j in range(len(state.coef)):
        if state.coef[j] != 0.0:
            axpy(state.coef[j], state.atoms[j], out)


@kernel
def _refresh(state):
    _predict(state, state.margins)
    _gradient(state, state.margins, state.grad)
    state.counts[AGE] = 0


@kernel
def fresh_gap(state):
    """<theta, w> + B max |theta| with the gradient theta computed from w alone."""
    _predict(state, state.moves)
    _gradient(state, state.moves, state.other)
    return dot(state.other, state.coef) + state.radius * largest(state.other)[0]


@kernel(fastmath=FAST)
def _bend(state, j, vertex):
    """ridge ||v||^2 of the direction v = vertex e_j - w."""
    off = vertex - state.coef[j]
    total = off * off - state.coef[j] * state.coef[j] + dot(state.coef, state.coef)
    return state.ridge * max(total, 0.0)


@kernel(fastmath=FAST)
def _rise(state, eta, start):
    """The slope of the mean of the losses at ``eta``, less that where the line begins."""
    total = 0.0
    for i in range(len(state.margins)):
        moved = state.margins[i] + eta * state.moves[i]
        total += slope(state.kind, moved, state.response[i], state.beta) * state.moves[i]
    return total / len(state.margins) - start


@kernel
def _line(state, j, vertex, gap):
    """The minimum of R over [0, 1] along v = vertex e_j - w; the slope at 0 is minus ``gap``.

    The root of the slope is bracketed and approximated by chords. The value at an end of the
    bracket that has not moved twice is halved (the Illinois rule), which closes the bracket from
    both sides.
    """
    bend = _bend(state, j, vertex)
    start = _rise(state, 0.0, 0.0)
    left, at_left = 0.0, -gap
    right, at_right = 1.0, bend - gap + _rise(state, 1.0, start)
    if at_right <= 0.0:
        return 1.0
    stayed = 0
    for _ in range(MOST_TRIALS):
        eta = left - at_left * (right - left) / (at_right - at_left)
        if not left < eta < right:
            return left
        value = eta * bend - gap + _rise(state, eta, start)
        if abs(value) <= FLAT * gap:
            return eta
        if value < 0.0:
            left, at_left = eta, value
            at_right *= 0.5 if stayed > 0 else 1.0
            stayed = 1
        else:
            right, at_right = eta, value
            at_left *= 0.5 if stayed < 0 else 1.0
            stayed = -1
    return left


@kernel(fastmath={"contract"})
def _mix(eta, moves, margins, coef):
    keep = 1.0 - eta
    for i in range(len(margins)):
        margins[i] += eta * moves[i]
    for i in range(len(coef)):
        coef[i] = keep * coef[i] + 0.0  # no negative zeros, which FAST would allow


@kernel
def _eta(state, j, vertex, gap):
    """The length of the step."""
    if not state.exact:
        return length(gap, 0.0, False, state.radius, state.smoothness)
    if state.kind == SQUARED:
        curvature = dot(state.moves, state.moves) / len(state.moves) + _bend(state, j, vertex)
        return length(gap, curvature, True, state.radius, state.smoothness)
    return _line(state, j, vertex, gap)


@kernel
def advance(state, until, target):
    """Make steps up to number ``until``, or until the gap is at most ``target`` if that is > 0.

    The run ends, which sets ``counts[ENDED]``, when the gap is a rounding error or a step would
    not change any digit. ``sizes[GAP]`` is the gap at the end. The steps of a run do not depend on
    where earlier calls stopped.
    """
    counts, sizes, coef = state.counts, state.sizes, state.coef
    while counts[ENDED] == 0:
        most, j = largest(state.grad)
        gap = dot(state.grad, coef) + state.radius * most
        if counts[AGE] > 0 and (gap <= sizes[ROUNDED] or counts[AGE] >= REFRESH):
            _refresh(state)
            continue
        sizes[GAP] = gap
        if counts[STEPS] >= until:
            return
        if target > 0.0 and gap <= target + sizes[DOUBTED] and fresh_gap(state) <= target:
            return
        vertex = -np.copysign(state.radius, state.grad[j])
        for i in range(len(state.moves)):
            state.moves[i] = vertex * state.atoms[j, i] - state.margins[i]
        eta = _eta(state, j, vertex, gap)
        value = (1.0 - eta) * coef[j] + eta * vertex
        if gap <= sizes[ROUNDED] or (1.0 - eta == 1.0 and value == coef[j]):
            counts[ENDED] = counts[AGE] == 0
            _refresh(state)
            continue
        _mix(eta, state.moves, state.margins, coef)
        coef[j] = value
        _gradient(state, state.margins, state.grad)
        counts[STEPS] += 1
        counts[AGE] += 1
