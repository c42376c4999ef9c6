"""Proximal coordinate descent on least squares with an l1 penalty, steepest coordinate first."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from greedyexp.algorithms.matching_pursuit._descent import (
    CompiledIteration,
    Lam,
    check_single_task,
    checked_lam,
    single_task,
)
from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import algorithm
from greedyexp.estimates.iteration import Iteration
from greedyexp.kernels.coordinate_descent import PROXIMAL_GAUSS_SOUTHWELL
from greedyexp.problems.problem import Problem
from greedyexp.theory import convergence_rates
from greedyexp.theory.constants import SMOOTHNESS


@algorithm(
    "proximal_gs_coordinate_descent",
    title="Proximal GS coordinate descent",
    paper="Nutini et al. (2015), GS-q rule; Moucer, Taylor & Bach (2024), eq. 15",
    yields="iterates",
    check=check_single_task,
    guarantee=convergence_rates.proximal_gs_coordinate_descent,
)
def proximal_gs_coordinate_descent(
    problem: Problem,
    *,
    lam: Lam,
    smoothness: Annotated[
        Literal["l1", "l2"], Field(description="L of the steps 1 / L: L1 or the larger L2")
    ] = "l1",
) -> Iteration:
    """Proximal coordinate descent: move the coordinate whose model decreases most.

    On G(a) = ||P a - y||^2 / (2 n) + lam ||a||_1 = F(a) + lam ||a||_1, the model of coordinate l
    is grad_l F(a) (t - a_l) + (L / 2) (t - a_l)^2 + lam |t| - lam |a_l|. Every step moves one
    coordinate to the minimiser of its model, that with the least minimum.

    Parameters
    ----------
    problem : Problem
        One task, n samples of p features (d in the paper); begins at ``problem.start``, else at
        zero.
    lam : float >= 0
        Zero gives Gauss-Southwell coordinate descent.
    smoothness : {"l1", "l2"}
        L is L1 = max_i ||P_i||^2 / n, with which the models are upper bounds already, or L2, the
        largest eigenvalue of P^T P / n, as in the paper's eq. 15. The paper draws both.

    Returns
    -------
    Iteration
        A step costs p + n once the p x p Gram matrix is computed, and n p for p > 2048, where it
        is not kept.

    Raises
    ------
    ConfigError
        When lam is negative or not finite, smoothness unknown, or there are several tasks.
    DataError
        When the data are not finite, or the design is zero.

    Notes
    -----
    Equation 15 leaves out - lam |a_l|; without it the least model is not the largest decrease.
    Decreases equal to a relative 1e-10 go to the lowest feature.

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
