"""Predicted transitions in figures: which may be drawn, and how."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import log

import pandas as pd
from matplotlib.lines import Line2D

from greedyexp.results.context import Context
from greedyexp.theory.transitions import TWO_TASKS, Threshold

# Above the grid, which some of them coincide with, and below the data.
LOOK = {"linewidth": 1.1, "alpha": 0.6, "zorder": 0.9}
# Line style and legend of a predicted transition, by whether it is proved.
_KINDS = {True: ("-", "predicted transition"), False: ((0, (2, 2)), "conjectured")}
# Predictions that are stated for n / (s log(p)), where theta has log(p - (2 - kappa) s).
_PER_LOG_P = ("lasso",)


@dataclass(frozen=True)
class _Restated(Threshold):
    """A prediction for n / (s log(p)), told in theta for one p and s."""


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


def in_panel(
    rows: pd.DataFrame, context: Context, line: Sequence[str], labels: Iterable[str]
) -> list[tuple[str, Threshold]]:
    """Labels and predictions of a panel in units of theta: one for each size where it matters.

    Parameters
    ----------
    rows : DataFrame
        The rows of the panel.
    line : sequence of str
        Columns that tell lines apart, the algorithm first.
    labels : iterable of str
        Of the algorithms.
    """
    stated = stated_for(rows, context, labels)
    groups = [group for _, group in rows.groupby(line[1:])] if len(line) > 1 else [rows]
    sized = (_restated_for(stated, group, context).items() for group in groups)
    return list(dict.fromkeys(chain.from_iterable(sized)))


def _restated_for(
    stated: dict[str, Threshold], rows: pd.DataFrame, context: Context
) -> dict[str, Threshold]:
    """The same predictions, told in theta for the size of these rows.

    At finite sizes the law of the Lasso, n = 2 s log(p), is no constant in theta. Where rows have
    several sizes, or none is known, its limit 2 is kept.

    Parameters
    ----------
    stated : dict of str to Threshold
        As ``stated_for`` gives it.
    rows : DataFrame
        ``p`` and ``s`` are the size, if both are there.
    """
    sizes = rows[["p", "s"]].drop_duplicates() if {"p", "s"} <= set(rows.columns) else []
    if len(sizes) != 1:
        return stated
    ((p, s),) = sizes.to_numpy(dtype=float)
    return {
        label: _restated(prediction, p, s)
        if context.algorithms.get(label, label) in _PER_LOG_P
        else prediction
        for label, prediction in stated.items()
    }


def note(drawn: Iterable[Threshold]) -> str:
    """What a prediction told for one size stands for; empty when none was drawn."""
    if any(isinstance(prediction, _Restated) for prediction in drawn):
        return "Predicted for the Lasso: n = 2 s log(p), another θ for each p."
    return ""


def dash(prediction: Threshold):
    """Line style: proved or conjectured."""
    return _KINDS[prediction.proved][0]


def handles(drawn: Iterable[Threshold]) -> list[Line2D]:
    """Legend entries of the kinds that were drawn, proved before conjectured."""
    return [
        Line2D([], [], color="0.5", linewidth=1.1, linestyle=_KINDS[kind][0], label=_KINDS[kind][1])
        for kind in sorted({prediction.proved for prediction in drawn}, reverse=True)
    ]


def _restated(prediction: Threshold, p: float, s: float) -> _Restated:
    return _Restated(
        lambda kappa: prediction.theta(kappa) * log(p) / log(p - (2 - kappa) * s),
        prediction.proved,
        prediction.even_values,
    )
