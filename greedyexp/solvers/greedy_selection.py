"""One run of forward-backward greedy selection on a convex smooth loss, with its states."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.estimates.path import Path
from greedyexp.estimates.sparse import SparseEstimates
from greedyexp.losses.loss import TIE, Fit, Loss
from greedyexp.solvers.greedy_rules import ROUNDING, Rule


@dataclass(frozen=True)
class Stops:
    """Conditions that end a run, checked before each forward step.

    Parameters
    ----------
    threshold : float >= 0
        The run ends if the best goodness is less than this.
    max_features, max_groups : int >= 0
        The run ends if the step would lead to more coefficients, or rows, than this.
    """

    threshold: float = 0.0
    max_features: int = sys.maxsize
    max_groups: int = sys.maxsize


@dataclass(frozen=True)
class State:
    """The minimiser over a support, before a forward step or at the end.

    Parameters
    ----------
    support : array of int (k,)
    values : array (k,)
        Coefficients of the support.
    dense : array (q,)
    objective : float
    certified : bool
    additions, removals : int
        Number of steps so far.
    n_rows : int
        Number of rows of the matrix (p, r) of coefficients that the support uses.
    goodness : float
        Goodness of the best step from here; nan if it was not computed.
    opens : bool
        Whether that step uses one more row.
    """

    support: np.ndarray
    values: np.ndarray
    dense: np.ndarray
    objective: float
    certified: bool
    additions: int = 0
    removals: int = 0
    n_rows: int = 0
    goodness: float = np.nan
    opens: bool = False

    @classmethod
    def of(cls, fit: Fit, **details) -> State:
        """Return the state of a fit, with the other fields given by keyword."""
        support = np.array(fit.support, dtype=np.int64)
        values, dense = fit.params[support], fit.params[fit.loss.size :].copy()
        return cls(support, values, dense, fit.value, fit.converged, **details)


def path_of(loss: Loss, states: Sequence[State], answered: np.ndarray, **parts: Any) -> Path:
    """Return the path of some states.

    Parameters
    ----------
    loss : Loss
    states : sequence of State (m,)
    answered : bool array (m,)
        Whether each state satisfies its point of the grid. The estimate is converged if its fit
        also has a certificate.
    **parts
        ``grid``, ``message``, ``facts`` and ``history`` of the path.
    """
    orders = [np.argsort(state.support) for state in states]
    none = np.zeros(0, dtype=np.int64)
    return Path(
        SparseEstimates(
            np.cumsum([0, *map(len, orders)]),
            np.concatenate([none, *(s.support[i] for s, i in zip(states, orders, strict=True))]),
            np.concatenate([none, *(s.values[i] for s, i in zip(states, orders, strict=True))]),
            loss.shape,
        ),
        objective=np.array([state.objective for state in states]),
        converged=np.array([state.certified for state in states]) & answered,
        loss=loss,
        dense=np.array([state.dense for state in states]),
        **parts,
    )


@dataclass(frozen=True)
class Step:
    """A step that adds or drops a unit, and the fit after it.

    Parameters
    ----------
    action : {"add", "remove"}
    unit : int
    objective : float
    goodness : float
        Goodness of a unit that was added, or cost of a unit that was dropped.
    n_features, n_rows : int
    """

    action: str
    unit: int
    objective: float
    goodness: float
    n_features: int
    n_rows: int


@dataclass
class Run:
    """The result of ``Pursuit.pursue``: the sequence of supports and how they were reached.

    Parameters
    ----------
    states : list of State
        The state before each forward step, and the final state.
    steps : list of Step
    failed : bool
        Whether the run ended because a fit has no certificate; the last state precedes that fit.
    limited : bool
        Whether the run ended because the next step would exceed a limit on the size.
    remarks : list of str
        Messages for the user.
    """

    states: list[State] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    failed: bool = False
    limited: bool = False
    remarks: list[str] = field(default_factory=list)


class Pursuit:
    """One run of Algorithm 1 of Liu, Fujimaki & Ye (2014).

    Parameters
    ----------
    loss : Loss
    rule : Rule
        Scores the units to add and to drop.
    ratio : float in [0, 1]
        A unit is dropped if its cost is less than this fraction of the decrease recorded for the
        present size; with 0 no unit is dropped.
    kept : collection of int, optional
        Sizes of the support whose states are kept, in addition to the last state; by default all.
        All states of k steps hold k^2 / 2 coefficients.
    """

    def __init__(self, loss: Loss, rule: Rule, ratio: float, kept: Collection[int] | None = None):
        self.loss, self.rule, self.ratio, self.kept = loss, rule, ratio, kept
        self.fit = loss.fit()
        self.run = Run()
        # Units in the order of entry. For each size: the loss before the forward step that last led
        # to it, and how much that step lowered it.
        self._taken: list[int] = []
        self._befores: list[float] = []
        self._decreases: list[float] = []
        self._additions = self._removals = 0

    def pursue(self, stops: Stops) -> Run:
        """Add and drop units until a limit is reached, no gain is left or a fit has no certificate.

        Raises
        ------
        DataError
            If a backward step returns to a size without lowering the loss, compared with the loss
            before the last forward step from that size. Only rounding can cause this, since the
            cost of the dropped unit is less than the gain of that step. If all such returns lower
            the loss, the run ends, although a support may recur.
        """
        if not self._certified("there is no fit without features"):
            self._record(np.nan, False)
            return self.run
        self._advance(stops)
        if self.fit.message and not self.run.failed:
            self.run.remarks.append(self.fit.message)
        return self.run

    def look_ahead(self, stops: Stops) -> None:
        """Continue a run that a limit on its size ended, up to looser limits.

        The states are added to those of the run. An obstacle, such as a fit without a certificate
        or a return that rounding undoes, ends only this continuation: the run up to its limits is
        complete without it.
        """
        # The last state is recorded again, now with the step that leads on.
        self.run.states.pop()
        remarks = list(self.run.remarks)
        with suppress(DataError):
            self._advance(stops)
        self.run.remarks, self.run.failed = remarks, False

    def _advance(self, stops: Stops) -> None:
        while (unit := self._choose(stops)) is not None:
            if not self._take(unit):
                break
            if self.ratio > 0.0 and not self._drop_cheap():
                break

    def _choose(self, stops: Stops) -> int | None:
        """Record the state and return the unit to add next, None at the end."""
        rule, size = self.rule, len(self.fit.support)
        if size + rule.width > min(stops.max_features, self.loss.size):
            self._record(np.nan, False)
            self.run.limited = True
            return None
        unit, best = rule.best(self.fit)
        opens = rule.row(unit) not in self._rows()
        self._record(best, opens)
        if best < stops.threshold:
            return None
        if best <= 0.0:
            self._nothing_left()
            return None
        self.run.limited = self.run.states[-1].n_rows + opens > stops.max_groups
        return None if self.run.limited else unit

    def _take(self, unit: int) -> bool:
        """Add a unit and refit; return whether the run continues."""
        before = self.fit.value
        self.fit.add(self.rule.members(unit))
        if not self._certified(f"the path ends before {self.rule.name(unit)}"):
            return False
        decrease = before - self.fit.value
        if decrease <= ROUNDING * abs(before):
            self._nothing_left()
            return False
        self._taken.append(unit)
        self._befores.append(before)
        self._decreases.append(decrease)
        self._additions += 1
        self._note("add", unit, self.run.states[-1].goodness)
        return True

    def _drop_cheap(self) -> bool:
        """Drop units below the threshold cost and refit; return whether the run continues.

        The unit just added is never the first to be dropped. Without it, and with the others
        unchanged, the loss is at least its minimum before the step, so the cost is at least the
        decrease that it is compared with. Only rounding could make it smaller.
        """
        just_taken = True
        while self._taken:
            rounding = ROUNDING * abs(self.fit.value)
            limit = self.ratio * self._decreases[-1]
            # Costs that tie with one below the limit must be exact, too.
            costs = self.rule.costs(self.fit, self._taken, limit * (1.0 + TIE) + 2.0 * rounding)
            if just_taken:
                costs[-1], just_taken = np.inf, False
            least = costs.min()
            if least >= limit * (1.0 - TIE) - rounding:
                break
            equal = np.flatnonzero(costs <= least + TIE * abs(least) + rounding)
            unit = min(self._taken[place] for place in equal)
            cost = float(costs[self._taken.index(unit)])
            self.fit.remove(self.rule.members(unit))
            if not self._certified(f"the path ends before {self.rule.name(unit)} is dropped"):
                return False
            self._taken.remove(unit)
            self._decreases.pop()
            if self.fit.value >= self._befores.pop():
                self._refuse_return(unit)
            self._removals += 1
            self._note("remove", unit, cost)
        return True

    def _certified(self, consequence: str) -> bool:
        """Return whether the fit has its certificate; if not, add a remark and mark the failure."""
        if not self.fit.converged:
            self.run.failed = True
            why = self.fit.message or "the fit has no certificate."
            self.run.remarks.append(f"{consequence}: {why}")
        return self.fit.converged

    def _nothing_left(self) -> None:
        count = len(self.run.states[-1].support) // self.rule.width
        self.run.remarks.append(f"nothing is left to gain after {count} {self.rule.units}.")

    def _refuse_return(self, unit: int) -> None:
        raise DataError(
            f"dropping {self.rule.name(unit)} brought the selection back to {len(self._taken)}"
            f" {self.rule.units} without lowering the loss: the changes are rounding errors.",
            remedy="Scale the columns to similar norms, or set max_features or a threshold.",
        )

    def _rows(self) -> Collection[int]:
        r = self.loss.shape[1]
        return self.fit.support if r == 1 else {index // r for index in self.fit.support}

    def _record(self, goodness: float, opens: bool) -> None:
        states = self.run.states
        states.append(
            State.of(
                self.fit,
                additions=self._additions,
                removals=self._removals,
                n_rows=len(self._rows()),
                goodness=goodness,
                opens=opens,
            )
        )
        if self.kept is not None and len(states) > 1 and len(states[-2].support) not in self.kept:
            del states[-2]

    def _note(self, action: str, unit: int, goodness: float) -> None:
        self.run.steps.append(
            Step(
                action=action,
                unit=unit,
                objective=self.fit.value,
                goodness=goodness,
                n_features=len(self.fit.support),
                n_rows=len(self._rows()),
            )
        )
