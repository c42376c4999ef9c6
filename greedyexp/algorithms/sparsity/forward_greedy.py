"""Forward greedy selection over an l1 ball."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms._limits import enforce
from greedyexp.algorithms._risk_settings import (
    Accuracy,
    Beta,
    Radius,
    Ridge,
    Risk,
    RiskLoss,
    RiskModel,
    Steps,
    check,
    needs_of_ball,
    radius_of,
)
from greedyexp.algorithms._step_grid import step_grid
from greedyexp.algorithms.sparsity._frank_wolfe import StepLength, follow, holds, remarks
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem
from greedyexp.theory.sparsity_bounds import smoothness_of_risk, theorem2
from greedyexp.theory.theorems import Reference, RiskBound


def theorems(path: Path, reference: Reference, **_) -> list[RiskBound]:
    """Theorem 2, as it is proved for the excess and for the end, of a reference in the ball."""
    if not holds(path, reference):
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
    loss: RiskLoss = "squared",
    beta: Beta = None,
    ridge: Ridge = 0.0,
    risk: Risk = "sample",
    radius: Radius = None,
    steps: Steps = 1000,
    epsilon: Accuracy = 0.0,
    step: StepLength = "paper",
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
        One task; with ``risk: population`` one with moments.
    loss : {"squared", "logistic", "absolute", "hinge"}
        R(w) = E[L(<x, w>, y)] + ridge / 2 ||w||^2 with L of (a, y) = (a - y)^2 / 2,
        log(1 + exp(-y a)), |a - y| or max(0, 1 - y a); the last two are smoothed.
    beta : float > 0, optional
        Smoothness of the smoothed ``absolute`` or ``hinge`` loss, which need it.
    ridge : float >= 0
    risk : {"sample", "population"}
        Whether E is the mean over the rows, or exact by moments (squared loss only).
    radius : float > 0, optional
        B1; by default the l1 norm of the true coefficients.
    steps : int >= 1
        Most steps.
    epsilon : float >= 0
        End when the gap is at most this. With 0 all steps are made, unless the run comes to the end
        of precision before.
    step : {"paper", "line_search"}
        eta as above, or that of the least R along the line, in [0, 1].
    grid : dict of arrays (m,), optional
        ``steps``, or ``steps`` and ``epsilon``: one estimate for each pair, out of one run.

    Returns
    -------
    Path
        Estimates after 0, 1, 2, 4, ... steps and at the end; a grid beyond repeats the end.
        ``objective`` is R, smoothed where L is. ``facts`` are the ``steps`` made, the ``gap``,
        computed from the estimate alone, and ``radius``. A point is converged unless its gap is
        above the epsilon asked of it. A run with ``epsilon`` 0 that uses up its steps is therefore
        not converged; it is if it comes to the end of precision. A grid may ask an epsilon of each
        point; the parameter is asked of the end, not of estimates after fewer than ``steps`` steps.

    Raises
    ------
    ConfigError
        When parameters are impossible together or for this problem, or the grid is none of steps
        and accuracies.
    DataError
        When the loss does not take the data.

    Notes
    -----
    *The gap is a certificate*: R(w) - R(v) <= <theta, w - v> <= gap for every v with
    ||v||_1 <= B1, since R is convex.

    *The constant.* beta_R is beta max(1, max |x_ij|)^2 + ridge, with beta = 1 for ``squared`` and
    1/4 for ``logistic``: the constant of the paper when features are in [-1, 1], and valid for any.

    *The number of steps.* With A = 8 beta_R B1^2 a step lowers R by at least min(gap^2 / A, A / 4),
    so that R(w) - R(v) <= A / (k + 3) after k >= 1 steps. The paper infers that the run ends
    within ceil(A / epsilon) steps; its proof shows that R(w) - R(v) <= epsilon by then. That the
    gap is follows within twice as many, since each further step with a gap above epsilon lowers R
    by more than epsilon^2 / A. A line search lowers R by no less in a step.

    *Ties*: the lowest feature. A column that equals an earlier one, or its negative, has the same
    derivative to the last digit, so that without a ridge only the earlier one enters. *The end of
    precision*: when the gap is zero, or a step would change no digit, the run ends.

    *Cost.* With the squared loss and up to 2048 features, or with moments, a step costs d: the
    gradient follows by a column of E[x x^T], and is computed afresh every 1000 + 8 d steps.
    Otherwise it costs one pass over the design, and predictions are computed afresh every 1000
    steps.

    References
    ----------
    S. Shalev-Shwartz, N. Srebro, T. Zhang, Trading accuracy for sparsity, TTIC-TR-2009-3,
    Algorithm 2 and Theorem 2.
    """
    enforce(check, problem, loss=loss, beta=beta, risk=risk)
    asked = step_grid(grid, steps, epsilon)
    bound = RiskModel(loss, beta, ridge, risk).bind(problem)
    size = radius_of(problem, radius, "algorithm 'forward_greedy'")
    answers = follow(bound, problem, size, step, asked)
    coef = np.stack([point.coef for point in answers.points])
    return Path(
        coef=coef[:, :, None],
        grid=answers.asked.grid,
        objective=answers.values(bound.value),
        converged=np.array([point.reached for point in answers.points]),
        message=remarks(answers.points, answers.asked, answers.stuck),
        loss=bound,
        facts={
            "steps": np.array([point.steps for point in answers.points]),
            "gap": np.array([point.gap for point in answers.points]),
            "radius": np.full(len(coef), size),
        },
    )
