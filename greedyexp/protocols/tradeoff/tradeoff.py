"""Protocol ``tradeoff``: the cost of an accuracy, and the bounds of theorems on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from greedyexp.core.errors import DataError
from greedyexp.core.parts import Algorithm, Metric, RecordKind
from greedyexp.core.registry import parts, protocol
from greedyexp.problems.problem import Problem
from greedyexp.problems.radius import LARGEST_RADIUS
from greedyexp.protocols.base import (
    FIT_SECONDS,
    Measured,
    Outcome,
    Setup,
    Status,
    in_records,
    record_columns,
    recording_schedule,
    refuse_duplicates,
)
from greedyexp.protocols.tradeoff._bounds import (
    bounds_kept,
    check_theorems,
    pairs_of,
    references_of,
)
from greedyexp.protocols.tradeoff._rows import (
    accuracy_rows,
    bound_rows,
    epsilon_rows,
    reference_rows,
    step_rows,
    theorem_rows,
)
from greedyexp.protocols.tradeoff._run import Runner, first_run, in_unit_box
from greedyexp.theory.theorems import NO_THEOREM, known_theorems

Budget = Annotated[int, Field(ge=1, le=2**53, description="largest number of steps")]
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
        description="radius of l1_ball; default: that of the algorithm, or of the truth",
    ),
]
Theorems = Annotated[
    list[str] | None,
    Field(min_length=1, description="theorems to keep; all that the algorithm has by default"),
]
Features = Annotated[
    Literal["refuse", "scale"],
    Field(description="reject features beyond [-1, 1], or divide each by its largest size"),
]
Fine = Annotated[
    int, Field(ge=0, le=1_000_000, description="check accuracies at every step up to this one")
]
Resolution = Annotated[
    int, Field(ge=1, le=1000, description="number of later steps to check per factor of ten")
]

_STEPS = "Set 'points' or 'dense' of protocol tradeoff to record steps."
_REACH = "List accuracies in 'epsilons' of protocol tradeoff."
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

_REACHED = ("epsilon", "accuracy")
# In the order of the table.
COLUMNS = (
    *in_records(("bound", "epsilon", "theorem"), "key", "theorem", apart=True),
    *in_records(("bound", *_REACHED, "theorem", "reference"), "key", "reference", apart=True),
    *in_records(("step", "bound"), "key", "step"),
    *in_records(_REACHED, "key", "epsilon"),
    *in_records(("step",), "number", "features", "risk"),
    *in_records(("step", "bound"), "number", "gap"),
    *in_records(("step",), "number", "l1_norm"),
    *in_records(("bound",), "number", "excess", "excess_bound"),
    *in_records(_REACHED, "number", "steps", "log_steps", "features_needed", open_ended=True),
    *in_records(_REACHED, "number", "excess_at_end"),
    *in_records(("epsilon",), "number", "steps_bound", "log_steps_bound"),
    *in_records(("epsilon",), "success", "within"),
    *in_records(("theorem",), "number", "smoothness", "strong_convexity"),
    *in_records(("bound", "reference"), "number", "reference_features"),
    *in_records(("reference",), "number", "reference_l1_norm", "reference_risk", "reference_gap"),
)


def columns(
    metrics: Sequence[Metric],
    *,
    steps: int,
    points: int,
    dense: int,
    epsilons: list[float],
    references: list[str],
    theorems: list[str] | None,
    **options,
) -> list[Measured]:
    """Return the columns of the requested records.

    Raises
    ------
    ValueError
        If nothing is requested, or a list has a duplicate.
    ConfigError
        If a theorem does not exist.
    """
    check_theorems(theorems or [])
    recorded = bool(points or dense)
    if not (recorded or epsilons):
        raise ValueError("nothing is requested; give epsilons, points or dense.")
    refuse_duplicates(epsilons=epsilons, references=references, theorems=theorems)
    asked = {"step": recorded, "bound": recorded, "epsilon": epsilons, "accuracy": epsilons}
    records = [*(name for name, given in asked.items() if given), "theorem", "reference"]
    values: dict[str, tuple] = {
        "step": tuple(recording_schedule(steps, points, dense).tolist()),
        "reference": tuple(references),
        "epsilon": tuple(epsilons),
    }
    known = known_theorems(parts("algorithm").values())
    if known is not None:
        values["theorem"] = (*(theorems or known), NO_THEOREM)
    found = record_columns(COLUMNS, records, values)
    scaled = [Measured("feature_scale", "number")] if options["features"] == "scale" else []
    return [*found, *scaled, FIT_SECONDS]


def check(params: dict, **_) -> None:
    """Raise ValueError for an algorithm without a number of steps."""
    if "steps" not in params:
        raise ValueError(
            "it has no parameter 'steps' that limits the run; forward_greedy,"
            " smoothed_forward_greedy, fully_corrective, replacement_steps and"
            " randomized_sparsification have one, and l1_ball is one of the references"
        )


def needs(*, references: list[str], **_) -> tuple[str, ...]:
    """Return the traits that data must have."""
    return ("truth",) if {"truth", "support"} & set(references) else ()


def needs_for(params: dict, *, references: list[str], radius: float | None, **_) -> tuple[str, ...]:
    """Return the traits that data must have for an algorithm: l1_ball needs a radius."""
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
    """Record the risk R(w_k) of a sparse predictor above that of reference predictors wbar.

    ``steps`` is the budget of every algorithm and replaces its own parameter of that name. R is the
    risk that the algorithm minimises: the mean of its loss, or the expectation, with its ridge. For
    ``smoothed_forward_greedy`` it is the risk before smoothing. The column ``record`` names the
    kinds of rows:

    - ``step``: the estimate after each recorded step.
    - ``bound``: its excess over each reference, and the bound of each theorem on it.
    - ``epsilon``: the cost of each accuracy, and the bound of each theorem on it. An algorithm that
      ends by its own certificate is run for each accuracy. Any other algorithm is checked after
      every step up to ``fine``, then after ``resolution`` steps for each factor of ten.
    - ``accuracy``: the measurements of ``epsilon`` in one row for each reference, without theorems.
    - ``theorem``: the constants in each theorem.
    - ``reference``: the reference predictors.

    A theorem is left out if its bounds are infinite. If none is left, ``theorem`` is ``none`` and
    the bounds are empty. For theorems named in ``theorems`` the message of the replicate gives the
    reason, and the replicate fails if none of them is left. Bounds that hold in expectation or with
    probability 1/2 (T1) concern means and shares over replicates, not single replicates.

    Features must be in [-1, 1], as the bounds assume. With ``features: scale`` each is divided by
    its largest absolute value.

    Columns
    -------
    record
        The kind of row.
    theorem
        Theorem of the bound, or none.
    reference
        Reference predictor: l1_ball, truth or support.
    step
        Number k of steps of the estimate.
    epsilon
        Accuracy of the risk above that of the reference.
    features
        Number of nonzero coefficients.
    risk
        Risk R(w_k).
    gap
        Certificate of the estimate; empty without one.
    l1_norm
        l1 norm of the estimate.
    excess
        R(w_k) - R(wbar).
    excess_bound
        Bound of the theorem on the excess. If the run ended earlier, it is taken at its last step.
    steps
        Steps until the algorithm ended by its own certificate, or first checked step with an excess
        of at most epsilon; empty if the budget did not reach it.
    log_steps
        Logarithm of ``steps`` to base 10; 0 for zero steps.
    features_needed
        Number of nonzero coefficients after ``steps``.
    excess_at_end
        Excess after ``steps``; empty if the budget did not reach epsilon.
    steps_bound
        Number of steps that the theorem guarantees to be enough.
    log_steps_bound
        Logarithm of ``steps_bound`` to base 10; 0 for zero steps.
    within
        1 if the excess after ``steps_bound`` steps is at most epsilon, 0 if not, and empty beyond
        the budget. If this step was not checked, the algorithm runs again with the same random
        numbers.
    smoothness, strong_convexity
        Constant of the risk in the theorem; empty if the theorem does not need it. Strong convexity
        holds on the supports of the run.
    reference_features
        Number of nonzero coefficients of the reference.
    reference_l1_norm
        l1 norm of the reference.
    reference_risk
        Risk of the reference.
    reference_gap
        Certificate of the minimiser over the ball.
    feature_scale
        Largest divisor of a feature.

    Returns
    -------
    Outcome
        Status ``not_converged`` if a reference lacks its certificate or is not known to a tenth of
        the smallest accuracy, or an estimate lacks the certificate of its algorithm; ``nonfinite``
        if an estimate or a risk is not finite.

    References
    ----------
    S. Shalev-Shwartz, N. Srebro, T. Zhang, Trading accuracy for sparsity, TTIC-TR-2009-3.
    """
    if problem.n_tasks != 1:
        raise DataError(f"protocol 'tradeoff' takes one task but the data have {problem.n_tasks}.")
    problem, factor = in_unit_box(problem, features)
    runner = Runner(part, problem, {**params, "steps": steps}, setup.rng)
    start = setup.clock()
    schedule = recording_schedule(steps, points, dense)
    run = first_run(runner, schedule, epsilons, fine, resolution)
    seconds = setup.clock() - start
    seen, recorded = run.seen, run.recorded
    if not (np.isfinite(seen.path.sparse.values).all() and np.isfinite(seen.risk).all()):
        return Outcome(Status.NONFINITE, "an estimate or its risk is not finite")
    known, uncertain = references_of(references, problem, seen, params, radius, epsilons)
    pairs, left_out = pairs_of(runner, seen, recorded, known, theorems, epsilons)
    kept = bounds_kept(runner, seen, pairs, epsilons)
    rows = [
        *step_rows(seen, recorded),
        *bound_rows(seen, recorded, pairs),
        *epsilon_rows(run, pairs, epsilons, kept),
        *accuracy_rows(run, known, epsilons),
        *theorem_rows(pairs),
        *reference_rows(known, seen.was_smoothed),
    ]
    if features == "scale":
        rows = [{**row, "feature_scale": factor} for row in rows]
    doubts = [*runner.doubts(seen), *uncertain]
    status = Status.NOT_CONVERGED if doubts else Status.OK
    remarks = [*(doubts or filter(None, [runner.remark(seen)])), *left_out]
    return Outcome(status, "; ".join(remarks), rows, seconds)
