"""Tightness: features that an accuracy takes where no predictor can do with few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from greedyexp.core.errors import DataError
from greedyexp.core.parts import Algorithm, Metric, RecordKind
from greedyexp.core.registry import protocol
from greedyexp.losses.population import PopulationSquaredLoss
from greedyexp.problems.problem import Problem
from greedyexp.protocols.measured import FIT_SECONDS, Measured
from greedyexp.protocols.outcome import Outcome, Status
from greedyexp.protocols.setup import Setup
from greedyexp.protocols.tradeoff._run import Runner, Seen, search_steps
from greedyexp.protocols.tradeoff._tightness_errors import first_absolute, first_squared
from greedyexp.protocols.tradeoff.tradeoff import Budget, Fine, Resolution, check
from greedyexp.theory import spread_label
from greedyexp.theory.sparsity_bounds import theorem3

Error = Literal["squared", "absolute"]
Errors = Annotated[
    list[Error], Field(min_length=1, description="mean of (<w, x> - y)^2, or of |<w, x> - y|")
]
Accuracies = Annotated[
    list[Annotated[float, Field(gt=0, allow_inf_nan=False)]],
    Field(min_length=1, description="mean errors epsilon to come down to"),
]

# What is measured and what is known of each accuracy, in the order of the table.
_NUMBERS = ("steps", "needed", "exact", "lower_bound", "lower_bound_printed", "l1_upper")
_OPEN_ENDED = ("steps", "needed")


def columns(
    metrics: Sequence[Metric], *, epsilons: list[float], errors: list[str], **_
) -> list[Measured]:
    """The keys and the numbers of each accuracy.

    Raises
    ------
    ValueError
        When something is asked for twice.
    """
    for name, given in (("epsilons", epsilons), ("errors", errors)):
        if len(set(given)) < len(given):
            raise ValueError(f"a value stands twice in {name}.")
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
            "Give protocol tightness accuracies to reach.",
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
    """Count the features that mean errors take under the distribution of generator spread_label.

    ``steps`` is the budget that every algorithm gets. The estimates looked at are those after every
    step up to ``fine``, then ``resolution`` for each factor of ten. The error of each is exact, in
    expectation, though it may have been fitted to a sample; that of ``squared`` is without the half
    that losses have. There is one row for each ``error`` and ``epsilon``, with these numbers of
    features:

    - ``needed``: nonzero coefficients of the first estimate with a mean error of at most epsilon,
      and the ``steps`` it took; empty when the budget did not reach it.
    - ``exact``: what the best predictor of all needs, however many features there are.
    - ``lower_bound``: what the proof of Theorem 6 (absolute) or 7 (squared) shows to be needed;
      ``lower_bound_printed``: the number in the theorem, which for Theorem 6 is larger, and is true
      by another argument. Empty unless B1 > 2 and epsilon <= 0.1.
    - ``l1_upper``: after how many steps Theorem 3 promises the error to fully corrective selection
      by the squared error under the distribution: with the dense predictor, of squared error s,
      4 B1^2 / (epsilon - s), for an absolute error with epsilon^2 for epsilon. Empty where the
      dense predictor is not known to have it.

    Returns
    -------
    Outcome
        Status ``nonfinite`` when an estimate is not finite, ``not_converged`` when one lacks the
        certificate that its algorithm promises.

    References
    ----------
    S. Shalev-Shwartz, N. Srebro, T. Zhang, Trading accuracy for sparsity, TTIC-TR-2009-3.
    """
    if problem.moments is None or "truth_l1_norm" not in problem.facts:
        raise DataError(
            "protocol 'tightness' is about the distribution of generator 'spread_label'.",
            remedy="Use it for the data.",
        )
    l1_norm = float(problem.facts["truth_l1_norm"])
    runner = Runner(part, problem, {**params, "steps": steps}, setup.rng)
    start = setup.clock()
    seen = runner.after(search_steps(steps, fine, resolution))
    seconds = setup.clock() - start
    if not np.isfinite(seen.path.coef).all():
        return Outcome(Status.NONFINITE, "an estimate is not finite")
    rows = []
    for error in errors:
        places = _places(seen, problem, l1_norm, error, epsilons)
        for epsilon, place in zip(epsilons, places, strict=True):
            measured = {"steps": None, "needed": None}
            if place is not None:
                measured = {
                    "steps": int(seen.steps[place]),
                    "needed": int(seen.features[place]),
                }
            known = _known(problem, l1_norm, error, epsilon)
            keys = {"record": "epsilon", "error": error, "epsilon": float(epsilon)}
            rows.append({**keys, **measured, **known})
    doubts = runner.doubts(seen)
    status = Status.NOT_CONVERGED if doubts else Status.OK
    return Outcome(status, "; ".join(doubts) or runner.said(seen), rows, fit_seconds=seconds)


def _places(
    seen: Seen, problem: Problem, l1_norm: float, error: str, epsilons: Sequence[float]
) -> list[int | None]:
    """The first estimate of each accuracy."""
    estimates = seen.path.coef[:, :, 0]
    if error == "squared":
        return first_squared(estimates, problem.moments, epsilons)
    return first_absolute(estimates, l1_norm, epsilons)


def _known(problem: Problem, l1_norm: float, error: str, epsilon: float) -> dict:
    """What is known of an accuracy whatever the algorithm; None where nothing is."""
    if error == "squared":
        exact, squared = spread_label.features_for_squared_error, epsilon
        proof = printed = spread_label.squared_error_bound
    else:
        exact, squared = spread_label.features_for_absolute_error, epsilon**2
        printed = spread_label.absolute_error_bound
        proof = partial(printed, reading="proof")
    return {
        "exact": _or_none(exact, l1_norm, epsilon),
        "lower_bound": _or_none(proof, l1_norm, epsilon),
        "lower_bound_printed": _or_none(printed, l1_norm, epsilon),
        "l1_upper": _upper(problem, l1_norm, squared),
    }


def _or_none(count: Callable[..., float], l1_norm: float, epsilon: float) -> float | None:
    """What a count of features says; None where it says nothing of these."""
    try:
        return float(count(l1_norm, epsilon))
    except ValueError:
        return None


def _upper(problem: Problem, l1_norm: float, squared: float) -> float | None:
    """Steps after which Theorem 3 promises a squared error; None where it does not.

    The risk is half of the squared error, 1-smooth, and the reference is the dense predictor.
    """
    left = squared / 2.0 - PopulationSquaredLoss(problem.moments).value(problem.truth[:, 0])
    if left <= 0.0:
        return None
    return float(theorem3(1.0, l1_norm).steps(np.array([left]))[0])
