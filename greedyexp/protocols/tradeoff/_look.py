"""The first run of an algorithm: recorded steps, and where accuracies are sought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from greedyexp.protocols.tradeoff._promises import Pair
from greedyexp.protocols.tradeoff._rows import Reached
from greedyexp.protocols.tradeoff._run import Runner, Seen, search_steps


@dataclass(frozen=True)
class Looked:
    """What one run tells.

    Parameters
    ----------
    seen : Seen
        The recorded steps and those looked at, in order; or, of an algorithm that ends by its own
        certificate, the recorded steps and then one point for each accuracy.
    marks : int array
        Places of the recorded steps.
    certified : int array or None
        Places of the accuracies; None for an algorithm without a certificate.
    """

    seen: Seen
    marks: np.ndarray
    certified: np.ndarray | None

    def reached(
        self, pairs: Sequence[Pair], epsilons: Sequence[float]
    ) -> dict[tuple[int, int], Reached]:
        """By the places of a pair and an accuracy, where it was reached."""
        found = {}
        for i, pair in enumerate(pairs):
            excess = pair.excess(self.seen)
            for j, place in enumerate(self._places(excess, epsilons)):
                if place is not None:
                    steps, features = self.seen.steps[place], self.seen.features[place]
                    found[i, j] = Reached(int(steps), int(features), excess[place])
        return found

    def _places(self, excess: np.ndarray, epsilons: Sequence[float]) -> list[int | None]:
        """Where each accuracy was reached; None where it was not."""
        if self.certified is not None:
            return [at if self.seen.path.converged[at] else None for at in self.certified]
        hits = [np.flatnonzero(excess <= epsilon) for epsilon in epsilons]
        return [int(hit[0]) if hit.size else None for hit in hits]


def look(
    runner: Runner, recorded: np.ndarray, epsilons: Sequence[float], fine: int, resolution: int
) -> Looked:
    """Run an algorithm once past all recorded steps and all accuracies.

    Parameters
    ----------
    recorded : int array
        Increasing.
    fine, resolution : int
        See ``tradeoff_run.search_steps``.
    """
    budget = runner.params["steps"]
    if runner.certifies:
        own = np.full(len(recorded), float(runner.params["epsilon"]))
        steps = np.append(recorded, np.full(len(epsilons), budget))
        seen = runner.after(steps, np.append(own, epsilons))
        places = np.arange(len(steps))
        return Looked(seen, places[: len(recorded)], places[len(recorded) :])
    sought = search_steps(budget, fine, resolution) if len(epsilons) else recorded[:0]
    steps = np.union1d(recorded, sought).astype(np.int64)
    return Looked(runner.after(steps), np.searchsorted(steps, recorded), None)
