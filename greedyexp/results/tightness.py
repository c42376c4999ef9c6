"""Features that mean errors take, and what is known of them whatever the algorithm."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from greedyexp.results.counts import require_columns, require_numbers, require_numeric
from greedyexp.results.records import records
from greedyexp.results.spread import spread_reached

# What is known of an accuracy without running anything.
KNOWN = ("exact", "lower_bound", "lower_bound_printed", "l1_upper")


def tight_rows(frame: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """The rows of accuracies, checked; one that was not reached has an infinite ``taken``.

    Parameters
    ----------
    frame : DataFrame
        Of protocol ``tightness``.
    keys : sequence of str
        What the rows must tell.

    Raises
    ------
    ConfigError
        When a column is missing, has empty cells or is not numeric.
    """
    rows = records(frame, "epsilon", [*dict.fromkeys([*keys, "error", "epsilon"])])
    require_numbers(rows, "epsilon")
    require_columns(rows, ["needed", *KNOWN])
    for name in ("needed", *KNOWN):
        require_numeric(rows, name)
    return rows.assign(taken=rows["needed"].astype(float).fillna(np.inf))


def needed(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Median and band of the features at each accuracy; how many replicates ``reached`` it."""
    return spread_reached(rows, [*keys, "epsilon"])


def known(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """What is known at each accuracy, medians where replicates differ; nan for nothing.

    Parameters
    ----------
    keys : sequence of str
        Of the panels; the algorithm is none of them.
    """
    return rows.groupby([*keys, "epsilon"], sort=True)[list(KNOWN)].median().reset_index()
