"""Mean errors under the distribution whose label is spread over all features, along a path."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from greedyexp.losses.population import PopulationSquaredLoss
from greedyexp.moments import Moments
from greedyexp.theory.spread_label import ROUNDING, mean_absolute_error

# An error is computed to this part of the accuracy first, and to that part if that leaves it open.
_COARSE, _EXACT = 1e-2, 1e-7


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

    Parameters
    ----------
    estimates : array (m, d)
    l1_norm : float >= 1
        B1 of the distribution.
    epsilons : sequence of float > 0
    """

    def reaches(weights: np.ndarray, epsilon: float) -> bool:
        for part in (_COARSE, _EXACT):
            error = mean_absolute_error(weights, l1_norm, part * epsilon)
            if abs(error.value - epsilon) > error.margin:
                break
        return error.value <= _raised(epsilon)

    return _first(estimates, epsilons, reaches)


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
