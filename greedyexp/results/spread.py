"""Medians over replicates with bands, for curves that one mean would misrepresent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from greedyexp.results.notes import count_text

# Up to this many replicates a band holds all of them; quartiles of so few would say little.
FEW = 5


def spread(rows: pd.DataFrame, keys: Sequence[str], value: str) -> pd.DataFrame:
    """Median and band of a column for every combination of the keys.

    Parameters
    ----------
    rows : DataFrame
        One row for each replicate at a combination. Infinite values are values: a median or an end
        of a band is infinite when the replicate in its place is.
    keys : sequence of str
    value : str
        Column without empty cells.

    Returns
    -------
    DataFrame
        The keys, sorted; ``median``, ``low``, ``high`` and the number of ``replicates``. The band
        holds all replicates when no combination has more than ``FEW``, else the middle half of
        them: from the last not above the first quartile to the first not below the third.
    """
    grouped = rows.groupby(list(keys), sort=True)[value]
    table = grouped.agg(["median", "min", "max", "count"])
    if table["count"].max() > FEW:
        # Members of the sample, as between a finite and an infinite one nothing can be said.
        table["min"] = grouped.quantile(0.25, interpolation="lower")
        table["max"] = grouped.quantile(0.75, interpolation="higher")
    names = {"min": "low", "max": "high", "count": "replicates"}
    return table.rename(columns=names).reset_index()


def spread_reached(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Median and band of what is ``taken``, and how many replicates ``reached`` the accuracy.

    Parameters
    ----------
    rows : DataFrame
        As for ``spread``, with a column ``taken`` that is infinite where the accuracy was not
        reached.
    keys : sequence of str
        The accuracy among them.

    Returns
    -------
    DataFrame
        That of ``spread``, and a column ``reached``.
    """
    reached = np.isfinite(rows["taken"]).groupby([rows[name] for name in keys], sort=True).sum()
    return spread(rows, keys, "taken").assign(reached=reached.to_numpy())


def spread_text(table: pd.DataFrame) -> str:
    """What lines and bands of a ``spread`` are."""
    fewest, most = table["replicates"].min(), table["replicates"].max()
    if most == 1:
        return "one replicate"
    held = "the middle half" if most > FEW else "all"
    return f"medians of {count_text(fewest, most)} replicates, bands hold {held} of them"
