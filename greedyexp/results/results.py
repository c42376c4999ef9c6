"""Columns that hold results of a run, by which no figure can tell its points or panels apart."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from greedyexp.core.errors import ConfigError
from greedyexp.core.parts import Display

# How a replicate ended; in the table they stand before what the protocol gives.
ENDINGS = ("status", "message")


def told_by_results(part: Display, params: dict, results: Collection[str]) -> list[tuple[str, str]]:
    """Message and remedy for every result that a figure or a table is to tell its points apart by.

    Parameters
    ----------
    part : Display
        A figure or a table.
    params : dict
        All its parameters.
    results : collection of str
        Columns.
    """
    apart = part.apart
    return [
        (
            f"{part.kind} '{part.name}' cannot tell points, lines or panels apart by '{name}',"
            " which is a result of the run.",
            "Name a column of the data or of the algorithms.",
        )
        for name in (dict.fromkeys(apart(**params)) if apart else ())
        if name in results
    ]


def refuse_told_by_results(
    part: Display, params: dict, frame: pd.DataFrame, keys: Collection[str] = ()
) -> None:
    """Refuse a figure or a table that is to tell its points apart by results.

    Parameters
    ----------
    frame : DataFrame
        A tidy table: what it has after ``status`` are results.
    keys : collection of str
        Columns of the protocol that may tell apart (``Measured.apart``).

    Raises
    ------
    ConfigError
        With the first such column.
    """
    after = frame.columns[frame.columns.get_loc("status") :]
    results = [name for name in after if name not in keys]
    for message, remedy in told_by_results(part, params, results):
        raise ConfigError(message, remedy=remedy)
