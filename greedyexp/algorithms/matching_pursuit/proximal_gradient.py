"""Proximal gradient on least squares with an l1 penalty: ISTA."""

from __future__ import annotations

from greedyexp.algorithms.matching_pursuit._descent import (
    CompiledIteration,
    Lam,
    check_single_task,
    checked_lam,
    single_task,
)
from greedyexp.core.registry import algorithm
from greedyexp.estimates.iteration import Iteration
from greedyexp.kernels.coordinate_descent import PROXIMAL_GRADIENT
from greedyexp.problems.problem import Problem
from greedyexp.theory import convergence_rates
from greedyexp.theory.constants import smoothness_l2


@algorithm(
    "proximal_gradient",
    title="Proximal gradient",
    paper="Combettes & Wajs (2005); Moucer, Taylor & Bach (2024), eq. 14",
    yields="iterates",
    check=check_single_task,
    guarantee=convergence_rates.proximal_gradient,
)
def proximal_gradient(problem: Problem, *, lam: Lam) -> Iteration:
    """Proximal gradient with the step length 1 / L2, also known as ISTA.

    On G(a) = ||P a - y||^2 / (2 n) + lam ||a||_1 = F(a) + lam ||a||_1, every step subtracts
    grad F(a) / L2 from a and moves all coefficients by lam / L2 towards zero, those that are no
    larger to zero; L2 is the largest eigenvalue of P^T P / n.

    Parameters
    ----------
    problem : Problem
        One task, n samples of p features (d in the paper); begins at ``problem.start``, else at
        zero.
    lam : float >= 0
        Zero gives gradient descent.

    Returns
    -------
    Iteration
        A step costs n p, and n for every nonzero coefficient.

    Raises
    ------
    ConfigError
        When lam is negative or not finite, or there are several tasks.
    DataError
        When the data are not finite, or the design is zero.

    References
    ----------
    P. L. Combettes, V. R. Wajs, Signal recovery by proximal forward-backward splitting, 2005.
    C. Moucer, A. Taylor, F. Bach, Geometry-dependent matching pursuit: a transition phase for
    convergence on linear regression and LASSO, 2024, eq. 14.
    """
    lam, task = checked_lam(lam), single_task(problem)
    l2 = smoothness_l2(task.design).value
    return CompiledIteration(task, PROXIMAL_GRADIENT, lam, l2, gram=False)
