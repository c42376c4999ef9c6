"""Protocol ``trajectory``: the distance of an iterative method from the optimum along its run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from greedyexp.core.errors import DataError
from greedyexp.core.parts import Algorithm, Metric, RecordKind
from greedyexp.core.registry import protocol
from greedyexp.estimates.iteration import Iteration
from greedyexp.problems.problem import Problem
from greedyexp.protocols.base import (
    Measured,
    Outcome,
    Setup,
    Status,
    in_records,
    record_columns,
    recording_schedule,
    refuse_duplicates,
    rows_of,
)
from greedyexp.protocols.contracts import check_iteration
from greedyexp.protocols.trajectory._course import DEPTH, Course, contraction, drive
from greedyexp.protocols.trajectory._optimum import Bounds, certified, optimum, projected
from greedyexp.theory.constants import Optimum

Accuracies = Annotated[
    list[Annotated[float, Field(gt=0, allow_inf_nan=False)]],
    Field(description="accuracies epsilon, each with the first iteration that reaches it"),
]
Points = Annotated[
    int,
    Field(ge=0, description="iterations to record from 1 to the last, equally spaced in the log"),
]
Dense = Annotated[int, Field(ge=0, description="record every iteration up to this one")]
Coordinates = Annotated[
    int, Field(ge=0, description="number of coefficients to record, the largest ones")
]
Guarantees = Annotated[bool, Field(description="record the proved bound and the predicted gap")]
Local = Annotated[
    bool, Field(description="record the bound once the support stays in that of the optimum")
]
Rate = Annotated[bool, Field(description="mean factor of the gap per iteration")]

RECORDS = (
    RecordKind(
        "epsilon",
        ("epsilon",),
        "List accuracies in 'epsilons' of protocol trajectory.",
        columns=("iterations",),
    ),
    RecordKind(
        "iteration",
        ("iteration",),
        "Set 'points' or 'dense' of protocol trajectory to record iterations.",
        columns=("gap", "support_size", "l1_norm"),
    ),
    RecordKind(
        "coordinate",
        ("coordinate", "iteration"),
        "Set 'coordinates' of protocol trajectory to record coordinates.",
        columns=("coefficient",),
    ),
    RecordKind(
        "rate", (), "Set 'rate: true' in protocol trajectory.", columns=("rate", "predicted_rate")
    ),
)

# In the order of the table.
COLUMNS = (
    *in_records(("epsilon",), "key", "epsilon"),
    *in_records(("iteration", "coordinate"), "key", "iteration"),
    *in_records(("coordinate",), "key", "coordinate"),
    *in_records(("epsilon",), "number", "iterations", open_ended=True),
    *in_records(("iteration",), "number", "gap", "guarantee", "prediction", "local_guarantee"),
    *in_records(("iteration",), "number", "support_size", "l1_norm"),
    *in_records(("coordinate",), "number", "coefficient"),
    *in_records(("rate",), "number", "rate", "predicted_rate"),
)

# Longer lists of recorded iterations are not computed in advance.
_LISTED = 1_000_000

# An accuracy is trusted if the optimum is known to this fraction of it.
_FINER = 0.1


def columns(
    metrics: Sequence[Metric],
    *,
    iterations: int,
    epsilons: list[float],
    points: int,
    dense: int,
    **options,
) -> list[Measured]:
    """Return the columns of the requested records.

    Raises
    ------
    ValueError
        If nothing is requested, an accuracy is listed twice, or an option needs recorded iterations
        and there are none.
    """
    recorded = bool(points or dense)
    if not (recorded or epsilons or options["rate"]):
        raise ValueError("nothing is requested; give epsilons, points, dense or rate.")
    refuse_duplicates(epsilons=epsilons)
    for name in ("coordinates", "guarantees", "local"):
        if options[name] and not recorded:
            raise ValueError(f"'{name}' needs recorded iterations; give points or dense.")
    asked = {
        "epsilon": epsilons,
        "iteration": recorded,
        "coordinate": options["coordinates"],
        "rate": options["rate"],
    }
    left_out = {
        *(() if options["guarantees"] else ("guarantee", "prediction")),
        *(() if options["local"] else ("local_guarantee",)),
    }
    values: dict[str, tuple] = {"epsilon": tuple(epsilons)}
    if min(dense, iterations) + points <= _LISTED:
        values["iteration"] = tuple(recording_schedule(iterations, points, dense).tolist())
    return record_columns(
        [column for column in COLUMNS if column.name not in left_out],
        [name for name, given in asked.items() if given],
        values,
    )


@protocol(
    "trajectory",
    title="Trajectory",
    paper="Moucer, Taylor & Bach (2024)",
    takes="iterates",
    columns=columns,
    records=RECORDS,
)
def trajectory(
    problem: Problem,
    part: Algorithm,
    params: dict,
    setup: Setup,
    *,
    iterations: Annotated[int, Field(ge=1, description="largest number of iterations")] = 10_000,
    epsilons: Accuracies = [],  # noqa: B006 - pydantic copies it
    accuracy: Annotated[
        Literal["absolute", "relative"],
        Field(description="whether epsilons are gaps or fractions of the first gap"),
    ] = "absolute",
    points: Points = 100,
    dense: Dense = 0,
    coordinates: Coordinates = 0,
    guarantees: Guarantees = False,
    local: Local = False,
    rate: Rate = False,
) -> Outcome:
    """Record the gap G(b_k) - G* of an iterative method to its exact optimum G*.

    G(b) = ||X b - y||^2 / (2 n) + lam ||b||_1 on one task. The optimum is the least-squares
    projection (lam = 0) or a Lasso solution with its duality gap, never the best value seen. The
    response is projected onto the range of X, which changes neither iterates nor gaps but avoids
    cancellation. Iteration 0 is the start. The column ``record`` names the kinds of rows:

    - ``epsilon``: the iterations to each accuracy. After the last accuracy the run continues only
      for iterations to record.
    - ``iteration``: the state after each recorded iteration, and what theorems say of it.
    - ``coordinate``: one coefficient at one recorded iteration, for the requested number of
      coordinates: those with the largest absolute value at any recorded iteration.
    - ``rate``: the speed of the whole run.

    Cells are empty if the algorithm has no theorem or prediction. Memory grows with the recorded
    rows (times p with ``coordinates``), not with the iterations.

    Columns
    -------
    record
        The kind of row.
    epsilon
        An accuracy.
    iteration
        Number k of iterations so far.
    coordinate
        Number of a coefficient, from 0.
    iterations
        First k with a gap of at most epsilon; empty if no iteration within the budget has one.
    gap
        G(b_k) - G* after k iterations.
    guarantee
        Bound of a theorem on the gap.
    prediction
        gap_0 rate^k with the limit rate of random designs of these sizes; not a bound.
    local_guarantee
        gap(k_0) rate_S^(k - k_0) with the rate proved on the support of the optimum (the one found,
        if it is not unique), from k_0 on, the first recorded iteration after the last one with a
        nonzero coefficient outside this support.
    support_size
        Number of nonzero coefficients.
    l1_norm
        l1 norm of the coefficients.
    coefficient
        Value of the coordinate.
    rate
        Mean factor of the gap per iteration over the second half of the run, which is cut at the
        first gap of 1e-12 times the initial gap.
    predicted_rate
        The rate of ``prediction``.

    Returns
    -------
    Outcome
        Status ``not_converged`` if the optimum lacks its certificate (a gap of at most 1e-12 G(0)),
        is not known to a tenth of the smallest accuracy, or the method reports that its iterates
        cannot be trusted; ``nonfinite`` if the objective is not finite.

    References
    ----------
    C. Moucer, A. Taylor, F. Bach, Geometry-dependent matching pursuit: a transition phase for
    convergence on linear regression and LASSO, 2024, Figures 1 to 6 and 9.
    """
    if problem.n_tasks != 1:
        raise DataError(
            f"protocol 'trajectory' takes one task but the data have {problem.n_tasks}."
        )
    problem = projected(problem)
    run = _begin(part, problem, params)
    best, first = optimum(problem, run.lam), run.objective
    if not math.isfinite(first):
        return Outcome(Status.NONFINITE, "the objective of the start is not finite")
    span = max(first - best.value, 0.0)
    unit = span if accuracy == "relative" else 1.0
    gaps = [unit * epsilon for epsilon in epsilons]
    if local:
        run.watch(best.coef != 0)
    course = drive(
        run,
        recording_schedule(iterations, points, dense),
        [best.value + gap for gap in [*gaps, *([DEPTH * span] if rate else [])]],
        iterations=iterations,
        keep_coef=coordinates > 0,
    )
    if not (np.isfinite(course.objective).all() and math.isfinite(course.end.objective)):
        return Outcome(Status.NONFINITE, "the objective of an iterate is not finite")
    bounds = Bounds(part, params, problem, best, span)
    reached = [hit and hit.iteration for hit in course.hits[: len(epsilons)]]
    rows = rows_of("epsilon", epsilon=epsilons, iterations=reached)
    rows += _iterations(course, bounds, guarantees, local)
    rows += _coordinates(course, coordinates)
    if rate:
        end = course.hits[-1] or course.end
        factor = contraction(lambda: _begin(part, problem, params), first, end, best.value)
        rows += rows_of("rate", rate=factor, predicted_rate=bounds.rate)
    return Outcome.with_doubts(rows, _doubts(best, problem, gaps, course))


def _begin(part: Algorithm, problem: Problem, params: dict) -> Iteration:
    return check_iteration(part, part.function(problem, **params), problem.n_features)


def _iterations(course: Course, bounds: Bounds, guarantees: bool, local: bool) -> list[dict]:
    """Return one row for each recorded iteration, with the requested bounds."""
    k, gaps = course.recorded, course.objective - bounds.best.value
    columns = {"gap": gaps, "support_size": course.support_size, "l1_norm": course.l1_norm}
    asked: dict[str, np.ndarray | None] = {}
    if guarantees:
        asked |= {"guarantee": bounds.proved(k), "prediction": bounds.predicted(k)}
    if local:
        asked["local_guarantee"] = bounds.proved_locally(k, gaps, course.last_outside)
    columns |= {name: values for name, values in asked.items() if values is not None}
    return rows_of("iteration", iteration=k, **columns)


def _coordinates(course: Course, count: int) -> list[dict]:
    """Return the rows of the coordinates with the largest absolute values, in feature order."""
    if not count or not len(course.coef):
        return []
    largest = np.argsort(-np.abs(course.coef).max(axis=0), kind="stable")[:count]
    rows = []
    for i in np.sort(largest):
        at, values = course.recorded, course.coef[:, i]
        rows += rows_of("coordinate", iteration=at, coordinate=i, coefficient=values)
    return rows


def _doubts(best: Optimum, problem: Problem, gaps: list[float], course: Course) -> list[str]:
    """Return the reasons not to trust the rows."""
    found = []
    if not certified(best, problem):
        found.append(f"the optimum is known only to {best.gap:.1e}, which is not a certificate")
    elif best.gap > _FINER * min(gaps, default=math.inf):
        found.append(
            f"the optimum is known to {best.gap:.1e}, too coarse for an accuracy of {min(gaps):.1e}"
        )
    if course.trouble:
        found.append(course.trouble)
    return found
