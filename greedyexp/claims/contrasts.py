"""From a form and a group to a linear contrast of estimates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from greedyexp.claims.estimates import Estimate, Peaked, Share
from greedyexp.claims.estimating import Estimates
from greedyexp.claims.expressions import Expression, columns_of, evaluate
from greedyexp.claims.quantities import Form, Trend, algorithms_of
from greedyexp.claims.table import Group, Missing, Table
from greedyexp.stats.contrasts import combined_interval, line_weights
from greedyexp.stats.proportions import mcnemar


@dataclass(frozen=True)
class Contrast:
    """Coefficients times estimates, plus a number.

    Parameters
    ----------
    estimates : tuple of Estimate
        Each once.
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
                matrix[i, j] = matrix[j, i] = one.correlation(two)
        return matrix

    @property
    def value(self) -> float:
        """The estimate; nan when infinite terms oppose each other."""
        with np.errstate(invalid="ignore"):
            values = np.array([estimate.value for estimate in self.estimates])
            return float(np.sum(self.coefficients * values)) + self.constant

    def interval(self, confidence: float) -> tuple[float, float]:
        """The interval at a confidence level, by variance estimates recovery.

        What is open about each peak on a grid is no chance that would cancel: it adds up.
        """
        ends = [estimate.ends(confidence) for estimate in self.estimates]
        lows, highs = zip(*ends, strict=True)
        down, up = self._worst

        def combined(values) -> tuple[float, float, float]:
            return combined_interval(self.coefficients, values, lows, highs, self._correlation)

        _, low, high = combined(down)
        if self._peaks:
            _, _, high = combined(up)
        return low + self.constant, high + self.constant

    @property
    def _peaks(self) -> bool:
        """Whether it is about peaks; the estimates in a contrast are of one kind."""
        return isinstance(self.estimates[0], Peaked)

    @property
    def _worst(self) -> tuple[np.ndarray, np.ndarray]:
        """For the lower and the upper end what each estimate may be in the worst case."""
        low, high = np.array([estimate.settled for estimate in self.estimates]).T
        positive = self.coefficients > 0
        return np.where(positive, low, high), np.where(positive, high, low)

    @property
    def settled(self) -> tuple[float, float]:
        """Between which more replicates of the same kind would leave it."""
        if not self._peaks:
            return self.value, self.value
        down, up = (float(self.coefficients @ worst) for worst in self._worst)
        return down + self.constant, up + self.constant

    @property
    def points(self) -> int:
        """Points of the sweep and algorithms in it."""
        return sum(estimate.points for estimate in self.estimates)

    @property
    def rows(self) -> int:
        return sum(estimate.rows for estimate in self.estimates)

    def exact_p(self, boundary: float) -> float:
        """Exact McNemar test for a plain difference of proportions on the same data, else 0.

        The interval is an approximation, which small numbers can make too sure.
        """
        plain = sorted(self.coefficients) == [-1.0, 1.0] and self.constant == boundary
        if not plain or not all(isinstance(estimate, Share) for estimate in self.estimates):
            return 0.0
        one, two = self.estimates
        paired = np.array_equal(np.sort(one.pairs), np.sort(two.pairs))
        return mcnemar(*one.table(two)) if paired else 0.0

    @property
    def unvarying(self) -> bool:
        """Whether no value in it differs from another."""
        return all(estimate.constant for estimate in self.estimates)

    def alike(self, rare: float) -> float:
        """How likely values that never vary are, were the truth outside of their interval.

        Parameters
        ----------
        rare : float
            A mean may hang on values that come up as seldom as this. A peak is taken to lie on
            either side of its mean equally often, and so would half of the replicates.
        """
        if self._peaks:
            return 2 * 0.5 ** min(estimate.rows for estimate in self.estimates)
        return (1 - rare) ** self.rows


def contrast(form: Form, group: Group, estimates: Estimates) -> Contrast:
    """What a form is in a group.

    Raises
    ------
    Missing
        When the table does not have what it takes.
    """
    terms: dict[int, tuple[Estimate, float]] = {}
    constant = _add(form, group, 1.0, terms, estimates)
    kept = [(estimate, weight) for estimate, weight in terms.values() if weight]
    if not kept:
        raise Missing("all coefficients are zero")
    found, weights = zip(*kept, strict=True)
    return Contrast(found, np.array(weights), constant)


def number(expression: Expression, cell: Group, labels: list[str], table: Table) -> float:
    """The value of an expression in a cell.

    Raises
    ------
    Missing
        When a column has no single number there, or the result is not finite.
    """
    columns = {name: table.at(cell, name, labels) for name in sorted(columns_of(expression))}
    value = float(evaluate(expression, columns))
    if not np.isfinite(value):
        where = ", ".join(f"{name} = {value:g}" for name, value in columns.items())
        raise Missing(f"a number in the test is not finite{f' at {where}' if where else ''}")
    # Rearranging a test turns 0 into -0.
    return value + 0.0


def _add(form: Form, cell: Group, factor: float, terms: dict, estimates: Estimates) -> float:
    """Add the terms of a form times a factor; returns its constant times the factor."""
    labels = algorithms_of(form)
    constant = factor * number(form.constant, cell, labels, estimates.table)
    for quantity, coefficient in form.terms:
        weight = factor * number(coefficient, cell, labels, estimates.table)
        if isinstance(quantity, Trend):
            constant += _add_trend(quantity, cell, weight, terms, estimates)
            continue
        estimate = estimates.of(quantity, cell)
        _, before = terms.get(id(estimate), (estimate, 0.0))
        terms[id(estimate)] = (estimate, before + weight)
    return constant


def _add_trend(trend: Trend, group: Group, factor: float, terms: dict, estimates: Estimates):
    """Least squares is linear in what the line is drawn through."""
    table, labels = estimates.table, algorithms_of(trend.form)
    along = {n for column in trend.columns for n in table.setting.mates(column, labels)}
    cells = table.cells(group, sorted(along), labels)
    x = np.array([number(trend.along, cell, labels, table) for cell in cells])
    try:
        limit, slope = line_weights(x)
    except ValueError:
        columns = ", ".join(trend.columns)
        raise Missing(f"the {trend.name} needs two values along {columns}") from None
    weights = limit if trend.name == "limit" else slope
    return sum(
        _add(trend.form, cell, factor * weight, terms, estimates)
        for cell, weight in zip(cells, weights.tolist(), strict=True)
    )
