"""Randomized sparsification of a predictor with a small l1 norm."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from greedyexp.algorithms._limits import enforce
from greedyexp.algorithms._risk_settings import (
    Radius,
    Ridge,
    Risk,
    RiskLoss,
    RiskModel,
    Steps,
    needs,
    needs_of_ball,
    radius_of,
    truth_of,
)
from greedyexp.algorithms._step_grid import step_grid
from greedyexp.algorithms.sparsity._sparsifying_draws import Draws
from greedyexp.algorithms.sparsity._unsmoothed_risk import (
    BoundRisk,
    OptionalBeta,
    check_risk,
)
from greedyexp.core.errors import DataError
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem
from greedyexp.solvers.l1_ball import BallMinimum, duality_gap
from greedyexp.theory.sparsity_bounds import (
    lipschitz_of_risk,
    smoothness_of_risk,
    theorem1_lipschitz,
    theorem1_smooth,
)
from greedyexp.theory.theorems import Reference, RiskBound, no_bound

Start = Annotated[
    Literal["l1_ball", "truth"],
    Field(description="w*: the minimiser over the l1 ball, or the true coefficients"),
]
Repeats = Annotated[
    int,
    Field(
        ge=1,
        le=100_000,
        description="independent sequences, of which the best is taken; of log2(1 / delta)"
        " one at least keeps to the steps of Theorem 1 with probability 1 - delta",
    ),
]
# How much worse than a reference, and how far from the minimum over its own ball, w* may be for
# theorems to count it as no worse and as a minimiser, as part of the risk at zero.
ROUNDING = 1e-9


def _check(shape: dict, *, start: str, radius: float | None, **params) -> None:
    check_risk(shape, **params)
    if start == "truth" and radius is not None:
        raise ValueError("the true coefficients have a norm of their own: leave radius out.")


def _needs(*, start: str, **params) -> tuple[str, ...]:
    return (*needs(**params), "truth") if start == "truth" else needs_of_ball(**params)


def theorems(path: Path, reference: Reference, *, ridge: float, **_) -> list[RiskBound]:
    """Theorem 1 for every constant that the loss has, of a reference no better than w*.

    That the excess is small with probability 1/2, and not just in the mean, is said by Markov's
    inequality where w* is a minimiser over the ball of its norm. For Lipschitz losses without a
    ridge the printed number of steps needs no such thing.
    """
    kinked = "risk" in path.facts
    norm, value, gap = (
        float(path.facts[name][0]) for name in ("start_norm", "start_risk", "start_gap")
    )
    known = reference.original if kinked else reference.value
    slack = ROUNDING * path.loss.unsmoothed(np.zeros(path.loss.size))
    if value > known + slack:
        return []
    loss, found = path.loss, []
    if not kinked:
        found.append(theorem1_smooth(smoothness_of_risk(loss), norm))
    if np.isfinite(loss.rho):
        rho = lipschitz_of_risk(loss)
        found.append(theorem1_lipschitz(rho, norm, ridge=ridge))
        if ridge == 0.0:
            found.append(theorem1_lipschitz(rho, norm, reading="printed"))
    least, of_any = gap <= slack, "T1-lipschitz-printed"
    return [
        replace(
            promise,
            original=kinked,
            steps=promise.steps if least or promise.theorem == of_any else no_bound,
        )
        for promise in found
    ]


@algorithm(
    "randomized_sparsification",
    title="Randomized sparsification",
    paper="Shalev-Shwartz, Srebro & Zhang (2009), Algorithm 1",
    requires=_needs,
    check=_check,
    takes_sparse=True,
    takes_population=True,
    theorems=theorems,
)
def randomized_sparsification(
    problem: Problem,
    *,
    loss: RiskLoss = "squared",
    beta: OptionalBeta = None,
    ridge: Ridge = 0.0,
    risk: Risk = "sample",
    radius: Radius = None,
    start: Start = "l1_ball",
    steps: Steps = 1000,
    repeats: Repeats = 1,
    grid: dict[str, np.ndarray] | None = None,
    rng: np.random.Generator | None = None,
) -> Path:
    """Approximate w* by the mean of k random features, drawn in proportion to |w*_j|.

    r_1, r_2, ... are independent with P[r = j] = |w*_j| / ||w*||_1, and the estimate after k steps
    is (||w*||_1 / k) times the sum of sign(w*_r) e_r over the first k of them: at most k features,
    of the l1 norm of w*.

    Parameters
    ----------
    problem : Problem
        One task; with ``risk: population`` one with moments.
    loss : {"squared", "logistic", "absolute", "hinge"}
        R(w) = E[L(<x, w>, y)] + ridge / 2 ||w||^2 with L of (a, y) = (a - y)^2 / 2,
        log(1 + exp(-y a)), |a - y| or max(0, 1 - y a).
    beta : float > 0, optional
        Smooth ``absolute`` or ``hinge`` to this; without it they are taken as they are.
    ridge : float >= 0
    risk : {"sample", "population"}
        Whether E is the mean over the rows, or exact by moments (squared loss only).
    radius : float > 0, optional
        Of the ball over which w* minimises R; by default the l1 norm of the true coefficients.
    start : {"l1_ball", "truth"}
        w*.
    steps : int >= 1
        k, the draws.
    repeats : int >= 1
        So many independent sequences; after each number of steps the estimate of least risk, the
        first of several. Each misses the accuracy within the steps of Theorem 1 with probability at
        most 1/2, so all of ceil(log2(1 / delta)) do with delta at most. The report says log, which
        must be to base 2: the natural one gives delta^0.69 only.
    grid : dict with array ``steps``, optional
        One estimate for each number of draws, in this order, out of one run.
    rng : Generator, optional
        The random stream; a fixed one by default.

    Returns
    -------
    Path
        Estimates after 0, 1, 2, 4, ... and ``steps`` draws; that after 0 is zero. ``objective`` is
        R. ``facts`` are the ``steps``, and of w* ``start_norm``, ``start_risk`` and ``start_gap``
        (how far R(w*) may be above the minimum over the l1 ball of its norm); of a loss with kinks
        ``risk`` too, which is R, while the loss of the path is smoothed. Estimates are converged
        when w* has its certificate.

    Raises
    ------
    ConfigError
        When parameters are impossible together or for this problem, or the grid is none of steps.
    DataError
        When the loss does not take the data, or w* is zero.

    Notes
    -----
    *Cost*: the first 65536 draws are made one by one, so that they are the same whatever the grid;
    beyond, only numbers of draws between points, so that 1e9 steps cost no more than one. Each
    point evaluates R once for every repeat.

    References
    ----------
    S. Shalev-Shwartz, N. Srebro, T. Zhang, Trading accuracy for sparsity, TTIC-TR-2009-3,
    Algorithm 1 and Theorem 1.
    """
    enforce(_check, problem, loss=loss, beta=beta, risk=risk, radius=radius, start=start)
    asked = step_grid(grid, steps)
    bound = BoundRisk.of(RiskModel(loss, beta, ridge, risk), problem)
    origin = _start(problem, bound, start, radius)
    coef, objective = _sparsified(bound, origin.params, asked.steps, repeats, rng)
    every = np.full(len(asked), 1.0)
    return Path(
        coef=coef[:, :, None],
        grid=asked.grid,
        objective=objective,
        converged=np.full(len(asked), origin.converged),
        message=f"w*: {origin.message}" if origin.message else "",
        loss=bound.loss,
        facts={
            "steps": asked.steps.copy(),
            "start_norm": np.abs(origin.params).sum() * every,
            "start_risk": origin.value * every,
            "start_gap": origin.gap * every,
            **bound.facts(objective),
        },
    )


def _start(problem: Problem, bound: BoundRisk, start: str, radius: float | None) -> BallMinimum:
    """w*, which is not zero, and its certificate."""
    if start == "truth":
        params = truth_of(problem, "Use start: l1_ball.")
        found = BallMinimum(params, bound.value(params), np.inf, True)
    else:
        size = radius_of(problem, radius, "algorithm 'randomized_sparsification'")
        found = bound.minimise_over_ball(size)
    norm = float(np.abs(found.params).sum())
    if norm == 0.0:
        raise DataError(
            "the coefficients to sparsify are all zero.",
            remedy="Use data that some feature helps to predict.",
        )
    if start == "truth" and not bound.kinked:
        gap = duality_gap(found.params, bound.loss.gradient(found.params), norm)
        return replace(found, gap=gap)
    return found


def _sparsified(
    bound: BoundRisk,
    origin: np.ndarray,
    steps: np.ndarray,
    repeats: int,
    rng: np.random.Generator | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Estimates (m, d) and their risks (m,), of several sequences the best at each point."""
    rng = np.random.default_rng(0) if rng is None else rng
    support = np.flatnonzero(origin)
    sizes, signs = np.abs(origin[support]), np.sign(origin[support])
    norm = float(sizes.sum())
    coef, objective = np.zeros((len(steps), len(origin))), np.full(len(steps), np.inf)
    # Each sequence has a stream of its own, so that more repeats leave the first as they are.
    for seed in rng.integers(0, 2**63, size=repeats):
        draws = Draws(sizes, np.random.default_rng(int(seed)))
        for place in np.argsort(steps, kind="stable"):
            trial = np.zeros(len(origin))
            count = int(steps[place])
            if count:
                trial[support] = norm * signs * (draws.counts(count) / count)
            value = bound.value(trial)
            if value < objective[place]:
                coef[place], objective[place] = trial, value
    return coef, objective
