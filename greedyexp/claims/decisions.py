"""What an interval says about a relation, and how many trials would make it say something."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum

import numpy as np
from scipy.special import ndtri

from greedyexp.claims.contrasts import Contrast
from greedyexp.stats.contrasts import p_value_of
from greedyexp.stats.proportions import clopper_pearson_upper

# What may happen in fewer than this share of replicates is rare enough to call it never.
RARE = 0.05
MOST_TRIALS = 1_000_000
# Significant digits of the numbers in a verdict. Thresholds that are fitted on different
# processors agree to about ten digits.
DIGITS = 8


class Verdict(str, Enum):
    """What became of a claim or a test; the values are the words of ``claims.json``."""

    SUPPORTED = "supported"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"

    def __str__(self) -> str:
        return self.value


def shortened(value: float | None, size: float | None = None) -> float | None:
    """Round a number to 8 significant digits of ``size``, by default of itself."""
    size = value if size is None else size
    if value is None or not math.isfinite(value) or size == 0.0:
        return value
    # Adding zero makes a negative zero positive.
    return round(float(value), DIGITS - 1 - math.floor(math.log10(abs(size)))) + 0.0


@dataclass
class Tested(ABC):
    """One relation in one group, judged on its own; ``decide`` adds the verdict.

    Parameters
    ----------
    group : dict
        Column -> value, or -> [value, next value] for the step of a monotone relation.
    text : str
        The test as written.
    relation : str
        ``<``, ``<=``, ``>``, ``>=`` or ``==``.
    boundary : float or None
    p : float or None
        None when nothing could be judged, for the given reason.
    """

    group: dict
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
    needed_trials: int | None = None
    obstacle: str = ""

    @abstractmethod
    def decide(self, p_adjusted: float, confidence: float, alpha: float) -> None:
        """Give the verdict at the level that several tests at once leave to this one."""

    def shorten(self) -> None:
        """Round the numbers after the verdict, so that they are the same on every processor.

        The estimate and its interval to 8 digits of the largest of them: of a difference near zero
        more digits would be rounding errors. The others to 8 digits of their own, but for the
        confidence, which is the same everywhere.
        """
        sizes = [abs(value) for value in (self.estimate, self.low, self.high) if value is not None]
        size = max((value for value in sizes if math.isfinite(value)), default=0.0)
        for name in ("estimate", "low", "high"):
            setattr(self, name, shortened(getattr(self, name), size))
        for name in ("boundary", "p", "p_adjusted"):
            setattr(self, name, shortened(getattr(self, name)))


@dataclass
class Unjudged(Tested):
    """A test that the table has no answer to."""

    def decide(self, p_adjusted: float, confidence: float, alpha: float) -> None:
        """Stays inconclusive, for its reason."""
        self.obstacle = self.reason


@dataclass
class Compared(Tested):
    """A contrast against a boundary."""

    contrast: Contrast | None = None
    margin: float = 0.0

    def judge(self) -> None:
        """Set the p-value: the interval that decides leaves out every boundary."""
        self.p = max(p_value_of(self.contrast.interval, b) for b in self._boundaries())
        if self.relation != "==":
            self.p = max(self.p, self.contrast.exact_p(self.boundary))
        if self.contrast.unvarying:
            self.p = max(self.p, self.contrast.alike(RARE))

    def _boundaries(self) -> tuple[float, ...]:
        if self.relation != "==":
            return (self.boundary,)
        return self.boundary - self.margin, self.boundary + self.margin

    def decide(self, p_adjusted: float, confidence: float, alpha: float) -> None:
        """Supported or refuted when the interval at this level leaves out the other answer."""
        self.p_adjusted, self.confidence = p_adjusted, confidence
        self.low, self.high = self.contrast.interval(confidence)
        told = self._told()
        if p_adjusted <= alpha and told is not Verdict.INCONCLUSIVE:
            self.verdict = told
        else:
            self.needed_trials, self.obstacle = self._needed()

    def _told(self) -> Verdict:
        """What the interval says."""
        below, above = self._boundaries()[0], self._boundaries()[-1]
        if self.relation == "==":
            if below < self.low and self.high < above:
                return Verdict.SUPPORTED
            outside = self.high < below or self.low > above
            return Verdict.REFUTED if outside else Verdict.INCONCLUSIVE
        if not (self.high < below or self.low > below):
            return Verdict.INCONCLUSIVE
        holds = (self.high < below) == self.relation.startswith("<")
        return Verdict.SUPPORTED if holds else Verdict.REFUTED

    def _needed(self) -> tuple[int | None, str]:
        """Trials per point at which the interval would decide if the estimate stayed."""
        if not np.isfinite(self.estimate):
            return None, "The estimate is not finite: sweep further, more trials cannot decide it."
        low, high = self.contrast.settled
        if low < high and any(low <= boundary <= high for boundary in self._boundaries()):
            return None, "The points of the sweep are too far apart: more trials cannot decide it."
        ratio = max(self._ratio(boundary) for boundary in self._boundaries())
        if ratio == math.inf and self.estimate in self._boundaries():
            return None, "The estimate sits on the boundary: no number of trials would decide it."
        if not math.isfinite(ratio):
            return None, "The interval is unbounded there: how many trials it takes is unknown."
        needed = max(math.ceil(shortened(self.trials * ratio**2)), self.trials + 1)
        if needed > MOST_TRIALS:
            return None, f"It would take more than {MOST_TRIALS} trials per point."
        return needed, ""

    def _ratio(self, boundary: float) -> float:
        """How many times narrower the interval must be to leave out a boundary."""
        below = boundary < self.estimate
        nearest = self.contrast.settled[0 if below else 1]
        distance = abs(nearest - boundary)
        width = abs(nearest - (self.low if below else self.high))
        if distance == 0:
            return math.inf
        # Where an exact test or equal values ask for more than the interval, go by the p-value.
        asked = -ndtri((1 - self.confidence) / 2)
        reached = -ndtri(max(self.p, 1e-9) / 2)
        by_p = asked / reached if reached > 0 else math.inf
        return max(width / distance, by_p if width < distance else 0.0)


@dataclass
class Bounded(Tested):
    """A relation that should hold in every replicate; the estimate is the share of violations."""

    violations: int = 0
    replicates: int = 0
    points: int = 1

    def judge(self) -> None:
        """One violation refutes; without any, the p-value is that of a violation being rare."""
        self.p = 0.0 if self.violations else (1 - RARE) ** self.replicates

    def decide(self, p_adjusted: float, confidence: float, alpha: float) -> None:
        """Supported when violations are rarer than ``RARE`` at this level."""
        self.p_adjusted, self.confidence = p_adjusted, confidence
        self.low = 0.0
        self.high = float(
            clopper_pearson_upper(self.violations, self.replicates, confidence=confidence)
        )
        if self.violations:
            self.verdict = Verdict.REFUTED
        elif p_adjusted <= alpha:
            self.verdict = Verdict.SUPPORTED
        else:
            rows = math.log(1 - confidence) / math.log(1 - RARE)
            self.needed_trials = max(math.ceil(rows / self.points), self.trials + 1)
