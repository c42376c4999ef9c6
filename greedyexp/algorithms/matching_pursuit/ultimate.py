"""Ultimate method: regularised matching pursuit in the geometry of the gauge."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Protocol

import numpy as np
from pydantic import Field

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.matching_pursuit._descent import (
    Task,
    checked_lam,
    iterative,
    single_task,
)
from greedyexp.algorithms.matching_pursuit.coordinate_descent import gs_coordinate_descent
from greedyexp.estimates.iteration import Iteration, SteppedIteration
from greedyexp.kernels.ultimate_inner import InnerLoop
from greedyexp.problems.problem import Problem
from greedyexp.solvers.gauge import GaugeStep, gauge_coordinates
from greedyexp.theory import convergence_rates

# Relative duality gap of a step above which the iterates are reported as unreliable.
_TOLERATED = 1e-12


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
        if step.certificate > _TOLERATED and not self.trouble:
            self.trouble = (
                f"the step of iteration {self.iteration + 1} was solved only to a relative duality"
                f" gap of {step.certificate:.1e}."
            )
        return step.estimate


@iterative(
    "ultimate",
    title="Ultimate method",
    paper="Moucer, Taylor & Bach (2024), eq. 20",
    guarantee=convergence_rates.ultimate,
)
def ultimate(problem: Problem, *, lam: param.Lam = 0.0) -> Iteration:
    """Ultimate method: each step minimises an upper bound in the gauge of the atoms.

    With f(x) = ||x - y||^2 / (2 n) and gauge(x) the least ||a||_1 with P a = x, a step goes to the
    minimiser of <f'(x_k), x - x_k> + (L1 / 2) gauge(x - x_k)^2 + lam gauge(x), where L1 is the
    largest ||P_i||^2 / n. The estimate is a sparse representation of the point, of least l1 norm.
    Each step is solved exactly; its duality gap is its certificate. If the columns are linearly
    independent the method is ``rmp``; with lam = 0 it is ``gs_coordinate_descent``. Unlike those,
    for lam > 0 it converges linearly from the first iteration even with more features than samples
    (Prop. 20). The objective never rises.

    If several representations of the next point have the least l1 norm, or several points are
    minimisers, the same one is chosen in every run. Columns of zeros are never used.

    Parameters
    ----------
    problem : Problem
        A problem with one task. The first estimate is ``problem.start``, by default zero.
    lam : float >= 0
        Weight of the l1 norm.

    Returns
    -------
    Iteration
        For lam > 0 with the attribute ``certificate``, the largest duality gap of a step relative
        to the objective before it; above 1e-12 there is ``trouble``. For lam = 0 the iteration of
        ``gs_coordinate_descent``, whose steps need no certificate.

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


@iterative(
    "ultimate_alternating",
    title="Ultimate method, alternating",
    paper="Moucer, Taylor & Bach (2024), Appendix F.2",
)
def ultimate_alternating(
    problem: Problem,
    *,
    lam: param.Lam = 0.0,
    inner_iterations: param.InnerIterations = 100,
    inner_growth: param.InnerGrowth = 1.02,
    max_inner_iterations: param.MaxInnerIterations = 2000,
    inner_budget: param.InnerBudget = "geometric",
    smoothing: param.InnerSmoothing = None,
) -> Iteration:
    """Ultimate method whose steps are solved by alternating minimisation.

    The step from a = ``coef`` minimises <g, eta - a> + (L1 / 2) ||eta + Q z - a||_1^2 + lam
    ||eta||_1 over eta and z, where Q is a basis of the kernel of P, and goes to P eta. A round
    minimises over z, over weights gamma that make the square quadratic, and over eta:

        z     = (Q^T D^-1 Q)^-1 Q^T D^-1 (a - eta),  D = diag(gamma),
        gamma = |u| / ||u||_1,  u = eta + Q z - a,
        eta   = S(a - Q z - gamma g / L1, lam gamma / L1),  S soft thresholding entry by entry.

    A weight of zero would freeze a coordinate permanently. To avoid this, |u_i| is replaced by
    (u_i^2 + e^2)^(1/2), where e in round j = 0, 1, ... is at most ||u||_1 / (p (1 + j)). Each round
    still descends, and the error due to e is at most 1 / (1 + j) of the decrease of the step. The
    step is the best eta found, so the objective never rises. Along the kernel of P, where u stays
    zero, a round moves an entry of eta by at most (|g_i| + lam) gamma_i / L1. With a small lam the
    loop therefore finds the next point long before its representation of least norm, and even with
    many rounds the objective is above that of ``ultimate``. The three minimisations are made in the
    order of the list in the appendix, and Q z is computed from n equations without Q.

    Parameters
    ----------
    problem : Problem
        A problem with one task. The first estimate is ``problem.start``, by default zero.
    lam : float >= 0
        Weight of the l1 norm.
    inner_iterations : int >= 1
        Rounds of the first step.
    inner_growth : float >= 1
        Factor by which the rounds grow from one step to the next.
    max_inner_iterations : int >= 1
        Maximum number of rounds of a step.
    inner_budget : {"geometric", "published"}
        The rounds of step i = 1, 2, ...: inner_iterations inner_growth^(i - 1), or the numbers of
        the authors' script for Figure 9, 8 max(i, floor((1 - mu1 / L1)^(-2 i)) + 1), with a lower
        bound on mu1 or mu1L.
    smoothing : float > 0, optional
        A constant e^2, 1e-7 in the authors' script. By default e falls as above.

    Returns
    -------
    Iteration

    Raises
    ------
    ConfigError
        If there are several tasks, or lam is negative or not finite.
    DataError
        If the data are not finite, or the design is zero.

    References
    ----------
    C. Moucer, A. Taylor, F. Bach, Geometry-dependent matching pursuit: a transition phase for
    convergence on linear regression and LASSO, 2024: Appendix F.2. d is the number of features.
    """
    task, lam = single_task(problem), checked_lam(lam)
    budget: Budget = GeometricBudget(inner_iterations, inner_growth, max_inner_iterations)
    if inner_budget == "published":
        budget = PublishedBudget(convergence_rates.gauge_rate(problem), max_inner_iterations)
    return _InnerLoopIteration(
        task, lam, budget, smoothing, lambda loop, rounds: loop.alternate(rounds)[0]
    )


@iterative(
    "ultimate_ar_bcd",
    title="Ultimate method, AR-BCD",
    paper="Moucer, Taylor & Bach (2024), Appendix F.1",
)
def ultimate_ar_bcd(
    problem: Problem,
    *,
    lam: param.Lam = 0.0,
    inner_iterations: param.InnerIterations = 100,
    inner_growth: param.InnerGrowth = 1.02,
    max_inner_iterations: param.MaxInnerIterations = 2000,
    inner_budget: param.InnerBudget = "geometric",
    smoothing: param.InnerSmoothing = None,
    probability: Annotated[
        float, Field(gt=0, lt=1, description="probability that a round minimises over eta")
    ] = 0.5,
    seed: Annotated[int, Field(ge=0, description="seed of the choice of blocks")] = 0,
) -> Iteration:
    """Ultimate method whose steps are solved by alternating randomised block coordinate descent.

    The step is that of ``ultimate_alternating``; here weights theta make ||eta||_1 quadratic too. A
    round minimises over eta with the given probability, otherwise over z, and then over both
    weights, in each case over all coordinates at once:

        eta   = (L1 D^-1 + lam T^-1)^-1 (L1 D^-1 (a - Q z) - g),  D = diag(gamma), T = diag(theta),
        z     = (Q^T D^-1 Q)^-1 Q^T D^-1 (a - eta),
        gamma = |u| / ||u||_1,  u = eta + Q z - a,  theta = |eta|.

    Absolute values are smoothed as in ``ultimate_alternating``, so no weight is zero, and the step
    is the best eta found. Its coefficients come close to zero but are seldom exactly zero.

    Parameters
    ----------
    problem : Problem
        A problem with one task. The first estimate is ``problem.start``, by default zero.
    lam : float >= 0
        Weight of the l1 norm.
    inner_iterations : int >= 1
        Rounds of the first step.
    inner_growth : float >= 1
        Factor by which the rounds grow from one step to the next.
    max_inner_iterations : int >= 1
        Maximum number of rounds of a step.
    inner_budget : {"geometric", "published"}
        The rounds of step i = 1, 2, ...: inner_iterations inner_growth^(i - 1), or the numbers of
        the authors' script for Figure 9, 8 max(i, floor((1 - mu1 / L1)^(-2 i)) + 1), with a lower
        bound on mu1 or mu1L.
    smoothing : float > 0, optional
        A constant e^2, 1e-7 in the authors' script. By default e falls as above.
    probability : float in (0, 1)
        Probability that a round minimises over eta.
    seed : int >= 0
        Seed of the choice of blocks.

    Returns
    -------
    Iteration

    Raises
    ------
    ConfigError
        If there are several tasks, or lam is negative or not finite.
    DataError
        If the data are not finite, or the design is zero.

    References
    ----------
    C. Moucer, A. Taylor, F. Bach, Geometry-dependent matching pursuit: a transition phase for
    convergence on linear regression and LASSO, 2024: Appendix F.1. d is the number of features.
    J. Diakonikolas, L. Orecchia, Alternating randomized block coordinate descent, 2018.
    """
    task, lam = single_task(problem), checked_lam(lam)
    budget: Budget = GeometricBudget(inner_iterations, inner_growth, max_inner_iterations)
    if inner_budget == "published":
        budget = PublishedBudget(convergence_rates.gauge_rate(problem), max_inner_iterations)
    rng = np.random.default_rng(seed)
    return _InnerLoopIteration(
        task,
        lam,
        budget,
        smoothing,
        lambda loop, rounds: loop.random_blocks(rng.random(rounds) < probability)[0],
    )


class Budget(Protocol):
    """Rounds of the inner loops."""

    def rounds(self, iteration: int) -> int:
        """Return the number of rounds of the inner loop after an iteration."""


@dataclass(frozen=True)
class GeometricBudget:
    """Rounds that grow by a constant factor.

    Parameters
    ----------
    first : int >= 1
        Rounds of the first inner loop.
    growth : float >= 1
        Growth factor from one iteration to the next.
    most : int >= 1
        Maximum number of rounds.
    """

    first: int
    growth: float
    most: int

    def rounds(self, iteration: int) -> int:
        return int(min(np.ceil(self.first * _power(self.growth, iteration)), self.most))


@dataclass(frozen=True)
class PublishedBudget:
    """Rounds of the authors' script for Figure 9.

    Step i = 1, 2, ... has 8 max(i, floor(rate^(-2 i)) + 1) rounds.

    Parameters
    ----------
    rate : float in [0, 1]
        1 - mu1 / L1.
    most : int >= 1
        Maximum number of rounds.
    """

    rate: float
    most: int

    def rounds(self, iteration: int) -> int:
        step = iteration + 1
        inverse = np.inf if self.rate == 0.0 else _power(self.rate**-2, step)
        return int(min(8 * max(step, np.floor(inverse) + 1), self.most))


def _power(base: float, exponent: int) -> float:
    """Return base^exponent for base >= 1, with larger exponents cut where it would overflow."""
    longest = np.inf if base == 1.0 else 300.0 / np.log(base)
    return base ** min(exponent, longest)


class _InnerLoopIteration(SteppedIteration):
    """The ultimate method with its step by an inner loop.

    Parameters
    ----------
    task : Task
    lam : float >= 0
    budget : Budget
    smoothing : float > 0 or None
        A constant e^2.
    solve : callable
        Returns the estimate (p,) from a loop and its number of rounds.
    """

    def __init__(
        self,
        task: Task,
        lam: float,
        budget: Budget,
        smoothing: float | None,
        solve: Callable[[InnerLoop, int], np.ndarray],
    ):
        super().__init__(task.design, task.response, lam, task.start)
        self._space = gauge_coordinates(task.design, task.response)
        self._budget = budget
        self._floor = None if smoothing is None else math.sqrt(smoothing)
        self._solve = solve

    def step(self, coef: np.ndarray) -> np.ndarray:
        space = self._space
        slope = space.atoms @ space.gradient(space.point(coef))
        loop = InnerLoop(space.atoms, coef, slope, self.lam, space.smoothness, self._floor)
        return self._solve(loop, self._budget.rounds(self.iteration))
