"""The columns that a protocol gives, and what is in each."""

from __future__ import annotations

from dataclasses import dataclass
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
    """

    name: str
    kind: Literal["key", "number", "success", "text"]
