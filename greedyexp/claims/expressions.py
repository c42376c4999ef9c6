"""Arithmetic on columns: the numbers of a claim that no replicate decides."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

FUNCTIONS = {"log": np.log, "sqrt": np.sqrt, "abs": np.abs}
OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
}


@dataclass(frozen=True)
class Number:
    """A number as written."""

    value: float


@dataclass(frozen=True)
class Column:
    """The value of a column."""

    name: str


@dataclass(frozen=True)
class Measurement:
    """The value that a measured column has in the row of one algorithm."""

    name: str
    algorithm: str


@dataclass(frozen=True)
class Function:
    """One of ``FUNCTIONS`` of an expression."""

    name: str
    argument: Expression


@dataclass(frozen=True)
class Operation:
    """One of ``OPERATORS`` between two expressions."""

    symbol: str
    left: Expression
    right: Expression


Expression = Number | Column | Measurement | Function | Operation

ZERO, ONE = Number(0.0), Number(1.0)


def combined(symbol: str, left: Expression, right: Expression) -> Expression:
    """The operation, without the zeros and ones that rearranging brings in."""
    if symbol in "+-" and right == ZERO:
        return left
    if symbol == "+" and left == ZERO:
        return right
    if symbol == "*" and ONE in (left, right):
        return right if left == ONE else left
    if isinstance(left, Number) and isinstance(right, Number):
        value = evaluate(Operation(symbol, left, right), {})
        return Number(float(value))
    return Operation(symbol, left, right)


def evaluate(expression: Expression, columns: Mapping):
    """The value at one row or, with columns as arrays, at every row.

    Parameters
    ----------
    columns : mapping of str or Measurement to float or array
        Values of all columns that the expression names, and of its measurements.

    Returns
    -------
    float or array
        Not finite where a logarithm or a division has no value.
    """
    with np.errstate(all="ignore"):
        return _evaluate(expression, columns)


def _evaluate(expression: Expression, columns: Mapping):
    match expression:
        case Number(value):
            return np.float64(value)
        case Column(name):
            return np.asarray(columns[name], dtype=float)[()]
        case Measurement():
            return np.asarray(columns[expression], dtype=float)[()]
        case Function(name, argument):
            return FUNCTIONS[name](_evaluate(argument, columns))
        case Operation(symbol, left, right):
            return OPERATORS[symbol](_evaluate(left, columns), _evaluate(right, columns))


def columns_of(expression: Expression) -> frozenset[str]:
    """Names of the columns in an expression that stand there without an algorithm."""
    return frozenset(leaf.name for leaf in _leaves(expression) if isinstance(leaf, Column))


def measurements_of(expression: Expression) -> frozenset[Measurement]:
    """The columns in an expression that are named with an algorithm."""
    return frozenset(leaf for leaf in _leaves(expression) if isinstance(leaf, Measurement))


def _leaves(expression: Expression) -> Iterator[Number | Column | Measurement]:
    match expression:
        case Function(_, argument):
            yield from _leaves(argument)
        case Operation(_, left, right):
            yield from _leaves(left)
            yield from _leaves(right)
        case _:
            yield expression
