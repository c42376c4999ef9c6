"""Arithmetic on columns: the numbers of a claim that no replicate decides."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

FUNCTIONS = {"log": np.log, "sqrt": np.sqrt}
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


Expression = Number | Column | Function | Operation

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
    columns : mapping of str to float or array
        Values of all columns that the expression names.

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
        case Function(name, argument):
            return FUNCTIONS[name](_evaluate(argument, columns))
        case Operation(symbol, left, right):
            return OPERATORS[symbol](_evaluate(left, columns), _evaluate(right, columns))


def columns_of(expression: Expression) -> frozenset[str]:
    """Names of the columns in an expression."""
    match expression:
        case Column(name):
            return frozenset([name])
        case Function(_, argument):
            return columns_of(argument)
        case Operation(_, left, right):
            return columns_of(left) | columns_of(right)
    return frozenset()
