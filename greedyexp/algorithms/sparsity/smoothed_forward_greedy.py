"""Forward greedy selection over an l1 ball for a nonsmooth loss, which is smoothed."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.sparsity import _risk
from greedyexp.algorithms.sparsity._frank_wolfe import Answers, follow, in_ball
from greedyexp.algorithms.sparsity._risk import needs_of_ball, step_grid
from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.losses.loss import Loss
from greedyexp.losses.risk import bind_risk
from greedyexp.problems.problem import Problem
from greedyexp.problems.radius import radius_of
from greedyexp.theory.sparsity_bounds import lipschitz_of_risk
from greedyexp.theory.sparsity_smoothing import READINGS, certified_error, corollary2, theorem2_2008
from greedyexp.theory.theorems import Reference, RiskBound, no_bound

# The Lipschitz constant of the absolute and of the hinge loss.
_RHO = 1.0


def check(shape: dict, *, loss: str, **_) -> None:
    """Raise ValueError if the loss is impossible for data of this shape."""
    _risk.check(shape, loss=loss, beta=1.0, risk="sample")


def theorems(
    path: Path, reference: Reference, *, ridge: float, epsilon: float, reading: str, **_
) -> list[RiskBound]:
    """Return the theorem of the reading, proved or printed; none outside the ball.

    The bound of the excess after k steps holds for runs with the parameter epsilon. It is infinite
    if points of the path have another epsilon.
    """
    loss = path.loss
    if loss is None or not in_ball(path, reference):
        return []
    rho, radius = lipschitz_of_risk(loss), float(path.facts["radius"][0])
    if reading == "2008":
        promise = theorem2_2008(rho, radius, ridge=ridge, epsilon=epsilon)
    else:
        printed = "printed" if reading == "2009" else "corrected"
        promise = corollary2(rho, radius, ridge=ridge, epsilon=epsilon, reading=printed)
    if np.any(path.facts["beta"] != loss.beta):
        promise = replace(promise, excess=no_bound)
    return [promise]


@algorithm(
    "smoothed_forward_greedy",
    title="Smoothed forward greedy",
    paper="Shalev-Shwartz & Srebro (2008), Figure 2; Shalev-Shwartz, Srebro & Zhang (2009), Cor. 2",
    requires=needs_of_ball,
    check=check,
    theorems=theorems,
)
def smoothed_forward_greedy(
    problem: Problem,
    *,
    loss: param.KinkedLoss = "hinge",
    ridge: param.Ridge = 0.0,
    radius: param.Radius = None,
    epsilon: Annotated[
        float, Field(gt=0, description="total accuracy of the risk with the unsmoothed loss")
    ] = 0.1,
    steps: param.Steps = 100_000,
    step: param.StepLength = "paper",
    reading: Annotated[
        Literal["corrected", "2009", "2008"],
        Field(
            description="choice of the smoothing and of the fraction of epsilon left for the steps"
        ),
    ] = "corrected",
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Minimise the mean absolute or hinge loss over ||w||_1 <= B1 to an accuracy epsilon.

    The loss L is replaced by its infimal convolution with beta v^2 / 2, which is beta-smooth and
    at most rho^2 / (2 beta) below it (rho = 1 for both). ``forward_greedy`` runs on the smoothed
    risk until its duality gap is at most the value given by ``reading``.

    Parameters
    ----------
    problem : Problem
        A problem with one task.
    loss : str
        Name of a loss that has a kernel and needs smoothing.
        R(w) = mean_i L(<x_i, w>, y_i) + ridge / 2 ||w||^2 with L of (a, y) = |a - y| or
        max(0, 1 - y a).
    ridge : float >= 0
    radius : float > 0, optional
        B1; by default the l1 norm of the true coefficients.
    epsilon : float > 0
        Total accuracy.
    steps : int >= 1
        Maximum number of steps.
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
        ``steps``, or ``steps`` and ``epsilon``: one estimate for each pair. Each epsilon has its
        own smoothing and run.

    Returns
    -------
    Path
        Estimates after 0, 1, 2, 4, ... steps and at the end of the run; later points repeat the
        last estimate. ``objective`` is R with L not smoothed. ``loss`` is smoothed for the
        parameter epsilon; its ``unsmoothed`` is R, whatever the epsilon of a point. ``facts`` are
        the ``steps`` made; the ``gap``, a bound on R(w) - R*; the ``smoothed_risk`` and its gap
        ``smoothed_gap``, which is compared with the gap to reach; ``beta``; ``risk``, which is the
        objective; and ``radius``. A point is converged unless its smoothed gap is above the gap to
        reach. A grid may give each point its own epsilon; the parameter applies to the end, not to
        estimates after fewer than ``steps`` steps.

    Raises
    ------
    ConfigError
        If parameters are impossible together or for this problem, or the grid is not one of steps
        and accuracies > 0.
    DataError
        If the loss does not accept the data.

    Notes
    -----
    *The gap is a certificate for R.* With S the smoothed risk, S <= R <= S + rho^2 / (2 beta) at
    every point, and the same holds for the minima over the ball. So R(w) - R* is at most the
    smoothed gap plus rho^2 / (2 beta). Half of the second term is enough
    (``sparsity_smoothing.certified_error``): ``gap`` is the smoothed gap plus rho^2 / (4 beta).

    *The corrected reading.* Corollary 2 of 2009 has beta = rho^2 / epsilon. In its proof smoothing
    alone then costs up to epsilon / 2, but all of epsilon is left to the steps, so a run ends with
    R - R* up to 5/4 epsilon. With epsilon / 2 left to the steps, Theorem 2 needs
    16 rho^2 B1^2 / epsilon^2 of them instead of 8. The third reading is that of the 2008 report,
    whose beta is the inverse of this one. The report counts the smoothing twice.

    References
    ----------
    S. Shalev-Shwartz, N. Srebro, Iterative loss minimization with l1-norm constraint and guarantees
    on sparsity, 2008, Figure 2, Theorem 2.

    S. Shalev-Shwartz, N. Srebro, T. Zhang, Trading accuracy for sparsity, TTIC-TR-2009-3,
    Lemma 2, Corollary 2.
    """
    param.enforce(check, problem, loss=loss)
    asked = step_grid(grid, steps, epsilon)
    if not (asked.epsilon > 0.0).all():
        raise ConfigError("epsilon must be positive: a nonsmooth loss cannot be minimised exactly.")
    size = radius_of(problem, radius, "algorithm 'smoothed_forward_greedy'")

    def smoothed(accuracy: float) -> Loss:
        beta = READINGS[reading].sharpness * _RHO**2 / accuracy
        return bind_risk(loss, problem, ridge=ridge, beta=beta)

    # Without a grid of the user all points have the same accuracy, and there is one run.
    accuracies, answers, facts = np.unique(asked.epsilon), [], []
    places = [np.flatnonzero(asked.epsilon == accuracy) for accuracy in accuracies]
    for accuracy, own in zip(accuracies.tolist(), places, strict=True):
        goals = asked.only(own).scaled(READINGS[reading].share)
        risk = smoothed(accuracy)
        answers.append(follow(risk, problem, size, step, goals))
        facts.append(_facts(risk, answers[-1], size))
    if asked.given:
        order = np.argsort(np.concatenate(places))
    else:
        order, asked = np.arange(len(answers[0].steps)), answers[0].asked
    joined = {name: np.concatenate([own[name] for own in facts])[order] for name in facts[0]}
    return Answers.joined(answers, order, asked).path(smoothed(epsilon), joined["risk"], joined)


def _facts(loss: Loss, answers: Answers, radius: float) -> dict[str, np.ndarray]:
    """Return the facts of a run on a smoothed loss."""
    count = len(answers.gap)
    return {
        "steps": answers.steps,
        "gap": answers.gap + certified_error(_RHO, loss.beta),
        "smoothed_gap": answers.gap,
        "smoothed_risk": answers.values(loss.value),
        "risk": answers.values(loss.unsmoothed),
        "beta": np.full(count, loss.beta),
        "radius": np.full(count, radius),
    }
