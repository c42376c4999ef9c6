"""Tables and columns of pandas or Polars as arrays with names."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from greedyexp.core.errors import DataError


def is_frame(value: Any) -> bool:
    """Return whether a value is a DataFrame of pandas or Polars."""
    return hasattr(value, "columns") and hasattr(value, "to_numpy")


def _is_series(value: Any) -> bool:
    """Return whether a value is a Series of pandas or Polars."""
    return hasattr(value, "name") and hasattr(value, "to_numpy")


def from_designs(X: Any) -> tuple[Any, tuple[str, ...]]:
    """Return the arrays of a table, or of the tables in a list, and the names of their columns.

    Other designs are returned as they are, without names.

    Raises
    ------
    DataError
        If tables differ in the names of their columns, or an entry is not a finite number.
    """
    if is_frame(X):
        return from_frame(X, "X")
    if not isinstance(X, (list, tuple)) or not all(map(is_frame, X)) or not X:
        return X, ()
    tables = [from_frame(one, f"X[{j}]") for j, one in enumerate(X)]
    names = tables[0][1]
    for j, (_, others) in enumerate(tables):
        if others != names:
            raise DataError(
                f"the columns of X[{j}] are not those of X[0].",
                remedy="Give the same columns in the same order.",
            )
    return [numbers for numbers, _ in tables], names


def from_responses(y: Any) -> Any:
    """Return the array of a table or a column, or of the columns in a list.

    Other responses are returned as they are.

    Raises
    ------
    DataError
        If an entry is not a finite number.
    """
    if is_frame(y):
        return from_frame(y, "y")[0]
    if _is_series(y):
        return _from_series(y, "y")
    if isinstance(y, (list, tuple)) and y and all(map(_is_series, y)):
        return [_from_series(one, f"y[{j}]") for j, one in enumerate(y)]
    return y


def from_frame(frame: Any, what: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the numbers of a table, and the names of its columns.

    Parameters
    ----------
    frame : DataFrame (n, p)
    what : str
        Its name in messages.

    Returns
    -------
    numbers : array (n, p) of float64
    names : tuple of p str

    Raises
    ------
    DataError
        If two columns have the same name, or an entry is not a finite number. The message names
        the column and the row.
    """
    names = tuple(map(str, frame.columns))
    for name, count in Counter(names).most_common(1):
        if count > 1:
            raise DataError(f"{count} columns of {what} are named '{name}'.", remedy="Rename them.")
    # Polars makes numbers of dates and times.
    timed = any(getattr(kind, "is_temporal", bool)() for kind in frame.dtypes)
    held = frame.to_numpy()
    if held.dtype.kind in "biuf" and not timed and np.isfinite(held).all():
        return np.ascontiguousarray(held, dtype=np.float64), names
    columns = [
        _numbers(frame[column], f"column '{name}' of {what}")
        for column, name in zip(frame.columns, names, strict=True)
    ]
    return np.stack(columns, axis=1), names


def _from_series(series: Any, what: str) -> np.ndarray:
    """Return the numbers of a column as an array (n,) of float64.

    Raises
    ------
    DataError
        If an entry is not a finite number. The message names the row.
    """
    return _numbers(series, what)


def _numbers(column: Any, what: str) -> np.ndarray:
    """Return the numbers (n,) of a column; ``what`` is its name in messages."""
    held = column.to_numpy()
    if held.dtype.kind in "biuf":
        numbers = held.astype(np.float64)
    else:
        numbers = np.array([_number(value) for value in held])
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        # Where some texts are numbers, the others are what is wrong.
        place = int(next((at for at in wrong if not _reads_as_number(held[at])), wrong[0]))
        row = column.index[place] if hasattr(column, "index") else place
        raise _refusal(held[place], f"{what} holds {{}} in row {row}")
    return numbers


def _number(value: Any) -> float:
    """Return a number as a float, and nan for everything else."""
    # NumPy counts durations among the integers.
    known = isinstance(value, (Real, Decimal)) and not isinstance(value, np.timedelta64)
    return float(value) if known else np.nan


def _reads_as_number(value: Any) -> bool:
    """Return whether a value is the text of a number."""
    try:
        return isinstance(value, str) and bool(np.isfinite(float(value)))
    except ValueError:
        return False


def _refusal(value: Any, message: str) -> DataError:
    """Return the error for an entry that is not a finite number."""
    if isinstance(value, str):
        return DataError(
            message.format(f"the text '{value}'") + ".",
            remedy="Encode the column as numbers, or leave it out.",
        )
    # The missing values of pandas are None, nan, NaT, which do not equal themselves, and NA.
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
        return DataError(
            message.format("no value") + ".", remedy="Remove or impute missing values."
        )
    return DataError(
        message.format(value) + "; a finite number is needed.",
        remedy="Convert the column, or leave it out.",
    )
