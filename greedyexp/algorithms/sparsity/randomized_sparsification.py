"""Randomized sparsification of a predictor with a small l1 norm."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.sparsity._risk import (
    BoundRisk,
    check_unsmoothed,
    needs,
    needs_of_ball,
    step_grid,
)
from greedyexp.core.errors import DataError
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem
from greedyexp.problems.radius import radius_of, truth_of
from greedyexp.solvers.l1_ball import BallMinimum, duality_gap
from greedyexp.theory.sparsity_bounds import (
    lipschitz_of_risk,
    smoothness_of_risk,
    theorem1_lipschitz,
    theorem1_smooth,
)
from greedyexp.theory.theorems import Reference, RiskBound, no_bound

# Tolerance, relative to the risk at zero, of the tests whether w* is at least as good as a
# reference and whether it is a minimiser over its ball.
ROUNDING = 1e-9
# Number of draws made one by one; these do not depend on the points of the path.
SINGLE = 2**16


def _check(shape: dict, *, start: str, radius: float | None, **params) -> None:
    check_unsmoothed(shape, **params)
    if start == "truth" and radius is not None:
        raise ValueError("start: truth uses the norm of the true coefficients: leave radius out.")


def _needs(*, start: str, **params) -> tuple[str, ...]:
    return (*needs(**params), "truth") if start == "truth" else needs_of_ball(**params)


def theorems(path: Path, reference: Reference, *, ridge: float, **_) -> list[RiskBound]:
    """Return Theorem 1 for each constant of the loss; none for a reference better than w*.

    If w* is a minimiser over the ball of its norm, Markov's inequality shows that the excess is
    small with probability 1/2, and not only in the mean. For Lipschitz losses without a ridge the
    printed number of steps does not need this.
    """
    loss = path.loss
    if loss is None:
        return []
    kinked = "risk" in path.facts
    norm, value, gap = (
        float(path.facts[name][0]) for name in ("start_norm", "start_risk", "start_gap")
    )
    known = reference.original if kinked else reference.value
    slack = ROUNDING * loss.unsmoothed(np.zeros(loss.size))
    if value > known + slack:
        return []
    found = []
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
    loss: param.BallLoss = "squared",
    beta: param.OptionalBeta = None,
    ridge: param.Ridge = 0.0,
    risk: param.Risk = "sample",
    radius: param.Radius = None,
    start: Annotated[
        Literal["l1_ball", "truth"],
        Field(description="w*: the minimiser over the l1 ball, or the true coefficients"),
    ] = "l1_ball",
    steps: param.Steps = 1000,
    repeats: Annotated[
        int,
        Field(
            ge=1,
            le=100_000,
            description="independent sequences, from which the best is taken; with log2(1 / delta)"
            " of them the steps of Theorem 1 suffice with probability 1 - delta",
        ),
    ] = 1,
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
        A problem with one task; for ``risk: population`` its moments must be known.
    loss : str
        Name of a loss that has a kernel (``greedyexp list losses``).
        R(w) = E[L(<x, w>, y)] + ridge / 2 ||w||^2 with L of (a, y) = (a - y)^2 / 2,
        log(1 + exp(-y a)), |a - y| or max(0, 1 - y a).
    beta : float > 0, optional
        Smoothness of the smoothed ``absolute`` or ``hinge`` loss; without it they are not smoothed.
    ridge : float >= 0
    risk : {"sample", "population"}
        Whether E is the mean over the rows, or exact by moments (squared loss only).
    radius : float > 0, optional
        Radius of the ball over which w* minimises R; by default the l1 norm of the true
        coefficients.
    start : {"l1_ball", "truth"}
        w*: the minimiser over the l1 ball, or the true coefficients.
    steps : int >= 1
        k, the number of draws.
    repeats : int >= 1
        Number of independent sequences. Each point of the path has the estimate of least risk, the
        first of several. Each sequence misses the accuracy within the steps of Theorem 1 with
        probability at most 1/2, so all of ceil(log2(1 / delta)) sequences miss it with probability
        at most delta. The report prints log; this must be to base 2, since the natural logarithm
        gives only delta^0.69.
    grid : dict with array ``steps``, optional
        One estimate for each number of draws, in this order, from one run.
    rng : Generator, optional
        The random stream; by default a fixed one.

    Returns
    -------
    Path
        Estimates after 0, 1, 2, 4, ... and ``steps`` draws; that after 0 is zero. ``objective`` is
        R. ``facts`` are the ``steps`` and, for w*, ``start_norm``, ``start_risk`` and ``start_gap``
        (a bound on R(w*) minus the minimum over the l1 ball of its norm). For a loss with kinks
        ``facts`` also has ``risk``, which is R, while the loss of the path is smoothed. Estimates
        are converged if w* has its certificate.

    Raises
    ------
    ConfigError
        If parameters are impossible together or for this problem, or the grid is not one of steps.
    DataError
        If the loss does not accept the data, or w* is zero.

    Notes
    -----
    *Cost*: the first 65536 draws are made one by one, so they do not depend on the grid. After
    that, only the counts of the draws between two points are drawn, so 1e9 steps cost no more than
    one. Each point evaluates R once per repeat.

    References
    ----------
    S. Shalev-Shwartz, N. Srebro, T. Zhang, Trading accuracy for sparsity, TTIC-TR-2009-3,
    Algorithm 1 and Theorem 1.
    """
    param.enforce(_check, problem, loss=loss, beta=beta, risk=risk, radius=radius, start=start)
    asked = step_grid(grid, steps)
    bound = BoundRisk.of(problem, loss, beta=beta, ridge=ridge, risk=risk)
    origin = _start(problem, bound, start, radius)
    coef, objective = _sparsified(bound, origin.params, asked.steps, repeats, rng)
    every = np.full(len(asked), 1.0)
    return Path(
        coef[:, :, None],
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
    """Return w* and its certificate; raise DataError if w* is zero."""
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
    """Return estimates (m, d) and their risks (m,), at each point the best of all sequences."""
    rng = np.random.default_rng(0) if rng is None else rng
    support = np.flatnonzero(origin)
    sizes, signs = np.abs(origin[support]), np.sign(origin[support])
    norm = float(sizes.sum())
    coef, objective = np.zeros((len(steps), len(origin))), np.full(len(steps), np.inf)
    # Each sequence has its own stream, so more repeats do not change the first ones.
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


class Draws:
    """Counts of a sequence r_1, r_2, ... with P[r = j] = |w*_j| / ||w*||_1.

    After the first 65536 draws, only the counts between the requested points are drawn. They have
    the same distribution, and 1e9 draws cost the same as one.

    Parameters
    ----------
    sizes : array (s,), entries > 0
        |w*_j| over the support of w*.
    rng : Generator
    """

    def __init__(self, sizes: np.ndarray, rng: np.random.Generator):
        self._shares = sizes / sizes.sum()
        self._edges = np.cumsum(self._shares)
        self._rng = rng
        self._made = 0
        self._counts = np.zeros(len(sizes), dtype=np.int64)

    def counts(self, steps: int) -> np.ndarray:
        """Return how often each feature occurs in the first ``steps`` draws, (s,) of int.

        Parameters
        ----------
        steps : int
            Number of steps, at least as many as in earlier calls.
        """
        single = min(steps, SINGLE) - min(self._made, SINGLE)
        uniform = self._rng.random(single) * self._edges[-1]
        drawn = np.searchsorted(self._edges, uniform, side="right")
        self._counts += np.bincount(drawn, minlength=len(self._counts))
        rest = max(steps, SINGLE) - max(self._made, SINGLE)
        if rest:
            self._counts += self._rng.multinomial(rest, self._shares)
        self._made = steps
        return self._counts.copy()
