"""Fully corrective selection improved by replacing features."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from greedyexp.algorithms._limits import enforce
from greedyexp.algorithms._risk_settings import (
    Beta,
    Ridge,
    Risk,
    RiskLoss,
    RiskModel,
    Steps,
    needs,
)
from greedyexp.algorithms._risk_settings import check as check_risk
from greedyexp.algorithms._step_grid import step_grid
from greedyexp.algorithms.foba._run import Run
from greedyexp.algorithms.sparsity._corrective_promises import replacement_promises
from greedyexp.algorithms.sparsity._corrective_replace import Exchange, Replacements
from greedyexp.algorithms.sparsity._corrective_run import CorrectivePursuit, coefficients
from greedyexp.algorithms.sparsity._corrective_settings import Selection, rule_for
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem

Features = Annotated[int, Field(ge=1, description="k, how many features there are at all times")]
Variant = Annotated[
    Literal["refit", "simple"],
    Field(
        description="fit between taking and dropping, or take the largest derivative and drop at"
        " once"
    ),
]


def check(shape: dict, *, features: int, **others) -> None:
    """Refuse what no problem of this shape can have.

    Raises
    ------
    ValueError
        With a sentence.
    """
    check_risk(shape, **others)
    if features > shape["n_features"]:
        raise ValueError(f"features = {features} is more than the {shape['n_features']} features.")


@algorithm(
    "replacement_steps",
    title="Replacement steps",
    paper="Shalev-Shwartz, Srebro & Zhang (2009), Algorithm 4",
    requires=needs,
    check=check,
    takes_sparse=True,
    takes_population=True,
    theorems=replacement_promises,
)
def replacement_steps(
    problem: Problem,
    *,
    features: Features,
    loss: RiskLoss = "squared",
    beta: Beta = None,
    ridge: Ridge = 0.0,
    risk: Risk = "sample",
    steps: Steps = 1000,
    rule: Selection = "objective",
    variant: Variant = "refit",
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Greedy selection of k features, then one in and one out as long as that lowers the risk.

    ``fully_corrective`` takes k features F by ``rule``. With ``variant: refit`` a step then takes
    the feature r outside F that ``rule`` prefers, minimises R over F' = F + r, to w', and drops the
    feature q of F' with the smallest |w'_q| if R(w' - w'_q e_q), the others as they are, is below
    R(w): F becomes F' - q and is fitted again. With ``variant: simple`` a step takes the feature r
    outside F with the largest |grad_r R(w)|, whatever the rule, drops the feature q of F with the
    smallest |w_q|, and keeps F + r - q if the minimum of R over it is below R(w). Otherwise, or
    after ``steps`` replacements, the run ends.

    Parameters
    ----------
    problem : Problem
        One task; with ``risk: population`` one with moments.
    features : int in [1, d]
        k, which the replacements leave as it is.
    loss, beta, ridge, risk
        The risk R, as in ``fully_corrective``.
    steps : int >= 1
        Most replacements.
    rule : {"objective", "gradient", "residual"}
        As in ``fully_corrective``: of the first k features and, with ``variant: refit``, of what a
        replacement takes. The listing has ``objective``.
    variant : {"refit", "simple"}
        See above. The report does not say when ``simple`` ends: here when it does not lower R.
    grid : dict with array ``steps``, optional
        One estimate for each number of replacements, in this order, out of one run.

    Returns
    -------
    Path
        Estimates after 0, 1, ... replacements, the first being that of ``fully_corrective``; a grid
        beyond the end repeats it. ``objective`` is R, smoothed where L is. ``facts`` are the
        replacements made as ``steps`` and the size of the support as ``features``. ``history`` has
        the first k features, as step 0 with nothing (-1) dropped, then each replacement: ``taken``,
        ``dropped``, R after it and whether it was ``accepted``; the last may not be, and R is then
        what the step was refused for.

    Raises
    ------
    ConfigError
        When parameters are impossible together or for this problem, or the grid is none of steps.
    DataError
        When the loss does not take the data.

    Notes
    -----
    *Ties*, equality to a relative 1e-10: the lowest feature. *Rounding*: R must fall by more than
    1e-14 of itself. So runs end, each set of k features being left for one with a lower minimum.

    *Converged* means that an estimate minimises R over its support. A run that ``steps`` ends may
    have replacements left that lower R.

    *Before k features*: where nothing is left to gain, no replacement is tried. *Fits without a
    certificate* (classes that are separable and no ridge) end the run at the last one that has it,
    and answers for more steps, or all when they come before k features, are not converged.

    With the squared loss this is known as orthogonal matching pursuit with replacement, whose
    usual form takes and drops by a gradient step of a chosen length.

    References
    ----------
    S. Shalev-Shwartz, N. Srebro, T. Zhang, Trading accuracy for sparsity, TTIC-TR-2009-3,
    Algorithm 4, Theorem 5.
    P. Jain, A. Tewari, I. S. Dhillon, Orthogonal matching pursuit with replacement, 2011.
    """
    enforce(check, problem, features=features, loss=loss, beta=beta, risk=risk)
    bound = RiskModel(loss, beta, ridge, risk).bind(problem)
    asked = None if grid is None else step_grid(grid, steps).steps
    most = steps if asked is None else int(asked.max())
    ruling = rule_for(rule, bound, problem, risk)
    pursuit = CorrectivePursuit(bound, ruling, np.array([features]))
    start = pursuit.select(features)
    if len(start.states[-1].support) == features:
        run = Exchange(pursuit.fit, ruling, refit=variant == "refit").replace(most)
    else:
        run = Replacements(start.states[-1:], failed=start.failed)
    end = len(run.states) - 1
    if asked is None:
        asked = np.arange(end + 1 + (run.failed and not start.failed))
    states = [run.states[step] for step in np.minimum(asked, end)]
    certified = np.array([state.certified for state in states])
    return Path(
        coef=coefficients(bound, states),
        grid={"steps": asked.astype(float)},
        objective=np.array([state.objective for state in states]),
        converged=certified & (not start.failed) & ((asked <= end) | (not run.failed)),
        message=" ".join([*start.said, *run.said]),
        loss=bound,
        facts={
            "steps": np.minimum(asked, end),
            "features": np.array([len(state.support) for state in states]),
        },
        history=_history(start, run),
    )


def _history(start: Run, run: Replacements) -> dict[str, np.ndarray]:
    """One entry for each feature of the start, and for each replacement."""
    first, later = start.steps, run.attempts
    taken = [step.unit for step in first] + [attempt.taken for attempt in later]
    dropped = [-1] * len(first) + [attempt.dropped for attempt in later]
    return {
        "step": np.concatenate([np.zeros(len(first), int), np.arange(1, len(later) + 1)]),
        "taken": np.array(taken, dtype=np.int64),
        "dropped": np.array(dropped, dtype=np.int64),
        "objective": np.array([step.objective for step in [*first, *later]], dtype=float),
        "accepted": np.array([True] * len(first) + [attempt.accepted for attempt in later]),
    }
