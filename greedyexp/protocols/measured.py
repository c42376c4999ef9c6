"""The columns that a protocol gives, and what is in each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Measured:
    """One column of a protocol's rows.

    Parameters
    ----------
    name : str
        The column of the CSV.
    kind : {"key", "number", "success", "text"}
        ``key``: tells the rows of one replicate apart. ``number``: a measurement. ``success``: one
        whose values are 0 and 1. ``text``: says how the others came about.
    values : tuple, optional
        All that a key can be; None when only the run tells.
    only : mapping of str to tuple
        Key -> its values in the rows that have this column; empty when all rows may have it.
    """

    name: str
    kind: Literal["key", "number", "success", "text"]
    values: tuple | None = None
    only: Mapping[str, tuple] = field(default_factory=dict)
