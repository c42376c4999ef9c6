"""Linear contrasts of estimates: what the tests of claims compare with a boundary."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from greedyexp.claims.estimates import Estimate, Estimator, correlation_of, success_table
from greedyexp.claims.language import (
    Expression,
    Form,
    Mean,
    Peak,
    Proportion,
    Ratio,
    Threshold,
    Trend,
    evaluate,
    leaves,
)
from greedyexp.claims.table import Cell, MissingData, Table
from greedyexp.stats.bounded_sums import BoundedSum
from greedyexp.stats.contrasts import assumed_worst, combined_interval, line_weights, p_value_of
from greedyexp.stats.level import LEVEL
from greedyexp.stats.proportions import fisher, mcnemar
from greedyexp.stats.rounding import ROUNDING
from greedyexp.stats.row_shares import share_interval

# An event in fewer than this share of replicates counts as never happening.
RARE = 0.05


@dataclass(frozen=True)
class Contrast:
    """A linear combination of estimates plus a constant.

    Parameters
    ----------
    estimates : tuple of Estimate
        Distinct estimates of one kind.
    coefficients : array, shape (k,)
    constant : float
    """

    estimates: tuple[Estimate, ...]
    coefficients: np.ndarray
    constant: float

    @cached_property
    def _correlation(self) -> np.ndarray:
        count = len(self.estimates)
        matrix = np.eye(count)
        # The place of a threshold between two points has no linear expansion in the replicates.
        linear = [one.kind is not Threshold or one.span is None for one in self.estimates]
        known = np.outer(linear, linear)
        for i in range(count):
            for j in range(i):
                one, two = self.estimates[i], self.estimates[j]
                matrix[i, j] = matrix[j, i] = correlation_of(one, two)
                if _splits_apart(one, two):
                    known[i, j] = known[j, i] = False
        return assumed_worst(matrix, self.coefficients, known)

    @property
    def resampled(self) -> bool:
        """True if replicates of an estimate resample one data set."""
        return any(estimate.added > 0 for estimate in self.estimates)

    @property
    def as_if_fixed(self) -> bool:
        """True if results decided the number of trials and the intervals ignore it."""
        estimate = self.estimates[0]
        return estimate.kind in (Mean, Ratio, Peak) and not estimate.fixed

    @property
    def value(self) -> float:
        """The estimate; nan if infinite terms have opposite signs."""
        with np.errstate(invalid="ignore"):
            values = np.array([estimate.value for estimate in self.estimates])
            return float(np.sum(self.coefficients * values)) + self.constant

    def equals(self, number: float) -> bool:
        """Return True if the estimate is equal to a number up to rounding."""
        values = np.array([estimate.value for estimate in self.estimates])
        size = float(np.abs(self.coefficients * values).sum()) + abs(self.constant)
        return self.value == number or abs(self.value - number) <= ROUNDING * size < math.inf

    def minus(self, other: Contrast) -> Contrast:
        """Return this contrast minus another one."""
        return Contrast(
            self.estimates + other.estimates,
            np.concatenate([self.coefficients, -other.coefficients]),
            self.constant - other.constant,
        )

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the interval at a confidence level.

        That of two proportions with a test of their equality is Newcombe's, and that of other
        proportions has the values that their test does not reject. If the results decided the
        number of trials, it is the sum of confidence sequences, each at an equal share of the error
        probability.

        The uncertainty due to the grid is not random and does not cancel: it adds up.
        """
        if self._sum is not None and self._equality_p is None:
            low, high = self._sum.interval(confidence)
            return low + self.constant, high + self.constant
        if self.estimates[0].kind is Proportion and self._sum is None:
            # All intervals hold together at any stopping time, however they depend on each other.
            each = 1 - (1 - confidence) / len(self.estimates)
            return self._range([estimate.interval(each) for estimate in self.estimates])
        if all(estimate.split for estimate in self.estimates):
            return self._share_interval(confidence)
        ends = [estimate.interval(confidence) for estimate in self.estimates]
        lows, highs = zip(*ends, strict=True)
        down, up = self._worst([estimate.limits for estimate in self.estimates])
        matrix = self._correlation
        _, low, _ = combined_interval(self.coefficients, down, lows, highs, matrix)
        _, _, high = combined_interval(self.coefficients, up, lows, highs, matrix)
        return low + self.constant, high + self.constant

    def _share_interval(self, confidence: float) -> tuple[float, float]:
        """Return the interval of a combination of shares of rows of one data set.

        Shares on the same splits are combined split by split. The errors of others add up.
        """
        parts: dict[tuple[int, ...], list[tuple[Estimate, float]]] = {}
        for estimate, weight in zip(self.estimates, self.coefficients.tolist(), strict=True):
            splits = tuple(np.sort(estimate.sample.pairs).tolist())
            parts.setdefault(splits, []).append((estimate, weight))
        low = high = self.constant
        for part in parts.values():
            estimates, weights = zip(*part, strict=True)
            shares = [one.outcomes[np.argsort(one.sample.pairs)] for one in estimates]
            ends = share_interval(shares, estimates[0].split, weights, confidence)[1:]
            low, high = low + ends[0], high + ends[1]
        return low, high

    def _worst(self, ends: list[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of each estimate that make the combination smallest, and largest."""
        low, high = np.sort(np.array(ends), axis=1).T
        positive = self.coefficients > 0
        return np.where(positive, low, high), np.where(positive, high, low)

    def _range(self, ends: list[tuple[float, float]]) -> tuple[float, float]:
        with np.errstate(invalid="ignore"):
            down, up = (float(np.sum(self.coefficients * worst)) for worst in self._worst(ends))
        return down + self.constant, up + self.constant

    @property
    def limits(self) -> tuple[float, float]:
        """Interval of the true value in the limit of infinitely many replicates."""
        return self._range([estimate.limits for estimate in self.estimates])

    @cached_property
    def by_failures(self) -> list[Contrast]:
        """This contrast, and those that failed replicates could make smallest and largest.

        They are successes where this moves the contrast in one direction, and otherwise not. Every
        other contrast that they could make lies between these.
        """
        if all(estimate.without_failures is None for estimate in self.estimates):
            return [self]
        pairs = [one.by_failures for one in self.estimates]
        signs = (self.coefficients > 0).tolist()
        lowest = tuple(pair[not up] for pair, up in zip(pairs, signs, strict=True))
        highest = tuple(pair[up] for pair, up in zip(pairs, signs, strict=True))
        return [self, *(replace(self, estimates=ends) for ends in (lowest, highest))]

    @property
    def misfits(self) -> list[Estimate]:
        """The thresholds that do not exist."""
        return [estimate for estimate in self.estimates if estimate.misfit]

    @property
    def settled_steps(self) -> bool:
        """False if more trials may change the limits, since a threshold may be in another step."""
        return all(estimate.settled_step for estimate in self.estimates)

    @property
    def trials(self) -> int:
        """Average number of trials per algorithm and point of the sweep, rounded up."""
        rows = sum(estimate.rows for estimate in self.estimates)
        return math.ceil(rows / sum(estimate.sample.points for estimate in self.estimates))

    @property
    def settled(self) -> bool:
        """True if all replicates contribute the same, and enough to expect it of others.

        These are so many that a difference in ``RARE`` of the replicates would have shown. A
        threshold to which no curve can be fitted says nothing about contributions.
        """
        if (1 - RARE) ** min(estimate.rows for estimate in self.estimates) > 1 - LEVEL:
            return False
        fitted = all(estimate.outcomes.any() for estimate in self.estimates)
        if self.estimates[0].kind is Threshold and not fitted:
            return False
        return self._cancels

    @property
    def _cancels(self) -> bool:
        """True if all data sets contribute the same up to rounding.

        This is unknown for ratios, which are not linear.
        """
        if self.estimates[0].kind is Ratio:
            return False
        moves: dict[int, float] = {}
        largest = 0.0
        for estimate, weight in zip(self.estimates, self.coefficients, strict=True):
            centred = weight * (estimate.outcomes - estimate.outcomes.mean()) / estimate.rows
            largest = max(largest, float(np.abs(weight * estimate.outcomes).max()) / estimate.rows)
            for pair, move in zip(estimate.sample.pairs.tolist(), centred.tolist(), strict=True):
                moves[pair] = moves.get(pair, 0.0) + move
        return max(map(abs, moves.values())) <= ROUNDING * largest

    def p_value(self, boundary: float) -> float:
        """Return the two-sided p-value of a value of the combination.

        That of proportions is exact (``BoundedSum``). Two proportions are compared by McNemar's
        test if they have the same data sets, and by Fisher's if they have none in common. Other
        p-values are those of the intervals. So are those of proportions if the results decided the
        number of trials.
        """
        if self._sum is None:
            # A sum of rounded ends must not exclude the largest possible proportion.
            size = float(np.abs(self.coefficients).sum())
            slack = ROUNDING * size if self.estimates[0].kind is Proportion else 0.0
            return p_value_of(self.interval, boundary, slack)
        if self._equality_p is not None and boundary == self.constant:
            return max(p_value_of(self.interval, boundary), self._equality_p)
        return self._sum.p_value(boundary - self.constant)

    @cached_property
    def _sum(self) -> BoundedSum | None:
        """The contributions of data sets to a combination of proportions, if they have a test."""
        if self.estimates[0].kind is not Proportion or not all(one.fixed for one in self.estimates):
            return None
        pairs = np.concatenate([one.sample.pairs for one in self.estimates])
        _, place = np.unique(pairs, return_inverse=True)
        rows = [one.rows for one in self.estimates]
        weights = np.repeat(self.coefficients / rows, rows)
        outcomes = np.concatenate([one.outcomes for one in self.estimates])
        moves = weights * outcomes, np.minimum(weights, 0.0), np.maximum(weights, 0.0)
        values, lows, highs = (np.bincount(place, weights=move) for move in moves)
        once = len(values) == len(pairs)
        identical = once and len(self.estimates) == 1 and self.estimates[0].identical
        return BoundedSum(values, lows, highs, two_valued=once, identical=identical)

    @cached_property
    def _equality_p(self) -> float | None:
        """The p-value of two equal proportions; None for other contrasts, or without a test."""
        if len(self.estimates) != 2 or self.coefficients.sum() != 0.0:
            return None
        one, two = self.estimates
        if np.array_equal(np.sort(one.sample.pairs), np.sort(two.sample.pairs)):
            return mcnemar(*success_table(one, two))
        if not np.intersect1d(one.sample.pairs, two.sample.pairs).size:
            return fisher(*((int(each.outcomes.sum()), each.rows) for each in (one, two)))
        return None

    def equal_values_p(self) -> float:
        """Return the probability that all values are equal although the true value is different.

        The values are those of each estimate, or their differences on the same data sets. The
        probability is 0 if they differ. For means, values other than the observed one are
        assumed to occur with probability ``RARE``. A peak is assumed to lie on either side of its
        mean equally often. Replicates that resample one data set say nothing about other values,
        and the probability is 1.
        """
        if not self.all_equal:
            return 0.0
        if self.resampled:
            return 1.0
        factor, base, rows = self._equal_values_law
        return float(factor * base**rows)

    def equal_values_growth(self, level: float) -> float:
        """Return how many times as many equal values would have the probability ``level``."""
        factor, base, rows = self._equal_values_law
        return math.log(level / factor) / math.log(base) / rows

    @property
    def all_equal(self) -> bool:
        """True if all values of each estimate are equal, or all their paired differences."""
        if all(estimate.constant for estimate in self.estimates):
            return True
        return self.estimates[0].kind in (Mean, Peak) and self._cancels

    @property
    def _equal_values_law(self) -> tuple[float, float, int]:
        """Factor, base and number of rows; the probability is the factor times the power."""
        numbers = [estimate.rows for estimate in self.estimates]
        if self.estimates[0].kind is Peak:
            return 2.0, 0.5, min(numbers)
        each = all(estimate.constant for estimate in self.estimates)
        return 1.0, 1 - RARE, sum(numbers) if each else min(numbers)


def _splits_apart(one: Estimate, two: Estimate) -> bool:
    """Return True if two estimates depend on each other through the rows of one data set.

    Splits at other points of a sweep, and numbers of test rows and of training rows, share a data
    set, but their replicates do not tell how the estimates are correlated. Nor do they for shares
    of rows, which are combined in ``Contrast`` if all estimates are such shares.
    """
    if not (one.added and two.added):
        return False
    if one.split or two.split:
        return True
    return one.added != two.added or not np.isin(one.sample.pairs, two.sample.pairs).any()


def contrast(form: Form, group: Cell, estimator: Estimator) -> Contrast:
    """Return the contrast of a form in a group.

    Raises
    ------
    MissingData
        If the table lacks data for the form.
    """
    terms: dict[int, tuple[Estimate, float]] = {}
    constant = _add(form, group, 1.0, terms, estimator)
    kept = [(estimate, weight) for estimate, weight in terms.values() if weight]
    if not kept:
        raise MissingData("all coefficients are zero")
    found, weights = zip(*kept, strict=True)
    # Successes have exact tests, also if they are called means.
    shares = tuple(estimate.as_share for estimate in found if estimate.as_share)
    if len(shares) == len(found):
        found = shares
    return Contrast(found, np.array(weights), constant)


def number(expression: Expression, cell: Cell, labels: list[str], table: Table) -> float:
    """Return the value of an expression in a cell.

    Raises
    ------
    MissingData
        If a column does not have a single number in the cell, or the result is not finite.
    """
    used = sorted(leaves(expression), key=lambda one: one.name)
    columns = {one: table.single_value(cell, one.name, labels) for one in used}
    value = float(evaluate(expression, columns))
    if not np.isfinite(value):
        where = ", ".join(f"{one.name} = {value:g}" for one, value in columns.items())
        raise MissingData(f"a number in the test is not finite{f' at {where}' if where else ''}")
    # Rearranging a test turns 0 into -0.
    return value + 0.0


def _add(
    form: Form,
    cell: Cell,
    factor: float,
    terms: dict[int, tuple[Estimate, float]],
    estimator: Estimator,
) -> float:
    """Add a form times a factor to ``terms``; return the constant of the form times the factor."""
    labels, table = form.algorithms, estimator.table
    constant = factor * number(form.constant, cell, labels, table)
    for quantity, coefficient in form.terms:
        weight = factor * number(coefficient, cell, labels, table)
        if isinstance(quantity, Trend):
            # A least-squares line is linear in the values it is fitted to.
            constant += sum(
                _add(quantity.form, at, weight * share, terms, estimator)
                for at, share in _trend_weights(quantity, cell, table)
            )
            continue
        estimate = estimator.estimate(quantity, cell)
        _, before = terms.get(id(estimate), (estimate, 0.0))
        terms[id(estimate)] = (estimate, before + weight)
    return constant


def _trend_weights(trend: Trend, group: Cell, table: Table) -> list[tuple[Cell, float]]:
    """Return the cells along a trend, each with its weight in the slope, intercept or average."""
    labels = trend.form.algorithms
    along = {n for column in trend.columns for n in table.setting.zipped_with(column, labels)}
    cells = table.cells(group, sorted(along), labels)
    if trend.name == "average":
        return [(cell, 1 / len(cells)) for cell in cells]
    x = np.array([number(trend.along, cell, labels, table) for cell in cells])
    try:
        limit, slope = line_weights(x)
    except ValueError:
        columns = ", ".join(trend.columns)
        raise MissingData(f"the {trend.name} needs two values along {columns}") from None
    weights = limit if trend.name == "limit" else slope
    return list(zip(cells, weights.tolist(), strict=True))
