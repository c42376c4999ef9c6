"""Changes of the log partition functions of chains along single coefficients.

The sum over t of x_t [y_t = k] has, given the state of the current word, a mean and a second moment
that follow the forward recursion. One forward pass therefore gives the partition function of a
chain and its first two derivatives with respect to one coefficient. Moments are taken around a
moving centre, which preserves digits in long chains.

``changes`` computes the effect of many separate changes. Their forward recursions run side by side:
each step of one waits for its previous step, and the processor uses the time for the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.chain_pass import advance, chain_spread, potentials, scaled_weights

MOST_STEPS = 200
# Longest step towards an unbounded side: change of the exponent beyond the current one.
STRIDE = 8.0


class Chains(NamedTuple):
    """Chains under fixed parameters, for one-dimensional changes of them."""

    scores: np.ndarray  # (n, R): padded
    factors: np.ndarray  # (n, R): exp(score - largest of the word), the padding zero
    spreads: np.ndarray  # (c,): largest difference within the scores of a word of the chain
    offsets: np.ndarray  # (c + 1,)
    start: np.ndarray  # (r,)
    end: np.ndarray  # (r,)
    transition: np.ndarray  # (r, r)
    begin: np.ndarray  # (R,): exp(start - largest), padded
    finish: np.ndarray  # (R,)
    matrix: np.ndarray  # (R, R)
    reach: float  # largest spread for which scaled probabilities are accurate


class Count(NamedTuple):
    """A sum of x_t over the words t in state k."""

    column: np.ndarray  # (n,): x
    state: int  # k


@kernel
def prepare(scores, start, end, transition, offsets):
    """Chains from padded scores (n, R) and the dense parameters."""
    r, width = len(start), scores.shape[1]
    factors = scores.copy()
    spreads = np.empty(len(offsets) - 1)
    for chain in range(len(spreads)):
        spreads[chain] = chain_spread(scores, offsets[chain], offsets[chain + 1], r)
    for t in range(len(scores)):
        potentials(factors[t], r)
    begin, finish, matrix, _, _, reach = scaled_weights(start, end, transition, width)
    return Chains(
        scores, factors, spreads, offsets, start, end, transition, begin, finish, matrix, reach
    )


@kernel
def _scaled_moments(chains, chain, count, step):
    """log Z up to a constant, and mean and variance of the count, of one chain.

    ``p`` are the filtered probabilities; ``d`` and ``e`` are their products with the mean and the
    second moment of the count so far, around ``centre``.
    """
    width = len(chains.begin)
    p, d, e = chains.begin.copy(), np.zeros(width), np.zeros(width)
    p_next, d_next, e_next = np.empty(width), np.empty(width), np.empty(width)
    total = centre = 0.0
    first, last = chains.offsets[chain], chains.offsets[chain + 1]
    for t in range(first, last):
        if t > first:
            advance(p, chains.matrix, p_next)
            advance(d, chains.matrix, d_next)
            advance(e, chains.matrix, e_next)
            p, p_next = p_next, p
            d, d_next = d_next, d
            e, e_next = e_next, e
        factors = chains.factors[t]
        for j in range(width):
            p[j] *= factors[j]
            d[j] *= factors[j]
            e[j] *= factors[j]
        x, k = count.column[t], count.state
        if x != 0.0:
            tilt = np.exp(step * x)
            e[k] = tilt * (e[k] + x * (2.0 * d[k] + x * p[k]))
            d[k] = tilt * (d[k] + x * p[k])
            p[k] = tilt * p[k]
        mass = shift = 0.0
        for j in range(width):
            mass += p[j]
            shift += d[j]
        inverse, shift = 1.0 / mass, shift / mass
        total += np.log(mass)
        centre += shift
        for j in range(width):
            p[j] *= inverse
            d[j] *= inverse
            e[j] = e[j] * inverse - shift * (2.0 * d[j] - shift * p[j])
            d[j] -= shift * p[j]
    mass = mean = second = 0.0
    for j in range(width):
        mass += p[j] * chains.finish[j]
        mean += d[j] * chains.finish[j]
        second += e[j] * chains.finish[j]
    mean /= mass
    return total + np.log(mass), centre + mean, max(second / mass - mean * mean, 0.0)


@kernel
def _mixture(weights, means, variances):
    """log of the sum of exp(weights), and mean and variance of the mixture with these weights."""
    top = weights.max()
    shares = np.exp(weights - top)
    mass = shares.sum()
    shares /= mass
    mean = np.dot(shares, means)
    return top + np.log(mass), mean, np.dot(shares, variances + (means - mean) ** 2)


@kernel
def _log_moments(chains, chain, count, step):
    """As ``_scaled_moments``, with logarithms, for weights beyond the reach of scaled ones."""
    r = len(chains.start)
    first, last = chains.offsets[chain], chains.offsets[chain + 1]
    p, mean, variance = chains.start.copy(), np.zeros(r), np.zeros(r)
    for t in range(first, last):
        if t > first:
            before, mean_before, variance_before = p.copy(), mean.copy(), variance.copy()
            for j in range(r):
                p[j], mean[j], variance[j] = _mixture(
                    before + chains.transition[:, j], mean_before, variance_before
                )
        top = chains.scores[t, :r].max()
        for j in range(r):
            p[j] += chains.scores[t, j] - top
        p[count.state] += step * count.column[t]
        mean[count.state] += count.column[t]
    total, mean_all, variance_all = _mixture(p + chains.end, mean, variance)
    constant = chains.start.max() + chains.end.max()
    constant += (last - first - 1) * chains.transition.max()
    return total - constant, mean_all, variance_all


@kernel
def moments(chains, touched, count, step):
    """log Z up to a constant, mean and variance of the count, summed over some chains.

    Parameters
    ----------
    chains : Chains
    touched : int array
        Chains to sum over.
    count : Count
    step : float
        Added to the coefficient of the count.
    """
    total = mean = variance = 0.0
    for chain in touched:
        change = 0.0
        if step != 0.0:
            for t in range(chains.offsets[chain], chains.offsets[chain + 1]):
                change = max(change, abs(step * count.column[t]))
        if chains.spreads[chain] + change > chains.reach:
            own = _log_moments(chains, chain, count, step)
        else:
            own = _scaled_moments(chains, chain, count, step)
        total += own[0]
        mean += own[1]
        variance += own[2]
    return total, mean, variance


@kernel
def chains_with(offsets, column):
    """The chains where a column has a nonzero value."""
    touched = np.empty(len(offsets) - 1, np.int64)
    size = 0
    for chain in range(len(offsets) - 1):
        for t in range(offsets[chain], offsets[chain + 1]):
            if column[t] != 0.0:
                touched[size] = chain
                size += 1
                break
    return touched[:size]


@kernel
def minima_of_feature(chains, column, observed, present, ridge, tolerance):
    """Minima of -log-likelihood + ridge / 2 ||.||^2 along the coefficients of one column.

    Parameters
    ----------
    chains : Chains
    column : array (n,)
    observed : array (r,)
        Sums of the column over the words of each class.
    present : array (r,)
        The current coefficients.
    ridge : float
        In the scale of sums over words.
    tolerance : float
        Largest |derivative| allowed at the end.

    Returns
    -------
    steps, gains : arrays (r,)
    """
    touched = chains_with(chains.offsets, column)
    largest = max(np.abs(column).max(), 1e-300)
    steps, gains = np.zeros(len(observed)), np.zeros(len(observed))
    for k in range(len(observed)):
        count = Count(column, k)
        low, high, step, lost = -np.inf, np.inf, 0.0, 0.0
        base = moments(chains, touched, count, 0.0)
        here = base
        for _ in range(MOST_STEPS):
            slope = here[1] - observed[k] + ridge * (present[k] + step)
            lost = here[0] - base[0] - step * observed[k]
            lost += ridge * step * (present[k] + 0.5 * step)
            if abs(slope) <= tolerance:
                break
            if slope < 0.0:
                low = step
            else:
                high = step
            following = _next(step, slope, here[2] + ridge, low, high, largest)
            if following == step:
                break
            step = following
            here = moments(chains, touched, count, step)
        steps[k], gains[k] = step, max(-lost, 0.0)
    return steps, gains


@kernel
def _next(step, slope, curvature, low, high, largest):
    """Newton's step, limited to a stride; the middle of the bracket if it leaves the bracket."""
    stride = (STRIDE + abs(step) * largest) / largest
    move = -np.sign(slope) * stride
    if curvature * stride > abs(slope):
        move = -slope / curvature
    following = step + move
    if following == step or low < following < high:
        return following
    return 0.5 * (low + high)


@kernel
def changes(chains, columns, features, states, steps):
    """The change of log Z, summed over chains, by a change of each of m coefficients alone.

    Parameters
    ----------
    chains : Chains
    columns : array (n, s)
        Columns of X.
    features : int array (m,) in [0, s)
    states : int array (m,) in [0, r)
    steps : array (m,)
        Change of the coefficient of each feature in its state.

    Returns
    -------
    array (m,)
    """
    m, width = len(steps), len(chains.begin)
    out = np.zeros(m)
    # The unchanged chain has number m.
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
    """Add the contribution of one chain, with logarithms if necessary."""
    touched = np.array([chain])
    base = moments(chains, touched, Count(columns[:, 0].copy(), 0), 0.0)[0]
    for c in range(len(steps)):
        count = Count(columns[:, features[c]].copy(), states[c])
        out[c] += moments(chains, touched, count, steps[c])[0] - base
