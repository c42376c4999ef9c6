"""The language of claims: expressions, quantities, linear forms and tests."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from greedyexp.stats.direction import Direction
from greedyexp.theory.donoho_tanner import donoho_tanner

Value: TypeAlias = "np.ndarray | np.float64"

FUNCTIONS: dict[str, Callable[..., Value]] = {
    "log": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "donoho_tanner": donoho_tanner,
}
_OPERATIONS: dict[str, Callable[..., Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
    **FUNCTIONS,
}


@dataclass(frozen=True)
class Number:
    """A literal number."""

    value: float


@dataclass(frozen=True)
class Column:
    """The value of a column, in the row of an algorithm if it names one."""

    name: str
    algorithm: str = ""


@dataclass(frozen=True)
class Operation:
    """One of ``_OPERATIONS`` applied to one or two expressions."""

    name: str
    operands: tuple[Expression, ...]


Expression: TypeAlias = "Number | Column | Operation"

ZERO, ONE, NEGATIVE = Number(0.0), Number(1.0), Number(-1.0)


def combined(symbol: str, left: Expression, right: Expression) -> Expression:
    """Return the operation, simplified where an operand is 0 or 1 or both are numbers."""
    if symbol in "+-" and right == ZERO:
        return left
    if symbol == "+" and left == ZERO:
        return right
    if symbol == "*" and ONE in (left, right):
        return right if left == ONE else left
    return applied(symbol, left, right)


def applied(name: str, *operands: Expression) -> Expression:
    """Return the operation, or its value if all operands are numbers."""
    operation = Operation(name, operands)
    if all(isinstance(operand, Number) for operand in operands):
        return Number(float(evaluate(operation, {})))
    return operation


def evaluate(expression: Expression, columns: Mapping[Column, Any]) -> Value:
    """Evaluate an expression at one row or, with columns as arrays, at every row.

    Parameters
    ----------
    columns : mapping of Column to float or array
        Values of all columns in the expression.

    Returns
    -------
    float or array
        Not finite where a logarithm or a division is undefined.
    """
    match expression:
        case Operation(name, operands):
            with np.errstate(all="ignore"):
                return _OPERATIONS[name](*(evaluate(operand, columns) for operand in operands))
        case Number(number):
            numbers: Any = number
        case Column():
            numbers = columns[expression]
    # [()] turns an array without dimensions into a scalar.
    return np.asarray(numbers, dtype=float)[()]


def leaves(*expressions: Expression) -> set[Column]:
    """Return the columns in expressions, with their algorithms."""
    found: set[Column] = set()
    for expression in expressions:
        match expression:
            case Operation(_, operands):
                found |= leaves(*operands)
            case Column():
                found.add(expression)
    return found


def columns_of(*expressions: Expression) -> frozenset[str]:
    """Return the names of the columns that appear without an algorithm."""
    return frozenset(leaf.name for leaf in leaves(*expressions) if not leaf.algorithm)


@dataclass(frozen=True)
class Threshold:
    """Value of a swept column at which the success probability of an algorithm crosses a level.

    The direction, in which success changes along the column, is None if the data decide it.
    """

    algorithm: str
    metric: str
    of: str
    level: float
    direction: Direction | None = None


@dataclass(frozen=True)
class Proportion:
    """Success probability of an algorithm."""

    algorithm: str
    metric: str


@dataclass(frozen=True)
class Mean:
    """Mean of a metric over replicates."""

    algorithm: str
    metric: str


@dataclass(frozen=True)
class Ratio:
    """Ratio of two means over the same replicates."""

    top: Mean
    bottom: Mean


@dataclass(frozen=True)
class Peak:
    """Value of an expression of swept columns at which a metric is largest."""

    algorithm: str
    metric: str
    along: Expression
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Trend:
    """Slope or intercept (``limit``) of the least-squares line of a form along an expression.

    ``average`` is the mean of the form over the values of one column.
    """

    name: str
    form: Form
    along: Expression
    columns: tuple[str, ...]


Quantity: TypeAlias = "Threshold | Proportion | Mean | Ratio | Peak"


@dataclass(frozen=True)
class Form:
    """A linear combination of quantities plus a constant.

    Parameters
    ----------
    terms : tuple of (Quantity or Trend, Expression)
        The quantities with their coefficients; each quantity occurs once.
    constant : Expression
    """

    terms: tuple[tuple[Quantity | Trend, Expression], ...] = ()
    constant: Expression = ZERO

    def plus(self, other: Form, symbol: str = "+") -> Form:
        """Return the sum or, for symbol "-", the difference."""
        terms = dict(self.terms)
        for quantity, coefficient in other.terms:
            terms[quantity] = combined(symbol, terms.get(quantity, ZERO), coefficient)
        kept = tuple((q, c) for q, c in terms.items() if c != ZERO)
        return Form(kept, combined(symbol, self.constant, other.constant))

    def times(self, factor: Expression, symbol: str = "*") -> Form:
        """Return the form times a number, divided by it or, without terms, raised to its power."""
        terms = tuple((q, combined(symbol, c, factor)) for q, c in self.terms)
        return Form(terms, combined(symbol, self.constant, factor))

    @property
    def quantities(self) -> list[Quantity]:
        """Quantities of the form, including those inside trends."""
        found: list[Quantity] = []
        for quantity, _ in self.terms:
            found += quantity.form.quantities if isinstance(quantity, Trend) else [quantity]
        return found

    @property
    def trends(self) -> list[Trend]:
        """Slopes, limits and averages in the form."""
        return [quantity for quantity, _ in self.terms if isinstance(quantity, Trend)]

    @property
    def swept(self) -> list[str]:
        """Columns along which the thresholds, peaks and trends of the form run."""
        found = [column for trend in self.trends for column in trend.columns]
        for quantity in self.quantities:
            match quantity:
                case Threshold(of=column):
                    found.append(column)
                case Peak(columns=columns):
                    found += columns
        return found

    @property
    def columns(self) -> frozenset[str]:
        """Columns in the coefficients and the constant, without those inside trends."""
        return columns_of(self.constant, *(coefficient for _, coefficient in self.terms))

    @property
    def algorithms(self) -> list[str]:
        """Labels of the algorithms in the form, in order of appearance."""
        return list(dict.fromkeys(part.algorithm for part in self.parts()))

    @property
    def metrics(self) -> list[str]:
        """Metrics in the form, in order of appearance."""
        return list(dict.fromkeys(part.metric for part in self.parts()))

    def parts(self) -> Iterator[Threshold | Proportion | Mean | Peak]:
        """Iterate over the quantities of the form; a ratio yields its two means."""
        for quantity in self.quantities:
            if isinstance(quantity, Ratio):
                yield from (quantity.top, quantity.bottom)
            else:
                yield quantity


@dataclass(frozen=True)
class Comparison:
    """A relation ``<``, ``<=``, ``>``, ``>=`` or ``==`` between a form and a boundary.

    The form has no constant.
    """

    text: str
    form: Form
    relation: str
    boundary: Expression


@dataclass(frozen=True)
class Monotone:
    """A form that increases (``>``) or decreases (``<``) along the values of a column."""

    text: str
    form: Form
    relation: str
    column: str


@dataclass(frozen=True)
class Always:
    """A relation between two expressions that holds in every row, or in most rows.

    If no column names an algorithm, the relation applies to every row of every algorithm.
    Otherwise it applies to the rows that the named algorithms have in common. With ``usually`` it
    holds in more than half of the rows of most data sets.
    """

    text: str
    left: Expression
    relation: str
    right: Expression
    usually: bool = False

    @property
    def leaves(self) -> set[Column]:
        """Columns in the relation, with their algorithms."""
        return leaves(self.left, self.right)

    @property
    def algorithms(self) -> list[str]:
        """Labels of the named algorithms, sorted; empty if the relation names none."""
        return sorted({one.algorithm for one in self.leaves if one.algorithm})


Test: TypeAlias = "Comparison | Monotone | Always"


def named_in(test: Test) -> tuple[list[str], frozenset[str]]:
    """Return the labels of algorithms and the columns, including metrics, in a test."""
    if isinstance(test, Always):
        return test.algorithms, frozenset(one.name for one in test.leaves)
    form = test.form
    columns = {*form.metrics, *form.columns, *form.swept}
    for trend in form.trends:
        columns |= trend.form.columns
    columns |= {test.column} if isinstance(test, Monotone) else columns_of(test.boundary)
    return form.algorithms, frozenset(columns)
