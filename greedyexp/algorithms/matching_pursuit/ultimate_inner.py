"""Ultimate method with its step by an inner loop: alternating minimisation, or AR-BCD."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.matching_pursuit._descent import (
    Task,
    check_single_task,
    checked_lam,
    single_task,
)
from greedyexp.core.registry import algorithm
from greedyexp.estimates.iteration import Iteration, SteppedIteration
from greedyexp.kernels.ultimate_inner import alternate, begin, random_blocks
from greedyexp.problems.problem import Problem
from greedyexp.solvers.gauge import gauge_coordinates


@algorithm(
    "ultimate_alternating",
    title="Ultimate method, alternating",
    paper="Moucer, Taylor & Bach (2024), Appendix F.2",
    check=check_single_task,
    yields="iterates",
)
def ultimate_alternating(
    problem: Problem,
    *,
    lam: param.Lam = 0.0,
    inner_iterations: param.InnerIterations = 100,
    inner_growth: param.InnerGrowth = 1.02,
    max_inner_iterations: param.MaxInnerIterations = 2000,
) -> Iteration:
    """Ultimate method whose steps are solved by alternating minimisation.

    The step from a = ``coef`` minimises <g, eta - a> + (L1 / 2) ||eta + Q z - a||_1^2 + lam
    ||eta||_1 over eta and z, where Q is a basis of the kernel of P, and goes to P eta. A round
    minimises over z, over weights gamma that make the square quadratic, and over eta:

        z     = (Q^T D^-1 Q)^-1 Q^T D^-1 (a - eta),  D = diag(gamma),
        gamma = |u| / ||u||_1,  u = eta + Q z - a,
        eta   = S(a - Q z - gamma g / L1, lam gamma / L1),  S soft thresholding entry by entry.

    A weight of zero would freeze a coordinate for good. To avoid this, |u_i| is replaced by
    (u_i^2 + e^2)^(1/2), where e in round j = 0, 1, ... is at most ||u||_1 / (p (1 + j)). Each round
    still descends, and the error due to e is at most 1 / (1 + j) of the decrease of the step. The
    step is the best eta found, so the objective never rises. Along the kernel of P, where u stays
    zero, a round moves an entry of eta by at most (|g_i| + lam) gamma_i / L1. With a small lam the
    loop therefore finds the next point long before its representation of least norm, and the
    objective falls behind that of ``ultimate``, however many rounds are affordable. The three
    minimisations are made in the order of the list in the appendix, and Q z is computed from n
    equations without Q.

    Parameters
    ----------
    problem : Problem
        One task. The first estimate is ``problem.start``, by default zero.
    lam : float >= 0
        Weight of the l1 norm.
    inner_iterations : int >= 1
        Rounds of the first step.
    inner_growth : float >= 1
        Factor by which the rounds grow from one step to the next.
    max_inner_iterations : int >= 1
        Maximum number of rounds of a step.

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
    budget = Budget(inner_iterations, inner_growth, max_inner_iterations)
    return _Alternating(single_task(problem), checked_lam(lam), budget)


@algorithm(
    "ultimate_ar_bcd",
    title="Ultimate method, AR-BCD",
    paper="Moucer, Taylor & Bach (2024), Appendix F.1",
    check=check_single_task,
    yields="iterates",
)
def ultimate_ar_bcd(
    problem: Problem,
    *,
    lam: param.Lam = 0.0,
    inner_iterations: param.InnerIterations = 100,
    inner_growth: param.InnerGrowth = 1.02,
    max_inner_iterations: param.MaxInnerIterations = 2000,
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
        One task. The first estimate is ``problem.start``, by default zero.
    lam : float >= 0
        Weight of the l1 norm.
    inner_iterations : int >= 1
        Rounds of the first step.
    inner_growth : float >= 1
        Factor by which the rounds grow from one step to the next.
    max_inner_iterations : int >= 1
        Maximum number of rounds of a step.
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
    budget = Budget(inner_iterations, inner_growth, max_inner_iterations)
    rng = np.random.default_rng(seed)
    return _RandomBlocks(single_task(problem), checked_lam(lam), budget, rng, probability)


@dataclass(frozen=True)
class Budget:
    """Rounds of the inner loops.

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
        """Rounds of the inner loop that follows an iteration."""
        # A larger exponent would overflow.
        longest = np.inf if self.growth == 1.0 else 300.0 / np.log(self.growth)
        grown = self.first * self.growth ** min(iteration, longest)
        return int(min(np.ceil(grown), self.most))


class _InnerLoopIteration(SteppedIteration):
    """The ultimate method with its step by an inner loop.

    Parameters
    ----------
    task : Task
    lam : float >= 0
    budget : Budget
    """

    def __init__(self, task: Task, lam: float, budget: Budget):
        super().__init__(task.design, task.response, lam, task.start)
        self._space = gauge_coordinates(task.design, task.response)
        self._budget = budget

    @abstractmethod
    def solve(self, state, rounds: int) -> np.ndarray:
        """Return the estimate (p,) after this number of rounds."""

    def step(self, coef: np.ndarray) -> np.ndarray:
        space = self._space
        slope = space.atoms @ space.gradient(space.point(coef))
        state = begin(space.atoms, coef, slope, self.lam, space.smoothness)
        return self.solve(state, self._budget.rounds(self.iteration))


class _Alternating(_InnerLoopIteration):
    def solve(self, state, rounds: int) -> np.ndarray:
        return alternate(state, rounds)[0]


class _RandomBlocks(_InnerLoopIteration):
    def __init__(
        self,
        task: Task,
        lam: float,
        budget: Budget,
        rng: np.random.Generator,
        probability: float,
    ):
        super().__init__(task, lam, budget)
        self._rng = rng
        self._probability = probability

    def solve(self, state, rounds: int) -> np.ndarray:
        return random_blocks(state, self._rng.random(rounds) < self._probability)[0]
