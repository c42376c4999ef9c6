"""How many iterations an accuracy takes, those that did not reach it counted as the longest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from greedyexp.results.counts import require_numbers, require_numeric
from greedyexp.results.records import records
from greedyexp.results.spread import spread_reached


def hits(frame: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Iterations k(epsilon) for every accuracy and every combination of the keys.

    Parameters
    ----------
    frame : DataFrame
        Of protocol ``trajectory``; a row of record ``epsilon`` without a number of ``iterations``
        is a run that ended before it reached the accuracy.
    keys : sequence of str

    Returns
    -------
    DataFrame
        The keys and ``epsilon``, sorted; ``median``, ``low``, ``high`` and ``replicates`` as
        ``spread_reached`` gives them, infinite where the replicate in that place did not reach the
        accuracy; how many ``reached`` it.

    Raises
    ------
    ConfigError
        When a column is missing, has empty cells or is not numeric.
    """
    rows = records(frame, "epsilon", [*keys, "epsilon"])
    require_numbers(rows, "epsilon")
    require_numeric(frame, "iterations")
    names = [*keys, "epsilon"]
    taken = rows[names].assign(taken=rows["iterations"].astype(float).fillna(np.inf))
    return spread_reached(taken, names)
