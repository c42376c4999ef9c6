"""Tests of claims and their verdicts."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import scipy

from greedyexp.claims.combinations import RARE, Contrast
from greedyexp.stats.level import LEVEL
from greedyexp.stats.proportions import clopper_pearson_upper

MOST_TRIALS = 1_000_000
# Significant digits of the numbers in a verdict. Fitted thresholds agree to about ten digits
# between processors.
_DIGITS = 8


class Verdict(str, Enum):
    """The result of a claim or a test, as written to ``claims.json``."""

    SUPPORTED = "supported"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"

    def __str__(self) -> str:
        return self.value


def rounded(value: float, size: float | None = None) -> float:
    """Round a number to 8 significant digits of ``size``, by default of itself."""
    size = value if size is None else size
    if not math.isfinite(value) or size == 0.0:
        return value
    # Adding zero makes a negative zero positive.
    return round(float(value), _DIGITS - 1 - math.floor(math.log10(abs(size)))) + 0.0


@dataclass(kw_only=True)
class JudgedTest:
    """One relation in one group. ``decide`` sets the verdict and the numbers behind it.

    Parameters
    ----------
    group : dict
        Column -> value, or -> [value, next value] for the step of a monotone relation.
    text : str
        The test as written.
    evidence : Compared, Counts or None
        What decides the test; None if the table cannot answer it.
    reason : str
        Why there is no answer; empty if there is one.
    runs, failed, unconverged : int
        Number of rows or replicates that the test is about, and of those with these outcomes.
    arms : frozenset of int
        The arms whose rows the test uses (``Table.arms``).
    estimate, boundary : float or None
        The estimate, and the number that it is compared with; None without an answer.
    p, p_adjusted : float or None
        The p-value before and after the correction for multiple tests; None without an answer.
    confidence : float or None
        The level of the interval, corrected for multiple tests.
    low, high : float or None
        Ends of the interval of the estimate at this level.
    verdict : Verdict
    look : int or None
        The look that decided the test, or its last look; None if the number of trials was fixed.
    expected : float
        Trials per point that would decide an inconclusive test if the estimate did not change;
        infinite if no number would, nan if it is unknown.
    """

    group: dict[str, Any]
    text: str
    evidence: Compared | Counts | None = None
    reason: str = ""
    runs: int = 0
    failed: int = 0
    unconverged: int = 0
    arms: frozenset[int] = frozenset()
    estimate: float | None = None
    boundary: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    confidence: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: Verdict = Verdict.INCONCLUSIVE
    look: int | None = None
    expected: float = math.inf

    @property
    def trials(self) -> int | None:
        """Trials per point that the test uses; None without an answer."""
        return None if self.evidence is None else self.evidence.trials

    @property
    def resampled(self) -> bool:
        """True if replicates resample one data set, so that more of them may decide nothing."""
        return self.evidence is not None and self.evidence.resampled

    @property
    def violated(self) -> bool:
        """True if a data set violates the relation, which refutes it without a p-value."""
        return self.evidence is not None and self.evidence.violated

    @property
    def decided(self) -> bool:
        """True if the test is supported or refuted."""
        return self.verdict is not Verdict.INCONCLUSIVE

    @property
    def needed_trials(self) -> int | None:
        """``expected`` if it is a number of trials that can be made, otherwise None."""
        return int(self.expected) if self.expected <= MOST_TRIALS else None

    @property
    def obstacle(self) -> str:
        """The reason why no number of trials is known that would decide an inconclusive test."""
        if self.evidence is None or self.decided or self.needed_trials is not None:
            return ""
        return self.evidence.obstacle(self.expected)

    def decide(self, p_adjusted: float, confidence: float, alpha: float) -> None:
        """Set the verdict from the p-value and level after the correction for multiple tests.

        A test without an answer stays inconclusive.
        """
        evidence = self.evidence
        if evidence is None:
            return
        self.estimate, self.boundary, self.p = evidence.estimate, evidence.boundary, evidence.p
        self.p_adjusted, self.confidence = p_adjusted, 1.0 if evidence.exhaustive else confidence
        self.low, self.high = evidence.interval(confidence)
        if evidence.violated or p_adjusted <= alpha:
            self.verdict = evidence.answer(self.low, self.high)
        if not self.decided:
            self.expected = evidence.needed(confidence)

    def round(self) -> None:
        """Round the numbers to digits that are the same on every processor.

        The verdict is decided before rounding. The estimate and its interval are rounded to 8
        digits of the largest of them: further digits of a difference near zero would be rounding
        errors. The confidence is exact and is not rounded.
        """
        sizes = [abs(value) for value in (self.estimate, self.low, self.high) if value is not None]
        size = max((value for value in sizes if math.isfinite(value)), default=0.0)
        sized = {"estimate": size, "low": size, "high": size}
        for name in (*sized, "boundary", "p", "p_adjusted"):
            value = getattr(self, name)
            if value is not None:
                setattr(self, name, rounded(value, sized.get(name)))


@dataclass(frozen=True)
class Compared:
    """A contrast that is compared with a boundary.

    The test is supported if the interval excludes its violation, and refuted if the interval
    excludes the relation.

    Failed runs may have been successes or not. The p-value and the interval hold in either case
    (``Contrast.by_failures``).

    Parameters
    ----------
    contrast : Contrast
        Its estimate and its intervals at any level.
    relation : str
        ``<``, ``<=``, ``>``, ``>=`` or ``==``.
    boundary : float
    margin : float >= 0
        With ``==``, the largest difference from the boundary at which the relation holds.
    """

    contrast: Contrast
    relation: str
    boundary: float
    margin: float = 0.0
    violated = exhaustive = False

    @property
    def estimate(self) -> float:
        """The estimate; nan if infinite terms have opposite signs."""
        return self.contrast.value

    @property
    def trials(self) -> int:
        """Trials per point, on average."""
        return self.contrast.trials

    @property
    def resampled(self) -> bool:
        """True if replicates of an estimate resample one data set."""
        return self.contrast.resampled

    @property
    def _boundaries(self) -> tuple[float, ...]:
        if self.relation != "==":
            return (self.boundary,)
        return self.boundary - self.margin, self.boundary + self.margin

    @cached_property
    def _p_values(self) -> dict[float, float]:
        return {boundary: self._p_value(boundary) for boundary in self._boundaries}

    @property
    def p(self) -> float:
        """The two-sided p-value, that of the nearer boundary for an equality."""
        return max(self._p_values.values())

    def _p_value(self, boundary: float) -> float:
        contrasts = self.contrast.by_failures
        values = [contrast.value for contrast in contrasts]
        if len(values) > 1 and min(values) <= boundary <= max(values):
            # If some of the failed runs were successes, the estimate would be at the boundary.
            return 1.0
        return max(max(each.p_value(boundary), each.equal_values_p()) for each in contrasts)

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the interval, which contains the boundaries that the test does not reject."""
        ends = [contrast.interval(confidence) for contrast in self.contrast.by_failures]
        kept = [b for b, p in self._p_values.items() if p > 1 - confidence]
        lows, highs = zip(*ends, strict=True)
        return min([*lows, *kept]), max([*highs, *kept])

    def answer(self, low: float, high: float) -> Verdict:
        """Return the verdict that follows from an interval alone."""
        below, above = self._boundaries[0], self._boundaries[-1]
        outside = high < below or low > above
        if self.relation == "==":
            if below < low and high < above:
                return Verdict.SUPPORTED
            return Verdict.REFUTED if outside else Verdict.INCONCLUSIVE
        if not outside:
            return Verdict.INCONCLUSIVE
        holds = (high < below) == self.relation.startswith("<")
        return Verdict.SUPPORTED if holds else Verdict.REFUTED

    @property
    def _failures_decide(self) -> bool:
        """True if the estimate lies elsewhere if failed runs count as successes."""
        values = [contrast.value for contrast in self.contrast.by_failures]
        return len({self.answer(value, value) for value in values}) > 1

    @property
    def refuting(self) -> bool:
        """True if the estimate, were it exact, would refute the test."""
        value = self.estimate
        return not self._on_boundary and self.answer(value, value) is Verdict.REFUTED

    @property
    def contradicted(self) -> bool:
        """True if the relation is false for the estimate, or wherever an infinite one may lie."""
        if self._on_boundary:
            return self.relation in ("<", ">")
        ends = self._limits if math.isinf(self.estimate) else (self.estimate, self.estimate)
        return self.answer(*ends) is Verdict.REFUTED

    @property
    def _limits(self) -> tuple[float, float]:
        low, high = self.contrast.limits
        # A fitted curve can cross the level outside the step that the shares of success say.
        return min(low, self.estimate), max(high, self.estimate)

    @property
    def _on_boundary(self) -> bool:
        """True if the estimate equals a boundary up to rounding."""
        return any(self.contrast.equals(boundary) for boundary in self._boundaries)

    @property
    def _between_points(self) -> bool:
        low, high = self.contrast.limits
        first, last = self._limits
        return low < high and any(first <= boundary <= last for boundary in self._boundaries)

    def obstacle(self, expected: float) -> str:
        """Return why no number of trials is known that would decide an undecided test."""
        if self._failures_decide:
            return "The failed runs decide it: the answer would be another if they were successes."
        if self.contrast.misfits:
            return self.contrast.misfits[0].misfit
        if math.isnan(self.estimate):
            return "The estimate is not finite: sweep further, more trials cannot decide it."
        if self.resampled:
            return "The replicates resample one data set: more rows can decide it, not more trials."
        if self._between_points:
            settled = self.contrast.settled_steps
            if math.isinf(self.estimate):
                cannot = "cannot" if settled else "may not"
                return f"The estimate is not finite: sweep further, more trials {cannot} decide it."
            if settled:
                return "The points of the sweep are too far apart: more trials cannot decide it."
            return (
                "The points of the sweep may be too far apart: how many trials it takes is unknown,"
                " and a finer sweep can help more."
            )
        if self._on_boundary:
            return "The estimate sits on the boundary: no number of trials would decide it."
        if math.isnan(expected):
            return "The interval is unbounded there: how many trials it takes is unknown."
        return f"It would take more than {MOST_TRIALS} trials per point."

    def needed(self, confidence: float) -> float:
        """Return the trials per point that would decide the test at a confidence level.

        The estimate is assumed not to change. The number is infinite if no number of trials would
        decide the test, and nan if it is unknown.
        """
        hopeless = math.isnan(self.estimate) or self._on_boundary
        if hopeless or self._failures_decide or self.resampled:
            return math.inf
        if self._between_points:
            return math.inf if self.contrast.settled_steps else math.nan
        if self.contrast.all_equal:
            factor = self.contrast.equal_values_growth(1 - confidence)
        else:
            parts = itertools.product(self.contrast.by_failures, self._boundaries)
            ratio = max(self._ratio(each, boundary, confidence) for each, boundary in parts)
            factor = ratio**2
        if not math.isfinite(factor):
            return math.nan
        return max(math.ceil(rounded(self.trials * factor)), self.trials + 1)

    def decidable(self, trials: int, confidence: float) -> bool:
        """Return False if so many trials per point can hardly decide the test at this level.

        The estimate may change within its interval.
        """
        if math.isnan(self.estimate):
            misfits = self.contrast.misfits
            return bool(misfits) and all(estimate.unclear for estimate in misfits)
        if self._failures_decide or self.resampled:
            return False
        if self._between_points and self.contrast.settled_steps:
            return False
        if self._on_boundary and self.contrast.settled:
            return False
        # Quantiles of the normal distribution: those of few trials would not shrink as they do.
        asked, here = (scipy.special.ndtri((1 - level) / 2) for level in (confidence, LEVEL))
        shrunk = float(asked / here) * math.sqrt(self.trials / trials)
        for contrast in self.contrast.by_failures:
            low, high = contrast.interval(LEVEL)
            farthest = min(max(end - low, high - end) for end in self._boundaries)
            if farthest < (high - low) / 2 * shrunk < math.inf:
                return False
        return True

    def _ratio(self, contrast: Contrast, boundary: float, confidence: float) -> float:
        """Return how many times narrower the interval must be to exclude a boundary."""
        low, high = contrast.interval(confidence)
        below = boundary < contrast.value
        nearest = contrast.limits[0 if below else 1]
        distance = abs(nearest - boundary)
        width = abs(nearest - (low if below else high))
        if distance == 0:
            return math.inf
        # The p-value decides if an exact test needs more trials than the interval.
        asked = -float(scipy.special.ndtri((1 - confidence) / 2))
        reached = -float(scipy.special.ndtri(max(self.p, 1e-9) / 2))
        by_p = asked / reached if reached > 0 else math.inf
        return max(width / distance, by_p if width < distance else 0.0)


@dataclass(frozen=True)
class Counts:
    """Data sets that violate a relation; the estimate is their share.

    A violation refutes a relation that should hold in every replicate. A replicate with a failed
    run may violate it: support needs evidence that less than ``RARE`` of the replicates violate it
    or fail. If the claim is about exactly these data sets, their numbers leave nothing to chance.

    Parameters
    ----------
    violations, replicates : int
        Numbers of replicates that violate the relation, and of those in which it is known.
    lost : int
        Number of replicates with a failed run and without a known violation.
    checked : int
        Number of replicates that are known or lost.
    points : int
        Number of points of the sweep that the replicates belong to.
    exhaustive : bool
        True if the claim is about exactly these data sets.
    usually : bool
        True if the relation must hold in more than half of the data sets instead of all of them.
        The estimate is then the share of those in which it holds. Only with ``exhaustive``.
    resampled : bool
        True if replicates resample one data set.
    """

    violations: int
    replicates: int
    lost: int
    checked: int
    points: int
    exhaustive: bool = False
    usually: bool = False
    resampled: bool = False
    boundary = None
    refuting = False

    @property
    def held(self) -> int:
        """Number of data sets in which the relation holds."""
        return self.replicates - self.violations

    @property
    def estimate(self) -> float:
        """The share of violations, or with ``usually`` that of the other data sets."""
        return (self.held if self.usually else self.violations) / self.replicates

    @property
    def trials(self) -> int:
        """Trials per point, on average."""
        return math.ceil(self.replicates / self.points)

    @property
    def violated(self) -> bool:
        """True if a violation refutes the relation without a p-value."""
        return self.violations > 0 and not self.exhaustive

    @property
    def contradicted(self) -> bool:
        """True if the relation is false for the counted data sets."""
        return 2 * self.held <= self.replicates if self.usually else self.violations > 0

    @property
    def p(self) -> float:
        """The probability of so few violations if their rate were ``RARE``; 0 if all are known.

        After a violation it is 1: the rate may be ``RARE`` nevertheless, so that the levels of
        other tests stay.
        """
        if self.exhaustive:
            return 0.0
        return 1.0 if self.violations else self._p_of(self.checked)

    def _p_of(self, checked: int) -> float:
        """Return the p-value with the same share of lost replicates among so many."""
        return float(scipy.special.bdtr(self.lost * checked // self.checked, checked, RARE))

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the interval of the rate of violations or failures."""
        if self.exhaustive:
            return self.estimate, self.estimate
        bad = self.violations + self.lost
        return 0.0, float(clopper_pearson_upper(bad, self.checked, confidence=confidence))

    def answer(self, low: float, high: float) -> Verdict:
        """Return the verdict if the counts decide."""
        return Verdict.REFUTED if self.contradicted else Verdict.SUPPORTED

    def needed(self, confidence: float) -> float:
        """Return the trials per point that would decide the test, as ``Compared.needed``."""
        checked = self.checked
        while self._p_of(checked) > 1 - confidence:
            checked += math.ceil(checked / 50) if self.lost else 1
            if checked > MOST_TRIALS * self.points:
                return math.inf
        return max(math.ceil(checked / self.points), self.trials + 1)

    def obstacle(self, expected: float) -> str:
        """Return why more trials would not decide the test."""
        return "Too many runs failed, which might violate it: more trials would not decide it."

    def decidable(self, trials: int, confidence: float) -> bool:
        """Return True if so many trials per point would decide the test."""
        return self.needed(confidence) <= trials
