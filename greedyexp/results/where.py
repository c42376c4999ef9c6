"""The rows that a figure or a table shows, chosen by values of columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field

from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.results.counts import FAILED, require_columns
from greedyexp.results.labels import levels_text
from greedyexp.results.records import identity, refuse_all_failed

# A parameter of figures and tables.
Where = Annotated[
    dict[str, Any], Field(description="column: value or list of values; the rows to show")
]


def rows_where(frame: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """The rows with given values.

    A replicate that failed has no value in what the protocol gives. It stays, so that failures are
    counted.

    Parameters
    ----------
    where : mapping of column to value or list of values
        Numbers match up to rounding.

    Raises
    ------
    AllFailed
        When nothing was measured of the rows that are left when one is chosen by a measurement.
    ConfigError
        When a column is missing or no row is chosen.
    """
    require_columns(frame, list(where))
    told = identity(frame)
    failed = frame["status"].isin(FAILED)
    for name, wanted in where.items():
        wanted = wanted if isinstance(wanted, list) else [wanted]
        if not wanted:
            raise ConfigError(
                f"no row is chosen: the list for '{name}' is empty.", remedy="Remove it."
            )
        keep = matches(frame[name], wanted)
        if not keep.any():
            if name not in told:
                refuse_all_failed(frame)
            levels = sorted(map(str, frame[name].dropna().unique()))
            raise ConfigError(
                f"no row has {name} = {' or '.join(map(str, wanted))}.",
                remedy=did_you_mean(str(wanted[0]), levels) if levels else None,
            )
        if name not in told:
            keep |= failed & frame[name].isna()
        frame, failed = frame[keep], failed[keep]
    return frame


def where_text(where: Mapping[str, Any]) -> str:
    """The choice in words; empty when there is none."""
    told = {name: value for name, value in where.items() if name != "record"}
    return levels_text(
        {
            name: ", ".join(map(str, value)) if isinstance(value, list) else value
            for name, value in told.items()
        }
    )


def matches(column: pd.Series, wanted: Sequence) -> pd.Series:
    """Which rows have one of the values: numbers up to rounding, None where a cell is empty.

    The numbers of features without names are texts to the protocol and numbers to who reads the
    table; either finds them.
    """
    keep = pd.Series(False, index=column.index)
    for value in wanted:
        number = _number(value) if pd.api.types.is_numeric_dtype(column) else None
        if value is None:
            keep |= column.isna()
        elif number is not None:
            keep |= np.isclose(column.astype(float), number, rtol=1e-9, atol=0)
        else:
            keep |= column.astype(str) == str(value)
    return keep


def _number(value) -> float | None:
    """A finite number, or one that a text says."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
