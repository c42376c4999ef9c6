"""The control parameter at which success crosses a level, against a property of the data."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field

from greedyexp.figures import predictions
from greedyexp.figures.intervals import draw_interval, draw_unreached, limits
from greedyexp.figures.looks import Looks
from greedyexp.figures.panels import Panels, grid, inside, title
from greedyexp.frames import notes
from greedyexp.frames.context import Context
from greedyexp.frames.counts import require_columns, require_numbers
from greedyexp.frames.labels import axis_label, levels_text, number
from greedyexp.frames.thresholds import thresholds
from greedyexp.registry import figure
from greedyexp.theory.thresholds import Threshold

# Unreached thresholds that the note names one by one.
_NAMED = 4


def _columns(*, x, of, line, panel, row, success, **_) -> list[str]:
    return [name for name in (x, of, panel, row, *line, *success.values()) if name is not None]


@figure("transition_threshold", title="Transition threshold", columns=_columns)
def transition_threshold(
    frame: pd.DataFrame,
    context: Context,
    *,
    x: Annotated[str, Field(description="column along the horizontal axis")] = "kappa",
    of: Annotated[str, Field(description="column whose threshold is sought")] = "theta",
    panel: Annotated[str | None, Field(description="column with one panel per value")] = None,
    row: Annotated[str | None, Field(description="column with one row of panels per value")] = None,
    line: Annotated[
        list[str], Field(min_length=1, max_length=2, description="columns that tell lines apart")
    ] = ["algorithm"],  # noqa: B006 - a default that pydantic copies
    success: Annotated[
        dict[str, str], Field(description="success metric by algorithm; 'default' for the others")
    ] = {"default": "sign_support"},  # noqa: B006
    level: Annotated[
        float, Field(gt=0, lt=1, description="probability of success at the threshold")
    ] = 0.5,
    theory: Annotated[bool, Field(description="draw the predicted two-task transitions")] = True,
) -> Figure:
    """Where the success probability crosses ``level``, against ``x``, one line per algorithm.

    Each threshold is the crossing of a logistic curve fitted to successes against ``of``; vertical
    bars are its 95% likelihood-ratio intervals, set slightly beside one another. A replicate that
    failed is a trial without success. A threshold outside what was tested is an open arrow at the
    edge of the panel, and named in the note. Thin curves are the predicted transitions, drawn when
    ``x`` is kappa, ``of`` is theta and the coefficients are such as the prediction is stated for.
    """
    keys = [c for c in (row, panel, *line, x) if c]
    require_columns(frame, [*keys, of])
    require_numbers(frame, x)
    table = thresholds(frame, context, of=of, success=success, by=keys, level=level)
    looks = Looks(table, line)
    panels = Panels(grid(table, row=row, panel=panel), width=4.2, height=3.2)
    stated, drawn = {}, []
    if theory and (x, of) == ("kappa", "theta") and line[0] == "algorithm":
        for axis, values in panels:
            stated[axis] = predictions.stated_for(inside(frame, values), context, looks.colours)
            drawn += stated[axis].values()
    curve = np.linspace(table[x].min(), table[x].max(), 101)
    ends = table[["low", "high"]].to_numpy().ravel()
    predicted = [prediction.theta(k) for prediction in drawn for k in curve]
    tested = (frame[of].min(), frame[of].max())
    for axis, values in panels:
        axis.set_ylim(*limits([*table["estimate"], *predicted], ends, tested))
        title(axis, values)
        _draw_predictions(axis, stated.get(axis, {}), curve, looks)
        _draw_lines(axis, inside(table, values), x, line, looks)
        _mark(axis, table[x])
    panels.label(axis_label(x), _y_label(of, level))
    panels.legend([*looks.handles(context, success), *predictions.handles(drawn)])
    panels.note(_note(frame, context, table, [*keys, of]))
    return panels.figure


def _draw_predictions(axis, stated: dict[str, Threshold], curve, looks: Looks) -> None:
    for label, prediction in stated.items():
        axis.plot(
            curve,
            [prediction.theta(k) for k in curve],
            color=looks.colours[label],
            linestyle=predictions.dash(prediction),
            **predictions.LOOK,
        )


def _draw_lines(axis, table: pd.DataFrame, x: str, line: list[str], looks: Looks) -> None:
    shifts = looks.places(0.45 * _least_gap(table[x]))
    for key, points in table.groupby(line, sort=True):
        look = looks.of(*key)
        at = points[x] + shifts[key]
        finite = points["estimate"].where(np.isfinite(points["estimate"]))
        axis.plot(at, finite, **look)
        for place, point in zip(at, points.itertuples(), strict=True):
            if not np.isnan(point.estimate):
                draw_interval(axis, place, point.low, point.high, look["color"])
            if np.isinf(point.estimate):
                draw_unreached(axis, place, point.estimate, look["color"])


def _least_gap(x: pd.Series) -> float:
    levels = np.unique(x)
    return float(np.diff(levels).min()) if len(levels) > 1 else 0.1


def _mark(axis, x: pd.Series) -> None:
    """Ticks at the values themselves while they are few."""
    levels = np.unique(x)
    if len(levels) <= 8:
        axis.set_xticks(levels, [number(float(value)) for value in levels])


def _y_label(of: str, level: float) -> str:
    if of == "theta":
        return rf"$\theta$ at {level:.0%} success"
    return f"{axis_label(of)} at {level:.0%} success"


def _note(frame: pd.DataFrame, context: Context, table: pd.DataFrame, keys: list[str]) -> list[str]:
    trials = notes.trials_text(table["fewest"].min(), table["most"].max(), table["trials"].sum())
    return [
        f"{notes.origin(context)}: {trials}, 95% likelihood-ratio intervals of a logistic fit",
        notes.failures_text(frame, "counted as no success"),
        notes.pooled_text(frame, keys),
        unreached_text(table, context),
    ]


def unreached_text(table: pd.DataFrame, context: Context) -> str:
    """Which thresholds lie outside what was tested; empty when none does."""
    outside = table[~np.isfinite(table["estimate"])]
    if outside.empty:
        return ""
    by = list(table.columns[: table.columns.get_loc("estimate")])
    names = [_group_text(dict(zip(by, key, strict=True)), context) for key in _keys(outside, by)]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"Not crossed in the tested range: {'; '.join(names[:_NAMED])}{more}."


def _keys(table: pd.DataFrame, by: list[str]):
    return table[by].itertuples(index=False, name=None)


def _group_text(values: dict, context: Context) -> str:
    label = values.pop("algorithm", None)
    name = context.titles.get(label, label)
    rest = levels_text(values)
    return f"{name} at {rest}" if name and rest else rest or str(name)
