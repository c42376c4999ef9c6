"""Predicted transitions in figures: which may be drawn, and how."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
from matplotlib.lines import Line2D

from greedyexp.frames.context import Context
from greedyexp.theory.thresholds import TWO_TASKS, Threshold

# Above the grid, which some of them coincide with, and below the data.
LOOK = {"linewidth": 1.1, "alpha": 0.6, "zorder": 0.9}
# Line style and legend of a predicted transition, by whether it is proved.
_KINDS = {True: ("-", "predicted transition"), False: ((0, (2, 2)), "conjectured")}


def stated_for(
    frame: pd.DataFrame, context: Context, labels: Iterable[str]
) -> dict[str, Threshold]:
    """The predictions that hold for these data, by algorithm label.

    Parameters
    ----------
    frame : DataFrame
        The rows of one panel. Predictions are stated for two tasks, some of them for coefficients
        of one size only.
    """
    if "n_tasks" in frame.columns and (frame["n_tasks"] != 2).any():
        return {}
    even = "values" in frame.columns and (frame["values"] == "sign").all()
    known = {label: TWO_TASKS.get(context.algorithms.get(label, label)) for label in labels}
    return {
        label: prediction
        for label, prediction in known.items()
        if prediction is not None and (even or not prediction.even_values)
    }


def dash(prediction: Threshold):
    """Line style: proved or conjectured."""
    return _KINDS[prediction.proved][0]


def handles(drawn: Iterable[Threshold]) -> list[Line2D]:
    """Legend entries of the kinds that were drawn, proved before conjectured."""
    return [
        Line2D([], [], color="0.5", linewidth=1.1, linestyle=_KINDS[kind][0], label=_KINDS[kind][1])
        for kind in sorted({prediction.proved for prediction in drawn}, reverse=True)
    ]
