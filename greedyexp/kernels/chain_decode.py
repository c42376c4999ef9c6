"""The most probable labelling of chains."""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel


@kernel
def best_sequences(scores, start, end, transition, offsets):
    """Viterbi: the states of largest total score, the lowest state where several are.

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
