"""Paths of forward greedy selection over an l1 ball: every point asked for, out of one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from greedyexp.algorithms._risk_settings import LARGEST_RADIUS, SMALLEST_RADIUS
from greedyexp.algorithms._step_grid import StepGrid
from greedyexp.algorithms.sparsity._frank_wolfe_forms import Walk
from greedyexp.core.errors import ConfigError
from greedyexp.estimates.path import Path
from greedyexp.losses.loss import Loss
from greedyexp.problems.problem import Problem
from greedyexp.theory.sparsity_bounds import smoothness_of_risk
from greedyexp.theory.theorems import Reference

StepLength = Annotated[
    Literal["paper", "line_search"],
    Field(description="gap / (4 beta B1^2), at most 1, or to the least risk along the direction"),
]

# An l1 norm beyond the radius by less than this part of it is rounding.
NORM_ROUNDING = 1e-9


@dataclass(frozen=True)
class Point:
    """Where a run stands.

    Parameters
    ----------
    coef : array (d,)
    steps : int
        Made so far.
    gap : float
        Duality gap.
    reached : bool
        Whether the gap is at most what this point is asked for, or nothing is. Where the accuracy
        asked for is 0, whether the run came to the end of precision.
    """

    coef: np.ndarray
    steps: int
    gap: float
    reached: bool


@dataclass(frozen=True)
class Answers:
    """What a run says to each point of a grid.

    Parameters
    ----------
    points : list of Point
    asked : StepGrid
        What they were told.
    stuck : int, optional
        After how many steps a step would change no digit; None when that did not happen.
    """

    points: list[Point]
    asked: StepGrid
    stuck: int | None

    def values(self, value: Callable[[np.ndarray], float]) -> np.ndarray:
        """A function of the coefficients at each point, (m,); computed once for each state."""
        known = {point.steps: point.coef for point in self.points}
        value_of = {steps: value(coef) for steps, coef in known.items()}
        return np.array([value_of[point.steps] for point in self.points])


def remarks(points: Sequence[Point], asked: StepGrid, stuck: int | None) -> str:
    """What a user should know of points; empty when all is well.

    Of points that were not given only the last is spoken of, where the run was told to end.
    """
    told = points if asked.given else points[-1:]
    short = [point for point in told if not point.reached]
    if not short:
        return ""
    if len(told) > 1:
        said = f"{len(short)} of {len(told)} points did not reach the gap asked for."
    elif asked.epsilon[-1] == 0.0:
        said = (
            f"After all {short[0].steps} steps the gap is {short[0].gap:.3g}. Give epsilon > 0 to"
            " end at an accuracy."
        )
    else:
        said = f"After {short[0].steps} steps the gap is {short[0].gap:.3g}, not as small as asked."
    if stuck is not None:
        said += f" After {stuck} steps another one would change no digit."
    return said


def follow(loss: Loss, problem: Problem, radius: float, step: str, asked: StepGrid) -> Answers:
    """Forward greedy selection from zero, the state for each number of steps and each accuracy.

    Parameters
    ----------
    loss : Loss
        Bound to the rows or the moments of ``problem``.
    problem : Problem
    radius : float > 0
        B1.
    step : {"paper", "line_search"}
    asked : StepGrid
        With ``epsilon``; what the duality gap of ``loss`` is compared with.

    Raises
    ------
    ConfigError
        When the radius, or its square times the smoothness, cannot be computed with.
    """
    if not SMALLEST_RADIUS <= radius <= LARGEST_RADIUS:
        raise ConfigError(
            f"radius must be between {SMALLEST_RADIUS:g} and {LARGEST_RADIUS:g}, but is {radius:g}."
        )
    if not np.isfinite(4.0 * smoothness_of_risk(loss) * radius**2):
        raise ConfigError(
            "the smoothness of the risk times the square of the radius is too large to be computed"
            " with.",
            remedy="Use smaller units, a smaller beta or a smaller radius.",
        )
    walk = Walk(loss, problem, radius, step == "line_search")
    found: list[Point | None] = [None] * len(asked)
    waiting, asks = np.arange(len(asked)), asked.asks
    while len(waiting):
        walk.advance(int(asked.steps[waiting].min()), float(asked.epsilon[waiting].max()))
        done = walk.ended | (asked.steps[waiting] <= walk.steps)
        done |= walk.reached(asked.epsilon[waiting])
        coef = walk.coef
        for index in waiting[done]:
            target = asked.epsilon[index]
            exact = target == 0.0 and walk.ended
            reached = not asks[index] or walk.gap <= target or exact
            found[index] = Point(coef, walk.steps, walk.gap, reached)
        waiting = waiting[~done]
    kept = asked.until(walk.steps)
    if not asked.given:
        # The end is the answer to the last point, whatever others the run ended before.
        found = [*found[: len(kept) - 1], found[-1]]
    return Answers(found, kept, walk.steps if walk.ended else None)


def holds(path: Path, reference: Reference) -> bool:
    """Whether theorems on the ball of a path speak of a reference: it is in the ball."""
    return reference.l1_norm <= float(path.facts["radius"][0]) * (1.0 + NORM_ROUNDING)
