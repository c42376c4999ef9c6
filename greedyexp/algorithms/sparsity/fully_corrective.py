"""Fully corrective forward greedy selection."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms._limits import enforce
from greedyexp.algorithms._risk_settings import (
    Beta,
    Ridge,
    Risk,
    RiskLoss,
    RiskModel,
    Steps,
    check,
    needs,
)
from greedyexp.algorithms._step_grid import step_grid
from greedyexp.algorithms.foba._run import Run
from greedyexp.algorithms.sparsity._corrective_promises import selection_promises
from greedyexp.algorithms.sparsity._corrective_run import (
    CorrectivePursuit,
    coefficients,
    states_at,
)
from greedyexp.algorithms.sparsity._corrective_settings import Selection, rule_for
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem


@algorithm(
    "fully_corrective",
    title="Fully corrective greedy",
    paper="Shalev-Shwartz, Srebro & Zhang (2009), Algorithm 3",
    requires=needs,
    check=check,
    takes_sparse=True,
    takes_population=True,
    theorems=selection_promises,
    stops=("steps",),
)
def fully_corrective(
    problem: Problem,
    *,
    loss: RiskLoss = "squared",
    beta: Beta = None,
    ridge: Ridge = 0.0,
    risk: Risk = "sample",
    steps: Steps = 20,
    rule: Selection = "objective",
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Forward greedy selection that fits all coefficients again after each feature.

    From w = 0, take the feature j outside the support that ``rule`` prefers and minimise the risk
    over the support with it, until there are ``steps`` features or nothing is left to gain. With
    the squared loss ``gradient`` is orthogonal matching pursuit (``omp`` with ``normalize`` false)
    and ``objective`` scores grad_j^2 / E[x_j^2], so that all rules agree on columns of one norm.

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
    steps : int >= 1
        Most features.
    rule : {"objective", "gradient", "residual"}
        Take argmin_j min_a R(w + a e_j), argmax_j |grad_j R(w)|, or, with R(w) = Q(X w) and columns
        scaled to one norm, argmin_j min_a ||a X^j - grad Q(X w)||; the last looks at the loss alone
        and not at the ridge, whose slope is zero outside the support.
    grid : dict with array ``steps``, optional
        One estimate for each number of features, in this order, out of one run.

    Returns
    -------
    Path
        Estimates with 0, 1, ... features up to where the run ends; a grid beyond repeats the end.
        ``objective`` is R, smoothed where L is; ``facts`` has the features taken as ``steps``;
        ``history`` has one entry for each feature ``taken``, R after it, and its goodness: by how
        much it alone lowers R, |grad_j R|, or |grad_j R| / sqrt(E[x_j^2]).

    Raises
    ------
    ConfigError
        When parameters are impossible together or for this problem, or the grid is none of steps.
    DataError
        When the loss does not take the data.

    Notes
    -----
    *Ties*, equality to a relative 1e-10: the lowest feature. *The end of precision*, columns in the
    span of the support and *fits without a certificate* (classes that are separable and no ridge)
    are as in ``foba_gdt``: the path ends at the last state that has its certificate, and answers
    for more features are that state, not converged.

    *Cost*: with the squared loss a step is one product with the design, with moments a few passes
    over the d features. Without a grid a path of k features holds k d numbers.

    References
    ----------
    S. Shalev-Shwartz, N. Srebro, T. Zhang, Trading accuracy for sparsity, TTIC-TR-2009-3,
    Algorithm 3, Theorems 3 and 4.
    """
    enforce(check, problem, loss=loss, beta=beta, risk=risk)
    bound = RiskModel(loss, beta, ridge, risk).bind(problem)
    asked = None if grid is None else step_grid(grid, steps).steps
    most = steps if asked is None else int(asked.max())
    wanted = np.arange(min(most, bound.size) + 1) if asked is None else asked
    ruling = rule_for(rule, bound, problem, risk)
    run = CorrectivePursuit(bound, ruling, wanted).select(most)
    end = len(run.states[-1].support)
    if asked is None:
        asked = np.arange(end + 1 + run.failed)
    states = states_at(run, asked)
    certified = np.array([state.certified for state in states])
    return Path(
        coef=coefficients(bound, states),
        grid={"steps": asked.astype(float)},
        objective=np.array([state.objective for state in states]),
        converged=certified & ((asked <= end) | (not run.failed)),
        message=" ".join(run.said),
        loss=bound,
        facts={"steps": np.minimum(asked, end)},
        history=_history(run),
    )


def _history(run: Run) -> dict[str, np.ndarray]:
    """One entry for each feature taken."""
    return {
        "step": np.arange(1, len(run.steps) + 1),
        "taken": np.array([step.unit for step in run.steps], dtype=np.int64),
        "objective": np.array([step.objective for step in run.steps], dtype=float),
        "goodness": np.array([step.goodness for step in run.steps], dtype=float),
    }
