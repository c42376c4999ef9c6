"""Ultimate method: regularised matching pursuit in the geometry of the gauge."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.matching_pursuit._descent import (
    Task,
    check_single_task,
    checked_lam,
    single_task,
)
from greedyexp.algorithms.matching_pursuit.coordinate_descent import gs_coordinate_descent
from greedyexp.core.registry import algorithm
from greedyexp.estimates.iteration import Iteration, SteppedIteration
from greedyexp.problems.problem import Problem
from greedyexp.solvers.gauge import GaugeStep
from greedyexp.theory import convergence_rates

# Relative duality gap of a step above which the iterates are reported as not reliable.
TOLERATED = 1e-12


class UltimateIteration(SteppedIteration):
    """Iterates of the ultimate method with a penalty.

    Parameters
    ----------
    task : Task
    lam : float > 0

    Attributes
    ----------
    certificate : float >= 0
        Largest duality gap of a step so far, relative to the objective before it.
    """

    certificate: float = 0.0

    def __init__(self, task: Task, lam: float):
        super().__init__(task.design, task.response, lam, task.start)
        self._gauge_step = GaugeStep(task.design, task.response, lam)

    def step(self, coef: np.ndarray) -> np.ndarray:
        step = self._gauge_step(coef)
        self.certificate = max(self.certificate, step.certificate)
        if step.certificate > TOLERATED and not self.trouble:
            self.trouble = (
                f"the step of iteration {self.iteration + 1} was solved only to a relative duality"
                f" gap of {step.certificate:.1e}."
            )
        return step.estimate


@algorithm(
    "ultimate",
    title="Ultimate method",
    paper="Moucer, Taylor & Bach (2024), eq. 20",
    check=check_single_task,
    yields="iterates",
    guarantee=convergence_rates.ultimate,
)
def ultimate(problem: Problem, *, lam: param.Lam = 0.0) -> Iteration:
    """Ultimate method: each step minimises the upper bound that the gauge of the atoms gives.

    With f(x) = ||x - y||^2 / (2 n) and gauge(x) the least ||a||_1 with P a = x, a step goes to the
    minimiser of <f'(x_k), x - x_k> + (L1 / 2) gauge(x - x_k)^2 + lam gauge(x), where L1 is the
    largest ||P_i||^2 / n. The estimate is a sparse representation of the point, of least l1 norm.
    Each step is solved exactly; its duality gap is its certificate. If the columns are linearly
    independent the method is ``rmp``; with lam = 0 it is ``gs_coordinate_descent``. Unlike those,
    for lam > 0 it converges linearly from the first iteration even with more features than samples
    (Prop. 20). The objective never rises.

    If several representations of the next point have the least l1 norm, or several points are
    minimisers, one of them is taken, the same in every run. Columns of zeros are never used.

    Parameters
    ----------
    problem : Problem
        One task. The first estimate is ``problem.start``, by default zero.
    lam : float >= 0
        Weight of the l1 norm.

    Returns
    -------
    Iteration
        For lam > 0 with the attribute ``certificate``, the largest duality gap of a step relative
        to the objective before it; above 1e-12 there is ``trouble``. For lam = 0 that of
        ``gs_coordinate_descent``, whose steps need none.

    Raises
    ------
    ConfigError
        If there are several tasks, or lam is negative or not finite.
    DataError
        If the data are not finite, or the design is zero.

    References
    ----------
    C. Moucer, A. Taylor, F. Bach, Geometry-dependent matching pursuit: a transition phase for
    convergence on linear regression and LASSO, 2024: eq. 20, Prop. 20. d is the number of features.
    """
    lam = checked_lam(lam)
    if lam == 0:
        # Then v = 0 in the dual of the step, so the step is along the best atom alone (eq. 11).
        return gs_coordinate_descent(problem)
    return UltimateIteration(single_task(problem), lam)
