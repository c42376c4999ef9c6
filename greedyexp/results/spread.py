"""Medians over replicates with bands, for quantities whose mean would mislead."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from greedyexp.results.text import count_text

# Up to this many replicates, a band covers all of them: quartiles of so few would say little.
FEW = 5


def spread(rows: pd.DataFrame, keys: Sequence[str], value: str) -> pd.DataFrame:
    """Compute median and band of a column for every combination of the keys.

    Parameters
    ----------
    rows : DataFrame
        One row for each replicate and combination. Infinite values count as values: a median or
        the end of a band is infinite if its replicate is.
    keys : sequence of str
    value : str
        Column without empty cells.

    Returns
    -------
    DataFrame
        The keys, sorted; ``median``, ``low``, ``high`` and the number of ``replicates``. The band
        covers all replicates if no combination has more than ``FEW``. Otherwise it is the middle
        half: from the last value not above the first quartile to the first not below the third.
    """
    grouped = rows.groupby(list(keys), sort=True)[value]
    table = grouped.agg(["median", "min", "max", "count"])
    if table["count"].max() > FEW:
        # Members of the sample: one cannot interpolate between a finite and an infinite value.
        table["min"] = grouped.quantile(0.25, interpolation="lower")
        table["max"] = grouped.quantile(0.75, interpolation="higher")
    names = {"min": "low", "max": "high", "count": "replicates"}
    found: pd.DataFrame = table.rename(columns=names).reset_index()
    return found


def spread_reached(rows: pd.DataFrame, keys: Sequence[str], count: str) -> pd.DataFrame:
    """Compute median and band of a count until an accuracy is reached.

    Parameters
    ----------
    rows : DataFrame
        As for ``spread``. The accuracy is one of the keys.
    count : str
        Column of steps, features or iterations, empty or infinite where the accuracy was not
        reached.

    Returns
    -------
    DataFrame
        As ``spread``, with the number of replicates that ``reached`` the accuracy. Where a
        replicate did not, its count is infinite.
    """
    rows = rows.assign(taken=rows[count].astype(float).fillna(np.inf))
    reached = np.isfinite(rows["taken"]).groupby([rows[name] for name in keys], sort=True).sum()
    found: pd.DataFrame = spread(rows, keys, "taken").assign(reached=reached.to_numpy())
    return found


def unreached_text(table: pd.DataFrame, accuracy: str = "accuracy") -> str:
    """Return the percentage of pairs of replicate and accuracy that were not reached."""
    share = 1 - table["reached"].sum() / table["replicates"].sum()
    return f"{accuracy} not reached: {share:.2%} of all pairs of replicate and {accuracy}"


def spread_text(table: pd.DataFrame) -> str:
    """Describe the lines and bands of a ``spread``."""
    most = table["replicates"].max()
    if most == 1:
        return "one replicate"
    covered = "the middle half" if most > FEW else "all"
    return f"medians of {count_text(table['replicates'])} replicates, bands hold {covered} of them"
