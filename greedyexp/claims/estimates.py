"""Estimates of quantities in one cell of the table, with an interval at any confidence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from greedyexp.claims.language import (
    Mean,
    Peak,
    Proportion,
    Quantity,
    Ratio,
    Threshold,
    columns_of,
    evaluate,
)
from greedyexp.claims.table import Group, MissingData, Table
from greedyexp.protocols.measured import FIT_SECONDS
from greedyexp.protocols.outcome import Status
from greedyexp.results.counts import FAILED, NO_SECONDS
from greedyexp.stats.contrasts import correlation, uncentred_correlation
from greedyexp.stats.crossing import influence
from greedyexp.stats.means import fieller, t_interval
from greedyexp.stats.proportions import phi
from greedyexp.stats.sequential import located_crossing, proportion_interval

Interval: TypeAlias = tuple[float, float]


@dataclass(frozen=True)
class Sample:
    """The rows of an estimate.

    Parameters
    ----------
    pairs : array of int, shape (n,)
        Number of the data set of each replicate.
    failed, unconverged : int
        Number of rows with these outcomes.
    points : int
        Number of points of the sweep.
    """

    pairs: np.ndarray
    failed: int
    unconverged: int
    points: int = 1


@dataclass
class Estimate(ABC):
    """An estimate from the rows of one cell.

    Parameters
    ----------
    value : float
        May be infinite or nan for thresholds.
    outcomes : array, shape (n,)
        The contribution of each replicate: its metric, or its effect on a crossing.
    sample : Sample
    """

    value: float
    outcomes: np.ndarray
    sample: Sample
    _intervals: dict[float, Interval] = field(default_factory=dict, repr=False, kw_only=True)

    @property
    def rows(self) -> int:
        """Number of replicates."""
        return len(self.sample.pairs)

    @property
    def constant(self) -> bool:
        """True if all values are equal and their spread is not informative."""
        return False

    @property
    def limits(self) -> Interval:
        """Interval of the true value that would remain after infinitely many such replicates."""
        return self.value, self.value

    def interval(self, confidence: float) -> Interval:
        """Return the interval at a confidence level."""
        if confidence not in self._intervals:
            low, high = self._interval(confidence)
            self._intervals[confidence] = (float(low), float(high))
        return self._intervals[confidence]

    @abstractmethod
    def _interval(self, confidence: float) -> Interval:
        """Compute the interval."""

    @abstractmethod
    def correlation(self, other: Estimate) -> float:
        """Return the correlation with another estimate through the data sets of both."""

    def _common(self, other: Estimate) -> tuple[np.ndarray, np.ndarray]:
        """Return the outcomes of both on their common data sets."""
        _, here, there = np.intersect1d(
            self.sample.pairs, other.sample.pairs, assume_unique=True, return_indices=True
        )
        return self.outcomes[here], other.outcomes[there]

    def _shared(self, other: Estimate, common: int) -> float:
        """Return the share of common replicates: only these correlate the two averages."""
        return common / float(np.sqrt(self.rows * other.rows))


@dataclass
class ThresholdEstimate(Estimate):
    """A threshold. Its outcomes are the first-order effects of the replicates on the estimate."""

    x: np.ndarray
    successes: np.ndarray
    trials: np.ndarray
    level: float
    sequential: bool

    def _interval(self, confidence: float) -> Interval:
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
        pairs = np.union1d(self.sample.pairs, other.sample.pairs)
        moves = np.zeros((2, len(pairs)))
        for row, one in zip(moves, (self, other), strict=True):
            row[np.searchsorted(pairs, one.sample.pairs)] = one.outcomes
        return float(uncentred_correlation(moves)[0, 1])


@dataclass
class ProportionEstimate(Estimate):
    """A proportion. Its outcomes are 0 and 1."""

    sequential: bool

    def _interval(self, confidence: float) -> Interval:
        low, high = proportion_interval(
            self.outcomes.sum(), self.rows, sequential=self.sequential, confidence=confidence
        )
        return float(low), float(high)

    def table(self, other: Estimate) -> tuple[int, int, int, int]:
        """Return the number of data sets on which both, only one, or none succeeded."""
        one, two = self._common(other)
        both = int(one @ two)
        first, second = int(one.sum()) - both, int(two.sum()) - both
        return both, first, second, len(one) - both - first - second

    def correlation(self, other: Estimate) -> float:
        counts = self.table(other)
        return phi(*counts) * self._shared(other, sum(counts)) if sum(counts) else 0.0


@dataclass
class MeanEstimate(Estimate):
    """A mean."""

    @property
    def constant(self) -> bool:
        return self.rows > 1 and bool(np.ptp(self.outcomes) == 0)

    def _interval(self, confidence: float) -> Interval:
        _, low, high = t_interval(self.outcomes, confidence)
        return low, high

    def correlation(self, other: Estimate) -> float:
        mine, others = self._common(other)
        if not len(mine):
            return 0.0
        return float(correlation([mine, others])[0, 1]) * self._shared(other, len(mine))


@dataclass(frozen=True)
class PeakPlaces:
    """Positions at which each of n curves is largest.

    Parameters
    ----------
    low, high : arrays (n,)
        The first and the last point at which the curve has its largest value.
    below, above : arrays (n,)
        Limits of the peak, halfway to the neighbouring points; infinite at an end of the curve.
    """

    low: np.ndarray
    high: np.ndarray
    below: np.ndarray
    above: np.ndarray


def peak_places(x: Sequence[float] | np.ndarray, values: np.ndarray) -> PeakPlaces:
    """Return the positions at which curves through common points are largest.

    Parameters
    ----------
    x : array_like, shape (m,)
        In any order; values may be repeated.
    values : array, shape (n, m)
        One curve in each row. Values may be infinite but not nan.
    """
    x, values = np.asarray(x, dtype=float), np.asarray(values, dtype=float)
    points = np.unique(x)
    largest = values == values.max(axis=1, keepdims=True)
    low = np.where(largest, x, np.inf).min(axis=1)
    high = np.where(largest, x, -np.inf).max(axis=1)
    before, after = np.append(-np.inf, points[:-1]), np.append(points[1:], np.inf)
    below = (low + before[np.searchsorted(points, low)]) / 2
    above = (high + after[np.searchsorted(points, high)]) / 2
    return PeakPlaces(low, high, below, above)


@dataclass
class PeakEstimate(MeanEstimate):
    """The mean position of a peak. Its outcomes are the midpoints of the replicates' peaks."""

    at: PeakPlaces

    @property
    def constant(self) -> bool:
        return self.rows > 1 and bool(np.ptp(self.at.low) == np.ptp(self.at.high) == 0)

    @property
    def limits(self) -> Interval:
        return float(self.at.below.mean()), float(self.at.above.mean())

    def _interval(self, confidence: float) -> Interval:
        # A peak is known only up to its neighbours, and is unbounded at an end of the sweep.
        low, high = -np.inf, np.inf
        if np.isfinite(self.at.below).all():
            _, low, _ = t_interval(self.at.below, confidence)
        if np.isfinite(self.at.above).all():
            _, _, high = t_interval(self.at.above, confidence)
        return low, high


@dataclass
class RatioEstimate(Estimate):
    """A ratio of means. Its outcomes are unused."""

    top: np.ndarray
    bottom: np.ndarray

    @property
    def constant(self) -> bool:
        return self.rows > 1 and bool(np.ptp(self.top) == 0 and np.ptp(self.bottom) == 0)

    def _interval(self, confidence: float) -> Interval:
        _, low, high = fieller(self.top, self.bottom, confidence)
        return low, high

    def correlation(self, other: Estimate) -> float:
        # Ratios are combined only across different data.
        return 0.0


class Estimator:
    """Estimates from a table, each computed once.

    Parameters
    ----------
    table : Table
    """

    def __init__(self, table: Table):
        self.table = table
        self._made: dict[tuple[Quantity, Group], Estimate | MissingData] = {}

    def estimate(self, quantity: Quantity, cell: Group) -> Estimate:
        """Return the estimate of a quantity in a cell.

        Raises
        ------
        MissingData
            If the table lacks data for it.
        """
        key = (quantity, tuple(sorted(cell)))
        if key not in self._made:
            try:
                self._made[key] = self._make(quantity, cell)
            except MissingData as lack:
                self._made[key] = lack
        made = self._made[key]
        if isinstance(made, MissingData):
            raise made
        return made

    def _make(self, quantity: Quantity, cell: Group) -> Estimate:
        match quantity:
            case Threshold():
                return self._threshold(quantity, cell)
            case Proportion():
                rows = self._rows(quantity.algorithm, cell)
                values = self._successes(quantity.metric, rows)
                sequential = self.table.setting.sequential
                return ProportionEstimate(
                    float(values.mean()), values, self._sample(rows), sequential
                )
            case Mean():
                rows = self._rows(quantity.algorithm, cell)
                values = self._values(quantity, rows)
                return MeanEstimate(float(values.mean()), values, self._sample(rows))
            case Ratio():
                return self._ratio(quantity, cell)
            case Peak():
                return self._peak(quantity, cell)

    def _sample(self, rows: np.ndarray, points: int = 1, pairs: np.ndarray | None = None) -> Sample:
        status = self.table.frame["status"].to_numpy()[rows]
        return Sample(
            self.table.pairs[rows] if pairs is None else pairs,
            int(np.isin(status, FAILED).sum()),
            int((status == Status.NOT_CONVERGED.value).sum()),
            points,
        )

    def _rows(self, algorithm: str, cell: Group) -> np.ndarray:
        table = self.table
        rows = table.rows(algorithm, cell)
        pairs = table.pairs[rows]
        if len(np.unique(pairs)) < len(pairs):
            raise MissingData(
                f"{algorithm} has several rows for one replicate, which are not independent"
            )
        keys = table.setting.keys
        if not keys:
            return rows
        any_key = tuple(pair for pair in cell if pair[0] not in keys)
        everyone = len(np.unique(table.pairs[table.rows(algorithm, any_key)]))
        if len(rows) < everyone:
            raise MissingData(
                f"{everyone - len(rows)} of {everyone} replicates of {algorithm} have no row"
                f"{table.at_words(cell)}: not reached"
            )
        return rows

    def column(self, name: str, rows: np.ndarray) -> np.ndarray:
        """Return the numbers of a column in some rows.

        Raises
        ------
        MissingData
            If the column does not exist or is not numeric.
        """
        if name not in self.table.frame.columns:
            untimed = name == FIT_SECONDS.name
            raise MissingData(NO_SECONDS if untimed else f"the table has no column '{name}'")
        try:
            return np.asarray(self.table.frame[name].to_numpy()[rows], dtype=float)
        except (TypeError, ValueError):
            raise MissingData(f"column '{name}' is not a number in every row") from None

    def _successes(self, metric: str, rows: np.ndarray) -> np.ndarray:
        """Return 0 and 1, with 0 for a replicate that failed or has no row here."""
        values = self.column(metric, rows)
        if self.table.setting.keys:
            without_key = self.table.kinds.without_key[rows]
            missing = np.isnan(values) & ~without_key & ~self._failed(rows)
            if missing.any():
                raise MissingData(f"{missing.sum()} of {len(rows)} replicates have no {metric}")
        values = np.nan_to_num(values, nan=0.0)
        if not np.isin(values, (0.0, 1.0)).all():
            raise MissingData(f"metric '{metric}' is not 0 or 1 in every row")
        return values

    def _values(self, mean: Mean, rows: np.ndarray) -> np.ndarray:
        """Return the metric of replicates, all of which must have one."""
        values = self.column(mean.metric, rows)
        failed = self._failed(rows)
        lost = failed | ~np.isfinite(values)
        if not lost.any():
            return values
        rest = "and the mean of the others is not the mean"
        count = f"{lost.sum()} of {len(rows)} replicates"
        if mean.metric in self.table.setting.open_ended and np.isnan(values[~failed]).any():
            also = f" ({failed.sum()} of them failed)" if failed.any() else ""
            raise MissingData(f"{mean.algorithm}: not reached in {count}{also}, {rest}")
        raise MissingData(f"{count} of {mean.algorithm} have no {mean.metric}, {rest}")

    def _failed(self, rows: np.ndarray) -> np.ndarray:
        return np.isin(self.table.frame["status"].to_numpy()[rows], FAILED)

    def _threshold(self, quantity: Threshold, cell: Group) -> ThresholdEstimate:
        rows = self._rows(quantity.algorithm, cell)
        wins = self._successes(quantity.metric, rows)
        at = self.column(quantity.of, rows)
        if not np.isfinite(at).all():
            raise MissingData(f"{quantity.of} is not a number in every row")
        x, place = np.unique(at, return_inverse=True)
        successes = np.bincount(place, weights=wins)
        trials = np.bincount(place).astype(float)
        sequential, level = self.table.setting.sequential, quantity.level
        fit = located_crossing(x, successes, trials, sequential=sequential, level=level)
        moves = np.zeros(len(rows))
        if fit.regular:
            moves = influence(fit, x, trials)[place] * (wins - fit.probability(x)[place])
        sample = self._sample(rows, len(x))
        return ThresholdEstimate(
            fit.estimate, moves, sample, x, successes, trials, level, sequential
        )

    def _peak(self, quantity: Peak, cell: Group) -> PeakEstimate:
        algorithm, table = quantity.algorithm, self.table
        mates = (table.setting.mates(column, [algorithm]) for column in quantity.columns)
        along = tuple(dict.fromkeys(name for names in mates for name in names))
        points = [self._rows(algorithm, one) for one in table.cells(cell, along, [algorithm])]
        if not points:
            raise MissingData(f"the table has no rows of {algorithm}")
        series = table.series(along)
        replicates = np.unique(series[np.concatenate(points)])
        if any(len(rows) != len(replicates) for rows in points):
            raise MissingData(f"{algorithm} does not have every replicate at every point")
        rows = np.array([rows[np.argsort(series[rows])] for rows in points])
        x = [self._position(quantity, at) for at in rows]
        at = peak_places(x, self._heights(quantity, rows).T)
        middles = (at.low + at.high) / 2
        sample = self._sample(rows.ravel(), pairs=replicates)
        return PeakEstimate(float(middles.mean()), middles, sample, at)

    def _position(self, quantity: Peak, rows: np.ndarray) -> float:
        """Return the value of the expression at a point."""
        columns = {name: self.column(name, rows) for name in columns_of(quantity.along)}
        values = np.unique(evaluate(quantity.along, columns))
        if len(values) > 1 or not np.isfinite(values).all():
            raise MissingData("the peak's expression is not a single finite number at every point")
        return float(values[0])

    def _heights(self, quantity: Peak, rows: np.ndarray) -> np.ndarray:
        """Return the metric in each row; infinite for a run that did not reach it."""
        values, failed = self.column(quantity.metric, rows), self._failed(rows)
        if quantity.metric in self.table.setting.open_ended:
            values = np.where(np.isnan(values), np.inf, values)
        lost = (failed | np.isnan(values)).sum()
        if lost:
            raise MissingData(
                f"{lost} of {rows.size} runs of {quantity.algorithm} have no {quantity.metric}"
            )
        return values

    def _ratio(self, quantity: Ratio, cell: Group) -> RatioEstimate:
        means = quantity.top, quantity.bottom
        tops, bottoms = (self._rows(mean.algorithm, cell) for mean in means)
        # All values must be there, although only common replicates form the ratio.
        top, bottom = self._values(quantity.top, tops), self._values(quantity.bottom, bottoms)
        pairs, here, there = np.intersect1d(
            self.table.pairs[tops], self.table.pairs[bottoms], return_indices=True
        )
        if not len(pairs):
            raise MissingData("the two means have no replicate in common")
        top, bottom = top[here], bottom[there]
        value, _, _ = fieller(top, bottom)
        sample = self._sample(tops[here], pairs=pairs)
        return RatioEstimate(value, np.zeros(len(here)), sample, top, bottom)
