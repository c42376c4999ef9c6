"""The trajectory of an iterative method: its distance from the optimum along the way."""

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
from greedyexp.protocols.border import check_iteration
from greedyexp.protocols.marks import marks
from greedyexp.protocols.measured import Measured
from greedyexp.protocols.outcome import Outcome, Status
from greedyexp.protocols.setup import Setup
from greedyexp.protocols.trajectory._bounds import Bounds
from greedyexp.protocols.trajectory._driving import DEPTH, Course, contraction, drive
from greedyexp.protocols.trajectory._reference import certified, optimum, projected
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
    int, Field(ge=0, description="record so many coefficients, those that grow largest")
]
Guarantees = Annotated[bool, Field(description="the proved bound, and the gap that is predicted")]
Local = Annotated[
    bool, Field(description="the bound from where the support stays in that of the optimum")
]
Rate = Annotated[bool, Field(description="mean factor of the gap per iteration")]

RECORDS = (
    RecordKind(
        "epsilon",
        ("epsilon",),
        "Give protocol trajectory accuracies to reach.",
        columns=("iterations",),
    ),
    RecordKind(
        "iteration",
        ("iteration",),
        "Let protocol trajectory record iterations.",
        columns=("gap", "support_size", "l1_norm"),
    ),
    RecordKind(
        "coordinate",
        ("coordinate", "iteration"),
        "Let protocol trajectory record coordinates.",
        columns=("coefficient",),
    ),
    RecordKind(
        "rate", (), "Let protocol trajectory measure the rate.", columns=("rate", "predicted_rate")
    ),
)

# The records that have each column, in the order of the table.
_ROWS = {
    "epsilon": ("epsilon",),
    "iteration": ("iteration", "coordinate"),
    "coordinate": ("coordinate",),
    "iterations": ("epsilon",),
    "gap": ("iteration",),
    "guarantee": ("iteration",),
    "prediction": ("iteration",),
    "local_guarantee": ("iteration",),
    "support_size": ("iteration",),
    "l1_norm": ("iteration",),
    "coefficient": ("coordinate",),
    "rate": ("rate",),
    "predicted_rate": ("rate",),
}
_KEYS = ("epsilon", "iteration", "coordinate")

# More iterations than this are recorded without being listed beforehand.
_LISTED = 1_000_000

# An accuracy is trusted when the optimum is known to this part of it.
_FINER = 0.1


def columns(
    metrics: Sequence[Metric],
    *,
    iterations: int,
    epsilons: list[float],
    accuracy: str,
    points: int,
    dense: int,
    coordinates: int,
    guarantees: bool,
    local: bool,
    rate: bool,
) -> list[Measured]:
    """The columns of what is asked for.

    Raises
    ------
    ValueError
        When nothing is asked for, an accuracy twice, or something about iterations of which none
        is recorded.
    """
    recorded = bool(points or dense)
    if not (recorded or epsilons or rate):
        raise ValueError("nothing is asked for; give epsilons, points, dense or rate.")
    if len(set(epsilons)) < len(epsilons):
        raise ValueError("an accuracy stands twice in epsilons.")
    for name, given in (("coordinates", coordinates), ("guarantees", guarantees), ("local", local)):
        if given and not recorded:
            raise ValueError(f"{name} are about recorded iterations; give points or dense.")
    asked = {"epsilon": epsilons, "iteration": recorded, "coordinate": coordinates, "rate": rate}
    records = tuple(name for name, given in asked.items() if given)
    missing = {
        *(() if guarantees else ("guarantee", "prediction")),
        *(() if local else ("local_guarantee",)),
    }
    values = {"epsilon": tuple(epsilons), "iteration": _recorded(iterations, points, dense)}
    found = [Measured("record", "key", records)]
    for name, told in _ROWS.items():
        if name not in missing and set(told) & set(records):
            kind = "key" if name in _KEYS else "number"
            own = {"record": told}
            ended = name == "iterations"
            found.append(Measured(name, kind, values.get(name), own, open_ended=ended))
    return found


def _recorded(iterations: int, points: int, dense: int) -> tuple[int, ...] | None:
    """The iterations to record; None when they are too many to list."""
    if min(dense, iterations) + points > _LISTED:
        return None
    return tuple(marks(iterations, points, dense).tolist())


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
    iterations: Annotated[int, Field(ge=1, description="most iterations, the budget")] = 10_000,
    epsilons: Accuracies = [],  # noqa: B006 - pydantic copies it
    accuracy: Annotated[
        Literal["absolute", "relative"],
        Field(description="whether epsilons are gaps, or parts of the first gap"),
    ] = "absolute",
    points: Points = 100,
    dense: Dense = 0,
    coordinates: Coordinates = 0,
    guarantees: Guarantees = False,
    local: Local = False,
    rate: Rate = False,
) -> Outcome:
    """Follow the gap G(b_k) - G* of an iterative method from its exact optimum G*.

    G(b) = ||X b - y||^2 / (2 n) + lam ||b||_1 on one task. The optimum is least squares by
    projection (lam = 0) or a Lasso solution with its duality gap, never the best value seen. The
    response is replaced by its projection on the range of X, which changes neither iterates nor
    gaps but keeps their digits. Iteration 0 is the start. The column ``record`` tells the kinds of
    rows:

    - ``epsilon``: ``iterations`` is the first k with a gap of at most ``epsilon``, empty when none
      of the budget has one. The run goes no further than asked: past the last accuracy only for
      iterations to record.
    - ``iteration``: ``gap``, ``support_size`` and ``l1_norm`` after that many iterations;
      ``guarantee``, the bound that a theorem gives; ``prediction``, gap_0 rate^k with the rate that
      random designs of these sizes approach (not a bound). ``local_guarantee`` begins at k_0, the
      first recorded iteration after the last one with a nonzero coefficient outside the support of
      the optimum, and is gap(k_0) rate_S^(k - k_0) with the rate proved on that support; where the
      optimum is not unique the support is that of the one found.
    - ``coordinate``: ``coefficient`` of one coordinate at one recorded iteration, for as many
      coordinates as asked for: those with the largest absolute value at any of them.
    - ``rate``: mean factor of the gap per iteration over the second half of the run, which is cut
      at the first gap of 1e-12 times that of the start; ``predicted_rate`` as above.

    Cells for which the algorithm has no theorem or prediction are empty. Memory grows with what is
    recorded (times p with ``coordinates``), not with the iterations.

    Returns
    -------
    Outcome
        Status ``not_converged`` when the optimum lacks its certificate (a gap of at most 1e-12
        G(0)), is not known to a tenth of the smallest accuracy, or the method says that its
        iterates cannot be trusted; ``nonfinite`` when the objective is not finite.

    References
    ----------
    C. Moucer, A. Taylor, F. Bach, Geometry-dependent matching pursuit: a transition phase for
    convergence on linear regression and LASSO, 2024, Figures 1 to 6 and 9.
    """
    problem = _one_task(problem)
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
        marks(iterations, points, dense),
        [best.value + gap for gap in [*gaps, *([DEPTH * span] if rate else [])]],
        iterations=iterations,
        keep_coef=coordinates > 0,
    )
    if not (np.isfinite(course.objective).all() and math.isfinite(course.end.objective)):
        return Outcome(Status.NONFINITE, "the objective of an iterate is not finite")
    bounds = Bounds(part, params, problem, best, span)
    rows = _accuracies(epsilons, course)
    rows += _iterations(course, bounds, guarantees, local)
    rows += _coordinates(course, coordinates)
    if rate:
        end = course.hits[-1] or course.end
        factor = contraction(lambda: _begin(part, problem, params), first, end, best.value)
        rows.append({"record": "rate", "rate": factor, "predicted_rate": bounds.rate})
    doubts = _doubts(best, problem, gaps, course)
    return Outcome(Status.NOT_CONVERGED if doubts else Status.OK, "; ".join(doubts), rows)


def _one_task(problem: Problem) -> Problem:
    """The problem with its response projected, once it is known to have one task."""
    if problem.n_tasks != 1:
        raise DataError(
            f"protocol 'trajectory' takes one task but the data have {problem.n_tasks}."
        )
    return projected(problem)


def _begin(part: Algorithm, problem: Problem, params: dict) -> Iteration:
    return check_iteration(part, part.function(problem, **params), problem.n_features)


def _accuracies(epsilons: list[float], course: Course) -> list[dict]:
    return [
        {"record": "epsilon", "epsilon": epsilon, "iterations": hit and hit.iteration}
        for epsilon, hit in zip(epsilons, course.hits[: len(epsilons)], strict=True)
    ]


def _iterations(course: Course, bounds: Bounds, guarantees: bool, local: bool) -> list[dict]:
    """One row for each mark, with the bounds asked for."""
    if not len(course.marks):
        return []
    gaps = course.objective - bounds.best.value
    lines = {
        "iteration": course.marks,
        "gap": gaps,
        "support_size": course.support_size,
        "l1_norm": course.l1_norm,
    }
    if guarantees:
        lines["guarantee"] = bounds.proved(course.marks)
        lines["prediction"] = bounds.predicted(course.marks)
    if local:
        lines["local_guarantee"] = bounds.proved_locally(course.marks, gaps, course.last_outside)
    known = {name: values for name, values in lines.items() if values is not None}
    return [
        {"record": "iteration", **{name: _cell(values[m]) for name, values in known.items()}}
        for m in range(len(course.marks))
    ]


def _cell(value) -> int | float | None:
    """A number for the CSV; nan is an empty cell."""
    return None if np.isnan(value) else value.item()


def _coordinates(course: Course, count: int) -> list[dict]:
    """The coordinates with the largest absolute values, in the order of the features."""
    if not count or not len(course.coef):
        return []
    largest = np.argsort(-np.abs(course.coef).max(axis=0), kind="stable")[:count]
    return [
        {
            "record": "coordinate",
            "iteration": int(mark),
            "coordinate": int(i),
            "coefficient": float(coef[i]),
        }
        for i in np.sort(largest)
        for mark, coef in zip(course.marks, course.coef, strict=True)
    ]


def _doubts(best: Optimum, problem: Problem, gaps: list[float], course: Course) -> list[str]:
    """Why the rows cannot be taken at their word; empty when they can."""
    found = []
    if not certified(best, problem):
        found.append(f"the optimum is known to {best.gap:.1e} only, which is no certificate")
    elif best.gap > _FINER * min(gaps, default=math.inf):
        found.append(
            f"the optimum is known to {best.gap:.1e}, too coarse for an accuracy of {min(gaps):.1e}"
        )
    if course.trouble:
        found.append(course.trouble)
    return found
