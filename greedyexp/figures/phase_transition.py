"""Success probability against a control parameter, with intervals and predicted transitions."""

from __future__ import annotations

import math
from typing import Annotated

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from pydantic import Field

from greedyexp.figures.style import COLOURS, DASHES, MARKERS, assign
from greedyexp.frames.context import Context
from greedyexp.frames.counts import (
    FAILED,
    count_successes,
    require_columns,
    succeeded,
    success_column,
)
from greedyexp.registry import figure
from greedyexp.stats.proportions import wilson
from greedyexp.theory.thresholds import TWO_TASKS


def _columns(*, x, panel, row, line, success, **_) -> list[str]:
    return [name for name in (x, panel, row, *line, *success.values()) if name is not None]


@figure("phase_transition", title="Phase transition", columns=_columns)
def phase_transition(
    frame: pd.DataFrame,
    context: Context,
    *,
    x: Annotated[str, Field(description="column of the control parameter")] = "theta",
    panel: Annotated[str | None, Field(description="column with one panel per value")] = None,
    row: Annotated[str | None, Field(description="column with one row of panels per value")] = None,
    line: Annotated[
        list[str], Field(min_length=1, max_length=2, description="columns that tell lines apart")
    ] = ["algorithm"],  # noqa: B006 - a default that pydantic copies
    success: Annotated[
        dict[str, str], Field(description="success metric by algorithm; 'default' for the others")
    ] = {"default": "sign_support"},  # noqa: B006
    second_axis: Annotated[
        str | None, Field(description="column that grows with x, written along the top")
    ] = "n_samples",
    theory: Annotated[bool, Field(description="draw the predicted two-task transitions")] = True,
) -> Figure:
    """Success probability against ``x``, one line per algorithm and second key.

    Bands are 95% Wilson intervals. A replicate that failed (error, timeout, not finite) counts as
    no success; the note below the panels gives the rate. Colours and markers tell algorithms
    apart, dashes the second key. Vertical lines are the predicted transitions of
    ``greedyexp.theory.thresholds``, drawn when ``x`` is theta, ``panel`` is kappa and the values of
    the coefficients are such as the prediction is stated for.
    """
    keys = [c for c in (row, panel, *line, x) if c]
    require_columns(frame, keys)
    table = count_successes(succeeded(frame, success, context), frame, keys)
    columns = _levels(table, panel)
    rows = _levels(table, row)
    looks = _Looks(table, line)
    figure, axes = plt.subplots(
        len(rows),
        len(columns),
        figsize=(max(6.5, 1.2 + 3.4 * len(columns)), 1.9 + 2.6 * len(rows)),
        sharey=True,
        sharex=True,
        squeeze=False,
        layout="constrained",
    )
    predicted = set()
    for i, row_value in enumerate(rows):
        for j, column_value in enumerate(columns):
            axis = axes[i, j]
            keep = _matches(table, {row: row_value, panel: column_value})
            _draw_lines(axis, table[keep], x, line, looks)
            axis.set_ylim(-0.03, 1.03)
            axis.set_title(_panel_title({row: row_value, panel: column_value}), pad=4)
            if theory and (x, panel) == ("theta", "kappa"):
                predicted |= _draw_theory(axis, frame, context, column_value, looks)
            if second_axis in frame.columns:
                inside = frame[_matches(frame, {row: row_value, panel: column_value})]
                _draw_second_axis(axis, inside, x, second_axis, line[1:])
        axes[i, 0].set_ylabel("probability of success")
    for axis in axes[-1]:
        axis.set_xlabel(_axis_label(x))
    _legend(figure, looks, context, success, predicted)
    figure.supxlabel(_note(frame, context), fontsize=7, color="0.35")
    return figure


class _Looks:
    """Colour and marker by the first key of a line, dashes by the second."""

    def __init__(self, table: pd.DataFrame, line: list[str]):
        first = sorted(table[line[0]].unique())
        self.colours = assign(first, COLOURS)
        self.markers = assign(first, MARKERS)
        self.order = {name: i for i, name in enumerate(first)}
        self.second = line[1] if len(line) > 1 else None
        # Largest value solid: it is the one nearest to the asymptotic statement.
        second = sorted(table[self.second].unique(), reverse=True) if self.second else [None]
        self.dashes = assign(second, DASHES)

    def of(self, first, second=None) -> dict:
        return {
            "color": self.colours[first],
            "marker": self.markers[first],
            "linestyle": self.dashes[second],
        }


def _draw_lines(axis, table: pd.DataFrame, x: str, line: list[str], looks: _Looks) -> None:
    for key, points in table.groupby(line, sort=True):
        look = looks.of(*key)
        points = points.sort_values(x)
        low, high = wilson(points["successes"], points["trials"])
        axis.fill_between(points[x], low, high, color=look["color"], alpha=0.13, linewidth=0)
        # Staggered markers keep lines apart where they lie on one another, at 0 and at 1.
        step = max(1, min(len(looks.order), len(points) // 3))
        every = (looks.order[key[0]] % step, step)
        rate = points["successes"] / points["trials"]
        axis.plot(points[x], rate, **look, markevery=every, clip_on=False)


# Line style and legend of a predicted transition, by whether it is proved.
_PREDICTIONS = {True: ("-", "predicted transition"), False: ((0, (2, 2)), "conjectured")}


def _draw_theory(axis, frame, context: Context, kappa: float, looks: _Looks) -> set[bool]:
    """Vertical lines at the predicted transitions; which kinds were drawn."""
    drawn = set()
    even = "values" in frame.columns and (frame["values"] == "sign").all()
    for label, colour in looks.colours.items():
        prediction = TWO_TASKS.get(context.algorithms.get(label, label))
        if prediction is not None and (even or not prediction.even_values):
            dash, _ = _PREDICTIONS[prediction.proved]
            look = {"color": colour, "linewidth": 1.1, "alpha": 0.55, "zorder": 0.5}
            axis.axvline(prediction.theta(kappa), linestyle=dash, **look)
            drawn.add(prediction.proved)
    return drawn


def _draw_second_axis(axis, frame: pd.DataFrame, x: str, name: str, keys: list[str]) -> None:
    """The values of ``name`` at the ticks of x along the top, one line of numbers per key value."""
    groups = list(frame.groupby(keys[0], sort=True)) if keys else [(None, frame)]
    ticks = [t for t in axis.get_xticks() if frame[x].min() <= t <= frame[x].max()]
    for level, (key, rows) in enumerate(groups):
        known = rows.groupby(x, sort=True)[name].first()
        labels = [f"{np.interp(t, known.index, known):.0f}" for t in ticks]
        top = axis.secondary_xaxis(1.0 + 0.075 * level)
        top.set_xticks(ticks, labels, fontsize=7)
        top.tick_params(length=2 if level == 0 else 0, pad=1)
        top.spines["top"].set_visible(level == 0)
        short = "n" if name == "n_samples" else name
        text = short if key is None else f"{short}, {keys[0]}={key}"
        top.set_xlabel("")
        axis.annotate(
            text,
            (0, 1.0 + 0.075 * level),
            (-4, 3),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=6.5,
            color="0.3",
        )
    axis.set_title(axis.get_title(), pad=8 + 15 * len(groups))


def _legend(figure: Figure, looks: _Looks, context: Context, success: dict, predicted) -> None:
    handles = []
    for label, colour in looks.colours.items():
        column = success_column(success, label, context)
        text = f"{context.titles.get(label, label)} ({column.replace('_', ' ')})"
        handles.append(Line2D([], [], color=colour, marker=looks.markers[label], label=text))
    if looks.second:
        handles += [
            Line2D([], [], color="0.3", linestyle=dash, label=f"{looks.second} = {value}")
            for value, dash in looks.dashes.items()
        ]
    for proved in sorted(predicted, reverse=True):
        dash, text = _PREDICTIONS[proved]
        handles.append(Line2D([], [], color="0.5", linewidth=1.1, linestyle=dash, label=text))
    columns = max(1, int(figure.get_figwidth() / 2.3))
    figure.legend(handles=handles, loc="outside upper center", ncols=min(len(handles), columns))


def _note(frame: pd.DataFrame, context: Context) -> str:
    per_point = context.trials
    failed = frame["status"].isin(FAILED).mean()
    unconverged = (frame["status"] == "not_converged").mean()
    source = f"{context.source} | " if context.source else ""
    return (
        f"{source}{context.name}, profile {context.profile}: {per_point} trials per point,"
        f" 95% Wilson bands\nfailed (counted as no success): {failed:.2%},"
        f" without certificate: {unconverged:.2%}"
    )


def _levels(table: pd.DataFrame, column: str | None) -> list:
    return [None] if column is None else sorted(table[column].unique())


def _matches(table: pd.DataFrame, values: dict) -> pd.Series:
    keep = pd.Series(True, index=table.index)
    for column, value in values.items():
        if column is not None:
            keep &= table[column] == value
    return keep


def _panel_title(values: dict) -> str:
    return ", ".join(
        f"{column} = {value:.4g}" if isinstance(value, float) else f"{column} = {value}"
        for column, value in values.items()
        if column is not None and not (isinstance(value, float) and math.isnan(value))
    )


def _axis_label(x: str) -> str:
    if x == "theta":
        return r"control parameter $\theta = n\,/\,(s\,\log(p-(2-\kappa)s))$"
    return x
