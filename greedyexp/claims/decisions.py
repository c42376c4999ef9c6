"""Tests of claims and their verdicts."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import scipy

from greedyexp.claims.contrasts import RARE, Contrast
from greedyexp.stats.contrasts import p_value_of
from greedyexp.stats.proportions import CONFIDENCE, clopper_pearson_upper

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
    """One relation in one group. ``decide`` sets the verdict.

    A test that the table cannot answer is an instance of this class. All others are instances of
    ``AnsweredTest``.

    Parameters
    ----------
    group : dict
        Column -> value, or -> [value, next value] for the step of a monotone relation.
    text : str
        The test as written.
    relation : str
        ``<``, ``<=``, ``>``, ``>=`` or ``==``.
    boundary, estimate : float or None
        The number that the estimate is compared with, and the estimate; None without an answer.
    p, p_adjusted : float or None
        The p-value before and after the correction for multiple tests; None without an answer.
    trials : int or None
        Trials per point that the test uses.
    failed, unconverged : int
        Numbers of rows or replicates with these outcomes.
    reason : str
        Why there is no answer; empty if there is one.
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
    arms : frozenset of int
        The arms whose rows the test uses (``Table.arms``).
    """

    group: dict[str, Any]
    text: str
    relation: str
    boundary: float | None = None
    estimate: float | None = None
    p: float | None = None
    trials: int | None = None
    failed: int = 0
    unconverged: int = 0
    reason: str = ""
    p_adjusted: float | None = None
    confidence: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: Verdict = Verdict.INCONCLUSIVE
    look: int | None = None
    expected: float = math.inf
    arms: frozenset[int] = frozenset()

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
        return ""

    @property
    def violated(self) -> bool:
        """True if a data set violates the relation, which refutes it without a p-value."""
        return False

    @property
    def refuting(self) -> bool:
        """True if the estimate, were it exact, would refute the test."""
        return False

    def decide(self, p_adjusted: float, confidence: float, alpha: float) -> None:
        """Set the verdict from the p-value and level after the correction for multiple tests.

        A test without an answer stays inconclusive.
        """

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


@dataclass(kw_only=True)
class AnsweredTest(JudgedTest):
    """A test with a p-value. Subclasses compute it on creation and implement ``decide``."""

    estimate: float
    trials: int
    p: float = field(init=False)
    p_adjusted: float = math.nan
    confidence: float = math.nan
    low: float = math.nan
    high: float = math.nan

    @abstractmethod
    def needed(self, confidence: float) -> float:
        """Return the trials per point that would decide the test at a confidence level.

        The estimate is assumed not to change. The number is infinite if no number of trials would
        decide the test, and nan if it is unknown.
        """

    @abstractmethod
    def decidable(self, trials: int, confidence: float) -> bool:
        """Return False if so many trials per point can hardly decide the test at this level.

        The estimate may change within its 95% interval.
        """


@dataclass(kw_only=True)
class Compared(AnsweredTest):
    """A test that compares a contrast with a boundary.

    The test is supported if the interval excludes its violation, and refuted if the interval
    excludes the relation.

    Parameters
    ----------
    contrast : Contrast
        What is compared with ``boundary``: its estimate and its intervals at any level.
    margin : float >= 0
        With ``==``, the largest difference from the boundary at which the relation holds.
    """

    boundary: float
    contrast: Contrast
    margin: float = 0.0

    @property
    def _boundaries(self) -> tuple[float, float]:
        if self.relation != "==":
            return self.boundary, self.boundary
        return self.boundary - self.margin, self.boundary + self.margin

    def __post_init__(self) -> None:
        p = max(
            max(p_value_of(self.contrast.interval, b), self.contrast.exact_p(b))
            for b in dict.fromkeys(self._boundaries)
        )
        self.p = max(p, self.contrast.equal_values_p())

    def decide(self, p_adjusted: float, confidence: float, alpha: float) -> None:
        self.p_adjusted, self.confidence = p_adjusted, confidence
        self.low, self.high = self.contrast.interval(confidence)
        answer = self._answer(self.low, self.high)
        if p_adjusted <= alpha and answer is not Verdict.INCONCLUSIVE:
            self.verdict = answer
        else:
            self.expected = self.needed(confidence)

    def _answer(self, low: float, high: float) -> Verdict:
        """Return the verdict that follows from an interval alone."""
        below, above = self._boundaries
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
    def refuting(self) -> bool:
        return self._answer(self.estimate, self.estimate) is Verdict.REFUTED

    @property
    def _on_boundary(self) -> bool:
        """True if the estimate equals a boundary up to rounding."""
        return any(self.contrast.equals(boundary) for boundary in self._boundaries)

    @property
    def _between_points(self) -> bool:
        low, high = self.contrast.limits
        # A fitted curve can cross the level outside the step that the shares of success say.
        ends = min(low, self.estimate), max(high, self.estimate)
        return low < high and any(ends[0] <= one <= ends[1] for one in self._boundaries)

    @property
    def obstacle(self) -> str:
        if self.decided or self.needed_trials is not None:
            return ""
        if math.isnan(self.estimate):
            return "The estimate is not finite: sweep further, more trials cannot decide it."
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
        if math.isnan(self.expected):
            return "The interval is unbounded there: how many trials it takes is unknown."
        return f"It would take more than {MOST_TRIALS} trials per point."

    def needed(self, confidence: float) -> float:
        if math.isnan(self.estimate) or self._on_boundary:
            return math.inf
        if self._between_points:
            return math.inf if self.contrast.settled_steps else math.nan
        if self.contrast.all_equal:
            growth = self.contrast.equal_values_growth(1 - confidence)
            return max(math.ceil(rounded(self.trials * growth)), self.trials + 1)
        ends = self.contrast.interval(confidence)
        ratio = max(self._ratio(boundary, confidence, *ends) for boundary in self._boundaries)
        if not math.isfinite(ratio):
            return math.nan
        return max(math.ceil(rounded(self.trials * ratio**2)), self.trials + 1)

    def decidable(self, trials: int, confidence: float) -> bool:
        if math.isnan(self.estimate):
            return False
        if self._between_points and self.contrast.settled_steps:
            return False
        if self._on_boundary and self.contrast.settled:
            return False
        low, high = self.contrast.interval(CONFIDENCE)
        farthest = min(max(one - low, high - one) for one in self._boundaries)
        # Quantiles of the normal distribution: those of few trials would not shrink as they do.
        asked, here = (scipy.special.ndtri((1 - one) / 2) for one in (confidence, CONFIDENCE))
        half_width = (high - low) / 2 * float(asked / here) * math.sqrt(self.trials / trials)
        return half_width == math.inf or half_width <= farthest

    def _ratio(self, boundary: float, confidence: float, low: float, high: float) -> float:
        """Return how many times narrower the interval must be to exclude a boundary."""
        below = boundary < self.estimate
        nearest = self.contrast.limits[0 if below else 1]
        distance = abs(nearest - boundary)
        width = abs(nearest - (low if below else high))
        if distance == 0:
            return math.inf
        # The p-value decides if an exact test needs more trials than the interval.
        asked = -float(scipy.special.ndtri((1 - confidence) / 2))
        reached = -float(scipy.special.ndtri(max(self.p, 1e-9) / 2))
        by_p = asked / reached if reached > 0 else math.inf
        return max(width / distance, by_p if width < distance else 0.0)


@dataclass(kw_only=True)
class Bounded(AnsweredTest):
    """A relation that should hold in every replicate; the estimate is the rate of violations.

    Parameters
    ----------
    violations, replicates : int
        Numbers of replicates that violate the relation, and of all replicates.
    points : int
        Number of points of the sweep that the replicates belong to.
    """

    violations: int
    replicates: int
    points: int

    def __post_init__(self) -> None:
        # The probability of no violation if the rate were RARE. A violation refutes the relation
        # without a test. The rate may be RARE nevertheless, so the levels of other tests stay.
        self.p = 1.0 if self.violations else (1 - RARE) ** self.replicates

    @property
    def violated(self) -> bool:
        return self.violations > 0

    def decide(self, p_adjusted: float, confidence: float, alpha: float) -> None:
        self.p_adjusted, self.confidence, self.low = p_adjusted, confidence, 0.0
        limit = clopper_pearson_upper(self.violations, self.replicates, confidence=self.confidence)
        self.high = float(limit)
        if self.violations:
            self.verdict = Verdict.REFUTED
        elif p_adjusted <= alpha:
            self.verdict = Verdict.SUPPORTED
        else:
            self.expected = self.needed(confidence)

    def needed(self, confidence: float) -> float:
        rows = math.log(1 - confidence) / math.log(1 - RARE)
        return max(math.ceil(rows / self.points), self.trials + 1)

    def decidable(self, trials: int, confidence: float) -> bool:
        return self.needed(confidence) <= trials


@dataclass(kw_only=True)
class Counted(AnsweredTest):
    """A relation in all data sets that a claim is about, which leaves nothing to chance.

    Parameters
    ----------
    held, replicates : int
        Numbers of data sets in which the relation holds, and of all data sets.
    always : bool
        True if the relation must hold in all of them, false if in more than half.
    """

    held: int
    replicates: int
    always: bool

    def __post_init__(self) -> None:
        self.p = 0.0

    def decide(self, p_adjusted: float, confidence: float, alpha: float) -> None:
        self.p_adjusted, self.confidence = 0.0, 1.0
        self.low = self.high = self.estimate
        holds = self.held == self.replicates if self.always else 2 * self.held > self.replicates
        self.verdict = Verdict.SUPPORTED if holds else Verdict.REFUTED

    def needed(self, confidence: float) -> float:
        return math.inf

    def decidable(self, trials: int, confidence: float) -> bool:
        return False
