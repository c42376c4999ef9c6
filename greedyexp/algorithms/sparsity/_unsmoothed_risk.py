"""The risk of algorithms that take the absolute and the hinge loss as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.algorithms._risk_settings import RiskModel
from greedyexp.algorithms._risk_settings import check as check_smooth
from greedyexp.losses.loss import Loss
from greedyexp.problems.problem import Problem
from greedyexp.solvers.l1_ball import BallMinimum, minimise_over_ball, minimise_unsmoothed_over_ball

OptionalBeta = Annotated[
    float | None,
    Field(gt=0, description="smooth the absolute or hinge loss to this; without it as it is"),
]
KINKED = ("absolute", "hinge")
# Of a loss that stands for itself unsmoothed, whose smoothed values are not looked at.
NO_MATTER = 1.0


def check_risk(shape: dict, *, loss: str, beta: float | None, risk: str, **_) -> None:
    """As ``risk_settings.check``, without the demand of beta.

    Raises
    ------
    ValueError
        With a sentence.
    """
    beta = NO_MATTER if loss in KINKED and beta is None else beta
    check_smooth(shape, loss=loss, beta=beta, risk=risk)


@dataclass(frozen=True)
class BoundRisk:
    """A risk, smoothed or as it is, bound to a problem.

    Parameters
    ----------
    loss : Loss
        Unsmoothed values are asked of it where ``kinked``.
    kinked : bool
        Whether the risk is that of the loss before it was smoothed.
    """

    loss: Loss
    kinked: bool

    @classmethod
    def of(cls, model: RiskModel, problem: Problem) -> BoundRisk:
        """The risk of a model, not smoothed where it has no beta."""
        kinked = model.loss in KINKED and model.beta is None
        beta = NO_MATTER if kinked else model.beta
        return cls(RiskModel(model.loss, beta, model.ridge, model.risk).bind(problem), kinked)

    def value(self, params: np.ndarray) -> float:
        """R."""
        return self.loss.unsmoothed(params) if self.kinked else self.loss.value(params)

    def minimise_over_ball(self, radius: float) -> BallMinimum:
        """The minimiser over ||w||_1 <= radius, with its certificate."""
        solve = minimise_unsmoothed_over_ball if self.kinked else minimise_over_ball
        return solve(self.loss, radius)

    def facts(self, objective: np.ndarray) -> dict[str, np.ndarray]:
        """``risk``, which says that the objective is not that of the loss of the path."""
        return {"risk": objective} if self.kinked else {}
