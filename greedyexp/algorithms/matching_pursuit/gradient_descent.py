"""Gradient descent on least squares: plain and proximal."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.matching_pursuit._descent import (
    CompiledIteration,
    Task,
    checked_lam,
    iterative,
    single_task,
)
from greedyexp.estimates.iteration import Iteration, objective
from greedyexp.kernels.coordinate_descent import PROXIMAL_GRADIENT, descend_diagonal
from greedyexp.problems.problem import Problem
from greedyexp.theory import convergence_rates
from greedyexp.theory.constants import smoothness_l2
from greedyexp.theory.convergence_rates import predict_gradient_descent


@iterative(
    "gradient_descent",
    title="Gradient descent",
    paper="Moucer, Taylor & Bach (2024), section 2.1",
    guarantee=convergence_rates.gradient_descent,
    prediction=predict_gradient_descent,
)
def gradient_descent(problem: Problem) -> Iteration:
    """Gradient descent with the step length 1 / L2.

    On F(a) = ||P a - y||^2 / (2 n), every step subtracts grad F(a) / L2 from a, with L2 the largest
    eigenvalue of P^T P / n, the smoothness of F with respect to the Euclidean norm.

    Parameters
    ----------
    problem : Problem
        One task, n samples of p features (d in the paper). The first estimate is
        ``problem.start``, by default zero.

    Returns
    -------
    Iteration
        With lam = 0. After one singular value decomposition a step costs min(n, p), since gradient
        descent is the same in every orthonormal basis.

    Raises
    ------
    ConfigError
        If there are several tasks.
    DataError
        If the data are not finite, or the design is zero.

    References
    ----------
    C. Moucer, A. Taylor, F. Bach, Geometry-dependent matching pursuit: a transition phase for
    convergence on linear regression and LASSO, 2024, Proposition 4.
    """
    return DiagonalDescent(single_task(problem))


@iterative(
    "proximal_gradient",
    title="Proximal gradient",
    paper="Combettes & Wajs (2005); Moucer, Taylor & Bach (2024), eq. 14",
    guarantee=convergence_rates.proximal_gradient,
)
def proximal_gradient(problem: Problem, *, lam: param.Lam) -> Iteration:
    """Proximal gradient with the step length 1 / L2, also known as ISTA.

    On G(a) = ||P a - y||^2 / (2 n) + lam ||a||_1 = F(a) + lam ||a||_1, every step subtracts
    grad F(a) / L2 from a and then moves all coefficients by lam / L2 towards zero; smaller ones
    become zero. L2 is the largest eigenvalue of P^T P / n.

    Parameters
    ----------
    problem : Problem
        One task, n samples of p features (d in the paper). The first estimate is
        ``problem.start``, by default zero.
    lam : float >= 0
        Zero gives gradient descent.

    Returns
    -------
    Iteration
        A step costs n p, and n for every nonzero coefficient.

    Raises
    ------
    ConfigError
        If lam is negative or not finite, or there are several tasks.
    DataError
        If the data are not finite, or the design is zero.

    References
    ----------
    P. L. Combettes, V. R. Wajs, Signal recovery by proximal forward-backward splitting, 2005.
    C. Moucer, A. Taylor, F. Bach, Geometry-dependent matching pursuit: a transition phase for
    convergence on linear regression and LASSO, 2024, eq. 14.
    """
    lam, task = checked_lam(lam), single_task(problem)
    l2 = smoothness_l2(task.design).value
    return CompiledIteration(task, PROXIMAL_GRADIENT, lam, l2, gram=False)


class DiagonalDescent(Iteration):
    """Gradient descent along the right singular vectors of the design."""

    def __init__(self, task: Task):
        self._task = task
        left, singular, self._right = np.linalg.svd(task.design, full_matrices=False)
        residual = task.design @ task.start - task.response
        self._rho = left.T @ residual
        beyond = residual - left @ self._rho
        # Squared distance of y from the range of P, and a bound on rounding in residual norms.
        self._rest = float(beyond @ beyond)
        self._doubt = 1e-14 * float(np.linalg.norm(task.response) + np.linalg.norm(residual))
        self._shift = np.zeros(len(singular))
        # n L2 is the largest squared singular value.
        self._pull = singular / singular[0] ** 2
        self._keep = 1.0 - (singular / singular[0]) ** 2
        self._fixed = ~task.design.any(axis=0)

    @property
    def coef(self) -> np.ndarray:
        coef = self._task.start + self._shift @ self._right
        # The coefficient of a zero column never moves, but the products above round it.
        coef[self._fixed] = self._task.start[self._fixed]
        return coef

    @property
    def objective(self) -> float:
        return objective(self._task.design, self._task.response, self.coef, 0.0)

    def advance(self, until: int, target: float = -np.inf) -> None:
        least = self._least(target)
        while self.iteration < until:
            steps = until - self.iteration if self._outside is None else 1
            if self._descend(steps, least) == steps:
                continue
            # In this basis the target is met up to rounding. The residual itself decides.
            if self.objective <= target:
                return
            self._descend(1, -np.inf)

    def _least(self, target: float) -> float:
        """Return the squared residual norm in this basis below which the target may be met."""
        if target < 0.0:
            return -np.inf
        norm = np.sqrt(2 * len(self._task.response) * target) * (1 + 1e-12) + self._doubt
        return norm**2 - self._rest

    def _descend(self, steps: int, least: float) -> int:
        made = descend_diagonal(self._rho, self._shift, self._pull, self._keep, steps, least)
        self.iteration += made
        self._note()
        return made
