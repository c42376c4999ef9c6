"""Estimates of quantities in one cell, with an interval at any confidence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from greedyexp.claims.quantities import Mean, Proportion, Ratio, Threshold
from greedyexp.claims.table import Group, Missing, Table
from greedyexp.frames.counts import FAILED
from greedyexp.protocols.outcome import Status
from greedyexp.stats.correlation import correlation as sample_correlation
from greedyexp.stats.correlation import uncentred_correlation
from greedyexp.stats.crossing import influence
from greedyexp.stats.means import fieller, t_interval
from greedyexp.stats.paired import phi
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


class Estimates:
    """Estimates from a table, each made once.

    Parameters
    ----------
    table : Table
    """

    def __init__(self, table: Table):
        self.table = table
        self._made: dict = {}

    def of(self, quantity, cell: Group) -> Estimate:
        """The estimate of a quantity in a cell.

        Raises
        ------
        Missing
            When the table does not have what it takes.
        """
        key = (quantity, tuple(sorted(cell)))
        if key not in self._made:
            try:
                self._made[key] = self._make(quantity, cell)
            except Missing as lack:
                self._made[key] = lack
        made = self._made[key]
        if isinstance(made, Missing):
            raise made
        return made

    def _make(self, quantity, cell: Group) -> Estimate:
        match quantity:
            case Threshold():
                return self._threshold(quantity, cell)
            case Proportion():
                rows = self._rows(quantity.algorithm, cell)
                values = self._successes(quantity.metric, rows)
                sequential = self.table.setting.sequential
                return Share(float(values.mean()), *self._base(rows, values, 1), sequential)
            case Mean():
                rows = self._rows(quantity.algorithm, cell)
                values = self._values(quantity, rows)
                return Average(float(values.mean()), *self._base(rows, values, 1))
            case Ratio():
                return self._ratio(quantity, cell)
        raise TypeError(quantity)

    def _base(self, rows: np.ndarray, outcomes: np.ndarray, points: int, pairs=None) -> tuple:
        status = self.table.frame["status"].to_numpy()[rows]
        return (
            self.table.pairs[rows] if pairs is None else pairs,
            outcomes,
            points,
            int(np.isin(status, FAILED).sum()),
            int((status == Status.NOT_CONVERGED.value).sum()),
            {},
        )

    def _rows(self, algorithm: str, cell: Group) -> np.ndarray:
        rows = self.table.rows(algorithm, cell)
        pairs = self.table.pairs[rows]
        if len(np.unique(pairs)) < len(pairs):
            raise Missing(
                f"{algorithm} has several rows for one replicate, which are not independent"
            )
        return rows

    def column(self, name: str, rows: np.ndarray) -> np.ndarray:
        if name not in self.table.frame.columns:
            raise Missing(f"the table has no column '{name}'")
        try:
            return self.table.frame[name].to_numpy()[rows].astype(float)
        except (TypeError, ValueError):
            raise Missing(f"column '{name}' is not a number in every row") from None

    def _successes(self, metric: str, rows: np.ndarray) -> np.ndarray:
        """0 and 1; a replicate that failed is no success."""
        values = np.nan_to_num(self.column(metric, rows), nan=0.0)
        if not np.isin(values, (0.0, 1.0)).all():
            raise Missing(f"metric '{metric}' is not 0 or 1 in every row")
        return values

    def _values(self, mean: Mean, rows: np.ndarray) -> np.ndarray:
        """A metric of replicates that all have one."""
        status = self.table.frame["status"].to_numpy()[rows]
        values = self.column(mean.metric, rows)
        lost = int((np.isin(status, FAILED) | ~np.isfinite(values)).sum())
        if lost:
            raise Missing(
                f"{lost} of {len(rows)} replicates of {mean.algorithm} have no {mean.metric}, and"
                " the mean of the others is not the mean"
            )
        return values

    def _threshold(self, quantity: Threshold, cell: Group) -> Crossed:
        rows = self._rows(quantity.algorithm, cell)
        wins = self._successes(quantity.metric, rows)
        at = self.column(quantity.of, rows)
        if not np.isfinite(at).all():
            raise Missing(f"{quantity.of} is not a number in every row")
        x, place = np.unique(at, return_inverse=True)
        successes = np.bincount(place, weights=wins)
        trials = np.bincount(place).astype(float)
        sequential = self.table.setting.sequential
        fit = located_crossing(x, successes, trials, sequential=sequential, level=quantity.level)
        moves = np.zeros(len(rows))
        if fit.regular:
            moves = influence(fit, x, trials)[place] * (wins - fit.probability(x)[place])
        return Crossed(
            fit.estimate,
            *self._base(rows, moves, len(x)),
            x=x,
            successes=successes,
            trials=trials,
            level=quantity.level,
            sequential=sequential,
        )

    def _ratio(self, quantity: Ratio, cell: Group) -> Quotient:
        tops, bottoms = (
            self._rows(part.algorithm, cell) for part in (quantity.top, quantity.bottom)
        )
        # Every value counts in refusing failures, though only common replicates form the ratio.
        top, bottom = self._values(quantity.top, tops), self._values(quantity.bottom, bottoms)
        pairs, here, there = np.intersect1d(
            self.table.pairs[tops], self.table.pairs[bottoms], return_indices=True
        )
        if not len(pairs):
            raise Missing("the two means have no replicate in common")
        value, _, _ = fieller(top[here], bottom[there])
        return Quotient(
            value,
            *self._base(tops[here], np.zeros(len(here)), 1, pairs),
            top=top[here],
            bottom=bottom[there],
        )
