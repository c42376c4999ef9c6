"""The risk of algorithms that trade accuracy for sparsity, and the points of their paths."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from greedyexp.algorithms._parameters import grid_values
from greedyexp.core.errors import ConfigError
from greedyexp.losses.binding import kind_of
from greedyexp.losses.loss import Loss
from greedyexp.losses.risk import bind_risk, risk_refusal
from greedyexp.losses.smoothed import SmoothedLoss
from greedyexp.problems.problem import Problem
from greedyexp.solvers.l1_ball import (
    BallMinimum,
    minimise_over_ball,
    minimise_unsmoothed_over_ball,
)

# The smoothness of a kinked loss whose smoothed values are not used.
_ANY_BETA = 1.0
# Steps are counted in 64-bit integers and reported as floats.
MOST_STEPS = 2**53


def needs(*, loss: str, risk: str, **_) -> tuple[str, ...]:
    """Return the traits that the risk requires of the data."""
    return (*kind_of(loss).fixed_requirements, *(("moments",) if risk == "population" else ()))


def needs_of_ball(*, radius: float | None, loss: str, risk: str = "sample", **_) -> tuple[str, ...]:
    """Return the traits that an algorithm on an l1 ball requires.

    Without a radius it needs the true coefficients.
    """
    return (*needs(loss=loss, risk=risk), *(("truth",) if radius is None else ()))


def check(shape: dict, *, loss: str, beta: float | None, risk: str, **_) -> None:
    """Raise ValueError if the risk is impossible for data of this shape."""
    refusal = risk_refusal(
        loss,
        beta=beta,
        population=risk == "population",
        n_tasks=shape["n_tasks"],
        n_samples=shape["n_samples"],
    )
    if refusal is not None:
        raise ValueError(str(refusal))


def check_unsmoothed(shape: dict, *, loss: str, beta: float | None, risk: str, **_) -> None:
    """Raise ValueError like ``check``, but accept a missing beta."""
    beta = _ANY_BETA if kind_of(loss).smoothed and beta is None else beta
    check(shape, loss=loss, beta=beta, risk=risk)


@dataclass(frozen=True)
class BoundRisk:
    """A risk, smoothed or not, bound to a problem.

    Parameters
    ----------
    loss : Loss
        A smoothed loss if ``kinked``; its unsmoothed values are then the risk.
    kinked : bool
        Whether the risk is that of the loss before smoothing.
    """

    loss: Loss
    kinked: bool

    @classmethod
    def of(
        cls, problem: Problem, loss: str, *, beta: float | None, ridge: float, risk: str
    ) -> BoundRisk:
        """Return the risk of a loss; a kinked loss without beta is not smoothed."""
        kinked = kind_of(loss).smoothed and beta is None
        beta = _ANY_BETA if kinked else beta
        population = risk == "population"
        return cls(bind_risk(loss, problem, ridge=ridge, beta=beta, population=population), kinked)

    def value(self, params: np.ndarray) -> float:
        """Return R."""
        return self.loss.unsmoothed(params) if self.kinked else self.loss.value(params)

    def minimise_over_ball(self, radius: float) -> BallMinimum:
        """Return the minimiser over ||w||_1 <= radius, with its certificate."""
        if self.kinked:
            return minimise_unsmoothed_over_ball(cast(SmoothedLoss, self.loss), radius)
        return minimise_over_ball(self.loss, radius)

    def facts(self, objective: np.ndarray) -> dict[str, np.ndarray]:
        """Return ``risk``, if the objective is not the value of the loss of the path."""
        return {"risk": objective} if self.kinked else {}


@dataclass(frozen=True)
class StepGrid:
    """The requested number of steps and accuracy at each point of a path.

    Parameters
    ----------
    steps : int array (m,)
        Maximum number of steps, at least 0.
    epsilon : array (m,)
        End when a certificate is at most this; zeros for an algorithm without this parameter.
    names : tuple of str
        The parameters in the grid of the path.
    given : bool
        Whether the user gave the points as a grid.
    budget : int
        The parameter ``steps``; estimates after fewer steps need not reach the parameter
        ``epsilon``.
    """

    steps: np.ndarray
    epsilon: np.ndarray
    names: tuple[str, ...]
    given: bool
    budget: int

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def grid(self) -> dict[str, np.ndarray]:
        """The points in the format of ``Path.grid``, arrays (m,) of float."""
        return {name: getattr(self, name).astype(float) for name in self.names}

    @property
    def asks(self) -> np.ndarray:
        """Whether a point must reach its accuracy, (m,) of bool.

        A point with its own epsilon must reach it. The parameter ``epsilon`` applies to the end of
        the run; earlier estimates need not reach it.
        """
        return self.steps >= (0 if "epsilon" in self.names else self.budget)

    def until(self, end: int) -> StepGrid:
        """Return the points of a run that made ``end`` steps: those before the end, and the end.

        Points given by the user are unchanged.
        """
        if self.given:
            return self
        steps = np.append(self.steps[self.steps < end], end)
        return replace(self, steps=steps, epsilon=np.full(len(steps), self.epsilon[0]))

    def only(self, places: np.ndarray) -> StepGrid:
        """Return the points at some places."""
        return replace(self, steps=self.steps[places], epsilon=self.epsilon[places])

    def scaled(self, share: float) -> StepGrid:
        """Return the points with a fraction of their accuracies."""
        return replace(self, epsilon=share * self.epsilon)


def step_grid(
    grid: dict[str, np.ndarray] | None, steps: int, epsilon: float | None = None
) -> StepGrid:
    """Return the points of a path.

    Parameters
    ----------
    grid : dict of arrays (m,), optional
        ``steps``, or ``steps`` and ``epsilon``, which replace the parameters of these names.
        Without it, the points are 0, 1, 2, 4, ... steps and ``steps``.
    steps : int >= 1
        The parameter of the algorithm.
    epsilon : float >= 0, optional
        The parameter; None for an algorithm without it.

    Raises
    ------
    ConfigError
        If the grid has other names or impossible values.
    """
    known = ("steps",) if epsilon is None else ("steps", "epsilon")
    accuracy = 0.0 if epsilon is None else float(epsilon)
    if grid is None:
        if steps > MOST_STEPS:
            raise ConfigError(f"steps is {steps}, but at most 2^53 can be counted.")
        doubling = 2 ** np.arange(int(steps).bit_length(), dtype=np.int64)
        counts = np.unique(np.concatenate(([0], doubling, [steps]))).astype(np.int64)
        return StepGrid(counts, np.full(len(counts), accuracy), ("steps",), False, int(steps))
    if "steps" not in grid or not set(grid) <= set(known):
        optional = "" if epsilon is None else ", and may hold values of epsilon"
        raise ConfigError(f"the grid must hold values of steps{optional}.")
    counts = grid_values(grid, "steps", whole=True)
    if (counts > MOST_STEPS).any():
        raise ConfigError("the grid of steps must hold numbers of at most 2^53.")
    counts = counts.astype(np.int64)
    names = tuple(name for name in known if name in grid)
    accuracies = np.full(len(counts), accuracy)
    if "epsilon" in names:
        accuracies = grid_values(grid, "epsilon")
        if len(accuracies) != len(counts):
            raise ConfigError(
                f"the grid holds {len(counts)} values of steps and {len(accuracies)} of epsilon.",
                remedy="Give one of each for every point.",
            )
    return StepGrid(counts, accuracies, names, True, int(steps))
