"""Regularised matching pursuit on least squares with an l1 penalty."""

from __future__ import annotations

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.matching_pursuit._descent import (
    CompiledIteration,
    check_single_task,
    checked_lam,
    single_task,
)
from greedyexp.core.registry import algorithm
from greedyexp.estimates.iteration import Iteration
from greedyexp.kernels.coordinate_descent import MATCHING_PURSUIT
from greedyexp.problems.problem import Problem
from greedyexp.theory import convergence_rates
from greedyexp.theory.constants import smoothness_l1


@algorithm(
    "rmp",
    title="RMP",
    paper="Moucer, Taylor & Bach (2024), Algorithm 1",
    yields="iterates",
    check=check_single_task,
    guarantee=convergence_rates.rmp,
)
def rmp(problem: Problem, *, lam: param.Lam) -> Iteration:
    """Regularised matching pursuit: minimise the upper bound in the geometry of the l1 norm.

    On G(a) = ||P a - y||^2 / (2 n) + lam ||a||_1 = F(a) + lam ||a||_1, every step adds the exact
    minimiser b of <grad F(a), b> + (L1 / 2) ||b||_1^2 + lam ||a + b||_1 to a, with
    L1 = max_i ||P_i||^2 / n, the smoothness of F with respect to the l1 norm. It moves at most one
    coefficient to a value other than zero, and may set others to zero.

    Parameters
    ----------
    problem : Problem
        One task, n samples of p features (d in the paper). The first estimate is
        ``problem.start``, by default zero.
    lam : float >= 0
        Zero gives Gauss-Southwell coordinate descent.

    Returns
    -------
    Iteration
        Once the p x p Gram matrix is computed, a step costs p + n for every coefficient it moves.
        For p > 2048 that matrix is not kept, and a step costs n p.

    Raises
    ------
    ConfigError
        If lam is negative or not finite, or there are several tasks.
    DataError
        If the data are not finite, or the design is zero.

    Notes
    -----
    The minimiser b is not unique if several derivatives are equally large, or if the removal of
    several coefficients is worth the same; then the lowest feature moves. Values of
    |grad_i F(a)| - lam equal to a relative 1e-10 are ties. Algorithm 1 as printed lacks the minus
    sign of the new atom in one branch.

    References
    ----------
    C. Moucer, A. Taylor, F. Bach, Geometry-dependent matching pursuit: a transition phase for
    convergence on linear regression and LASSO, 2024, Algorithm 1, Lemmas 13 to 16.
    """
    lam, task = checked_lam(lam), single_task(problem)
    l1 = smoothness_l1(task.design).value
    return CompiledIteration(task, MATCHING_PURSUIT, lam, l1, gram=True)
