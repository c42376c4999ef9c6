"""What theorems promise of a run against each reference, and what the run makes of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from greedyexp.core.errors import ConfigError, DataError, did_you_mean
from greedyexp.core.registry import parts
from greedyexp.estimates.path import Path
from greedyexp.protocols.tradeoff._run import Runner, Seen
from greedyexp.theory.theorems import NO_THEOREM, Reference, RiskBound
from greedyexp.theory.theorems import theorems as known_theorems


@dataclass(frozen=True)
class Pair:
    """A reference and one theorem about it.

    Parameters
    ----------
    reference : Reference
    promise : RiskBound or None
        None where no theorem says anything of the algorithm against this reference.
    original : bool
        Whether the excess is that of the loss before it was smoothed.
    """

    reference: Reference
    promise: RiskBound | None
    original: bool

    @property
    def keys(self) -> dict[str, str]:
        """The columns that tell its rows apart."""
        theorem = NO_THEOREM if self.promise is None else self.promise.theorem
        return {"theorem": theorem, "reference": self.reference.name}

    def excess(self, seen: Seen) -> np.ndarray:
        """R(w) - R(wbar) at each estimate."""
        return seen.excess(self.reference, self.original)

    def excess_bound(self, steps: np.ndarray) -> np.ndarray:
        """What the excess is at most after so many steps; infinite where nothing is promised."""
        if self.promise is None:
            return np.full(len(steps), np.inf)
        return np.asarray(self.promise.excess(np.asarray(steps, dtype=float)), dtype=float)

    def steps_bound(self, epsilons: Sequence[float]) -> np.ndarray:
        """After how many steps it is at most epsilon; infinite where nothing is promised."""
        if self.promise is None:
            return np.full(len(epsilons), np.inf)
        return np.asarray(self.promise.steps(np.asarray(epsilons, dtype=float)), dtype=float)


def pairs(
    runner: Runner,
    seen: Seen,
    recorded: np.ndarray,
    references: Sequence[Reference],
    theorems: Sequence[str] | None,
    epsilons: Sequence[float],
) -> tuple[list[Pair], list[str]]:
    """Each reference with each theorem that promises something, or with none.

    Parameters
    ----------
    recorded : int array
        Places of the recorded steps.
    theorems : sequence of str or None
        Those to keep; all when None. One that is none of the algorithm is no mistake, as it may be
        one of another.

    Returns
    -------
    pairs : list of Pair
    left_out : list of str
        Why those that are named promise nothing of any recorded step or any accuracy.

    Raises
    ------
    DataError
        When none of those named that the algorithm has promises anything.
    """
    original = "risk" in seen.path.facts
    found, left_out = [], {}
    for reference in references:
        kept = []
        for promise in _promises(runner, seen.path, recorded, reference):
            if theorems is not None and promise.theorem not in theorems:
                continue
            pair = Pair(reference, promise, promise.original)
            bounds = np.append(
                pair.excess_bound(seen.counted[recorded]), pair.steps_bound(epsilons)
            )
            if np.isfinite(bounds).any():
                kept.append(pair)
            elif theorems is not None:
                # In words that do not name the reference, as most reasons are of the algorithm.
                left_out[_empty(promise)] = None
        found += kept or [Pair(reference, None, original)]
    if left_out and all(pair.promise is None for pair in found):
        raise DataError(f"no theorem that is asked for is left: {'; '.join(left_out)}.")
    return found, list(left_out)


def _promises(
    runner: Runner, path: Path, recorded: np.ndarray, reference: Reference
) -> list[RiskBound]:
    """What the theorems of an algorithm say; nothing where it has none.

    The estimates of an algorithm that ends by its own certificate are of several runs, one for each
    accuracy, and may not have one bound together. The bound of the excess is that of the recorded
    run.
    """
    prove = runner.part.theorems
    if prove is None:
        return []
    known = prove(path, reference, **runner.params)
    if not (runner.certifies and len(recorded)):
        return known
    alone = prove(path.take(recorded), reference, **runner.params)
    excess = {promise.theorem: promise.excess for promise in alone}
    return [
        replace(promise, excess=excess.get(promise.theorem, promise.excess)) for promise in known
    ]


def refuse_unknown(theorems: Sequence[str]) -> None:
    """Refuse names that no theorem has.

    Raises
    ------
    ConfigError
        With the nearest name.
    """
    known = known_theorems()
    for name in theorems:
        if name not in known and all_theorems_registered():
            raise ConfigError(
                f"unknown theorem '{name}' in protocol 'tradeoff'.",
                remedy=did_you_mean(name, known),
            )


def all_theorems_registered() -> bool:
    """Return False if an algorithm of a plugin has theorems, which it need not register."""
    return not any(
        part.theorems is not None and not part.shipped for part in parts("algorithm").values()
    )


def _empty(promise: RiskBound) -> str:
    why = promise.why_infinite or "it speaks of more steps and coarser accuracies"
    return f"{promise.theorem} promises nothing here: {why}"


def kept_within(
    runner: Runner, seen: Seen, found: Sequence[Pair], epsilons: Sequence[float]
) -> dict[tuple[int, int], bool]:
    """Whether the excess is at most epsilon after as many steps as a theorem gives.

    Parameters
    ----------
    seen : Seen
        The first run; an algorithm without a certificate is asked again only for other steps.

    Returns
    -------
    dict
        By the place of the pair and that of the accuracy; without those whose number of steps is
        beyond the budget.
    """
    budget = runner.params["steps"]
    asked = [
        (i, j, math.ceil(bound))
        for i, pair in enumerate(found)
        for j, bound in enumerate(pair.steps_bound(epsilons))
        if math.isfinite(bound) and math.ceil(bound) <= budget
    ]
    known = {} if runner.certifies else {int(step): at for at, step in enumerate(seen.asked)}
    kept = {
        (i, j): bool(found[i].excess(seen)[known[step]] <= epsilons[j])
        for i, j, step in asked
        if step in known
    }
    new = [(i, j, step) for i, j, step in asked if step not in known]
    if new:
        steps = np.array([step for _, _, step in new])
        again = runner.after(steps, np.array([epsilons[j] for _, j, _ in new]))
        for at, (i, j, _) in enumerate(new):
            kept[i, j] = bool(found[i].excess(again)[at] <= epsilons[j])
    return kept
