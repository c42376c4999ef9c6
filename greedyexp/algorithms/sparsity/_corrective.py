"""Rules of fully corrective selections, the theorems' conditions on them, and shared results."""

from __future__ import annotations

import numpy as np

from greedyexp.core.errors import ConfigError
from greedyexp.losses.loss import Fit, Loss
from greedyexp.problems.problem import Problem
from greedyexp.solvers.greedy_rules import Rule, gain_rule, slope_rule

# Mean squares of columns that agree to this relative precision are equal.
EQUAL = 1e-10


class Residual(Rule):
    """How well one scaled column matches the slopes of the loss.

    With R(w) = Q(X w) and u = grad Q(X w), min_a ||a X^j - u||^2 is ||u||^2 minus <X^j, u>^2 /
    ||X^j||^2, so the feature with the largest |<X^j, u>| / ||X^j|| is best (Shalev-Shwartz, Srebro
    & Zhang 2009, section 2.3). The numerator is n |grad_j R| if w_j = 0, since a ridge has no slope
    there. Columns of zeros are never taken.

    Parameters
    ----------
    loss : Loss
    squares : array (d,)
        E[x_j^2], the mean over samples or over the distribution.
    """

    def __init__(self, loss: Loss, squares: np.ndarray):
        super().__init__(loss)
        self._sizes = np.where(squares > 0.0, np.sqrt(squares), np.inf)

    def goodness(self, fit: Fit) -> np.ndarray:
        return np.abs(fit.gradient) / self._sizes


def rule_for(name: str, loss: Loss, problem: Problem, risk: str) -> Rule:
    """Return the rule ``objective``, ``gradient`` or ``residual`` for a loss bound to a problem.

    Parameters
    ----------
    risk : {"sample", "population"}
        Whether the loss is a mean over the sample or the population.

    Raises
    ------
    ConfigError
        If the rule is unknown.
    """
    if name == "residual":
        return Residual(loss, _mean_squares(problem, risk))
    if name not in ("objective", "gradient"):
        raise ConfigError(
            f"there is no rule named '{name}'.", remedy="Use objective, gradient or residual."
        )
    rule = gain_rule("coordinate", True) if name == "objective" else slope_rule("feature")
    return rule(loss)


def _mean_squares(problem: Problem, risk: str) -> np.ndarray:
    """Return E[x_j^2] over the rows, or the distribution, of a problem, shape (d,)."""
    if risk == "population":
        assert problem.moments is not None
        return problem.moments.diagonal
    X = problem.X[0]
    if isinstance(X, np.ndarray):
        return np.einsum("ni,ni->i", X, X) / len(X)
    return np.asarray(X.multiply(X).mean(axis=0)).ravel()


def covered(rule: str, loss: Loss) -> bool:
    """Return whether the proofs of Theorems 3 to 5 of the 2009 report cover a rule on this loss.

    The proofs require that a step lowers R by at least max_j grad_j^2 / (2 beta). With
    q_j = E[x_j^2] the curvature along j is at most beta_L q_j + ridge, so ``objective`` and
    ``gradient`` satisfy this. ``residual`` takes the largest grad_j^2 / q_j. Without a ridge it
    satisfies this for all columns, with a ridge if all columns have the same q_j; the report
    assumes normalised columns. A ridge and unequal columns are not covered: a small column may be
    taken for its angle although the ridge prevents it from lowering R noticeably.
    """
    if rule != "residual" or loss.ridge == 0.0:
        return True
    curvature = loss.smoothness[: loss.size]
    return bool(np.ptp(curvature) <= EQUAL * curvature.max(initial=0.0))
