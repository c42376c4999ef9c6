"""Accuracy against sparsity: what an algorithm pays for an accuracy, and what theorems promise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from greedyexp.algorithms._risk_settings import LARGEST_RADIUS
from greedyexp.core.errors import DataError
from greedyexp.core.parts import Algorithm, Metric, RecordKind
from greedyexp.core.registry import protocol
from greedyexp.problems.problem import Problem
from greedyexp.protocols.marks import marks
from greedyexp.protocols.measured import FIT_SECONDS, Measured
from greedyexp.protocols.outcome import Outcome, Status
from greedyexp.protocols.setup import Setup
from greedyexp.protocols.tradeoff._look import look
from greedyexp.protocols.tradeoff._promises import (
    Pair,
    all_theorems_registered,
    kept_within,
    pairs,
    refuse_unknown,
)
from greedyexp.protocols.tradeoff._references import Compared, compared
from greedyexp.protocols.tradeoff._rows import (
    accuracy_rows,
    bound_rows,
    epsilon_rows,
    reference_rows,
    step_rows,
    theorem_rows,
)
from greedyexp.protocols.tradeoff._run import Runner
from greedyexp.protocols.tradeoff._unit_box import in_unit_box
from greedyexp.theory.theorems import NO_THEOREM
from greedyexp.theory.theorems import theorems as known_theorems

Budget = Annotated[int, Field(ge=1, le=2**53, description="most steps of the algorithm")]
Points = Annotated[
    int,
    Field(
        ge=0,
        le=1_000_000,
        description="steps to record from 1 to the last, equally spaced in the logarithm",
    ),
]
Dense = Annotated[int, Field(ge=0, le=1_000_000, description="record every step up to this one")]
Accuracies = Annotated[
    list[Annotated[float, Field(gt=0, allow_inf_nan=False)]],
    Field(description="accuracies epsilon of the risk above that of a reference"),
]
References = Annotated[
    list[Literal["l1_ball", "truth", "support"]],
    Field(
        min_length=1,
        description="minimiser over an l1 ball, true coefficients, minimiser on their support",
    ),
]
BallRadius = Annotated[
    float | None,
    Field(
        gt=0,
        le=LARGEST_RADIUS,
        description="l1 norm of l1_ball; that of the algorithm, or of the true coefficients",
    ),
]
Theorems = Annotated[
    list[str] | None,
    Field(min_length=1, description="theorems to keep; all that the algorithm has by default"),
]
Features = Annotated[
    Literal["refuse", "scale"],
    Field(description="refuse features beyond [-1, 1], or divide each by its largest size"),
]
Fine = Annotated[
    int, Field(ge=0, le=1_000_000, description="look for accuracies at every step up to this one")
]
Resolution = Annotated[
    int, Field(ge=1, le=1000, description="beyond, look at so many steps per factor of ten")
]

# An accuracy is trusted when the reference is known to this part of it.
_FINER = 0.1


def columns(
    metrics: Sequence[Metric],
    *,
    steps: int,
    points: int,
    dense: int,
    epsilons: list[float],
    references: list[str],
    theorems: list[str] | None,
    features: str,
    **_,
) -> list[Measured]:
    """The columns of what is asked for.

    Raises
    ------
    ValueError
        When nothing is asked for, or something twice.
    ConfigError
        When a theorem is none.
    """
    refuse_unknown(theorems or [])
    recorded = bool(points or dense)
    if not (recorded or epsilons):
        raise ValueError("nothing is asked for; give epsilons, points or dense.")
    for name, given in (
        ("epsilons", epsilons),
        ("references", references),
        ("theorems", theorems or []),
    ):
        if len(set(given)) < len(given):
            raise ValueError(f"a value stands twice in {name}.")
    asked = {"step": recorded, "bound": recorded, "epsilon": epsilons, "accuracy": epsilons}
    records = (*(name for name, given in asked.items() if given), "theorem", "reference")
    listed = {
        "step": tuple(marks(steps, points, dense).tolist()),
        "reference": tuple(references),
        "epsilon": tuple(epsilons),
    }
    if all_theorems_registered():
        listed["theorem"] = (*(theorems or known_theorems()), NO_THEOREM)
    found = [Measured("record", "key", records)]
    for name, (kind, told) in _COLUMNS.items():
        own = tuple(record for record in told if record in records)
        if own:
            found.append(
                Measured(
                    name,
                    kind,
                    listed.get(name),
                    {"record": own},
                    apart=name in _APART,
                    open_ended=name in _OPEN_ENDED,
                )
            )
    scaled = [Measured("feature_scale", "number")] if features == "scale" else []
    return [*found, *scaled, FIT_SECONDS]


# Kind of each column and the records that have it, in the order of the table.
_COLUMNS = {
    "theorem": ("key", ("bound", "epsilon", "theorem")),
    "reference": ("key", ("bound", "epsilon", "accuracy", "theorem", "reference")),
    "step": ("key", ("step", "bound")),
    "epsilon": ("key", ("epsilon", "accuracy")),
    "features": ("number", ("step",)),
    "risk": ("number", ("step",)),
    "gap": ("number", ("step", "bound")),
    "l1_norm": ("number", ("step",)),
    "excess": ("number", ("bound",)),
    "excess_bound": ("number", ("bound",)),
    "steps": ("number", ("epsilon", "accuracy")),
    "log_steps": ("number", ("epsilon", "accuracy")),
    "features_needed": ("number", ("epsilon", "accuracy")),
    "excess_at_end": ("number", ("epsilon", "accuracy")),
    "steps_bound": ("number", ("epsilon",)),
    "log_steps_bound": ("number", ("epsilon",)),
    "within": ("success", ("epsilon",)),
    "smoothness": ("number", ("theorem",)),
    "strong_convexity": ("number", ("theorem",)),
    "reference_features": ("number", ("bound", "reference")),
    "reference_l1_norm": ("number", ("reference",)),
    "reference_risk": ("number", ("reference",)),
    "reference_gap": ("number", ("reference",)),
}
_STEPS = "Let protocol tradeoff record steps by points or dense."
_REACH = "Give protocol tradeoff accuracies to reach."
RECORDS = (
    RecordKind("step", ("step",), _STEPS),
    RecordKind("bound", ("theorem", "reference", "step"), _STEPS, columns=("excess",)),
    RecordKind(
        "epsilon", ("theorem", "reference", "epsilon"), _REACH, columns=("features_needed",)
    ),
    RecordKind("accuracy", ("reference", "epsilon"), _REACH),
    RecordKind("theorem", ("theorem", "reference"), "Use protocol tradeoff."),
    RecordKind("reference", ("reference",), "Use protocol tradeoff."),
)
_APART = ("theorem", "reference")
_OPEN_ENDED = ("steps", "log_steps", "features_needed")


def check(params: dict, **_) -> None:
    """Refuse an algorithm without a number of steps.

    Raises
    ------
    ValueError
        With a sentence.
    """
    if "steps" not in params:
        raise ValueError(
            "it has no parameter 'steps', by which it could be told when to end; forward_greedy,"
            " smoothed_forward_greedy, fully_corrective, replacement_steps and"
            " randomized_sparsification have, and l1_ball is one of the references"
        )


def needs(*, references: list[str], **_) -> tuple[str, ...]:
    """Traits that data must have."""
    return ("truth",) if {"truth", "support"} & set(references) else ()


def needs_for(params: dict, *, references: list[str], radius: float | None, **_) -> tuple[str, ...]:
    """Traits that data must have for an algorithm: l1_ball needs a radius from somewhere."""
    known = params.get("radius") if radius is None else radius
    return ("truth",) if "l1_ball" in references and known is None else ()


@protocol(
    "tradeoff",
    title="Accuracy against sparsity",
    paper="Shalev-Shwartz, Srebro & Zhang (2009), Theorems 1 to 5",
    takes="estimates",
    columns=columns,
    records=RECORDS,
    tunes=False,
    check=check,
    needs=needs,
    needs_for=needs_for,
)
def tradeoff(
    problem: Problem,
    part: Algorithm,
    params: dict,
    setup: Setup,
    *,
    steps: Budget,
    points: Points = 40,
    dense: Dense = 0,
    epsilons: Accuracies = [],  # noqa: B006 - pydantic copies it
    references: References = ["l1_ball"],  # noqa: B006 - pydantic copies it
    radius: BallRadius = None,
    theorems: Theorems = None,
    features: Features = "refuse",
    fine: Fine = 1000,
    resolution: Resolution = 20,
) -> Outcome:
    """Follow the risk R(w_k) of a sparse predictor above that of reference predictors wbar.

    ``steps`` is the budget that every algorithm gets, whatever its own parameter of that name says.
    R is what the algorithm minimises: the mean of its loss, or the expectation, with its ridge;
    of ``smoothed_forward_greedy`` with the loss before it was smoothed. The column ``record`` tells
    the kinds of rows:

    - ``step``: ``features`` (nonzero coefficients), ``risk``, ``gap`` (the certificate, empty for
      an algorithm without) and ``l1_norm`` of what the algorithm returns after ``step`` steps.
    - ``bound``: ``excess``, R(w_k) - R(wbar) after ``step`` steps against one ``reference``, and
      ``excess_bound``, what one ``theorem`` says that it is at most, after the steps that were made
      where the run ended before; ``gap`` once more.
    - ``epsilon``: ``steps`` and ``features_needed`` of each accuracy and ``excess_at_end``, the
      excess after these steps, empty when the budget did not reach it; and ``steps_bound``, how
      many steps a theorem says are enough. ``log_steps`` and ``log_steps_bound`` are to base 10, of
      no step as of one. An algorithm that ends by its own certificate is run for each accuracy, and
      its steps are those until it ended. Of any other it is the first step looked at with an excess
      of at most epsilon: every step is looked at up to ``fine``, then ``resolution`` for each
      factor of ten. ``within`` is 1 when the excess after ``steps_bound`` steps is at most epsilon
      and 0 when it is not; it is empty when these are beyond the budget. Where these steps were not
      looked at, the algorithm runs again, with the same stream of random numbers.
    - ``accuracy``: what was measured of each accuracy once more, in one row for each ``reference``,
      whatever theorems speak of the algorithm.
    - ``theorem``: ``smoothness`` and ``strong_convexity`` of the risk, the constants that a theorem
      is computed from; empty for one without. The latter is that over the supports met in the run.
    - ``reference``: ``reference_features``, ``reference_l1_norm``, ``reference_risk`` and
      ``reference_gap``, the certificate of the minimiser over the ball.

    A theorem is left out where it promises nothing; where none is left, ``theorem`` is ``none`` and
    the bounds are empty. Of one named in ``theorems`` the message of the replicate says why, and
    the replicate fails when none of those named promises anything. Bounds that hold in expectation
    or with probability 1/2 (T1) are of means and shares over replicates, not of one.

    Features are to be in [-1, 1], as the bounds assume. With ``features: scale`` each is divided by
    its largest size, and ``feature_scale`` is the largest number that one was divided by.

    Returns
    -------
    Outcome
        Status ``not_converged`` when a reference lacks its certificate or is not known to a tenth
        of the smallest accuracy, or an estimate lacks the one that its algorithm promises;
        ``nonfinite`` when an estimate or a risk is not finite.

    References
    ----------
    S. Shalev-Shwartz, N. Srebro, T. Zhang, Trading accuracy for sparsity, TTIC-TR-2009-3.
    """
    if problem.n_tasks != 1:
        raise DataError(f"protocol 'tradeoff' takes one task but the data have {problem.n_tasks}.")
    problem, factor = in_unit_box(problem, features)
    runner = Runner(part, problem, {**params, "steps": steps}, setup.rng)
    recorded = marks(steps, points, dense)
    start = setup.clock()
    looked = look(runner, recorded, epsilons, fine, resolution)
    seconds = setup.clock() - start
    seen = looked.seen
    if not (np.isfinite(seen.path.coef).all() and np.isfinite(seen.risk).all()):
        return Outcome(Status.NONFINITE, "an estimate or its risk is not finite")
    original = "risk" in seen.path.facts
    known = compared(references, problem, seen.path.loss, params, radius, original=original)
    references = [one.reference for one in known]
    found, left_out = pairs(runner, seen, looked.marks, references, theorems, epsilons)
    within = kept_within(runner, seen, found, epsilons)
    rows = step_rows(seen, looked.marks) + bound_rows(seen, looked.marks, found)
    rows += epsilon_rows(found, epsilons, looked.reached(found, epsilons), within)
    plain = [Pair(one.reference, None, original) for one in known]
    rows += accuracy_rows(plain, epsilons, looked.reached(plain, epsilons))
    rows += theorem_rows(found)
    rows += reference_rows(references, original)
    if features == "scale":
        rows = [{**row, "feature_scale": factor} for row in rows]
    certain = None if looked.certified is None else looked.marks
    doubts = [*runner.doubts(seen, certain), *_reference_doubts(known, epsilons)]
    status = Status.NOT_CONVERGED if doubts else Status.OK
    remarks = [*(doubts or filter(None, [runner.said(seen)])), *left_out]
    return Outcome(status, "; ".join(remarks), rows, fit_seconds=seconds)


def _reference_doubts(known: Sequence[Compared], epsilons: Sequence[float]) -> list[str]:
    """Why references cannot be taken at their word; empty when they can."""
    found = [one.trouble for one in known if one.trouble]
    finest = min(epsilons, default=math.inf)
    return found + [
        f"reference {one.reference.name} is known to {one.reference.gap:.1e}, too coarse for an"
        f" accuracy of {finest:.1e}"
        for one in known
        if one.reference.gap > _FINER * finest
    ]
