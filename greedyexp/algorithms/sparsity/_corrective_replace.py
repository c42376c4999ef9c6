"""Replacement steps: one feature in, one out, as long as the risk falls."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from greedyexp.algorithms.foba._rules import ROUNDING, Rule, Slope
from greedyexp.algorithms.foba._run import Fitted
from greedyexp.losses.loss import TIE, Fit


@dataclass(frozen=True)
class Replacement:
    """One attempt to replace a feature.

    Parameters
    ----------
    taken, dropped : int
    objective : float
        R after it; of one that is not accepted what R would be, or where the run has no fit, R
        before it.
    accepted : bool
    """

    taken: int
    dropped: int
    objective: float
    accepted: bool


@dataclass
class Replacements:
    """What a run did.

    Parameters
    ----------
    states : list of Fitted
        Before the first replacement and after each.
    attempts : list of Replacement
        All that were accepted, and the one that was not if the run ended by it.
    failed : bool
        Whether it ended because a fit has no certificate.
    said : list of str
        What a user should know, in sentences.
    """

    states: list[Fitted] = field(default_factory=list)
    attempts: list[Replacement] = field(default_factory=list)
    failed: bool = False
    said: list[str] = field(default_factory=list)


class Exchange:
    """Algorithm 4 of the 2009 report from a fit that it goes on with.

    Parameters
    ----------
    fit : Fit
        The minimiser over the features to begin with; it is changed.
    rule : Rule
        What is best to take; with ``refit`` false it is the largest derivative instead.
    refit : bool
        Whether all are fitted again between taking and dropping, as in the listing.
    """

    def __init__(self, fit: Fit, rule: Rule, refit: bool):
        self.fit = fit
        self.rule = rule if refit else Slope(rule.loss)
        self.refit = refit
        self.run = Replacements([Fitted.of(fit)])

    def replace(self, most: int) -> Replacements:
        """Replace until it no longer lowers R, or ``most`` times."""
        attempt = self._through_refit if self.refit else self._at_once
        while len(self.run.states) <= most:
            if not len(self.fit.support):
                self.run.said.append("there is no feature to replace.")
                break
            unit, best = self.rule.best(self.fit)
            if best <= 0.0:
                self._say("nothing is left to gain")
                break
            if not attempt(unit):
                break
        return self.run

    def _through_refit(self, unit: int) -> bool:
        """Take, fit, drop the smallest without a fit, and fit if that is lower than before."""
        before = self.fit.value
        self.fit.add([unit])
        if not self._certified(unit, unit):
            return False
        place, dropped = _smallest(self.fit)
        after = self.fit.value + float(self.fit.removal_costs()[place])
        if before - after <= ROUNDING * abs(before):
            return self._refuse(unit, dropped, after)
        self.fit.remove([dropped])
        return self._certified(unit, dropped) and self._settle(unit, dropped, before)

    def _at_once(self, unit: int) -> bool:
        """Drop the smallest, take, fit, and keep that if it is lower than before."""
        before = self.fit.value
        dropped = _smallest(self.fit)[1]
        self.fit.remove([dropped])
        if not self._certified(unit, dropped):
            return False
        self.fit.add([unit])
        return self._certified(unit, dropped) and self._settle(unit, dropped, before)

    def _settle(self, taken: int, dropped: int, before: float) -> bool:
        """Accept the present fit if R fell by more than rounding."""
        if before - self.fit.value <= ROUNDING * abs(before):
            return self._refuse(taken, dropped, self.fit.value)
        self.run.attempts.append(Replacement(taken, dropped, self.fit.value, True))
        self.run.states.append(Fitted.of(self.fit))
        return True

    def _refuse(self, taken: int, dropped: int, after: float) -> bool:
        self.run.attempts.append(Replacement(taken, dropped, after, False))
        self._say("no replacement lowers the risk")
        return False

    def _certified(self, taken: int, dropped: int) -> bool:
        """Whether the present fit has its certificate; ends the run with a sentence if not."""
        if self.fit.converged:
            return True
        self.run.failed = True
        before = self.run.states[-1].objective
        self.run.attempts.append(Replacement(taken, dropped, before, False))
        why = self.fit.message or "the fit has no certificate."
        self.run.said.append(f"the replacements end before {self.rule.name(taken)}: {why}")
        return False

    def _say(self, what: str) -> None:
        count = len(self.run.states) - 1
        self.run.said.append(f"{what} after {count} replacement{'' if count == 1 else 's'}.")


def _smallest(fit: Fit) -> tuple[int, int]:
    """Place in the support, and index, of the smallest |coefficient|; ties to the lowest index."""
    support = np.array(fit.support, dtype=np.int64)
    sizes = np.abs(fit.params[support])
    equal = np.flatnonzero(sizes <= sizes.min() * (1.0 + TIE))
    place = int(equal[support[equal].argmin()])
    return place, int(support[place])
