"""Protocol ``tightness``: features for an accuracy on a distribution that needs many.

The distribution has a label spread over all features; mean errors are computed exactly under it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from greedyexp.core.errors import DataError
from greedyexp.core.parts import Algorithm, Metric, RecordKind
from greedyexp.core.registry import protocol
from greedyexp.losses.population import PopulationSquaredLoss
from greedyexp.problems.moments import Moments
from greedyexp.problems.problem import Problem
from greedyexp.protocols.base import (
    FIT_SECONDS,
    Measured,
    Outcome,
    Setup,
    Status,
    refuse_duplicates,
    rows_of,
)
from greedyexp.protocols.tradeoff._run import Runner, search_steps
from greedyexp.protocols.tradeoff.tradeoff import Budget, Fine, Resolution, check
from greedyexp.theory import spread_label
from greedyexp.theory.sparsity_bounds import theorem3

Error = Literal["squared", "absolute"]
Errors = Annotated[
    list[Error], Field(min_length=1, description="mean of (<w, x> - y)^2, or of |<w, x> - y|")
]
Accuracies = Annotated[
    list[Annotated[float, Field(gt=0, allow_inf_nan=False)]],
    Field(min_length=1, description="mean errors epsilon to reach"),
]

# The columns of each accuracy: measurements, then numbers known in advance.
_NUMBERS = ("steps", "needed", "exact", "lower_bound", "lower_bound_printed", "l1_upper")
_OPEN_ENDED = ("steps", "needed")

# Margins of a computed error as fractions of the accuracy, tried until the comparison is decided.
_PARTS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
# Relative rounding error of bounds from moments.
_LOOSE = 1e-9


def columns(
    metrics: Sequence[Metric], *, epsilons: list[float], errors: list[str], **_
) -> list[Measured]:
    """Return the keys and the numbers of each accuracy.

    Raises
    ------
    ValueError
        If a list has a duplicate.
    """
    refuse_duplicates(epsilons=epsilons, errors=errors)
    found = [
        Measured("record", "key", ("epsilon",)),
        Measured("error", "key", tuple(errors), apart=True),
        Measured("epsilon", "key", tuple(epsilons)),
    ]
    found += [Measured(name, "number", open_ended=name in _OPEN_ENDED) for name in _NUMBERS]
    return [*found, FIT_SECONDS]


@protocol(
    "tightness",
    title="Tightness",
    paper="Shalev-Shwartz, Srebro & Zhang (2009), Theorems 6 and 7, Section A.8",
    takes="estimates",
    columns=columns,
    records=(
        RecordKind(
            "epsilon",
            ("error", "epsilon"),
            "List accuracies in 'epsilons' of protocol tightness.",
            columns=_NUMBERS,
        ),
    ),
    tunes=False,
    check=check,
    needs=lambda **_: ("spread_label",),
)
def tightness(
    problem: Problem,
    part: Algorithm,
    params: dict,
    setup: Setup,
    *,
    steps: Budget,
    epsilons: Accuracies,
    errors: Errors = ["squared", "absolute"],  # noqa: B006 - pydantic copies it
    fine: Fine = 1000,
    resolution: Resolution = 20,
) -> Outcome:
    """Count the features for a mean error under the distribution of generator spread_label.

    ``steps`` is the budget of every algorithm. Estimates are checked after every step up to
    ``fine``, then after ``resolution`` steps for each factor of ten. Their errors are exact
    expectations, even if they were fitted to a sample; the squared error lacks the factor 1/2 of
    losses. There is one row for each error and epsilon.

    Columns
    -------
    record
        The kind of row, always epsilon.
    error
        The mean error in question: squared or absolute.
    epsilon
        The mean error to reach.
    needed
        Nonzero coefficients of the first estimate with a mean error of at most epsilon; empty if
        the budget did not reach it.
    steps
        Steps until that estimate; empty if the budget did not reach it.
    exact
        Number of features that the best predictor needs, for any number of available features.
    lower_bound
        Number of features needed by the proof of Theorem 6 (absolute) or 7 (squared). Empty unless
        B1 > 2 and epsilon <= 0.1.
    lower_bound_printed
        The number in the theorem, which is larger for Theorem 6 and true by another argument. Empty
        unless B1 > 2 and epsilon <= 0.1.
    l1_upper
        Number of steps in Theorem 3 for fully corrective selection by the squared error under the
        distribution. With the dense predictor, of squared error s, it is 4 B1^2 / (epsilon - s),
        with epsilon^2 in place of epsilon for an absolute error. Empty if the dense predictor is
        not known to have this error.

    Returns
    -------
    Outcome
        Status ``nonfinite`` if an estimate is not finite, ``not_converged`` if one lacks the
        certificate of its algorithm.

    References
    ----------
    S. Shalev-Shwartz, N. Srebro, T. Zhang, Trading accuracy for sparsity, TTIC-TR-2009-3.
    """
    moments, truth = problem.moments, problem.truth
    if moments is None or truth is None or "truth_l1_norm" not in problem.facts:
        raise DataError(
            "protocol 'tightness' needs the distribution of generator 'spread_label'.",
            remedy="Use this generator for the data.",
        )
    l1_norm = float(problem.facts["truth_l1_norm"])
    runner = Runner(part, problem, {**params, "steps": steps}, setup.rng)
    start = setup.clock()
    seen = runner.after(search_steps(steps, fine, resolution))
    seconds = setup.clock() - start
    if not np.isfinite(seen.path.sparse.values).all():
        return Outcome(Status.NONFINITE, "an estimate is not finite")
    dense_risk = PopulationSquaredLoss(moments).value(truth[:, 0])
    rows, estimates = [], seen.path.coef[:, :, 0]
    for error in errors:
        if error == "squared":
            places = _first_squared(estimates, moments, epsilons)
        else:
            places = first_absolute(estimates, l1_norm, epsilons)
        for epsilon, place in zip(epsilons, places, strict=True):
            rows += rows_of(
                "epsilon",
                error=error,
                epsilon=float(epsilon),
                steps=None if place is None else seen.steps[place],
                needed=None if place is None else seen.features[place],
                **_known(dense_risk, l1_norm, error, epsilon),
            )
    return Outcome.with_doubts(rows, runner.doubts(seen), runner.remark(seen), seconds)


def _known(dense_risk: float, l1_norm: float, error: str, epsilon: float) -> dict:
    """Return the numbers that do not depend on the algorithm; None if there is none.

    Parameters
    ----------
    dense_risk : float
        Half of the mean squared error of the dense predictor, the reference of Theorem 3. The risk
        is 1-smooth.
    """
    if error == "squared":
        exact, squared = spread_label.features_for_squared_error, epsilon
        proof = printed = spread_label.squared_error_bound
    else:
        exact, squared = spread_label.features_for_absolute_error, epsilon**2
        printed = spread_label.absolute_error_bound
        proof = partial(printed, reading="proof")
    left = squared / 2.0 - dense_risk
    return {
        "exact": _or_none(exact, l1_norm, epsilon),
        "lower_bound": _or_none(proof, l1_norm, epsilon),
        "lower_bound_printed": _or_none(printed, l1_norm, epsilon),
        "l1_upper": float(theorem3(1.0, l1_norm).steps(np.array([left]))[0])
        if left > 0.0
        else None,
    }


def _or_none(count: Callable[..., float], l1_norm: float, epsilon: float) -> float | None:
    """Return a number of features; None if its theorem does not apply."""
    try:
        return float(count(l1_norm, epsilon))
    except ValueError:
        return None


def _first_squared(
    estimates: np.ndarray, moments: Moments, epsilons: Sequence[float]
) -> list[int | None]:
    """Return the first estimate with E[(<w, x> - y)^2] at most each accuracy, or None.

    Parameters
    ----------
    estimates : array (m, d)
    moments : Moments
        Moments of the distribution.
    epsilons : sequence of float > 0
    """
    risk = PopulationSquaredLoss(moments)
    return _first(
        estimates, epsilons, lambda weights, epsilon: 2.0 * risk.value(weights) <= _raised(epsilon)
    )


def first_absolute(
    estimates: np.ndarray, l1_norm: float, epsilons: Sequence[float]
) -> list[int | None]:
    """Return the first estimate with E|<w, x> - y| at most each accuracy, or None.

    The error is computed only if ``absolute_between`` does not decide the comparison.

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
            error = spread_label.mean_absolute_error(weights, l1_norm, part * epsilon)
            if abs(error.value - epsilon) > error.margin:
                break
        return error.value <= _raised(epsilon)

    return _first(estimates, epsilons, reaches)


def absolute_between(weights: np.ndarray, l1_norm: float) -> tuple[float, float]:
    """Bound E|<w, x> - y| from below and above by moments.

    It is E|V| with V = sum_i w_i z_i - 1 and independent signs z_i of mean a = 1 / B1. V has mean
    mu = a sum_i w_i - 1 and variance s^2 = (1 - a^2) ||w||^2. By Jensen's inequality
    |mu| <= E|V| <= (mu^2 + s^2)^(1/2). With N a standard normal, E|V| is also within

        (1 + a^2) sum_i |w_i|^3 / ||w||^2

    of E|mu + s N|: by Stein's method the distance is at most 2 E|W - W*| for W = V - mu and any W*
    with its zero bias distribution. For one summand this is uniform between its two values, at a
    distance of (1 + a^2) |w_i| / 2; W* replaces the i-th summand by it with probability
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
    """Return the first position of each accuracy, found from coarse to fine."""
    found: list[int | None] = [None] * len(epsilons)
    waiting = sorted(range(len(epsilons)), key=lambda j: -epsilons[j])
    before = None
    for place, weights in enumerate(estimates):
        # A path repeats its last estimate after its end.
        if before is not None and np.array_equal(weights, before):
            continue
        before = weights
        while waiting and reaches(weights, epsilons[waiting[0]]):
            found[waiting.pop(0)] = place
        if not waiting:
            break
    return found


def _raised(epsilon: float) -> float:
    """Increase epsilon by the rounding allowance of the count for the best predictor."""
    return epsilon * (1.0 + spread_label.ROUNDING)
