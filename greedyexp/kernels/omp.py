"""Orthogonal matching pursuit over features, for tasks one by one or all together, in Gram form.

Features are never removed, so the rows of W = L^{-1} G_S are kept for all features, where L is the
Cholesky factor of G_SS. A new feature i then costs one pass over them: L gains the row W[:, i], W
gains the row (G_i - W[:, i]^T W) / pivot, and a multiple of that row is subtracted from the
correlation of the residual. The factor need not be stored, since L^T = W[:, S].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.gram_fit import GAIN_FLOOR, SPAN, first_largest, half_inverse_of
from greedyexp.kernels.linear_algebra import subtract_rows


class Pursuit(NamedTuple):
    """A pursuit by q tasks, those from ``first`` on, of at most m features."""

    first: int
    gram: np.ndarray  # (r, p, p), or (1, p, p) when the tasks share a design
    half_inverse: np.ndarray  # (q, p): 1 / (2 G_ii), zero for a column that can gain no more
    floors: np.ndarray  # (q,): gains up to here are rounding errors
    capacity: np.ndarray  # (q,): largest support of each task
    rows: np.ndarray  # (q, m, p): W
    order: np.ndarray  # (m,): 0, 1, ...
    rotated: np.ndarray  # (q, m): L^{-1} c_S
    support: np.ndarray  # (q, m)
    size: np.ndarray  # (q,)
    weights: np.ndarray  # (q, m): W[:, i], the row of L for a staged feature i
    residual: np.ndarray  # (q, p): correlation of the residual
    refit: bool  # whether gains are computed after a refit
    sines: np.ndarray  # (q, p): squared sines of columns to the span, by differences, when refit
    gains: np.ndarray  # (q, p)
    scores: np.ndarray  # (p,)
    smallest: np.ndarray  # (1,): smallest squared sine of an added column


@kernel
def _start(first, gram, correlation, power, capacity, refit, room):
    q, m, p = room.shape
    half_inverse = np.empty((q, p))
    for j in range(q):
        half_inverse[j] = half_inverse_of(np.diag(gram[(first + j) % gram.shape[0]]))
    return Pursuit(
        first,
        gram,
        half_inverse,
        GAIN_FLOOR * power[first : first + q],
        capacity[first : first + q],
        room,
        np.arange(m),
        np.empty((q, m)),
        np.empty((q, m), np.int64),
        np.zeros(q, np.int64),
        np.empty((q, m)),
        correlation[first : first + q].copy(),
        refit,
        np.ones((q, p)),
        np.empty((q, p)),
        np.empty(p),
        np.ones(1),
    )


@kernel
def _stage(state, j, i):
    """Squared sine of the angle between column i and the span of the support of task j.

    Zero when the support is full. The new row of L is left in ``weights``.
    """
    size = state.size[j]
    if size >= state.capacity[j]:
        return 0.0
    weights, known = state.weights[j], state.rows[j]
    within = 0.0
    for t in range(size):
        weights[t] = known[t, i]
        within += weights[t] * weights[t]
    return 1.0 - 2.0 * within * state.half_inverse[j, i]


@kernel
def _take(state, j, i, sine):
    """Add the staged feature to the support of task j and update the residual."""
    size = state.size[j]
    own = state.gram[(state.first + j) % state.gram.shape[0]]
    row, residual = state.rows[j, size], state.residual[j]
    row[:] = own[i]
    subtract_rows(row, state.weights[j], state.rows[j], state.order, size)
    pivot = np.sqrt(own[i, i] * sine)
    step = residual[i] / pivot
    inverse = 1.0 / pivot
    for k in range(len(row)):
        row[k] *= inverse
        residual[k] -= step * row[k]
    if state.refit:
        sines, half_inverse = state.sines[j], state.half_inverse[j]
        for k in range(len(row)):
            sines[k] -= 2.0 * row[k] * row[k] * half_inverse[k]
    state.rotated[j, size] = step
    state.support[j, size] = i
    state.size[j] = size + 1
    state.half_inverse[j, i] = 0.0
    state.smallest[0] = min(state.smallest[0], sine)


@kernel
def _coefficients(state, j):
    """Solve L^T b = L^{-1} c_S."""
    size = state.size[j]
    coef = state.rotated[j, :size].copy()
    for t in range(size - 1, -1, -1):
        for later in range(t + 1, size):
            coef[t] -= state.rows[j, t, state.support[j, later]] * coef[later]
        coef[t] /= state.rows[j, t, state.support[j, t]]
    return coef


@kernel
def _best_feature(state, normalize):
    """The feature with the largest sum of scores over the tasks, or -1 if no feature gains."""
    for j in range(len(state.size)):
        own, residual, half_inverse = state.gains[j], state.residual[j], state.half_inverse[j]
        for i in range(len(own)):
            gain = residual[i] * residual[i] * half_inverse[i]
            own[i] = gain if gain > state.floors[j] else 0.0
        if state.refit:
            # A sine below SPAN is a rounding error; staging will reject such a column.
            sines = state.sines[j]
            for i in range(len(own)):
                own[i] /= max(sines[i], SPAN)
    if normalize and len(state.size) == 1:
        scores = state.gains[0]
    else:
        scores = state.scores
        scores[:] = 0.0
        for j in range(len(state.size)):
            own, residual = state.gains[j], state.residual[j]
            for i in range(len(scores)):
                if normalize:
                    scores[i] += own[i]
                elif own[i] > 0.0:
                    scores[i] += residual[i] ** 2
    best, top = first_largest(scores)
    return best if top > 0.0 else -1


@kernel
def _add_feature(state, i):
    """Add feature i to the supports, or bar its entries in the span; return the number barred.

    Nothing is added when an entry with a gain is barred: the feature must compete again.
    """
    barred = 0
    sines = np.zeros(len(state.size))
    for j in range(len(state.size)):
        if state.half_inverse[j, i] == 0.0:
            continue
        sines[j] = _stage(state, j, i)
        if sines[j] <= SPAN:
            sines[j] = 0.0
            state.half_inverse[j, i] = 0.0
            barred += state.gains[j, i] > 0.0
    if barred == 0:
        for j in range(len(state.size)):
            if sines[j] > 0.0:
                _take(state, j, i, sines[j])
    return barred


@kernel
def _write(state, power, coef):
    """Write the current fit to ``coef`` (p, r); return its loss."""
    loss = 0.0
    for j in range(len(state.size)):
        fitted = _coefficients(state, j)
        explained = 0.0
        for t in range(state.size[j]):
            coef[state.support[j, t], state.first + j] = fitted[t]
            explained += state.rotated[j, t] ** 2
        loss += max(0.5 * (power[state.first + j] - explained), 0.0)
    return loss


@kernel
def _pursue(state, power, normalize, counts, coef, loss):
    """Run one pursuit; return the numbers of features added and of entries barred."""
    taken, skipped, k = 0, 0, 0
    ended = False
    while k < len(counts):
        if taken == counts[k] or ended:
            loss[k] += _write(state, power, coef[k])
            k += 1
            continue
        i = _best_feature(state, normalize)
        if i < 0:
            ended = True
            continue
        barred = _add_feature(state, i)
        skipped += barred
        taken += barred == 0
    return taken, skipped


@kernel
def pursuits(gram, correlation, power, capacity, together, normalize, refit, counts):
    """Run pursuits of up to ``counts[-1]`` features and return the fits after each of the counts.

    Parameters
    ----------
    gram : array (r, p, p), or (1, p, p) shared by all tasks
    correlation : array (r, p)
    power : array (r,)
        ||y_j||^2 / n_j.
    capacity : int array (r,)
        Largest support of each task.
    together : bool
        One pursuit of the same features for all tasks, instead of one for each task.
    normalize : bool
        Score by the loss decrease residual^2 / (2 G_ii), not by residual^2.
    refit : bool
        Score by the loss decrease after a refit: G_ii is multiplied by the squared sine of the
        angle between the column and the span of the support. Requires ``normalize``.
    counts : int array (m,)
        Increasing numbers of features; a pursuit that can gain no more keeps its last fit.

    Returns
    -------
    coef : array (m, p, r)
    loss : array (m,)
    reached : int
        Largest number of features of any pursuit.
    skipped : int
        Number of best entries that were rejected because they lie in the span of their support.
    smallest : float
        Smallest squared sine of the angle between an added column and the span of the others.
    """
    r, p = correlation.shape
    coef = np.zeros((len(counts), p, r))
    loss = np.zeros(len(counts))
    reached, skipped = 0, 0
    smallest = 1.0
    width = r if together else 1
    # Memory for W, allocated once: allocation for every task would cost as much as the arithmetic.
    room = np.empty((width, capacity.max(), p))
    for first in range(0, r, width):
        state = _start(first, gram, correlation, power, capacity, refit, room)
        taken, more = _pursue(state, power, normalize, counts, coef, loss)
        reached = max(reached, taken)
        skipped += more
        smallest = min(smallest, state.smallest[0])
    return coef, loss, reached, skipped, smallest
