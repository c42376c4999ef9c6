"""Estimates of quantities in one cell, with an interval at any confidence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from greedyexp.claims.peaks import Places
from greedyexp.stats.contrasts import correlation as sample_correlation
from greedyexp.stats.contrasts import uncentred_correlation
from greedyexp.stats.means import fieller, t_interval
from greedyexp.stats.proportions import phi
from greedyexp.stats.sequential import located_crossing, proportion_interval


@dataclass
class Estimate(ABC):
    """An estimate from the rows of one cell.

    Parameters
    ----------
    value : float
        May be infinite or nan for thresholds.
    pairs : array of int, shape (n,)
        Which data set each replicate saw.
    outcomes : array, shape (n,)
        What each replicate says: the metric or, for thresholds, how it moves the crossing.
    points : int
        Points of the sweep in it.
    failed, unconverged : int
        Rows that ended so.
    """

    value: float
    pairs: np.ndarray
    outcomes: np.ndarray
    points: int
    failed: int
    unconverged: int
    _ends: dict = field(default_factory=dict, repr=False)

    @property
    def rows(self) -> int:
        return len(self.pairs)

    @property
    def constant(self) -> bool:
        """Whether no value differs from another, so that their spread tells nothing."""
        return False

    @property
    def settled(self) -> tuple[float, float]:
        """Between which the truth would be known to lie if there were endless replicates alike."""
        return self.value, self.value

    def ends(self, confidence: float) -> tuple[float, float]:
        """The interval at a confidence level."""
        if confidence not in self._ends:
            low, high = self._interval(confidence)
            self._ends[confidence] = (float(low), float(high))
        return self._ends[confidence]

    @abstractmethod
    def _interval(self, confidence: float) -> tuple[float, float]:
        """The interval, computed."""

    @abstractmethod
    def correlation(self, other: Estimate) -> float:
        """Of this estimate with another of its kind, through the data sets both saw."""

    def _common(self, other: Estimate) -> tuple[np.ndarray, np.ndarray]:
        """What both say of the data sets that both saw."""
        _, here, there = np.intersect1d(
            self.pairs, other.pairs, assume_unique=True, return_indices=True
        )
        return self.outcomes[here], other.outcomes[there]

    def _shared(self, other: Estimate, common: int) -> float:
        """Share of the replicates that both saw: only these correlate the two averages."""
        return common / float(np.sqrt(self.rows * other.rows))


@dataclass
class Crossed(Estimate):
    """A threshold; its outcomes are what each replicate adds to the estimate, to first order."""

    x: np.ndarray = None
    successes: np.ndarray = None
    trials: np.ndarray = None
    level: float = 0.5
    sequential: bool = False

    def _interval(self, confidence: float) -> tuple[float, float]:
        fit = located_crossing(
            self.x,
            self.successes,
            self.trials,
            sequential=self.sequential,
            level=self.level,
            confidence=confidence,
        )
        return fit.low, fit.high

    def correlation(self, other: Estimate) -> float:
        pairs = np.union1d(self.pairs, other.pairs)
        moves = np.zeros((2, len(pairs)))
        for row, one in zip(moves, (self, other), strict=True):
            row[np.searchsorted(pairs, one.pairs)] = one.outcomes
        return float(uncentred_correlation(moves)[0, 1])


@dataclass
class Share(Estimate):
    """A proportion; its outcomes are 0 and 1."""

    sequential: bool = False

    def _interval(self, confidence: float) -> tuple[float, float]:
        return proportion_interval(
            self.outcomes.sum(), self.rows, sequential=self.sequential, confidence=confidence
        )

    def table(self, other: Share) -> tuple[int, int, int, int]:
        """Data sets on which both, one or none succeeded."""
        one, two = self._common(other)
        both = int(one @ two)
        first, second = int(one.sum()) - both, int(two.sum()) - both
        return both, first, second, len(one) - both - first - second

    def correlation(self, other: Share) -> float:
        counts = self.table(other)
        return phi(*counts) * self._shared(other, sum(counts)) if sum(counts) else 0.0


@dataclass
class Average(Estimate):
    """A mean."""

    @property
    def constant(self) -> bool:
        return self.rows > 1 and np.ptp(self.outcomes) == 0

    def _interval(self, confidence: float) -> tuple[float, float]:
        _, low, high = t_interval(self.outcomes, confidence)
        return low, high

    def correlation(self, other: Estimate) -> float:
        mine, others = self._common(other)
        if not len(mine):
            return 0.0
        return float(sample_correlation([mine, others])[0, 1]) * self._shared(other, len(mine))


@dataclass
class Peaked(Average):
    """The mean place of a peak; its outcomes are the middles of where each replicate has it."""

    at: Places = None

    @property
    def constant(self) -> bool:
        return self.rows > 1 and np.ptp(self.at.low) == np.ptp(self.at.high) == 0

    @property
    def settled(self) -> tuple[float, float]:
        return float(self.at.below.mean()), float(self.at.above.mean())

    def _interval(self, confidence: float) -> tuple[float, float]:
        # Each peak is known up to its neighbours only, and not at all beyond the end of a sweep.
        low, high = -np.inf, np.inf
        if np.isfinite(self.at.below).all():
            _, low, _ = t_interval(self.at.below, confidence)
        if np.isfinite(self.at.above).all():
            _, _, high = t_interval(self.at.above, confidence)
        return low, high


@dataclass
class Quotient(Estimate):
    """A ratio of means; its outcomes are unused."""

    top: np.ndarray = None
    bottom: np.ndarray = None

    @property
    def constant(self) -> bool:
        return self.rows > 1 and np.ptp(self.top) == 0 and np.ptp(self.bottom) == 0

    def _interval(self, confidence: float) -> tuple[float, float]:
        _, low, high = fieller(self.top, self.bottom, confidence)
        return low, high

    def correlation(self, other: Estimate) -> float:
        # Ratios are only put together across different data.
        return 0.0
