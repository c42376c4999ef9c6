"""Partition functions of chains when one coefficient changes, for many coefficients together.

The forward recursions of all changes run side by side: each step of one waits for the step before,
and the processor fills the time with the others.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.chain_moments import Count, moments
from greedyexp.kernels.chain_pass import advance


@kernel
def changes(chains, columns, features, states, steps):
    """By how much log Z, summed over chains, changes with each of m coefficients alone.

    Parameters
    ----------
    chains : Chains
    columns : array (n, s)
        The columns of X that are meant.
    features : int array (m,) in [0, s)
    states : int array (m,) in [0, r)
    steps : array (m,)
        What is added to the coefficient of each feature in each state.

    Returns
    -------
    array (m,)
    """
    m, width = len(steps), len(chains.begin)
    out = np.zeros(m)
    # The unchanged chain runs along as number m.
    p, p_next, logs = np.empty((m + 1, width)), np.empty(width), np.empty(m + 1)
    for chain in range(len(chains.offsets) - 1):
        first, last = chains.offsets[chain], chains.offsets[chain + 1]
        if chains.spreads[chain] + _largest(columns[first:last], features, steps) > chains.reach:
            _one_by_one(chains, chain, columns, features, states, steps, out)
            continue
        logs[:] = 0.0
        for t in range(first, last):
            row, factors = columns[t], chains.factors[t]
            for c in range(m + 1):
                own = p[c]
                if t > first:
                    advance(own, chains.matrix, p_next)
                else:
                    p_next[:] = chains.begin
                if c < m and row[features[c]] != 0.0:
                    p_next[states[c]] *= np.exp(steps[c] * row[features[c]])
                mass = 0.0
                for j in range(width):
                    p_next[j] *= factors[j]
                    mass += p_next[j]
                inverse = 1.0 / mass
                for j in range(width):
                    own[j] = p_next[j] * inverse
                logs[c] += np.log(mass)
        for c in range(m + 1):
            logs[c] += np.log(np.dot(p[c], chains.finish))
        out += logs[:m] - logs[m]
    return out


@kernel
def _largest(columns, features, steps):
    """Largest change of a score."""
    largest = 0.0
    for t in range(len(columns)):
        for c in range(len(steps)):
            largest = max(largest, abs(steps[c] * columns[t, features[c]]))
    return largest


@kernel
def _one_by_one(chains, chain, columns, features, states, steps, out):
    """Add what one chain contributes, each change on its own and with logarithms if need be."""
    touched = np.array([chain])
    base = moments(chains, touched, Count(columns[:, 0].copy(), 0, -1, -1), 0.0)[0]
    for c in range(len(steps)):
        count = Count(columns[:, features[c]].copy(), states[c], -1, -1)
        out[c] += moments(chains, touched, count, steps[c])[0] - base
