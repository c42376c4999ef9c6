"""From the rows of a cell to the estimate of a quantity."""

from __future__ import annotations

import numpy as np

from greedyexp.claims.estimates import Average, Crossed, Estimate, Peaked, Quotient, Share
from greedyexp.claims.expressions import columns_of, evaluate
from greedyexp.claims.peaks import places
from greedyexp.claims.quantities import Mean, Peak, Proportion, Ratio, Threshold
from greedyexp.claims.table import Group, Missing, Table
from greedyexp.protocols.measured import FIT_SECONDS
from greedyexp.protocols.outcome import Status
from greedyexp.results.counts import FAILED, NO_SECONDS
from greedyexp.stats.crossing import influence
from greedyexp.stats.means import fieller
from greedyexp.stats.sequential import located_crossing


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
            case Peak():
                return self._peak(quantity, cell)
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
        if not self.table.setting.keys:
            return rows
        anywhere = tuple(pair for pair in cell if pair[0] not in self.table.setting.keys)
        everyone = len(np.unique(self.table.pairs[self.table.rows(algorithm, anywhere)]))
        if len(rows) < everyone:
            where = self.table.words(cell)
            raise Missing(
                f"{everyone - len(rows)} of {everyone} replicates of {algorithm} have no row"
                f"{f' at {where}' if where else ''}: not reached"
            )
        return rows

    def column(self, name: str, rows: np.ndarray) -> np.ndarray:
        if name not in self.table.frame.columns:
            untimed = name == FIT_SECONDS.name
            raise Missing(NO_SECONDS if untimed else f"the table has no column '{name}'")
        try:
            return self.table.frame[name].to_numpy()[rows].astype(float)
        except (TypeError, ValueError):
            raise Missing(f"column '{name}' is not a number in every row") from None

    def _successes(self, metric: str, rows: np.ndarray) -> np.ndarray:
        """0 and 1; a replicate that failed, or has no row here, is no success."""
        values = self.column(metric, rows)
        if self.table.setting.keys:
            open_here = np.isnan(values) & ~self.table.kinds.lost[rows] & ~self._failed(rows)
            if open_here.any():
                raise Missing(f"{int(open_here.sum())} of {len(rows)} replicates have no {metric}")
        values = np.nan_to_num(values, nan=0.0)
        if not np.isin(values, (0.0, 1.0)).all():
            raise Missing(f"metric '{metric}' is not 0 or 1 in every row")
        return values

    def _values(self, mean: Mean, rows: np.ndarray) -> np.ndarray:
        """A metric of replicates that all have one."""
        values = self.column(mean.metric, rows)
        failed = self._failed(rows)
        lost = failed | ~np.isfinite(values)
        if not lost.any():
            return values
        rest = "and the mean of the others is not the mean"
        count = f"{int(lost.sum())} of {len(rows)} replicates"
        if mean.metric in self.table.setting.open_ended and np.isnan(values[~failed]).any():
            also = f" ({int(failed.sum())} of them failed)" if failed.any() else ""
            raise Missing(f"{mean.algorithm}: not reached in {count}{also}, {rest}")
        raise Missing(f"{count} of {mean.algorithm} have no {mean.metric}, {rest}")

    def _failed(self, rows: np.ndarray) -> np.ndarray:
        return np.isin(self.table.frame["status"].to_numpy()[rows], FAILED)

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

    def _peak(self, quantity: Peak, cell: Group) -> Peaked:
        algorithm, table = quantity.algorithm, self.table
        mates = (table.setting.mates(column, [algorithm]) for column in quantity.columns)
        along = tuple(dict.fromkeys(name for names in mates for name in names))
        points = [self._rows(algorithm, one) for one in table.cells(cell, along, [algorithm])]
        if not points:
            raise Missing(f"the table has no rows of {algorithm}")
        series = table.series(along)
        replicates = np.unique(series[np.concatenate(points)])
        if any(len(rows) != len(replicates) for rows in points):
            raise Missing(f"{algorithm} does not have every replicate at every point")
        rows = np.array([rows[np.argsort(series[rows])] for rows in points])
        x = [self._place(quantity, at) for at in rows]
        at = places(x, self._heights(quantity, rows).T)
        middles = (at.low + at.high) / 2
        base = self._base(rows.ravel(), middles, 1, replicates)
        return Peaked(float(middles.mean()), *base, at=at)

    def _place(self, quantity: Peak, rows: np.ndarray) -> float:
        """The value of the expression at a point."""
        columns = {name: self.column(name, rows) for name in columns_of(quantity.along)}
        values = np.unique(evaluate(quantity.along, columns))
        if len(values) > 1 or not np.isfinite(values).all():
            raise Missing("what the peak runs along is not one finite number at every point")
        return float(values[0])

    def _heights(self, quantity: Peak, rows: np.ndarray) -> np.ndarray:
        """The metric in each row; infinite where a run did not get there."""
        values, failed = self.column(quantity.metric, rows), self._failed(rows)
        if quantity.metric in self.table.setting.open_ended:
            values = np.where(np.isnan(values), np.inf, values)
        lost = int((failed | np.isnan(values)).sum())
        if lost:
            raise Missing(
                f"{lost} of {rows.size} runs of {quantity.algorithm} have no {quantity.metric}"
            )
        return values

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
