"""The mean distance of a weighted sum of independent, equally biased signs from a target."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

# A binomial variable of n draws is within _DEVIATIONS sqrt(n) / 2 of its mean except with
# probability 2 exp(-_DEVIATIONS^2 / 2) < 1e-42 (Hoeffding).
_DEVIATIONS = 14.0
# Largest number of values of a sum that is enumerated.
_MOST_ATOMS = 2**22
# Standard deviations beyond which the tail of a Gaussian is far below rounding.
_TAIL = 9.0
# Nodes and weights whose factors are computed at once, and the limit on all factors.
NODES, WEIGHTS = 1024, 256
_MOST_FACTORS = 2**27
# Weights closer than this fraction of the largest count as equal.
EQUAL = 1e-12
# A smaller product contributes nothing, as all further factors are at most one.
NOTHING = 1e-20


class Mean(NamedTuple):
    """A mean and a bound on its error, up to rounding."""

    value: float
    margin: float


def sign_counts(size: int, bias: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of a sum of equally biased signs, and their probabilities.

    Parameters
    ----------
    size : int >= 0
        n, the number of signs.
    bias : float in [-1, 1]
        a, the mean of each: +1 has probability (1 + a) / 2.

    Returns
    -------
    array (m,), array (m,)
        Values in increasing order, -n, -n + 2, ..., n, without those beyond 14 sqrt(n) from the
        mean, and their probabilities. The relative error is about 1e-16 times the distance from the
        mode.
    """
    if size == 0 or abs(bias) == 1.0:
        return np.array([bias * size]), np.ones(1)
    chance = 0.5 * (1.0 + bias)
    mode = min(size, int((size + 1) * chance))
    reach = math.ceil(0.5 * _DEVIATIONS * math.sqrt(size)) + 1
    low, high = max(0, mode - reach), min(size, mode + reach)
    # P(j + 1) / P(j) for the number j of signs +1.
    j = np.arange(low, high, dtype=np.float64)
    ratio = (size - j) / (j + 1.0) * ((1.0 + bias) / (1.0 - bias))
    split = mode - low
    up = np.cumprod(ratio[split:])
    down = np.cumprod(1.0 / ratio[:split][::-1])[::-1]
    weight = np.concatenate((down, [1.0], up))
    return 2.0 * np.arange(low, high + 1) - size, weight / weight.sum()


def mean_distance(weights: np.ndarray, bias: float, target: float, tolerance: float = 1e-6) -> Mean:
    """Return E|sum_i w_i s_i - target| for independent signs s_i of mean ``bias``.

    If the sum has few values, for instance because nonzero weights are equal, they are enumerated.
    Otherwise a small Gaussian is added to V, the sum minus the target. For a standard normal N,

        E|V + sigma N| - 2 sigma^2 f(0) <= E|V| <= E|V + sigma N|,

    where f is the density of V + sigma N. The right side is Jensen's inequality; the left side
    holds because E|v + sigma N| - |v| is at most 2 sigma phi(v / sigma). If |V| <= L, which fails
    with probability below 1e-17, |v| is a triangle wave, and its Fourier series is summed:

        E|V + sigma N| = L / 2 - 4 / L sum of Re E exp(i t V) exp(-(sigma t)^2 / 2) / t^2

    over t = pi / L, 3 pi / L, ..., and f(0) is 2 / L times the sum of the same terms without t^2.
    The result is the middle, which is far more accurate than the margin if f is smooth.

    Parameters
    ----------
    weights : array (d,)
    bias : float in [-1, 1]
    target : float
    tolerance : float > 0
        The requested margin. It may be missed if 2^27 factors are not enough: if the weights have
        many values but V is very close to 0 with a large probability.

    Returns
    -------
    Mean
        For enumerated values the margin is the error from merging weights that are equal to a
        relative 1e-12, the sum of their distances.
    """
    weights = np.asarray(weights, dtype=np.float64)
    values, counts, moved = _grouped(weights[weights != 0.0])
    listed = _listed(values, counts, bias)
    if listed is not None:
        sums, chances = listed
        return Mean(float(chances @ np.abs(sums - target)), moved)
    value, margin = _by_series(values, counts, bias, target, tolerance)
    return Mean(value, margin + moved)


def _grouped(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the distinct values of weights, their counts, and the total change by merging."""
    weights = np.sort(weights)
    apart = np.diff(weights) > EQUAL * np.abs(weights).max(initial=0.0)
    group = np.append(0, np.cumsum(apart))[: len(weights)]
    counts = np.bincount(group)
    ends = np.cumsum(counts)
    values = 0.5 * (weights[ends - counts] + weights[ends - 1])
    return values, counts, float(np.abs(weights - values[group]).sum())


def _listed(
    values: np.ndarray, counts: np.ndarray, bias: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return all values of the sum and their probabilities; None if there are too many."""
    reach = np.minimum(counts, np.ceil(_DEVIATIONS * np.sqrt(counts)) + 2.0)
    if np.log(reach + 1.0).sum() > math.log(_MOST_ATOMS):
        return None
    sums, chances = np.zeros(1), np.ones(1)
    for value, count in zip(values, counts, strict=True):
        steps, own = sign_counts(int(count), bias)
        sums = np.add.outer(sums, value * steps).ravel()
        chances = np.multiply.outer(chances, own).ravel()
    return sums, chances


def _by_series(
    values: np.ndarray, counts: np.ndarray, bias: float, target: float, tolerance: float
) -> Mean:
    """Sum the Fourier series; halve sigma until the margin is small enough."""
    power = float(counts @ values**2)
    deviation = math.sqrt(power)
    centre = abs(bias * float(counts @ values) - target)
    # sigma is at most the deviation of V itself.
    length = min(
        centre + _TAIL * math.sqrt(2.0) * deviation,
        float(counts @ np.abs(values)) + abs(target) + _TAIL * deviation,
    )
    nodes = np.zeros(0)
    terms = np.zeros(0)
    wanted = math.ceil(_TAIL * length / (2.0 * math.pi * deviation)) + 1
    while True:
        fresh = (2.0 * np.arange(len(nodes), wanted) + 1.0) * (math.pi / length)
        nodes = np.append(nodes, fresh)
        terms = np.append(terms, _transform(fresh, values, counts, bias, target))
        sigma = _TAIL / nodes[-1]
        smooth = terms * np.exp(-0.5 * (sigma * nodes) ** 2)
        margin = sigma**2 * max(0.0, 2.0 / length * float(smooth.sum()))
        if margin <= tolerance or 2 * wanted * len(values) > _MOST_FACTORS:
            break
        wanted *= 2
    above = 0.5 * length - 4.0 / length * float((smooth / nodes**2).sum())
    return Mean(float(above - margin), float(margin))


def _transform(
    nodes: np.ndarray, values: np.ndarray, counts: np.ndarray, bias: float, target: float
) -> np.ndarray:
    """Return Re E exp(i t V) at each node t.

    It is exp(-i t target) times the product of (cos w t + i a sin w t)^count.
    """
    transform = np.exp(-1j * target * nodes)
    # Weights of one pass are far apart, hence their factors are not all close to one.
    passes = math.ceil(len(values) / WEIGHTS)
    for start in range(0, len(nodes), NODES):
        block = transform[start : start + NODES]
        # Factors are at most one in size, so a negligible product stays negligible.
        left = np.arange(len(block))
        for first in range(passes):
            angle = np.multiply.outer(nodes[start + left], values[first::passes])
            factor = np.cos(angle) + 1j * bias * np.sin(angle)
            if counts.max() > 1:
                factor **= counts[first::passes]
            block[left] *= factor.prod(axis=1)
            left = left[np.abs(block[left]) > NOTHING]
    return transform.real
