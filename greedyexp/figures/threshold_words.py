"""What figures of thresholds say of them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from greedyexp.results import notes
from greedyexp.results.context import Context
from greedyexp.results.labels import axis_label

# Thresholds out of reach that a note names one by one.
_NAMED = 4


def threshold_label(of: str, level: float) -> str:
    """The label of an axis of thresholds."""
    quantity = r"$\theta$" if of == "theta" else axis_label(of)
    return f"{quantity} at {100 * level:.4g}% success"


def threshold_note(frame: pd.DataFrame, context: Context, table: pd.DataFrame) -> list[str]:
    """Origin, trials, kind of interval, failures, and what was not reached.

    Parameters
    ----------
    table : DataFrame
        As ``frames.thresholds`` gives it.
    """
    trials = notes.trials_text(table["fewest"].min(), table["most"].max(), table["trials"].sum())
    intervals = "95% intervals of a logistic fit"
    if context.adaptive:
        intervals += ", valid at any stopping time"
    return [
        f"{notes.origin(context)}: {trials}, {intervals}",
        notes.failures_text(frame, "counted as no success"),
        _unreached_text(table, context),
    ]


def _unreached_text(table: pd.DataFrame, context: Context) -> str:
    outside = table[~np.isfinite(table["estimate"])]
    if outside.empty:
        return ""
    by = list(table.columns[: table.columns.get_loc("estimate")])
    names = [notes.group_text(values, context) for values in outside[by].to_dict("records")]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"Not crossed in the tested range: {'; '.join(names[:_NAMED])}{more}."
