"""Columns that equal an earlier column or its negative, which must never win a tie against it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class EqualColumns(NamedTuple):
    """Pairs of equal columns: ``columns[copies] == signs * columns[originals]``, (c,) each."""

    copies: np.ndarray
    originals: np.ndarray
    signs: np.ndarray


def equal_columns(columns: np.ndarray) -> EqualColumns:
    """Return every column that equals an earlier one or its negative, and the first such column.

    Parameters
    ----------
    columns : array (d, n)
        The columns of the design, or of its second moments, as rows.
    """
    first: dict[bytes, int] = {}
    leading = columns[np.arange(len(columns)), (columns != 0.0).argmax(axis=1)]
    facing = np.copysign(1.0, leading)
    # Adding zero makes a negative zero positive.
    keys = [(sign * column + 0.0).tobytes() for sign, column in zip(facing, columns, strict=True)]
    originals = np.array([first.setdefault(key, j) for j, key in enumerate(keys)], dtype=np.int64)
    copies = np.flatnonzero(originals != np.arange(len(columns)))
    originals = originals[copies]
    return EqualColumns(copies, originals, facing[copies] * facing[originals])


def equalise(matrix: np.ndarray, equal: EqualColumns) -> None:
    """Copy the entries of originals to their copies in a matrix (d, d) of inner products.

    A matrix product may compute the entries of equal columns in different orders, depending on
    their places and on the processor, and the last digits then differ. Derivatives updated
    with such a matrix drift apart. Near a minimum, where they are as small as rounding errors, they
    differ by more than any relative tolerance, and a copy would win against its original. With
    equal entries the derivatives of a copy and its original stay equal to the last digit.
    """
    copies, originals, signs = equal
    matrix[copies] = signs[:, None] * matrix[originals]
    matrix[:, copies] = signs * matrix[:, originals]
