"""Linear contrasts of estimates: what the tests of claims compare with a boundary."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from greedyexp.claims.estimates import ROUNDING, Estimate, Estimator, correlation_of, success_table
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
from greedyexp.claims.table import Group, MissingData, Table
from greedyexp.stats.contrasts import assumed_worst, combined_interval, line_weights
from greedyexp.stats.proportions import CONFIDENCE, binomial_p, fisher, mcnemar

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
        for i in range(count):
            for j in range(i):
                one, two = self.estimates[i], self.estimates[j]
                matrix[i, j] = matrix[j, i] = correlation_of(one, two)
        # The place of a threshold between two points has no linear expansion in the replicates.
        known = [one.kind is not Threshold or one.span is None for one in self.estimates]
        return assumed_worst(matrix, self.coefficients, known)

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

        The uncertainty due to the grid is not random and does not cancel: it adds up.
        """
        ends = [estimate.interval(confidence) for estimate in self.estimates]
        lows, highs = zip(*ends, strict=True)
        down, up = self._worst
        matrix = self._correlation
        _, low, _ = combined_interval(self.coefficients, down, lows, highs, matrix)
        _, _, high = combined_interval(self.coefficients, up, lows, highs, matrix)
        return low + self.constant, high + self.constant

    @property
    def _worst(self) -> tuple[np.ndarray, np.ndarray]:
        """The extreme values of each estimate, for the lower and for the upper end."""
        low, high = np.array([estimate.limits for estimate in self.estimates]).T
        positive = self.coefficients > 0
        return np.where(positive, low, high), np.where(positive, high, low)

    @property
    def limits(self) -> tuple[float, float]:
        """Interval of the true value in the limit of infinitely many replicates."""
        with np.errstate(invalid="ignore"):
            down, up = (float(np.sum(self.coefficients * worst)) for worst in self._worst)
        return down + self.constant, up + self.constant

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
        if (1 - RARE) ** min(estimate.rows for estimate in self.estimates) > 1 - CONFIDENCE:
            return False
        fitted = all(estimate.outcomes.any() for estimate in self.estimates)
        if self.estimates[0].kind is Threshold and not fitted:
            return False
        return self._cancels

    @property
    def _cancels(self) -> bool:
        """True if all data sets contribute the same; unknown for ratios, which are not linear."""
        if self.estimates[0].kind is Ratio:
            return False
        moves: dict[int, float] = {}
        largest = 0.0
        for estimate, weight in zip(self.estimates, self.coefficients, strict=True):
            centred = weight * (estimate.outcomes - estimate.outcomes.mean()) / estimate.rows
            largest = max(largest, float(np.abs(centred).max()))
            for pair, move in zip(estimate.sample.pairs.tolist(), centred.tolist(), strict=True):
                moves[pair] = moves.get(pair, 0.0) + move
        return max(map(abs, moves.values())) <= ROUNDING * largest

    def exact_p(self, boundary: float) -> float:
        """Return the exact p-value of one proportion, or of two equal ones.

        The tests are the binomial one, McNemar's if two proportions have the same data sets, and
        Fisher's if they have no data set in common; the p-value is 0 for other contrasts. They are
        needed because the approximate intervals are too short for small counts, above all at the
        high confidence that many tests require. If the results decided the number of trials, the
        interval is valid and the binomial test is not.
        """
        if self.estimates[0].kind is not Proportion:
            return 0.0
        if len(self.estimates) == 1:
            (one,), (factor,) = self.estimates, self.coefficients
            wins, p = int(one.outcomes.sum()), (boundary - self.constant) / factor
            return binomial_p(wins, one.rows, p) if one.fixed and 0 <= p <= 1 else 0.0
        opposite = len(self.estimates) == 2 and self.coefficients.sum() == 0.0
        if not opposite or self.constant != boundary:
            return 0.0
        one, two = self.estimates
        if np.array_equal(np.sort(one.sample.pairs), np.sort(two.sample.pairs)):
            return mcnemar(*success_table(one, two))
        if not np.intersect1d(one.sample.pairs, two.sample.pairs).size and one.fixed:
            return fisher(*((int(each.outcomes.sum()), each.rows) for each in (one, two)))
        return 0.0

    def equal_values_p(self) -> float:
        """Return the probability that all values are equal although the true value is different.

        The values are those of each estimate, or their differences on the same data sets. The
        probability is 0 if they differ. For means, values other than the observed one are
        assumed to occur with probability ``RARE``. A peak is assumed to lie on either side of its
        mean equally often.
        """
        if not self.all_equal:
            return 0.0
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


def contrast(form: Form, group: Group, estimator: Estimator) -> Contrast:
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
    return Contrast(found, np.array(weights), constant)


def number(expression: Expression, cell: Group, labels: list[str], table: Table) -> float:
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
    cell: Group,
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


def _trend_weights(trend: Trend, group: Group, table: Table) -> list[tuple[Group, float]]:
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
