"""Reference predictors, and the bounds of theorems on the excess risk over them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from greedyexp.core.errors import ConfigError, DataError, did_you_mean
from greedyexp.core.registry import parts
from greedyexp.estimates.path import Path
from greedyexp.losses.smoothed import SmoothedLoss
from greedyexp.problems.problem import Problem
from greedyexp.problems.radius import radius_of
from greedyexp.protocols.tradeoff._run import Estimates, Runner
from greedyexp.solvers.l1_ball import minimise_over_ball, minimise_unsmoothed_over_ball
from greedyexp.theory.theorems import NO_THEOREM, Reference, RiskBound, known_theorems, no_bound

# The names of references that are minimisers.
_MINIMISERS = {
    "l1_ball": "the minimiser over the l1 ball",
    "support": "the fit to the true support",
}
# An accuracy is trusted if the reference is known to this fraction of it.
_FINER = 0.1


def references_of(
    names: Sequence[str],
    problem: Problem,
    seen: Estimates,
    params: dict,
    radius: float | None,
    epsilons: Sequence[float],
) -> tuple[list[Reference], list[str]]:
    """Return the named references, and the reasons not to trust them.

    Parameters
    ----------
    names : sequence of {"l1_ball", "truth", "support"}
    problem : Problem
        A problem with one task.
    seen : Estimates
        Estimates of the algorithm. If its loss was smoothed, ``l1_ball`` minimises the loss before
        smoothing.
    params : dict
        Parameters of the algorithm.
    radius : float, optional
        The radius of the ball; by default the ``radius`` of the algorithm, or else the l1 norm of
        the truth.
    epsilons : sequence of float
        The accuracies to measure.

    Raises
    ------
    ConfigError, DataError
        If the data needed to define a reference are missing.
    """
    loss = seen.loss
    found, doubts = [], []
    for name in names:
        best: Any = None
        if name == "l1_ball":
            known = params.get("radius") if radius is None else radius
            known = radius_of(problem, known, "protocol 'tradeoff'")
            if seen.was_smoothed:
                best = minimise_unsmoothed_over_ball(cast(SmoothedLoss, loss), known)
            else:
                best = minimise_over_ball(loss, known)
        elif name == "support":
            best = loss.minimise(np.flatnonzero(_truth(problem, name)).tolist())
        if best is not None and not best.converged:
            said = f": {best.message}" if best.message else ""
            doubts.append(f"{_MINIMISERS[name]} has no proof{said}")
        weights = _truth(problem, name) if best is None else best.params
        gap = best.gap if name == "l1_ball" else 0.0
        value, original = loss.value(weights), loss.unsmoothed(weights)
        found.append(Reference(name, weights, value, gap, original))
    finest = min(epsilons, default=math.inf)
    doubts += [
        f"reference {one.name} is known to {one.gap:.1e}, too coarse for an accuracy of"
        f" {finest:.1e}"
        for one in found
        if one.gap > _FINER * finest
    ]
    return found, doubts


def _truth(problem: Problem, name: str) -> np.ndarray:
    if problem.truth is None:
        raise DataError(
            f"reference '{name}' needs the true coefficients, which the data do not have.",
            remedy="Compare with l1_ball.",
        )
    return problem.truth[:, 0]


@dataclass(frozen=True)
class Pair:
    """A reference, and a bound on the excess over it; the bound is infinite without a theorem."""

    reference: Reference
    bound: RiskBound

    @property
    def keys(self) -> dict[str, str]:
        """The key columns in the rows of the pair."""
        return {"theorem": self.bound.theorem, "reference": self.reference.name}

    def excess(self, seen: Estimates) -> np.ndarray:
        """Return R(w) - R(wbar) at each estimate."""
        return seen.excess(self.reference, self.bound.original)

    def excess_bound(self, steps: np.ndarray) -> np.ndarray:
        """Return the bound on the excess after each number of steps."""
        return np.asarray(self.bound.excess(np.asarray(steps, dtype=float)), dtype=float)

    def steps_bound(self, epsilons: Sequence[float]) -> np.ndarray:
        """Return the bound on the steps for each accuracy."""
        return np.asarray(self.bound.steps(np.asarray(epsilons, dtype=float)), dtype=float)


def without_theorem(reference: Reference, seen: Estimates) -> Pair:
    """Return a reference with infinite bounds."""
    bound = RiskBound(NO_THEOREM, {}, no_bound, no_bound, original=seen.was_smoothed)
    return Pair(reference, bound)


def pairs_of(
    runner: Runner,
    seen: Estimates,
    recorded: np.ndarray,
    references: Sequence[Reference],
    theorems: Sequence[str] | None,
    epsilons: Sequence[float],
) -> tuple[list[Pair], list[str]]:
    """Pair each reference with each theorem that has a finite bound, if there is one.

    Parameters
    ----------
    recorded : int array
        Positions of the recorded steps.
    theorems : sequence of str or None
        The theorems to keep, all if None. Theorems of other algorithms are ignored.

    Returns
    -------
    pairs : list of Pair
    left_out : list of str
        Reasons why named theorems have no finite bound at any recorded step or accuracy.

    Raises
    ------
    DataError
        If none of the named theorems of the algorithm has a finite bound.
    """
    found: list[Pair] = []
    left_out: dict[str, None] = {}
    for reference in references:
        kept = []
        for bound in _bounds(runner, seen.path, recorded, reference):
            if theorems is not None and bound.theorem not in theorems:
                continue
            pair = Pair(reference, bound)
            finite = np.isfinite(pair.excess_bound(seen.counted[recorded])).any()
            if finite or np.isfinite(pair.steps_bound(epsilons)).any():
                kept.append(pair)
            elif theorems is not None:
                # Leave out the reference, since most reasons do not depend on it.
                why = bound.why_infinite or "it needs more steps or coarser accuracies"
                left_out[f"{bound.theorem} has no finite bound here: {why}"] = None
        found += kept or [without_theorem(reference, seen)]
    if left_out and all(pair.bound.theorem == NO_THEOREM for pair in found):
        raise DataError(f"no requested theorem is left: {'; '.join(left_out)}.")
    return found, list(left_out)


def _bounds(
    runner: Runner, path: Path, recorded: np.ndarray, reference: Reference
) -> list[RiskBound]:
    """Return the bounds of an algorithm; none if it has no theorems.

    The estimates of an algorithm that ends by its own certificate come from several runs, one for
    each accuracy, and may have different bounds. The bound on the excess is that of the recorded
    run.
    """
    prove = runner.part.theorems
    if prove is None:
        return []
    known = prove(path, reference, **runner.params)
    if not (runner.certifies and len(recorded)):
        return known
    alone = prove(path.take(recorded), reference, **runner.params)
    excess = {bound.theorem: bound.excess for bound in alone}
    return [replace(bound, excess=excess.get(bound.theorem, bound.excess)) for bound in known]


def check_theorems(theorems: Sequence[str]) -> None:
    """Raise ConfigError, with the nearest name, if a theorem does not exist."""
    known = known_theorems(parts("algorithm").values())
    for name in theorems:
        if known is not None and name not in known:
            raise ConfigError(
                f"unknown theorem '{name}' in protocol 'tradeoff'.",
                remedy=did_you_mean(name, known),
            )


def bounds_kept(
    runner: Runner, seen: Estimates, pairs: Sequence[Pair], epsilons: Sequence[float]
) -> dict[tuple[int, int], int]:
    """Check that the excess is at most epsilon after the number of steps of a theorem.

    Parameters
    ----------
    seen : Estimates
        Estimates of the first run. An algorithm without a certificate runs again only for numbers
        of steps that are not among them.

    Returns
    -------
    dict
        Maps the positions of a pair and of an accuracy to 1 if the excess is at most epsilon, else
        to 0. Numbers of steps beyond the budget are left out.
    """
    asked = [
        (i, j, math.ceil(bound))
        for i, pair in enumerate(pairs)
        for j, bound in enumerate(pair.steps_bound(epsilons))
        if bound <= runner.params["steps"]
    ]
    known = {} if runner.certifies else {int(step): at for at, step in enumerate(seen.asked)}
    new = [one for one in asked if one[2] not in known]
    again = seen
    if new:
        steps = np.array([step for _, _, step in new])
        again = runner.after(steps, np.array([epsilons[j] for _, j, _ in new]))
    kept = {}
    for i, j, step in asked:
        run, at = (seen, known[step]) if step in known else (again, new.index((i, j, step)))
        kept[i, j] = int(pairs[i].excess(run)[at] <= epsilons[j])
    return kept
