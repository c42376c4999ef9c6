"""Ultimate method with its step by alternating randomised block coordinate descent."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.algorithms.matching_pursuit._descent import (
    Lam,
    check_single_task,
    checked_lam,
    single_task,
)
from greedyexp.algorithms.matching_pursuit._ultimate_loops import (
    InnerGrowth,
    InnerIterations,
    InnerLoopIteration,
    MaxInnerIterations,
)
from greedyexp.core.registry import algorithm
from greedyexp.estimates.iteration import Iteration
from greedyexp.kernels.ultimate_inner import random_blocks
from greedyexp.problems.problem import Problem


class _RandomBlocks(InnerLoopIteration):
    def __init__(self, *arguments, seed: int, probability: float):
        super().__init__(*arguments)
        self._rng = np.random.default_rng(seed)
        self._probability = probability

    def solve(self, state, rounds):
        return random_blocks(state, self._rng.random(rounds) < self._probability)[0]


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
    lam: Lam = 0.0,
    inner_iterations: InnerIterations = 100,
    inner_growth: InnerGrowth = 1.02,
    max_inner_iterations: MaxInnerIterations = 2000,
    probability: Annotated[
        float, Field(gt=0, lt=1, description="how often a round takes the representation")
    ] = 0.5,
    seed: Annotated[int, Field(ge=0, description="of the choice of blocks")] = 0,
) -> Iteration:
    """Ultimate method whose steps are solved by alternating randomised block coordinate descent.

    The step is that of ``ultimate_alternating``; here weights theta make ||eta||_1 quadratic too. A
    round minimises over eta, with the given probability, or else over z, and then over both weights
    together, each of them for all coordinates at once:

        eta   = (L1 D^-1 + lam T^-1)^-1 (L1 D^-1 (a - Q z) - g),  D = diag(gamma), T = diag(theta),
        z     = (Q^T D^-1 Q)^-1 Q^T D^-1 (a - eta),
        gamma = |u| / ||u||_1,  u = eta + Q z - a,  theta = |eta|.

    Absolute values are smoothed as in ``ultimate_alternating``, so that no weight is zero, and the
    step is the best eta met. Its coefficients come close to zero and seldom are exactly.

    Parameters
    ----------
    problem : Problem
        One task; iterations begin at its ``start``.
    lam : float >= 0
        Weight of the l1 norm.
    inner_iterations : int >= 1
        Rounds of the first step.
    inner_growth : float >= 1
        Factor by which the rounds grow from one step to the next.
    max_inner_iterations : int >= 1
        Most rounds of a step.
    probability : float in (0, 1)
        How often a round takes eta.
    seed : int >= 0
        Of the choice of blocks.

    Returns
    -------
    Iteration

    Raises
    ------
    ConfigError
        When there are several tasks, or lam is negative or not finite.
    DataError
        When the data are not finite, or the design is zero.

    References
    ----------
    C. Moucer, A. Taylor, F. Bach, Geometry-dependent matching pursuit: a transition phase for
    convergence on linear regression and LASSO, 2024: Appendix F.1. d is the number of features.
    J. Diakonikolas, L. Orecchia, Alternating randomized block coordinate descent, 2018.
    """
    lam = checked_lam(lam)
    task = single_task(problem)
    return _RandomBlocks(
        task,
        lam,
        inner_iterations,
        inner_growth,
        max_inner_iterations,
        seed=seed,
        probability=probability,
    )
