"""Coordinate descent on least squares with the Gauss-Southwell rule: matching pursuit."""

from __future__ import annotations

from greedyexp.algorithms.matching_pursuit._descent import (
    CompiledIteration,
    check_single_task,
    single_task,
)
from greedyexp.core.registry import algorithm
from greedyexp.estimates.iteration import Iteration
from greedyexp.kernels.coordinate_descent import GAUSS_SOUTHWELL
from greedyexp.problems.problem import Problem
from greedyexp.theory import convergence_rates
from greedyexp.theory.constants import smoothness_l1
from greedyexp.theory.convergence_rates import predict_coordinate_descent


@algorithm(
    "gs_coordinate_descent",
    title="GS coordinate descent",
    paper="Nutini et al. (2015); Moucer, Taylor & Bach (2024), eq. 11",
    yields="iterates",
    check=check_single_task,
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
        One task, n samples of p features (d in the paper); begins at ``problem.start``, else at
        zero.

    Returns
    -------
    Iteration
        With lam = 0. A step costs p + n once the p x p Gram matrix is computed, and n p for
        p > 2048, where it is not kept.

    Raises
    ------
    ConfigError
        When there are several tasks.
    DataError
        When the data are not finite, or the design is zero.

    Notes
    -----
    Derivatives equal to a relative 1e-10 go to the lowest feature. A column of zeros is never
    moved.

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
