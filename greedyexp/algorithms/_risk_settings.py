"""Parameters of algorithms that trade accuracy for sparsity, and what is refused of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from greedyexp.core.errors import ConfigError
from greedyexp.losses.binding import MOST_RIDGE
from greedyexp.losses.loss import Loss
from greedyexp.losses.risk import bind_risk, risk_refusal
from greedyexp.problems.problem import Problem

# A radius beyond this, times the largest features that are taken, is no number when squared.
SMALLEST_RADIUS, LARGEST_RADIUS = 1e-75, 1e75

RiskLoss = Annotated[
    Literal["squared", "logistic", "absolute", "hinge"],
    Field(description="what is minimised, in the mean; absolute and hinge are smoothed by beta"),
]
Beta = Annotated[
    float | None,
    Field(gt=0, description="smoothness of the smoothed absolute or hinge loss, which need it"),
]
Ridge = Annotated[
    float, Field(ge=0, le=MOST_RIDGE, description="half of it times the squared norm is added")
]
Risk = Annotated[
    Literal["sample", "population"],
    Field(description="mean over the rows, or exact expectation by moments (squared loss)"),
]
Radius = Annotated[
    float | None,
    Field(
        ge=SMALLEST_RADIUS,
        le=LARGEST_RADIUS,
        description="B1, the l1 norm allowed; by default that of the true coefficients",
    ),
]
Steps = Annotated[int, Field(ge=1, description="most steps")]
Accuracy = Annotated[
    float, Field(ge=0, description="end when the duality gap certifies this accuracy")
]


@dataclass(frozen=True)
class RiskModel:
    """The loss by its name, its parameters, and what its mean is taken over."""

    loss: str
    beta: float | None
    ridge: float
    risk: str

    def bind(self, problem: Problem) -> Loss:
        """The loss over the rows, or the distribution, of a problem."""
        return bind_risk(
            self.loss,
            problem,
            ridge=self.ridge,
            beta=self.beta,
            population=self.risk == "population",
        )


def needs(*, risk: str, **_) -> tuple[str, ...]:
    """Traits that data must have."""
    return ("moments",) if risk == "population" else ()


def needs_of_ball(*, radius: float | None, **params) -> tuple[str, ...]:
    """Traits that data must have for an algorithm on an l1 ball: its radius may be the truth's."""
    return (*needs(**params), *(("truth",) if radius is None else ()))


def check(shape: dict, *, loss: str, beta: float | None, risk: str, **_) -> None:
    """Refuse what no problem of this shape can have.

    Raises
    ------
    ValueError
        With a sentence.
    """
    refusal = risk_refusal(
        loss,
        beta=beta,
        population=risk == "population",
        n_tasks=shape["n_tasks"],
        n_samples=shape["n_samples"],
    )
    if refusal is not None:
        raise ValueError(str(refusal))


def truth_of(problem: Problem, remedy: str) -> np.ndarray:
    """The true coefficients, (d,).

    Raises
    ------
    ConfigError
        When they are not known, with this remedy.
    """
    if problem.truth is None:
        raise ConfigError("the data tell no true coefficients.", remedy=remedy)
    return problem.truth[:, 0].astype(np.float64)


def radius_of(problem: Problem, radius: float | None, who: str) -> float:
    """B1 as given, or the l1 norm of the true coefficients.

    Parameters
    ----------
    who : str
        Whose parameter it is, such as ``algorithm 'l1_ball'``.

    Raises
    ------
    ConfigError
        When neither is known, or the truth is zero.
    """
    if radius is not None:
        return float(radius)
    remedy = f"Give radius of {who}."
    norm = float(np.abs(truth_of(problem, remedy)).sum())
    if norm == 0.0:
        raise ConfigError("the true coefficients are zero.", remedy=remedy)
    return norm
