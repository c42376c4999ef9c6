"""Means of certified constants, and how tightly they are enclosed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from greedyexp.results.context import Context
from greedyexp.results.counts import FAILED, require_columns, require_numeric
from greedyexp.results.records import refuse_all_failed, refuse_empty
from greedyexp.stats.means import t_interval


def means(frame: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """The mean constant for every combination of the keys.

    Parameters
    ----------
    frame : DataFrame
        Of protocol ``constants``: ``value``, ``lower`` and ``upper`` in one row per replicate.
    keys : sequence of str

    Returns
    -------
    DataFrame
        The keys, sorted; ``value``, ``low`` and ``high`` (95% t interval of the mean) over those
        of the ``replicates`` that did not fail and have a finite value; nan when there is none.

    Raises
    ------
    ConfigError
        When a column is missing, has empty cells or is not numeric, or every replicate failed.
    """
    require_columns(frame, [*keys, "value", "lower", "upper"])
    refuse_all_failed(frame)
    for name in ("value", "lower", "upper"):
        require_numeric(frame, name)
    failed = frame["status"].isin(FAILED)
    refuse_empty(frame[~failed], keys)
    finite = frame["value"].where(~failed & np.isfinite(frame["value"]))
    rows = []
    for key, group in frame.groupby(list(keys), sort=True):
        values = finite[group.index].dropna()
        rows.append((*key, *t_interval(values), len(values)))
    return pd.DataFrame(rows, columns=[*keys, "value", "low", "high", "replicates"])


def enclosure_text(frame: pd.DataFrame, context: Context) -> str:
    """How far the certified ends of an enclosure are apart at most; empty without finite ones."""
    width = (frame["upper"] - frame["lower"]) / frame["upper"].abs().where(frame["upper"] != 0)
    width = width[np.isfinite(width)]
    if width.empty:
        return ""
    wide = sorted(frame.loc[width.index, "algorithm"][width > 0.01].unique())
    if wide:
        named = ", ".join(context.titles.get(label, label) for label in wide)
        return (
            f"Certified to 1% or better but for {named}"
            f" (widest {width.max():.2g} of the upper end)."
        )
    return f"Each value is certified to {width.max():.1g} of itself or better."
