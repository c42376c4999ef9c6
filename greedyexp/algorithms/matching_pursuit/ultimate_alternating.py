"""Ultimate method with its step by alternating minimisation."""

from __future__ import annotations

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
from greedyexp.kernels.ultimate_inner import alternate
from greedyexp.problems.problem import Problem


class _Alternating(InnerLoopIteration):
    def solve(self, state, rounds):
        return alternate(state, rounds)[0]


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
    lam: Lam = 0.0,
    inner_iterations: InnerIterations = 100,
    inner_growth: InnerGrowth = 1.02,
    max_inner_iterations: MaxInnerIterations = 2000,
) -> Iteration:
    """Ultimate method whose steps are solved by alternating minimisation.

    The step from a = ``coef`` minimises <g, eta - a> + (L1 / 2) ||eta + Q z - a||_1^2 + lam
    ||eta||_1 over eta and z, where Q is a basis of the kernel of P, and goes to P eta. A round
    minimises over z, over weights gamma that make the square quadratic, and over eta:

        z     = (Q^T D^-1 Q)^-1 Q^T D^-1 (a - eta),  D = diag(gamma),
        gamma = |u| / ||u||_1,  u = eta + Q z - a,
        eta   = S(a - Q z - gamma g / L1, lam gamma / L1),  S soft thresholding entry by entry.

    Weights of zero, which would freeze a coordinate for good, do not occur: |u_i| stands for
    (u_i^2 + e^2)^(1/2), where e in round j = 0, 1, ... is ||u||_1 / (p (1 + j)) or less. Each round
    still descends, and the error that e brings is the part 1 / (1 + j) of what the step is worth.
    The step is the best eta met, so that the objective never rises. Along the kernel of P, where u
    stays zero, a round moves an entry of eta by no more than (|g_i| + lam) gamma_i / L1. With a
    small lam the loop therefore finds the next point long before its representation of least norm,
    and the objective falls behind that of ``ultimate`` however many rounds are affordable. Of the
    printed appendix, the order of the three is that of its list of minimisations, and Q z is
    computed from n equations without Q.

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
    convergence on linear regression and LASSO, 2024: Appendix F.2. d is the number of features.
    """
    lam = checked_lam(lam)
    task = single_task(problem)
    return _Alternating(task, lam, inner_iterations, inner_growth, max_inner_iterations)
