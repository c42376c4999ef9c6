"""Estimates of quantities in one cell of the table, with an interval at any confidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TypeAlias

import numpy as np

from greedyexp.claims.language import (
    Mean,
    Peak,
    Proportion,
    Quantity,
    Ratio,
    Threshold,
    evaluate,
    leaves,
)
from greedyexp.claims.table import Cell, MissingData, Table
from greedyexp.experiment.resampling import SPLITS_ONLY
from greedyexp.protocols.base import FIT_SECONDS
from greedyexp.results.records import NO_SECONDS
from greedyexp.results.successes import direction_along
from greedyexp.stats.contrasts import correlation, uncentred_correlation
from greedyexp.stats.crossing import influence
from greedyexp.stats.direction import UNCLEAR, Direction
from greedyexp.stats.level import LEVEL
from greedyexp.stats.means import fieller, mean_of, peak_interval, peaks_of, t_interval
from greedyexp.stats.proportions import phi
from greedyexp.stats.rounding import ROUNDING, vary
from greedyexp.stats.row_shares import Split, share_interval
from greedyexp.stats.sequential import crossing_locator, proportion_interval

Interval: TypeAlias = tuple[float, float]


@dataclass(frozen=True)
class Sample:
    """The rows of an estimate.

    Parameters
    ----------
    pairs : array of int, shape (n,)
        Index of the data set of each replicate.
    failed, unconverged : int
        Number of rows with these outcomes.
    points : int
        Number of points of the sweep.
    arms : frozenset of int
        The arms of the rows (``Table.arms``).
    """

    pairs: np.ndarray
    failed: int
    unconverged: int
    points: int = 1
    arms: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Estimate:
    """An estimate from the rows of one cell.

    Parameters
    ----------
    kind : type
        The type of the quantity.
    value : float
        The estimate; it may be infinite or nan for thresholds.
    outcomes : array, shape (n,)
        The contribution of each replicate: its metric, the midpoint of its peak, its first-order
        effect on a threshold, or 0 for ratios.
    sample : Sample
    interval : callable
        Confidence -> (low, high).
    constant : bool
        True if all values are equal up to rounding and their spread is not informative.
    span : pair of float or None
        The interval of the true value in the limit of infinitely many replicates, if the points of
        the sweep do not determine a single number: for peaks, and for thresholds without a logistic
        curve.
    fixed : bool
        False if the number of trials depended on results.
    identical : bool
        True if all outcomes of a proportion have the same probability.
    as_share : Estimate or None
        The estimate as a proportion, for the mean of a success.
    without_failures : Estimate or None
        The estimate if all failed replicates were successes; None without failures.
    misfit : str
        Why the value is nan, as a sentence, if success has no single direction.
    unclear : bool
        True if more trials may show the direction.
    added : float
        Positive if the replicates resample one data set: what is added to 1 / n in the variance of
        the mean.
    split : Split or None
        The numbers of rows if the values are shares of test rows with ``share_interval``.
    """

    kind: type[Quantity]
    value: float
    outcomes: np.ndarray
    sample: Sample
    interval: Callable[[float], Interval]
    constant: bool = False
    span: Interval | None = None
    fixed: bool = True
    identical: bool = True
    as_share: Estimate | None = None
    without_failures: Estimate | None = None
    misfit: str = ""
    unclear: bool = False
    added: float = 0.0
    split: Split | None = None

    @property
    def rows(self) -> int:
        """Number of replicates."""
        return len(self.sample.pairs)

    @property
    def limits(self) -> Interval:
        """Interval of the true value in the limit of infinitely many such replicates."""
        return self.span or (self.value, self.value)

    @property
    def by_failures(self) -> tuple[Estimate, Estimate]:
        """The smaller and the larger of this estimate and ``without_failures``."""
        other = self.without_failures or self
        pair = (self, other)
        if (other.value, *other.interval(LEVEL)) < (self.value, *self.interval(LEVEL)):
            pair = (other, self)
        return pair

    @property
    def settled_step(self) -> bool:
        """False if a threshold may lie in another step of the sweep than the shares of success say.

        More trials may then find it elsewhere, or show a logistic curve.
        """
        if self.kind is not Threshold or self.span is None:
            return True
        low, high = self.interval(LEVEL)
        return self.span[0] <= low and high <= self.span[1]


def correlation_of(one: Estimate, two: Estimate) -> float:
    """Return the correlation of two estimates of one kind through their common data sets."""
    if one.kind is Ratio:
        # Ratios are combined only across different data.
        return 0.0
    if one.kind is Threshold:
        pairs = np.union1d(one.sample.pairs, two.sample.pairs)
        moves = np.zeros((2, len(pairs)))
        for row, estimate in zip(moves, (one, two), strict=True):
            row[np.searchsorted(pairs, estimate.sample.pairs)] = estimate.outcomes
        return float(uncentred_correlation(moves)[0, 1])
    first, second = _common_outcomes(one, two)
    if not len(first):
        return 0.0
    if one.kind is Proportion:
        common = phi(*success_table(one, two))
    else:
        common = float(correlation([first, second])[0, 1])
    # Only the common replicates correlate the two averages.
    return common * (len(first) / float(np.sqrt(one.rows * two.rows)))


def success_table(one: Estimate, two: Estimate) -> tuple[int, int, int, int]:
    """Count the data sets on which both, only the first, only the second, or none succeed."""
    first, second = _common_outcomes(one, two)
    both = int(first @ second)
    only_first, only_second = int(first.sum()) - both, int(second.sum()) - both
    return both, only_first, only_second, len(first) - both - only_first - only_second


def _common_outcomes(one: Estimate, two: Estimate) -> tuple[np.ndarray, np.ndarray]:
    """Return the outcomes of both estimates on their common data sets."""
    _, here, there = np.intersect1d(
        one.sample.pairs, two.sample.pairs, assume_unique=True, return_indices=True
    )
    return one.outcomes[here], two.outcomes[there]


class Estimator:
    """Compute estimates from a table and cache them.

    Parameters
    ----------
    table : Table
    """

    def __init__(self, table: Table):
        self.table = table
        self._made: dict[tuple[Quantity, Cell], Estimate] = {}
        self._binary: dict[str, bool] = {}
        self._directions: dict[tuple[str, str], Direction | None] = {}

    def estimate(self, quantity: Quantity, cell: Cell) -> Estimate:
        """Return the estimate of a quantity in a cell.

        Raises
        ------
        MissingData
            If the table lacks data for the quantity.
        """
        key = (quantity, tuple(sorted(cell)))
        if key not in self._made:
            self._made[key] = self._make(quantity, cell)
        return self._made[key]

    def _make(self, quantity: Quantity, cell: Cell) -> Estimate:
        match quantity:
            case Threshold():
                return self._threshold(quantity, cell)
            case Proportion():
                return self._proportion(quantity, cell)
            case Mean():
                return self._mean(quantity, cell)
            case Ratio():
                return self._ratio(quantity, cell)
            case Peak():
                return self._peak(quantity, cell)

    def _proportion(self, quantity: Proportion, cell: Cell) -> Estimate:
        rows = self._rows(quantity.algorithm, cell)
        self.refuse_splits("proportion", rows)
        wins, sample = self._successes(quantity.metric, rows), self._sample(rows)
        share = self.share(wins, sample)
        if not sample.failed:
            return share
        other = self.share(np.maximum(wins, self.table.failed[rows]), sample)
        return replace(share, without_failures=other)

    def share(self, wins: np.ndarray, sample: Sample, identical: bool = True) -> Estimate:
        """Return the proportion of successes among outcomes that are 0 or 1, array (n,)."""
        sequential = self.table.setting.sequential

        @cache
        def interval(confidence: float) -> Interval:
            low, high = proportion_interval(
                wins.sum(), len(wins), sequential=sequential, confidence=confidence
            )
            return float(low), float(high)

        value, fixed = float(wins.mean()), not sequential
        return Estimate(Proportion, value, wins, sample, interval, fixed=fixed, identical=identical)

    def _mean(self, quantity: Mean, cell: Cell) -> Estimate:
        rows = self._rows(quantity.algorithm, cell)
        values = self._values(quantity, rows)
        added, split = self._added(rows, quantity.metric), self._split(rows, quantity.metric)

        @cache
        def interval(confidence: float) -> Interval:
            if split:
                return share_interval(values[None], split, confidence=confidence)[1:]
            return t_interval(values, confidence, added)[1:]

        value, sample = float(mean_of(values)), self._sample(rows)
        constant, share = _all_equal(values), None
        if self._is_success(quantity.metric):
            share = self.share(values, sample)
        return Estimate(
            *(Mean, value, values, sample, interval, constant),
            fixed=not self.table.setting.sequential,
            added=added,
            split=split,
            as_share=share,
        )

    def _is_success(self, metric: str) -> bool:
        """Return True if a metric is a success on independent data sets."""
        setting = self.table.setting
        if metric not in setting.binary or setting.resampling.sources:
            return False
        if metric not in self._binary:
            values = self.table.column(metric)
            self._binary[metric] = bool(np.isin(values[values == values], (0, 1)).all())
        return self._binary[metric]

    def _added(self, rows: np.ndarray, column: str) -> float:
        resampling = self.table.setting.resampling
        # Most tables have no such rows, and a copy of rows takes time.
        return resampling.added(self.table.frame.iloc[rows], column) if resampling.sources else 0.0

    def _split(self, rows: np.ndarray, column: str) -> Split | None:
        resampling = self.table.setting.resampling
        return resampling.split(self.table.frame.iloc[rows], column) if resampling.sources else None

    def resampled(self, rows: np.ndarray) -> bool:
        """Return True if some of the rows come from replicates of one finite data set."""
        resampling = self.table.setting.resampling
        return bool(resampling.sources) and resampling.covers(self.table.frame.iloc[rows])

    def refuse_splits(self, quantity: str, rows: np.ndarray) -> None:
        """Raise ``MissingData`` for a quantity without an interval that holds for new data."""
        if self.resampled(rows):
            raise MissingData(f"a {quantity} has no interval for new data here: {SPLITS_ONLY}")

    def _sample(self, rows: np.ndarray, points: int = 1, pairs: np.ndarray | None = None) -> Sample:
        return Sample(
            self.table.pairs[rows] if pairs is None else pairs,
            int(self.table.failed[rows].sum()),
            int(self.table.unconverged[rows].sum()),
            points,
            frozenset(self.table.arms[rows].tolist()),
        )

    def _rows(self, algorithm: str, cell: Cell) -> np.ndarray:
        table = self.table
        rows = table.rows(algorithm, cell)
        pairs = table.pairs[rows]
        if np.bincount(pairs).max() > 1:
            raise MissingData(
                f"{algorithm} has several rows for one replicate, which are not independent"
            )
        keys = table.setting.keys
        if not keys:
            return rows
        any_key = tuple(pair for pair in cell if pair[0] not in keys)
        everyone = np.count_nonzero(np.bincount(table.pairs[table.rows(algorithm, any_key)]))
        if len(rows) < everyone:
            raise MissingData(
                f"{everyone - len(rows)} of {everyone} replicates of {algorithm} have no row"
                f"{table.place_text(cell)}: not reached"
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
            return np.asarray(self.table.column(name)[rows], dtype=float)
        except (TypeError, ValueError):
            raise MissingData(f"column '{name}' is not a number in every row") from None

    def _successes(self, metric: str, rows: np.ndarray) -> np.ndarray:
        """Return the outcomes 0 or 1; 0 for a replicate that failed or has no row here."""
        values = self.column(metric, rows)
        if self.table.setting.keys:
            without_key = self.table.kinds.without_key[rows]
            missing = np.isnan(values) & ~without_key & ~self.table.failed[rows]
            if missing.any():
                raise MissingData(f"{missing.sum()} of {len(rows)} replicates have no {metric}")
        values = np.where(np.isnan(values), 0.0, values)
        if not np.isin(values, (0.0, 1.0)).all():
            raise MissingData(f"metric '{metric}' is not 0 or 1 in every row")
        return values

    def _values(self, mean: Mean, rows: np.ndarray) -> np.ndarray:
        """Return the metric of the replicates; each of them must have a value."""
        values = self.column(mean.metric, rows)
        failed = self.table.failed[rows]
        lost = failed | ~np.isfinite(values)
        if not lost.any():
            return values
        rest = "and the mean of the other replicates would be biased"
        count = f"{lost.sum()} of {len(rows)} replicates"
        if mean.metric in self.table.setting.open_ended and np.isnan(values[~failed]).any():
            also = f" ({failed.sum()} of them failed)" if failed.any() else ""
            raise MissingData(f"{mean.algorithm}: not reached in {count}{also}, {rest}")
        raise MissingData(f"{count} of {mean.algorithm} have no {mean.metric}, {rest}")

    def _threshold(self, quantity: Threshold, cell: Cell) -> Estimate:
        rows = self._rows(quantity.algorithm, cell)
        self.refuse_splits("threshold", rows)
        wins = self._successes(quantity.metric, rows)
        found = self._crossing(quantity, cell, rows, wins)
        if not found.sample.failed:
            return found
        other = self._crossing(quantity, cell, rows, np.maximum(wins, self.table.failed[rows]))
        return replace(found, without_failures=other)

    def _crossing(
        self, quantity: Threshold, cell: Cell, rows: np.ndarray, wins: np.ndarray
    ) -> Estimate:
        """Return the threshold of the outcomes 0 or 1 of some rows."""
        at = self.column(quantity.of, rows)
        if not np.isfinite(at).all():
            raise MissingData(f"{quantity.of} is not a number in every row")
        x, place = np.unique(at, return_inverse=True)
        successes = np.bincount(place, weights=wins)
        trials = np.bincount(place).astype(float)
        direction = quantity.direction or self._direction(quantity.metric, quantity.of)
        sequential, level = self.table.setting.sequential, quantity.level
        locate = cache(
            crossing_locator(x, successes, trials, direction, sequential=sequential, level=level)
        )

        def interval(confidence: float) -> Interval:
            located = locate(confidence)
            return located.low, located.high

        fit = locate(LEVEL)
        moves = np.zeros(len(rows))
        if fit.regular:
            moves = influence(fit, x, trials)[place] * (wins - fit.probability(x)[place])
        sample = self._sample(rows, len(x))
        found = Estimate(Threshold, fit.estimate, moves, sample, interval, span=fit.step)
        if not fit.misfit:
            return found
        who = f"{quantity.algorithm}{self.table.place_text(cell)}"
        words = f"Along {quantity.of}, success of {who} {fit.misfit}."
        unclear = fit.misfit == UNCLEAR
        if unclear:
            failures = int(self.table.failed.sum())
            if failures:
                words += (
                    f" It must be clear whether or not the {failures} failed runs are successes."
                )
            words += " Add direction=rising or direction=falling to threshold(...) if it is known."
        return replace(found, misfit=words, unclear=unclear)

    def _direction(self, metric: str, of: str) -> Direction | None:
        """Return whether a metric rises or falls along a column, by the curves of all algorithms.

        So all thresholds along it have one direction, also that of an algorithm that never or
        always succeeds.
        """
        if (metric, of) not in self._directions:
            table, rows = self.table, np.arange(len(self.table.frame))
            wins, at, failed = self.column(metric, rows), self.column(of, rows), table.failed
            wins[failed & np.isnan(wins)] = 0.0
            along = table.setting.zipped_with(of)
            names = [name for name in table.setting.shared if name not in along]
            apart = [name for name in (*names, "algorithm") if name in table.frame.columns]
            known = np.isin(wins, (0.0, 1.0)) & np.isfinite(at)
            trials = table.frame[known]
            self._directions[metric, of] = direction_along(
                trials, apart, of, wins[known], failed[known]
            )
        return self._directions[metric, of]

    def _peak(self, quantity: Peak, cell: Cell) -> Estimate:
        algorithm, table = quantity.algorithm, self.table
        zipped = (table.setting.zipped_with(column, [algorithm]) for column in quantity.columns)
        along = tuple(dict.fromkeys(name for names in zipped for name in names))
        points = [self._rows(algorithm, one) for one in table.cells(cell, along, [algorithm])]
        if not points:
            raise MissingData(f"the table has no rows of {algorithm}")
        series = table.series(along)
        self.refuse_splits("peak", np.concatenate(points))
        replicates = np.unique(series[np.concatenate(points)])
        if any(len(rows) != len(replicates) for rows in points):
            raise MissingData(f"{algorithm} does not have every replicate at every point")
        rows = np.array([rows[np.argsort(series[rows])] for rows in points])
        x = [self._position(quantity, at) for at in rows]
        peaks = peaks_of(x, self._heights(quantity, rows).T)
        middles = (peaks.low + peaks.high) / 2
        sample = self._sample(rows.ravel(), pairs=replicates)
        interval = cache(partial(peak_interval, peaks))
        constant = _all_equal(peaks.low, peaks.high)
        span = float(peaks.below.mean()), float(peaks.above.mean())
        fixed = not table.setting.sequential
        return Estimate(
            Peak, float(middles.mean()), middles, sample, interval, constant, span, fixed
        )

    def _position(self, quantity: Peak, rows: np.ndarray) -> float:
        """Return the value of the expression at a point."""
        columns = {one: self.column(one.name, rows) for one in leaves(quantity.along)}
        values = np.unique(evaluate(quantity.along, columns))
        if len(values) > 1 or not np.isfinite(values).all():
            raise MissingData("the peak's expression is not a single finite number at every point")
        return float(values[0])

    def _heights(self, quantity: Peak, rows: np.ndarray) -> np.ndarray:
        """Return the metric in each row, with infinity for a run that did not reach it."""
        values, failed = self.column(quantity.metric, rows), self.table.failed[rows]
        if quantity.metric in self.table.setting.open_ended:
            values = np.where(np.isnan(values), np.inf, values)
        lost = (failed | np.isnan(values)).sum()
        if lost:
            raise MissingData(
                f"{lost} of {rows.size} runs of {quantity.algorithm} have no {quantity.metric}"
            )
        return values

    def _ratio(self, quantity: Ratio, cell: Cell) -> Estimate:
        means = quantity.top, quantity.bottom
        tops, bottoms = (self._rows(mean.algorithm, cell) for mean in means)
        # All replicates need a value, although only common replicates enter the ratio.
        top, bottom = self._values(quantity.top, tops), self._values(quantity.bottom, bottoms)
        pairs, here, there = np.intersect1d(
            self.table.pairs[tops], self.table.pairs[bottoms], return_indices=True
        )
        if not len(pairs):
            raise MissingData("the two means have no replicate in common")
        top, bottom = top[here], bottom[there]
        value, _, _ = fieller(top, bottom)
        added = max(
            self._added(tops, quantity.top.metric), self._added(bottoms, quantity.bottom.metric)
        )
        interval = cache(lambda confidence: fieller(top, bottom, confidence, added)[1:])
        sample = self._sample(np.concatenate([tops[here], bottoms[there]]), pairs=pairs)
        # Proportional values have no spread either, whether they vary or not.
        constant = _all_equal(top, bottom) or (
            len(pairs) > 1 and np.allclose(top, value * bottom, rtol=ROUNDING, atol=0)
        )
        outcomes = np.zeros(len(pairs))
        fixed = not self.table.setting.sequential
        return Estimate(
            Ratio, value, outcomes, sample, interval, constant, fixed=fixed, added=added
        )


def _all_equal(*samples: np.ndarray) -> bool:
    """Return True if each sample has several values, all of them equal up to rounding."""
    return all(len(values) > 1 and not vary(values) for values in samples)
