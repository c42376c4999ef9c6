"""Mean errors under the distribution whose label is spread over all features, along a path."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from greedyexp.losses.population import PopulationSquaredLoss
from greedyexp.problems.moments import Moments
from greedyexp.theory.spread_label import ROUNDING, mean_absolute_error

# An error is computed to these parts of the accuracy, one after the other while it is left open.
_PARTS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
# Bounds from moments are trusted but for this part of them.
_LOOSE = 1e-9


def first_squared(
    estimates: np.ndarray, moments: Moments, epsilons: Sequence[float]
) -> list[int | None]:
    """The first estimate with E[(<w, x> - y)^2] at most each accuracy; None where there is none.

    Parameters
    ----------
    estimates : array (m, d)
    moments : Moments
        Of the distribution.
    epsilons : sequence of float > 0
    """
    risk = PopulationSquaredLoss(moments)
    return _first(
        estimates, epsilons, lambda weights, epsilon: 2.0 * risk.value(weights) <= _raised(epsilon)
    )


def first_absolute(
    estimates: np.ndarray, l1_norm: float, epsilons: Sequence[float]
) -> list[int | None]:
    """The first estimate with E|<w, x> - y| at most each accuracy; None where there is none.

    The error is computed only where ``absolute_between`` leaves open on which side it is.

    Parameters
    ----------
    estimates : array (m, d)
    l1_norm : float >= 1
        B1 of the distribution.
    epsilons : sequence of float > 0
    """

    def reaches(weights: np.ndarray, epsilon: float) -> bool:
        low, high = absolute_between(weights, l1_norm)
        if not low * (1.0 - _LOOSE) <= epsilon <= high * (1.0 + _LOOSE):
            return epsilon > high
        for part in _PARTS:
            error = mean_absolute_error(weights, l1_norm, part * epsilon)
            if abs(error.value - epsilon) > error.margin:
                break
        return error.value <= _raised(epsilon)

    return _first(estimates, epsilons, reaches)


def absolute_between(weights: np.ndarray, l1_norm: float) -> tuple[float, float]:
    """A lower and an upper bound of E|<w, x> - y|, from moments.

    It is E|V| with V = sum_i w_i z_i - 1 and independent signs z_i of mean a = 1 / B1, of mean
    mu = a sum_i w_i - 1 and variance s^2 = (1 - a^2) ||w||^2. So |mu| <= E|V| <= (mu^2 + s^2)^(1/2)
    by Jensen's inequality. And with N a standard normal, E|V| is within

        (1 + a^2) sum_i |w_i|^3 / ||w||^2

    of E|mu + s N|: by Stein's method the distance is at most 2 E|W - W*| for W = V - mu and any W*
    with its zero bias distribution. That of one summand is uniform between its two values, at a
    distance of (1 + a^2) |w_i| / 2, and W* has it in place of the i-th with probability
    w_i^2 / ||w||^2.

    Parameters
    ----------
    weights : array (d,)
    l1_norm : float >= 1
        B1.

    References
    ----------
    L. Goldstein, Bounds on the constant in the mean central limit theorem, Annals of Probability
    38, 2010.
    """
    bias = 1.0 / l1_norm
    sizes = np.abs(weights)
    power = float(sizes @ sizes)
    mean = bias * float(weights.sum()) - 1.0
    deviation = math.sqrt((1.0 - bias**2) * power)
    low, high = abs(mean), math.hypot(mean, deviation)
    if deviation > 0.0:
        ratio = mean / (deviation * math.sqrt(2.0))
        normal = deviation * math.sqrt(2.0 / math.pi) * math.exp(-(ratio**2))
        normal += mean * math.erf(ratio)
        off = (1.0 + bias**2) * float(sizes @ sizes**2) / power
        low, high = max(low, normal - off), min(high, normal + off)
    return low, high


def _first(
    estimates: np.ndarray,
    epsilons: Sequence[float],
    reaches: Callable[[np.ndarray, float], bool],
) -> list[int | None]:
    """The first place of each accuracy; the coarser ones are asked for first."""
    found: list[int | None] = [None] * len(epsilons)
    waiting = sorted(range(len(epsilons)), key=lambda j: -epsilons[j])
    before = None
    for place, weights in enumerate(estimates):
        # A path that has ended repeats its end.
        if before is not None and np.array_equal(weights, before):
            continue
        before = weights
        while waiting and reaches(weights, epsilons[waiting[0]]):
            found[waiting.pop(0)] = place
        if not waiting:
            break
    return found


def _raised(epsilon: float) -> float:
    """Raised by rounding, as where the features of the best predictor are counted."""
    return epsilon * (1.0 + ROUNDING)
