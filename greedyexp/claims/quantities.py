"""What a claim speaks of: quantities, linear forms of them, and tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from greedyexp.claims.expressions import (
    ZERO,
    Expression,
    Measurement,
    Number,
    columns_of,
    combined,
    measurements_of,
)


@dataclass(frozen=True)
class Threshold:
    """Where the success probability of an algorithm crosses a level along a swept column."""

    algorithm: str
    metric: str
    of: str
    level: float

    kind = "threshold"

    def __str__(self) -> str:
        of = "" if self.of == "theta" else f", of={self.of}"
        level = "" if self.level == 0.5 else f", level={self.level:g}"
        return f"threshold({self.algorithm}, {self.metric}{of}{level})"


@dataclass(frozen=True)
class Proportion:
    """The success probability of an algorithm."""

    algorithm: str
    metric: str

    kind = "proportion"

    def __str__(self) -> str:
        return f"proportion({self.algorithm}, {self.metric})"


@dataclass(frozen=True)
class Mean:
    """The mean of a metric over replicates."""

    algorithm: str
    metric: str

    kind = "mean"

    def __str__(self) -> str:
        return f"mean({self.algorithm}, {self.metric})"


@dataclass(frozen=True)
class Ratio:
    """The ratio of two means over the same replicates."""

    top: Mean
    bottom: Mean

    kind = "ratio"

    def __str__(self) -> str:
        return f"ratio({self.top}, {self.bottom})"


@dataclass(frozen=True)
class Peak:
    """Where along an expression of swept columns a metric is largest."""

    algorithm: str
    metric: str
    along: Expression
    columns: tuple[str, ...]

    kind = "peak"


@dataclass(frozen=True)
class Trend:
    """Slope or intercept (``limit``) of the least-squares line of a form along an expression."""

    name: str
    form: Form
    along: Expression
    columns: tuple[str, ...]


Quantity = Threshold | Proportion | Mean | Ratio | Peak | Trend


@dataclass(frozen=True)
class Form:
    """A sum of quantities times coefficients, and a constant.

    Parameters
    ----------
    terms : tuple of (Quantity, Expression)
        Each quantity once, with its coefficient.
    constant : Expression
    """

    terms: tuple[tuple[Quantity, Expression], ...] = ()
    constant: Expression = ZERO

    def plus(self, other: Form, symbol: str = "+") -> Form:
        """The sum, or with symbol "-" the difference."""
        terms = dict(self.terms)
        for quantity, coefficient in other.terms:
            terms[quantity] = combined(symbol, terms.get(quantity, ZERO), coefficient)
        kept = tuple((q, c) for q, c in terms.items() if c != ZERO)
        return Form(kept, combined(symbol, self.constant, other.constant))

    def times(self, factor: Expression, symbol: str = "*") -> Form:
        """The form times a number or, with symbol "/", divided by it."""
        terms = tuple((q, combined(symbol, c, factor)) for q, c in self.terms)
        return Form(terms, combined(symbol, self.constant, factor))

    def quantities(self) -> Iterator[Quantity]:
        """The quantities in it, those inside trends instead of the trends."""
        for quantity, _ in self.terms:
            if isinstance(quantity, Trend):
                yield from quantity.form.quantities()
            else:
                yield quantity

    def trends(self) -> list[Trend]:
        """Its slopes and limits."""
        return [quantity for quantity, _ in self.terms if isinstance(quantity, Trend)]

    def columns(self) -> frozenset[str]:
        """Columns in its coefficients and its constant, those inside trends left out."""
        return columns_of(self.constant).union(*(columns_of(c) for _, c in self.terms))


NEGATIVE = Number(-1.0)


@dataclass(frozen=True)
class Comparison:
    """A form without constant against a boundary: ``<``, ``<=``, ``>``, ``>=`` or ``==``."""

    text: str
    form: Form
    relation: str
    boundary: Expression


@dataclass(frozen=True)
class Monotone:
    """A form that grows (``>``) or falls (``<``) from each value of a column to the next."""

    text: str
    form: Form
    relation: str
    column: str


@dataclass(frozen=True)
class Always:
    """A relation between two expressions that holds in every row.

    Its columns belong to the row of any one algorithm, or else they are named with algorithms and
    belong to the rows that these have in common.
    """

    text: str
    left: Expression
    relation: str
    right: Expression

    @property
    def columns(self) -> frozenset[str]:
        """Columns named without an algorithm."""
        return columns_of(self.left) | columns_of(self.right)

    @property
    def measurements(self) -> frozenset[Measurement]:
        """Columns named with an algorithm."""
        return measurements_of(self.left) | measurements_of(self.right)

    @property
    def algorithms(self) -> list[str]:
        """Labels of the algorithms that it names, sorted; empty when it speaks of any one."""
        return sorted({one.algorithm for one in self.measurements})


Test = Comparison | Monotone | Always


def algorithms_of(form: Form) -> list[str]:
    """Labels of the algorithms that a form speaks of, in order of appearance."""
    labels: dict[str, None] = {}
    for quantity in form.quantities():
        for part in (quantity.top, quantity.bottom) if isinstance(quantity, Ratio) else (quantity,):
            labels[part.algorithm] = None
    return list(labels)


def metrics_of(form: Form) -> list[str]:
    """The metrics that a form speaks of, in order of appearance."""
    metrics: dict[str, None] = {}
    for quantity in form.quantities():
        for part in (quantity.top, quantity.bottom) if isinstance(quantity, Ratio) else (quantity,):
            metrics[part.metric] = None
    return list(metrics)


def named_in(test: Test) -> tuple[list[str], frozenset[str]]:
    """The labels of algorithms and the columns that a test names, metrics among them."""
    if isinstance(test, Always):
        return test.algorithms, test.columns | {one.name for one in test.measurements}
    beside = {test.column} if isinstance(test, Monotone) else columns_of(test.boundary)
    columns = {*metrics_of(test.form), *test.form.columns(), *beside}
    for trend in test.form.trends():
        columns |= columns_of(trend.along) | trend.form.columns()
    for quantity in test.form.quantities():
        if isinstance(quantity, Peak):
            columns |= columns_of(quantity.along)
        elif isinstance(quantity, Threshold):
            columns.add(quantity.of)
    return algorithms_of(test.form), frozenset(columns)
