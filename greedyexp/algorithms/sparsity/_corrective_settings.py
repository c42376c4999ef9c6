"""Rules of fully corrective selections by their names, and which of them the theorems cover."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from scipy import sparse

from greedyexp.algorithms.foba._rules import Rule, gain_rule, slope_rule
from greedyexp.algorithms.sparsity._corrective_residual import Residual
from greedyexp.core.errors import ConfigError
from greedyexp.losses.loss import Loss
from greedyexp.problems.problem import Problem

# Mean squares of columns that agree to this relative precision are equal.
EQUAL = 1e-10

Selection = Annotated[
    Literal["objective", "gradient", "residual"],
    Field(description="take the feature that lowers the risk, slopes or correlates most"),
]


def rule_for(name: str, loss: Loss, problem: Problem, risk: str) -> Rule:
    """The rule ``objective``, ``gradient`` or ``residual`` for a loss bound to a problem.

    Parameters
    ----------
    risk : {"sample", "population"}
        What the loss is the mean over.

    Raises
    ------
    ConfigError
        When there is no such rule.
    """
    if name == "residual":
        return Residual(loss, mean_squares(problem, risk))
    if name not in ("objective", "gradient"):
        raise ConfigError(
            f"there is no rule named '{name}'.", remedy="Use objective, gradient or residual."
        )
    rule = gain_rule("coordinate", True) if name == "objective" else slope_rule("feature")
    return rule(loss)


def mean_squares(problem: Problem, risk: str) -> np.ndarray:
    """E[x_j^2] over the rows, or the distribution, of a problem, shape (d,)."""
    if risk == "population":
        return problem.moments.diagonal
    X = problem.X[0]
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).mean(axis=0)).ravel()
    return np.einsum("ni,ni->i", X, X) / len(X)


def covered(rule: str, loss: Loss) -> bool:
    """Whether Theorems 3 to 5 of the 2009 report are proved of a rule on this loss.

    Their proofs ask of a step that it lowers R by max_j grad_j^2 / (2 beta) at least. With
    q_j = E[x_j^2] the curvature along j is at most beta_L q_j + ridge, so that ``objective`` and
    ``gradient`` do. ``residual`` takes the largest grad_j^2 / q_j, which lowers R by as much
    without a ridge, whatever the columns, and with one when all columns have the same q_j; the
    report assumes that they are normalised. A ridge and unequal columns are not covered: a small
    column is taken for its angle, but the ridge lets it lower R by next to nothing.
    """
    if rule != "residual" or loss.ridge == 0.0:
        return True
    curvature = loss.smoothness[: loss.size]
    return bool(np.ptp(curvature) <= EQUAL * curvature.max(initial=0.0))
