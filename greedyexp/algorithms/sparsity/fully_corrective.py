"""Fully corrective forward greedy selection."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.sparsity._corrective import covered, rule_for
from greedyexp.algorithms.sparsity._risk import check, needs, step_grid
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.losses.loss import Loss
from greedyexp.losses.risk import bind_risk
from greedyexp.problems.problem import Problem
from greedyexp.solvers.greedy_selection import Pursuit, Stops, path_of
from greedyexp.theory.sparsity_bounds import smoothness_of_risk, theorem3, theorem4
from greedyexp.theory.theorems import Reference, RiskBound

# Constants of strong convexity that agree to this relative precision are equal.
EQUAL = 1e-9


def theorems(path: Path, reference: Reference, *, rule: str, risk: str, **_) -> list[RiskBound]:
    """Return T3 and T4 for a path of ``fully_corrective``; none if the rule is not ``covered``.

    Neither holds if the second derivative of the loss has no bound. lam of T4 is that of R on the
    union of the supports of the estimates and of the reference; its proof needs no other supports.
    For the squared loss it is the least eigenvalue there, for any other loss the ridge.
    """
    loss = path.loss
    if loss is None or np.isinf(loss.beta) or not covered(rule, loss):
        return []
    beta = smoothness_of_risk(loss)
    lam, most = _strong_convexity(path, loss, reference, risk)
    span = loss.value(np.zeros(loss.size)) - reference.value
    return [
        theorem3(beta, reference.l1_norm),
        theorem4(beta, lam, reference.n_features, span, most_steps=most),
    ]


@algorithm(
    "fully_corrective",
    title="Fully corrective greedy",
    paper="Shalev-Shwartz, Srebro & Zhang (2009), Algorithm 3",
    requires=needs,
    check=check,
    takes_sparse=True,
    takes_population=True,
    theorems=theorems,
    stops=("steps",),
)
def fully_corrective(
    problem: Problem,
    *,
    loss: param.RiskLoss = "squared",
    beta: param.Beta = None,
    ridge: param.Ridge = 0.0,
    risk: param.Risk = "sample",
    steps: param.Steps = 20,
    rule: param.Selection = "objective",
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Forward greedy selection that refits all coefficients after each feature.

    From w = 0, take the feature j outside the support that ``rule`` prefers and minimise the risk
    over the enlarged support, until there are ``steps`` features or nothing is left to gain. With
    the squared loss ``gradient`` is orthogonal matching pursuit (``omp`` with ``normalize`` false)
    and ``objective`` scores grad_j^2 / E[x_j^2], so all rules agree on columns of the same norm.

    Parameters
    ----------
    problem : Problem
        A problem with one task; for ``risk: population`` its moments must be known.
    loss : str
        Name of a loss of one response (``greedyexp list losses``).
        R(w) = E[L(<x, w>, y)] + ridge / 2 ||w||^2 with L of (a, y) = (a - y)^2 / 2,
        log(1 + exp(-y a)), |a - y| or max(0, 1 - y a); the last two are smoothed.
    beta : float > 0, optional
        Smoothness of the smoothed ``absolute`` or ``hinge`` loss; required for these two.
    ridge : float >= 0
    risk : {"sample", "population"}
        Whether E is the mean over the rows, or exact by moments (squared loss only).
    steps : int >= 1
        Maximum number of features.
    rule : {"objective", "gradient", "residual"}
        Take argmin_j min_a R(w + a e_j), argmax_j |grad_j R(w)|, or, with R(w) = Q(X w) and columns
        scaled to one norm, argmin_j min_a ||a X^j - grad Q(X w)||. The last rule uses the loss
        without the ridge, whose slope is zero outside the support.
    grid : dict with array ``steps``, optional
        One estimate for each number of features, in this order, from one run.

    Returns
    -------
    Path
        Estimates with 0, 1, ... features up to the end of the run; later points repeat the last
        estimate. ``objective`` is R, smoothed if L is. ``facts`` has the number of features as
        ``steps``. ``history`` has one entry for each feature ``taken``: R after it and its
        goodness, which is the decrease of R when it alone moves, |grad_j R|, or |grad_j R| /
        sqrt(E[x_j^2]).

    Raises
    ------
    ConfigError
        If parameters are impossible together or for this problem, or the grid is not one of steps.
    DataError
        If the loss does not accept the data.

    Notes
    -----
    *Ties* (equal to a relative precision of 1e-10): the lowest feature. *The limit of precision*,
    columns in the span of the support and *fits without a certificate* (separable classes and no
    ridge) are as in ``foba_gdt``: the path ends at the last state with a certificate, and answers
    for more features are that state, not converged.

    *Cost*: with the squared loss a step is one product with the design, with moments a few passes
    over the d features. Without a grid a path of k features holds k d numbers.

    References
    ----------
    S. Shalev-Shwartz, N. Srebro, T. Zhang, Trading accuracy for sparsity, TTIC-TR-2009-3,
    Algorithm 3, Theorems 3 and 4.
    """
    param.enforce(check, problem, loss=loss, beta=beta, risk=risk)
    bound = bind_risk(loss, problem, ridge=ridge, beta=beta, population=risk == "population")
    asked = None if grid is None else step_grid(grid, steps).steps
    most = steps if asked is None else int(asked.max())
    wanted = range(min(most, bound.size) + 1) if asked is None else set(asked.tolist())
    ruling = rule_for(rule, bound, problem, risk)
    run = Pursuit(bound, ruling, ratio=0.0, kept=wanted).pursue(Stops(max_features=most))
    end = len(run.states[-1].support)
    if asked is None:
        asked = np.arange(end + 1 + run.failed)
    state_of = {len(state.support): state for state in run.states}
    states = [state_of.get(size, run.states[-1]) for size in asked.tolist()]
    return path_of(
        bound,
        states,
        (asked <= end) | (not run.failed),
        grid={"steps": asked.astype(float)},
        message=" ".join(run.remarks),
        facts={"steps": np.minimum(asked, end)},
        history={
            "step": np.arange(1, len(run.steps) + 1),
            "taken": np.array([step.unit for step in run.steps], dtype=np.int64),
            "objective": np.array([step.objective for step in run.steps], dtype=float),
            "goodness": np.array([step.goodness for step in run.steps], dtype=float),
        },
    )


def _strong_convexity(
    path: Path, loss: Loss, reference: Reference, risk: str
) -> tuple[float, float]:
    """Return lam, and the number of features up to which it is valid."""
    taken = np.zeros(0, dtype=np.int64) if path.history is None else path.history["taken"]
    met = np.union1d(taken, np.flatnonzero(reference.params)).astype(np.int64).tolist()
    lam = loss.strong_convexity(met)
    if not met:
        # Neither the path nor the reference has a feature, so the excess is zero.
        return loss.ridge, np.inf
    ended = path.converged.all() and path.grid["steps"].max() > len(taken)
    if ended or lam <= loss.ridge:
        return lam, np.inf
    if risk == "population":
        # For independent signs, for example, no larger support has a smaller constant.
        least = loss.strong_convexity(range(loss.size))
        if least >= lam * (1.0 - EQUAL):
            return least, np.inf
    return lam, len(taken)
