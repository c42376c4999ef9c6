"""Forward greedy selection over an l1 ball."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.sparsity._frank_wolfe import follow, in_ball
from greedyexp.algorithms.sparsity._risk import check, needs_of_ball, step_grid
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.losses.risk import bind_risk
from greedyexp.problems.problem import Problem
from greedyexp.problems.radius import radius_of
from greedyexp.theory.sparsity_bounds import smoothness_of_risk, theorem2
from greedyexp.theory.theorems import Reference, RiskBound


def theorems(path: Path, reference: Reference, **_) -> list[RiskBound]:
    """Return Theorem 2 for the excess and for the end of a run; none outside the ball."""
    if path.loss is None or not in_ball(path, reference):
        return []
    constants = smoothness_of_risk(path.loss), float(path.facts["radius"][0])
    return [theorem2(*constants, counts=counts) for counts in ("excess", "termination")]


@algorithm(
    "forward_greedy",
    title="Forward greedy",
    paper="Shalev-Shwartz, Srebro & Zhang (2009), Algorithm 2",
    requires=needs_of_ball,
    check=check,
    takes_population=True,
    theorems=theorems,
)
def forward_greedy(
    problem: Problem,
    *,
    loss: param.BallLoss = "squared",
    beta: param.Beta = None,
    ridge: param.Ridge = 0.0,
    risk: param.Risk = "sample",
    radius: param.Radius = None,
    steps: param.Steps = 1000,
    epsilon: param.Accuracy = 0.0,
    step: param.StepLength = "paper",
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Minimise R(w) over ||w||_1 <= B1 by steps towards single features (Frank-Wolfe).

    From w = 0, with theta = grad R(w) and the duality gap <theta, w> + B1 ||theta||_inf, take the
    feature j with the largest |theta_j| and go to (1 - eta) w - eta B1 sgn(theta_j) e_j, where
    eta = min(1, gap / (4 beta_R B1^2)); before a step the run ends when gap <= epsilon. After k
    steps at most k coefficients are not zero, and their l1 norm is at most B1.

    Parameters
    ----------
    problem : Problem
        A problem with one task; for ``risk: population`` its moments must be known.
    loss : str
        Name of a loss that has a kernel (``greedyexp list losses``).
        R(w) = E[L(<x, w>, y)] + ridge / 2 ||w||^2 with L of (a, y) = (a - y)^2 / 2,
        log(1 + exp(-y a)), |a - y| or max(0, 1 - y a); the last two are smoothed.
    beta : float > 0, optional
        Smoothness of the smoothed ``absolute`` or ``hinge`` loss; required for these two.
    ridge : float >= 0
    risk : {"sample", "population"}
        Whether E is the mean over the rows, or exact by moments (squared loss only).
    radius : float > 0, optional
        B1; by default the l1 norm of the true coefficients.
    steps : int >= 1
        Maximum number of steps.
    epsilon : float >= 0
        End when the gap is at most this. With 0 all steps are made, unless the run reaches the
        limit of precision before.
    step : {"paper", "line_search"}
        eta as above, or the eta in [0, 1] that minimises R along the line.
    grid : dict of arrays (m,), optional
        ``steps``, or ``steps`` and ``epsilon``: one estimate for each pair, from one run.

    Returns
    -------
    Path
        Estimates after 0, 1, 2, 4, ... steps and at the end of the run; later points repeat the
        last estimate. ``objective`` is R, smoothed if L is. ``facts`` are the ``steps`` made, the
        ``gap``, computed from the estimate alone, and ``radius``. A point is converged unless its
        gap is above its epsilon. A run with ``epsilon`` 0 that uses up its steps is therefore not
        converged; it is if it reaches the limit of precision. A grid may give each point its own
        epsilon; the parameter applies to the end, not to estimates after fewer than ``steps``
        steps.

    Raises
    ------
    ConfigError
        If parameters are impossible together or for this problem, or the grid is not one of steps
        and accuracies.
    DataError
        If the loss does not accept the data.

    Notes
    -----
    *The gap is a certificate*: R(w) - R(v) <= <theta, w - v> <= gap for every v with
    ||v||_1 <= B1, since R is convex.

    *The constant.* beta_R is beta max(1, max |x_ij|)^2 + ridge, with beta = 1 for ``squared`` and
    1/4 for ``logistic``. It is the constant of the paper if features are in [-1, 1], and it is
    valid for all features.

    *The number of steps.* With A = 8 beta_R B1^2 a step lowers R by at least min(gap^2 / A, A / 4),
    so R(w) - R(v) <= A / (k + 3) after k >= 1 steps. The paper infers that the run ends within
    ceil(A / epsilon) steps, but its proof only shows that R(w) - R(v) <= epsilon by then. The gap
    is at most epsilon within twice as many steps, since each further step with a larger gap lowers
    R by more than epsilon^2 / A. A line search lowers R by at least as much in a step.

    *Ties*: the lowest feature. A column that equals an earlier one, or its negative, has the same
    derivative to the last digit, so without a ridge only the earlier one enters. *The limit of
    precision*: the run ends when the gap is zero, or a step would change no digit.

    *Cost.* For the squared loss, or with moments, a step costs d: the gradient is updated by a
    column of E[x x^T] and recomputed every 1000 + 8 d steps. With more than 2048 features a column
    is computed when it is needed for the first time, eight of them in one pass over the design. For
    other losses a step costs one pass, and predictions are recomputed every 1000 steps.

    References
    ----------
    S. Shalev-Shwartz, N. Srebro, T. Zhang, Trading accuracy for sparsity, TTIC-TR-2009-3,
    Algorithm 2 and Theorem 2.
    """
    param.enforce(check, problem, loss=loss, beta=beta, risk=risk)
    asked = step_grid(grid, steps, epsilon)
    bound = bind_risk(loss, problem, ridge=ridge, beta=beta, population=risk == "population")
    size = radius_of(problem, radius, "algorithm 'forward_greedy'")
    answers = follow(bound, problem, size, step, asked)
    facts = {
        "steps": answers.steps,
        "gap": answers.gap,
        "radius": np.full(len(answers.steps), size),
    }
    return answers.path(bound, answers.values(bound.value), facts)
