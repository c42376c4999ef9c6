"""One run of fully corrective selection, of which only the states asked for are kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from greedyexp.algorithms.foba._rules import Rule
from greedyexp.algorithms.foba._run import Fitted, Pursuit, Run, State, Stops
from greedyexp.losses.loss import Loss


class CorrectivePursuit(Pursuit):
    """Forward selection with a refit of all coefficients after each step, 2009 report, Algorithm 3.

    Parameters
    ----------
    loss : Loss
        Of one task, without dense coefficients.
    rule : Rule
    wanted : int array
        Numbers of features whose states are kept, besides the last: all of them would hold k^2 / 2
        coefficients after k steps.
    """

    def __init__(self, loss: Loss, rule: Rule, wanted: np.ndarray):
        super().__init__(loss, rule, 0.0)
        self._wanted = {int(size) for size in wanted}

    def select(self, most: int) -> Run:
        """Take features until there are ``most``, or nothing is left to gain."""
        return self.pursue(Stops(max_features=most))

    def _rows(self) -> list[int]:
        # A row has one coefficient.
        return self.fit.support

    def _record(self, goodness: float, opens: bool) -> None:
        super()._record(goodness, opens)
        states = self.run.states
        if len(states) > 1 and len(states[-2].support) not in self._wanted:
            del states[-2]


def states_at(run: Run, sizes: np.ndarray) -> list[State]:
    """The state of each number of features, the last one where a run did not come that far."""
    kept = {len(state.support): state for state in run.states}
    return [kept.get(int(size), run.states[-1]) for size in sizes]


def coefficients(loss: Loss, states: Sequence[Fitted]) -> np.ndarray:
    """Estimates (m, p, 1) of states."""
    coef = np.zeros((len(states), loss.size))
    for row, state in zip(coef, states, strict=True):
        row[state.support] = state.values
    return coef[:, :, None]
