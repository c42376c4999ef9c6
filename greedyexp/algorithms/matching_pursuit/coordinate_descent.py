"""Coordinate descent on least squares, and regularised matching pursuit."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.matching_pursuit._descent import (
    CompiledIteration,
    checked_lam,
    iterative,
    single_task,
)
from greedyexp.core.errors import ConfigError
from greedyexp.estimates.iteration import Iteration
from greedyexp.kernels.coordinate_descent import (
    GAUSS_SOUTHWELL,
    MATCHING_PURSUIT,
    PROXIMAL_GAUSS_SOUTHWELL,
)
from greedyexp.problems.problem import Problem
from greedyexp.theory import convergence_rates
from greedyexp.theory.constants import SMOOTHNESS, smoothness_l1
from greedyexp.theory.convergence_rates import predict_coordinate_descent


@iterative(
    "gs_coordinate_descent",
    title="GS coordinate descent",
    paper="Nutini et al. (2015); Moucer, Taylor & Bach (2024), eq. 11",
    guarantee=convergence_rates.gs_coordinate_descent,
    prediction=predict_coordinate_descent,
)
def gs_coordinate_descent(problem: Problem) -> Iteration:
    """Coordinate descent with the Gauss-Southwell rule: move the coordinate of steepest descent.

    On F(a) = ||P a - y||^2 / (2 n), every step takes i = argmax |grad_i F(a)| and subtracts
    grad_i F(a) / L1 from a_i, with L1 = max_i ||P_i||^2 / n, the smoothness of F with respect to
    the l1 norm. This is matching pursuit over the columns of P and their opposites, with one step
    length for all.

    Parameters
    ----------
    problem : Problem
        One task, n samples of p features (d in the paper). The first estimate is
        ``problem.start``, by default zero.

    Returns
    -------
    Iteration
        With lam = 0. A step costs p + n once the p x p Gram matrix is computed, or n p for
        p > 2048, when that matrix is not kept.

    Raises
    ------
    ConfigError
        If there are several tasks.
    DataError
        If the data are not finite, or the design is zero.

    Notes
    -----
    Among derivatives equal to a relative precision of 1e-10 the lowest feature wins. The
    coefficient of a column of zeros never moves.

    References
    ----------
    J. Nutini, M. Schmidt, I. Laradji, M. Friedlander, H. Koepke, Coordinate descent converges
    faster with the Gauss-Southwell rule than random selection, 2015.
    C. Moucer, A. Taylor, F. Bach, Geometry-dependent matching pursuit: a transition phase for
    convergence on linear regression and LASSO, 2024, eq. 11.
    """
    task = single_task(problem)
    l1 = smoothness_l1(task.design).value
    return CompiledIteration(task, GAUSS_SOUTHWELL, 0.0, l1, gram=True)


@iterative(
    "proximal_gs_coordinate_descent",
    title="Proximal GS coordinate descent",
    paper="Nutini et al. (2015), GS-q rule; Moucer, Taylor & Bach (2024), eq. 15",
    guarantee=convergence_rates.proximal_gs_coordinate_descent,
)
def proximal_gs_coordinate_descent(
    problem: Problem,
    *,
    lam: param.Lam,
    smoothness: Annotated[
        Literal["l1", "l2"], Field(description="L of the steps 1 / L: L1, or L2, which is larger")
    ] = "l1",
) -> Iteration:
    """Proximal coordinate descent: move the coordinate whose model decreases most.

    On G(a) = ||P a - y||^2 / (2 n) + lam ||a||_1 = F(a) + lam ||a||_1, the model of coordinate l
    is grad_l F(a) (t - a_l) + (L / 2) (t - a_l)^2 + lam |t| - lam |a_l|. Every step takes the
    coordinate whose model has the least minimum and moves it to the minimiser.

    Parameters
    ----------
    problem : Problem
        One task, n samples of p features (d in the paper). The first estimate is
        ``problem.start``, by default zero.
    lam : float >= 0
        Zero gives Gauss-Southwell coordinate descent.
    smoothness : {"l1", "l2"}
        L is L1 = max_i ||P_i||^2 / n, for which the models are already upper bounds, or L2, the
        largest eigenvalue of P^T P / n, as in the paper's eq. 15. The paper plots both.

    Returns
    -------
    Iteration
        A step costs p + n once the p x p Gram matrix is computed, or n p for p > 2048, when that
        matrix is not kept.

    Raises
    ------
    ConfigError
        If lam is negative or not finite, smoothness is unknown, or there are several tasks.
    DataError
        If the data are not finite, or the design is zero.

    Notes
    -----
    Equation 15 omits - lam |a_l|; without it the least model is not the largest decrease. Among
    decreases equal to a relative precision of 1e-10 the lowest feature wins.

    References
    ----------
    J. Nutini, M. Schmidt, I. Laradji, M. Friedlander, H. Koepke, Coordinate descent converges
    faster with the Gauss-Southwell rule than random selection, 2015.
    C. Moucer, A. Taylor, F. Bach, Geometry-dependent matching pursuit: a transition phase for
    convergence on linear regression and LASSO, 2024, eq. 15.
    """
    lam, task = checked_lam(lam), single_task(problem)
    if smoothness not in SMOOTHNESS:
        raise ConfigError(f"smoothness must be 'l1' or 'l2'; it is '{smoothness}'.")
    constant = SMOOTHNESS[smoothness](task.design).value
    return CompiledIteration(task, PROXIMAL_GAUSS_SOUTHWELL, lam, constant, gram=True)


@iterative(
    "rmp",
    title="RMP",
    paper="Moucer, Taylor & Bach (2024), Algorithm 1",
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
    |grad_i F(a)| - lam equal to a relative precision of 1e-10 are ties. Algorithm 1 as published
    lacks the minus sign of the new atom in one branch.

    References
    ----------
    C. Moucer, A. Taylor, F. Bach, Geometry-dependent matching pursuit: a transition phase for
    convergence on linear regression and LASSO, 2024, Algorithm 1, Lemmas 13 to 16.
    """
    lam, task = checked_lam(lam), single_task(problem)
    l1 = smoothness_l1(task.design).value
    return CompiledIteration(task, MATCHING_PURSUIT, lam, l1, gram=True)
