"""Forward greedy selection over an l1 ball with a loss that is not smooth."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from greedyexp.algorithms._limits import enforce
from greedyexp.algorithms._risk_settings import (
    Radius,
    Ridge,
    Steps,
    needs_of_ball,
    radius_of,
)
from greedyexp.algorithms._risk_settings import check as check_risk
from greedyexp.algorithms._step_grid import step_grid
from greedyexp.algorithms.sparsity._frank_wolfe import StepLength, holds
from greedyexp.algorithms.sparsity._frank_wolfe_smoothed import SmoothedRuns
from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem
from greedyexp.theory.sparsity_bounds import lipschitz_of_risk
from greedyexp.theory.sparsity_smoothing import corollary2, theorem2_2008
from greedyexp.theory.theorems import Reference, RiskBound, no_bound

LipschitzLoss = Annotated[
    Literal["absolute", "hinge"], Field(description="what is minimised, in the mean")
]
Epsilon = Annotated[
    float, Field(gt=0, description="accuracy of the risk with the loss as it is, in all")
]
Reading = Annotated[
    Literal["corrected", "2009", "2008"],
    Field(description="which smoothing, and which part of epsilon is left for the steps"),
]


def check(shape: dict, *, loss: str, **_) -> None:
    """Refuse what no problem of this shape can have; see ``risk_settings.check``."""
    check_risk(shape, loss=loss, beta=1.0, risk="sample")


def _needs(*, radius: float | None, **_) -> tuple[str, ...]:
    return needs_of_ball(radius=radius, risk="sample")


def theorems(
    path: Path, reference: Reference, *, ridge: float, epsilon: float, reading: str, **_
) -> list[RiskBound]:
    """What is proved, or printed, of the reading, for a reference in the ball.

    The bound of the excess after k steps is that of runs for the parameter epsilon, and infinite
    when the path has others.
    """
    if not holds(path, reference):
        return []
    constants = lipschitz_of_risk(path.loss), float(path.facts["radius"][0])
    told = {"ridge": ridge, "epsilon": epsilon}
    if reading == "2008":
        promise = theorem2_2008(*constants, **told)
    else:
        printed = "printed" if reading == "2009" else "corrected"
        promise = corollary2(*constants, **told, reading=printed)
    if (path.facts["beta"] != path.loss.beta).any():
        promise = replace(promise, excess=no_bound)
    return [promise]


@algorithm(
    "smoothed_forward_greedy",
    title="Smoothed forward greedy",
    paper="Shalev-Shwartz & Srebro (2008), Figure 2; Shalev-Shwartz, Srebro & Zhang (2009), Cor. 2",
    requires=_needs,
    check=check,
    theorems=theorems,
)
def smoothed_forward_greedy(
    problem: Problem,
    *,
    loss: LipschitzLoss = "hinge",
    ridge: Ridge = 0.0,
    radius: Radius = None,
    epsilon: Epsilon = 0.1,
    steps: Steps = 100_000,
    step: StepLength = "paper",
    reading: Reading = "corrected",
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Minimise the mean absolute or hinge loss over ||w||_1 <= B1 to an accuracy epsilon.

    The loss L is replaced by its infimal convolution with beta v^2 / 2, which is beta-smooth and
    at most rho^2 / (2 beta) below it (rho = 1 for both), and ``forward_greedy`` runs on the risk
    with that until its duality gap is at most what ``reading`` says.

    Parameters
    ----------
    problem : Problem
        One task.
    loss : {"absolute", "hinge"}
        R(w) = mean_i L(<x_i, w>, y_i) + ridge / 2 ||w||^2 with L of (a, y) = |a - y| or
        max(0, 1 - y a).
    ridge : float >= 0
    radius : float > 0, optional
        B1; by default the l1 norm of the true coefficients.
    epsilon : float > 0
        Accuracy in all.
    steps : int >= 1
        Most steps.
    step : {"paper", "line_search"}
        As in ``forward_greedy``.
    reading : {"corrected", "2009", "2008"}
        ==========  =================  =======================  =============================
        reading     beta               the gap to reach         R - R* at the end is at most
        ==========  =================  =======================  =============================
        corrected   rho^2 / epsilon    epsilon / 2              3/4 epsilon
        2009        rho^2 / epsilon    epsilon, as printed      5/4 epsilon
        2008        2 rho^2 / epsilon  epsilon / 2              5/8 epsilon
        ==========  =================  =======================  =============================
    grid : dict of arrays (m,), optional
        ``steps``, or ``steps`` and ``epsilon``: one estimate for each pair. Every epsilon has a
        smoothing and a run of its own.

    Returns
    -------
    Path
        Estimates after 0, 1, 2, 4, ... steps and at the end; a grid beyond repeats the end.
        ``objective`` is R with L as it is. ``loss`` is smoothed for the parameter epsilon; its
        ``unsmoothed`` is R, whatever the epsilon of a point. ``facts`` are the ``steps`` made;
        the ``gap``, a bound of R(w) - R*; the ``smoothed_gap`` that is compared with what is to be
        reached, of the ``smoothed_risk``; ``beta``; ``risk``, which is the objective; and
        ``radius``. A point is converged unless its smoothed gap is above what it should reach. A
        grid may ask an epsilon of each point; the parameter is asked of the end, not of estimates
        after fewer than ``steps`` steps.

    Raises
    ------
    ConfigError
        When parameters are impossible together or for this problem, or the grid is none of steps
        and accuracies > 0.
    DataError
        When the loss does not take the data.

    Notes
    -----
    *The gap is a certificate for R.* With S the smoothed risk, S <= R <= S + rho^2 / (2 beta) at
    every point, and so are the minima over the ball, so that R(w) - R* is at most the smoothed gap
    and rho^2 / (2 beta). Half of that is enough (``sparsity_smoothing.certified_error``): ``gap``
    is the smoothed gap and rho^2 / (4 beta).

    *What is mended.* Corollary 2 of 2009 has beta = rho^2 / epsilon, by which smoothing alone costs
    up to epsilon / 2 in its proof, and leaves all of epsilon to the steps: its run ends with R - R*
    as large as 5/4 epsilon. With epsilon / 2 left to the steps its Theorem 2 counts 16 rho^2 B1^2 /
    epsilon^2 of them instead of 8. The report of 2008, whose beta is the inverse of this one, has
    the third reading, and counts the smoothing twice.

    References
    ----------
    S. Shalev-Shwartz, N. Srebro, Iterative loss minimization with l1-norm constraint and guarantees
    on sparsity, 2008, Figure 2, Theorem 2.

    S. Shalev-Shwartz, N. Srebro, T. Zhang, Trading accuracy for sparsity, TTIC-TR-2009-3,
    Lemma 2, Corollary 2.
    """
    enforce(check, problem, loss=loss)
    asked = step_grid(grid, steps, epsilon)
    if not (asked.epsilon > 0.0).all():
        raise ConfigError("epsilon must be positive: a loss that is not smooth has no exact run.")
    size = radius_of(problem, radius, "algorithm 'smoothed_forward_greedy'")
    runs = SmoothedRuns(problem, loss, ridge, size, step, reading)
    return runs.path(asked, epsilon)
