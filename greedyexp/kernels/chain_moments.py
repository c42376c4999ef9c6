"""Mean and variance of a feature's count in a chain, and the minima along single coordinates.

The sum over t of x_t [y_t = k] has, given the state of the present word, a mean and a second moment
that follow the forward recursion. So one forward pass tells the partition function of a chain and
its first two derivatives by one coefficient. Moments are taken around a centre that moves along, so
that long chains lose no digits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.chain_pass import (
    REACH,
    advance,
    chain_spread,
    potentials,
    scaled,
    scaled_matrix,
    weights_spread,
)

MOST_STEPS = 200
# Longest step towards an open side, in units of the exponent it changes, less what is there.
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
    reach: float  # largest spread that scaled probabilities stand


class Count(NamedTuple):
    """What is counted: x_t for each word t in state k, or moves from one state to another."""

    column: np.ndarray  # (n,): x; not looked at for moves
    state: int  # k, or -1 for moves
    source: int  # -1 for words
    target: int


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
    return Chains(
        scores,
        factors,
        spreads,
        offsets,
        start,
        end,
        transition,
        scaled(start, width)[0],
        scaled(end, width)[0],
        scaled_matrix(transition, width)[0],
        REACH - 2.0 * weights_spread(start, end, transition),
    )


@kernel
def _scaled_moments(chains, chain, count, step):
    """log Z up to a constant, and mean and variance of the count, of one chain.

    ``p`` are the filtered probabilities, ``d`` and ``e`` they times the mean and second moment of
    the count so far, around ``centre``.
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
            if count.source >= 0:
                i, j = count.source, count.target
                weight = chains.matrix[i, j]
                d_next[j] += weight * p[i]
                e_next[j] += weight * (2.0 * d[i] + p[i])
            p, p_next = p_next, p
            d, d_next = d_next, d
            e, e_next = e_next, e
        factors = chains.factors[t]
        for j in range(width):
            p[j] *= factors[j]
            d[j] *= factors[j]
            e[j] *= factors[j]
        if count.state >= 0:
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
    """log of the sum of exp(weights), and mean and variance of the mixture they make."""
    top = weights.max()
    shares = np.exp(weights - top)
    mass = shares.sum()
    shares /= mass
    mean = np.dot(shares, means)
    return top + np.log(mass), mean, np.dot(shares, variances + (means - mean) ** 2)


@kernel
def _log_moments(chains, chain, count, step):
    """The same with logarithms, for weights beyond the reach of scaled probabilities."""
    r = len(chains.start)
    first, last = chains.offsets[chain], chains.offsets[chain + 1]
    p, mean, variance = chains.start.copy(), np.zeros(r), np.zeros(r)
    for t in range(first, last):
        if t > first:
            before, mean_before, variance_before = p.copy(), mean.copy(), variance.copy()
            for j in range(r):
                counted = mean_before.copy()
                if j == count.target:
                    counted[count.source] += 1.0
                p[j], mean[j], variance[j] = _mixture(
                    before + chains.transition[:, j], counted, variance_before
                )
        top = chains.scores[t, :r].max()
        for j in range(r):
            p[j] += chains.scores[t, j] - top
        if count.state >= 0:
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
        The chains to look at.
    count : Count
    step : float
        Added to the coefficient of what is counted; zero for moves.
    """
    total = mean = variance = 0.0
    for chain in touched:
        change = 0.0
        if count.state >= 0 and step != 0.0:
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
    """The chains where a column is not zero throughout."""
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
def variances_of_feature(chains, column):
    """Variance of the count of a column in each state, summed over chains, (r,)."""
    touched = chains_with(chains.offsets, column)
    out = np.empty(len(chains.start))
    for k in range(len(out)):
        out[k] = moments(chains, touched, Count(column, k, -1, -1), 0.0)[2]
    return out


@kernel
def variances_of_moves(chains):
    """Variance of the number of moves between each pair of states, summed over chains, (r, r)."""
    r = len(chains.start)
    every = np.arange(len(chains.offsets) - 1)
    out = np.empty((r, r))
    for i in range(r):
        for j in range(r):
            out[i, j] = moments(chains, every, Count(chains.start, -1, i, j), 0.0)[2]
    return out


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
        The coefficients now.
    ridge : float
        In the scale of sums over words.
    tolerance : float
        Largest |derivative| to leave.

    Returns
    -------
    steps, gains : arrays (r,)
    """
    touched = chains_with(chains.offsets, column)
    largest = max(np.abs(column).max(), 1e-300)
    steps, gains = np.zeros(len(observed)), np.zeros(len(observed))
    for k in range(len(observed)):
        count = Count(column, k, -1, -1)
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
    """Newton's step, halfway if it leaves the bracket, no more than a stride if that is open."""
    stride = (STRIDE + abs(step) * largest) / largest
    move = -np.sign(slope) * stride
    if curvature * stride > abs(slope):
        move = -slope / curvature
    following = step + move
    if following == step or low < following < high:
        return following
    return 0.5 * (low + high)
