"""Forward-backward and Viterbi over labelled chains.

Words of all chains are rows one after the other; chain c has the rows ``offsets[c]`` to
``offsets[c + 1]``. Rows are padded to a multiple of ``LANES`` states, for inner loops over whole
groups of states; the padding has probability zero.

Sums use scaled probabilities where these are accurate, and logarithms elsewhere. With D the largest
difference within the transition, start or end weights, and D_t that within the scores of word t,
every quantity of the scaled recursion lies between exp(-2 D - D_t) and exp(2 D + D_t). While
2 D + D_t is at most ``REACH`` nothing can underflow, and the result is accurate to a few units in
the last place. Chains beyond that are computed with logarithms.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel

# The number of rows that ``advance`` takes in a step, or a multiple of it.
LANES = 4
REACH = 600.0


@kernel(inline="always")
def spread(values):
    """Largest less smallest."""
    low = high = values[0]
    for value in values:
        low = min(low, value)
        high = max(high, value)
    return high - low


@kernel
def chain_spread(scores, first, last, r):
    """Largest difference within the scores of one word, over the words of a chain."""
    widest = 0.0
    for t in range(first, last):
        widest = max(widest, spread(scores[t, :r]))
    return widest


@kernel
def _scaled(weights, width):
    """exp(weights - largest) padded with zeros, and the largest."""
    top = weights.max()
    out = np.zeros(width)
    out[: len(weights)] = np.exp(weights - top)
    return out, top


@kernel
def scaled_weights(start, end, transition, width):
    """The weights of starts, ends and transitions, scaled and padded.

    Returns
    -------
    begin, finish : arrays (width,)
    matrix : array (width, width)
    top, matrix_top : float
        Logarithms of the scales of ``begin`` and ``finish`` together, and of ``matrix``.
    reach : float
        Largest spread of scores for which scaled probabilities are accurate.
    """
    begin, begin_top = _scaled(start, width)
    finish, finish_top = _scaled(end, width)
    matrix_top = transition.max()
    matrix = np.zeros((width, width))
    matrix[: len(start), : len(start)] = np.exp(transition - matrix_top)
    widest = max(spread(start), spread(end), spread(transition.ravel()))
    return begin, finish, matrix, begin_top + finish_top, matrix_top, REACH - 2.0 * widest


@kernel(fastmath={"contract"})
def advance(state, matrix, out):
    """out = state^T matrix, four rows at a time, for vector registers."""
    width = len(out)
    for j in range(width):
        out[j] = 0.0
    for i in range(0, width, 4):
        a, b, c, d = state[i], state[i + 1], state[i + 2], state[i + 3]
        one, two, three, four = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
        for j in range(width):
            out[j] += a * one[j] + b * two[j] + c * three[j] + d * four[j]


@kernel
def potentials(scores, r):
    """Replace scores by exp(score - largest), the padding by zero; return the largest."""
    top = scores[0]
    for j in range(1, r):
        top = max(top, scores[j])
    for j in range(r):
        scores[j] = np.exp(scores[j] - top)
    for j in range(r, len(scores)):
        scores[j] = 0.0
    return top


@kernel
def _normalise(values, factor):
    """values <- values * factor / sum; returns the sum."""
    total = 0.0
    for j in range(len(values)):
        values[j] *= factor[j]
        total += values[j]
    inverse = 1.0 / total
    for j in range(len(values)):
        values[j] *= inverse
    return total


@kernel
def _log_sum(values):
    top = values.max()
    total = 0.0
    for value in values:
        total += np.exp(value - top)
    return top + np.log(total)


@kernel
def log_filter(scores, start, transition):
    """Logarithms of the forward sums of one chain, (T, r)."""
    forward = np.empty_like(scores)
    forward[0] = start + scores[0]
    for t in range(1, len(scores)):
        for j in range(scores.shape[1]):
            forward[t, j] = _log_sum(forward[t - 1] + transition[:, j]) + scores[t, j]
    return forward


@kernel
def _log_chain(scores, start, end, transition, posterior, pairs):
    """log Z of one chain; fills its posterior (T, r) and adds to ``pairs`` (r, r)."""
    r = scores.shape[1]
    forward = log_filter(scores, start, transition)
    last = len(scores) - 1
    total = _log_sum(forward[last] + end)
    backward = end.copy()
    for t in range(last, -1, -1):
        posterior[t] = np.exp(forward[t] + backward - total)
        if t == 0:
            break
        ahead = scores[t] + backward
        for i in range(r):
            joint = transition[i] + ahead
            pairs[i] += np.exp(forward[t - 1, i] + joint - total)
            backward[i] = _log_sum(joint)
    return total


@kernel
def log_partition(scores, start, end, transition, offsets):
    """Sum over chains of the logarithm of the partition function.

    Parameters
    ----------
    scores : array (n, R)
        Scores of each word and state, padded; overwritten.
    start, end : arrays (r,)
    transition : array (r, r)
        From the row's state to the column's.
    offsets : int array (c + 1,)
    """
    r, width = len(start), scores.shape[1]
    begin, finish, matrix, top, matrix_top, reach = scaled_weights(start, end, transition, width)
    state, ahead = np.empty(width), np.empty(width)
    total = 0.0
    for chain in range(len(offsets) - 1):
        first, last = offsets[chain], offsets[chain + 1]
        if chain_spread(scores, first, last, r) > reach:
            forward = log_filter(scores[first:last, :r].copy(), start, transition)
            total += _log_sum(forward[-1] + end)
            continue
        ahead[:] = begin
        own = top + (last - first - 1) * matrix_top
        for t in range(first, last):
            if t > first:
                advance(state, matrix, ahead)
            own += potentials(scores[t], r)
            own += np.log(_normalise(ahead, scores[t]))
            state[:] = ahead
        remainder = 0.0
        for j in range(r):
            remainder += state[j] * finish[j]
        total += own + np.log(remainder)
    return total


@kernel
def forward_backward(scores, start, end, transition, offsets, forward, posterior, pairs):
    """The same sum as ``log_partition``, with the marginals.

    Parameters
    ----------
    scores, start, end, transition, offsets
        As for ``log_partition``. On return, row t of ``scores`` and row t - 1 of ``forward`` are
        factors u and f: word t - 1 has state i and word t state j with probability
        f_i exp(transition_ij - largest) u_j. u is zero in the first word of a chain.
    forward : array (n, R)
        Filled with the filtered probabilities.
    posterior : array (n, R)
        Filled with the probabilities of the states of each word.
    pairs : array (r, r)
        Incremented by the expected transitions of chains computed with logarithms; their u are 0.
    """
    r, width = len(start), scores.shape[1]
    begin, finish, matrix, top, matrix_top, reach = scaled_weights(start, end, transition, width)
    turned = np.ascontiguousarray(matrix.T)
    sums = np.empty(len(scores))
    backward = np.empty(width)
    total = 0.0
    for chain in range(len(offsets) - 1):
        first, last = offsets[chain], offsets[chain + 1]
        if chain_spread(scores, first, last, r) > reach:
            own = scores[first:last, :r].copy()
            scores[first:last] = 0.0
            forward[first:last] = 0.0
            posterior[first:last] = 0.0
            total += _log_chain(own, start, end, transition, posterior[first:last, :r], pairs)
            continue
        total += top + (last - first - 1) * matrix_top
        for t in range(first, last):
            state = forward[t]
            if t == first:
                state[:] = begin
            else:
                advance(forward[t - 1], matrix, state)
            total += potentials(scores[t], r)
            sums[t] = _normalise(state, scores[t])
            total += np.log(sums[t])
        remainder = 0.0
        for j in range(r):
            remainder += forward[last - 1, j] * finish[j]
        total += np.log(remainder)
        backward[:] = finish / remainder
        for t in range(last - 1, first - 1, -1):
            inverse = 1.0 / sums[t]
            for j in range(width):
                posterior[t, j] = forward[t, j] * backward[j]
                scores[t, j] *= backward[j] * inverse
            if t > first:
                advance(scores[t], turned, backward)
        scores[first] = 0.0
    return total


@kernel
def best_sequences(scores, start, end, transition, offsets):
    """Viterbi: the sequences of states with the largest total score; ties go to the lowest state.

    Parameters
    ----------
    scores : array (n, r)
    start, end : arrays (r,)
    transition : array (r, r)
    offsets : int array (c + 1,)

    Returns
    -------
    int array (n,)
    """
    n, r = scores.shape
    came_from = np.empty((n, r), np.int32)
    labels = np.empty(n, np.int64)
    for chain in range(len(offsets) - 1):
        first, last = offsets[chain], offsets[chain + 1]
        best = start + scores[first]
        for t in range(first + 1, last):
            ahead = np.empty(r)
            for j in range(r):
                top, where = best[0] + transition[0, j], 0
                for i in range(1, r):
                    value = best[i] + transition[i, j]
                    if value > top:
                        top, where = value, i
                ahead[j] = top + scores[t, j]
                came_from[t, j] = where
            best = ahead
        state = (best + end).argmax()
        for t in range(last - 1, first, -1):
            labels[t] = state
            state = came_from[t, state]
        labels[first] = state
    return labels
