"""Curves over iterations: what is measured, proved and predicted of the gap to the optimum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from greedyexp.core.errors import ConfigError
from greedyexp.results.counts import require_numbers, require_numeric
from greedyexp.results.records import identity, records
from greedyexp.results.spread import spread

# Beside the measured gap, where the table has them.
BOUNDS = ("guarantee", "prediction", "local_guarantee")
# The square of the guarantee over the first gap: the guarantee with twice the exponent.
TWICE = "twice"


def trajectories(
    frame: pd.DataFrame, keys: Sequence[str], *, until: int | None = None
) -> pd.DataFrame:
    """The rows of recorded iterations, checked, with the guarantee of twice the exponent.

    Parameters
    ----------
    frame : DataFrame
        Of protocol ``trajectory``.
    keys : sequence of str
        Columns that tell lines and panels apart.
    until : int, optional
        Last iteration that is wanted.

    Raises
    ------
    ConfigError
        When a column is missing, has empty cells or is not numeric.
    """
    rows = records(frame, "iteration", [*keys, "iteration", "gap"])
    require_numbers(rows, "iteration")
    require_numbers(rows, "gap")
    for name in [name for name in BOUNDS if name in rows.columns]:
        require_numeric(rows, name)
    if "guarantee" in rows.columns:
        rows = rows.assign(**{TWICE: rows["guarantee"] ** 2 / _first_gap(rows, identity(frame))})
    return rows if until is None else rows[rows["iteration"] <= until]


def curve(rows: pd.DataFrame, keys: Sequence[str], value: str) -> pd.DataFrame:
    """Median and band of a column at every iteration that all replicates of a line have.

    Replicates end at different iterations: a median over those that are left would jump. A bound
    that a replicate does not have there is infinite, so that a median of bounds is one of the
    median; where it is not finite the curve has no point.

    Returns
    -------
    DataFrame
        As ``spread``, empty when the table has no such column or no value in it.
    """
    columns = [*keys, "iteration", "median", "low", "high", "replicates"]
    if value not in rows.columns or rows[value].isna().all():
        return pd.DataFrame(columns=columns)
    table = spread(rows.assign(**{value: rows[value].fillna(np.inf)}), columns[:-4], value)
    whole = table.groupby(list(keys))["replicates"].transform("max")
    return table[(table["replicates"] == whole) & np.isfinite(table["median"])]


def coordinates(frame: pd.DataFrame, keys: Sequence[str], replicate: int | None) -> pd.DataFrame:
    """The coefficients of one replicate, by coordinate and iteration.

    Parameters
    ----------
    keys : sequence of str
        Columns that tell panels apart.
    replicate : int or None
        The first there is when None.

    Raises
    ------
    ConfigError
        When the replicate is not in the table, or a panel would hold several settings.
    """
    rows = records(frame, "coordinate", [*keys, "coordinate", "iteration", "coefficient"])
    for name in ("coordinate", "iteration", "coefficient"):
        require_numbers(rows, name)
    known = sorted(rows["replicate"].unique())
    chosen = known[0] if replicate is None else replicate
    if chosen not in known:
        raise ConfigError(
            f"the table has no coordinates of replicate {chosen}.",
            remedy=f"It has {', '.join(map(str, known[:8]))}{' ...' if len(known) > 8 else ''}.",
        )
    rows = rows[rows["replicate"] == chosen]
    if rows.duplicated([*keys, "coordinate", "iteration"]).any():
        raise ConfigError(
            "a panel would mix the coordinates of several settings.",
            remedy="Name the column that differs as row or panel, or run one setting.",
        )
    return rows


def _first_gap(rows: pd.DataFrame, same: Sequence[str]) -> pd.Series:
    """The gap at iteration 0 of each row's replicate; nan where it is 0 or was not recorded."""
    start = rows["gap"].where((rows["iteration"] == 0) & (rows["gap"] > 0))
    return start.groupby([rows[name] for name in same], dropna=False).transform("max")
