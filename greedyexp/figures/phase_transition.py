"""Success probability against a control parameter, with intervals and predicted transitions."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from pydantic import Field

from greedyexp.core.registry import figure
from greedyexp.figures import ceilings, predictions
from greedyexp.figures.axes import make_logarithmic
from greedyexp.figures.looks import Looks
from greedyexp.figures.options import Line, Panel, Row, Success, apart
from greedyexp.figures.panels import Panels, grid, inside
from greedyexp.results import notes
from greedyexp.results.context import Context
from greedyexp.results.counts import (
    count_successes,
    require_columns,
    require_numeric,
    succeeded,
    trials_of,
)
from greedyexp.results.labels import axis_label, letter
from greedyexp.stats.sequential import proportion_interval
from greedyexp.theory.transitions import Threshold


def _columns(*, success, ceiling, **params) -> list[str]:
    return [*apart(**params), *success.values(), *(ceilings.COLUMNS if ceiling else ())]


@figure("phase_transition", title="Phase transition", columns=_columns, apart=apart)
def phase_transition(
    frame: pd.DataFrame,
    context: Context,
    *,
    x: Annotated[str, Field(description="column of the control parameter")] = "theta",
    panel: Panel = None,
    row: Row = None,
    line: Line = ["algorithm"],  # noqa: B006 - a default that pydantic copies
    success: Success = {"default": "sign_support"},  # noqa: B006
    scale: Annotated[
        Literal["linear", "log"], Field(description="scale of the horizontal axis")
    ] = "linear",
    second_axis: Annotated[
        str | None, Field(description="column that grows with x, written along the top")
    ] = "n_samples",
    theory: Annotated[bool, Field(description="draw the predicted two-task transitions")] = True,
    ceiling: Annotated[
        bool, Field(description="draw the success that noise leaves possible")
    ] = False,
) -> Figure:
    """Success probability against ``x``, one line per algorithm and second key.

    Bands are 95% Wilson intervals, or intervals valid at any stopping time when results decided how
    many trials a point got. A replicate that failed (error, timeout, not finite) counts as
    no success; the note below the panels gives the rate. Colours and markers tell algorithms
    apart, dashes the second key. Vertical lines are the predicted transitions of
    ``theory.transitions``, drawn when ``x`` is theta, ``panel`` is kappa and the values of
    the coefficients are such as the prediction is stated for. That of the Lasso, n = 2 s log(p),
    depends on p and s in theta: one line for each size. With ``ceiling``, curves give the
    probability that every nonzero value clears the noise (``greedyexp.theory.transitions``).
    """
    keys = [c for c in (row, panel, *line, x) if c]
    require_columns(frame, keys)
    frame = trials_of(frame, success, context, keys)
    require_numeric(frame, x)
    table = count_successes(succeeded(frame, success, context), frame, keys)
    looks = Looks(table, line)
    intervals = partial(proportion_interval, sequential=context.adaptive)
    panels = Panels(grid(frame, context, row=row, panel=panel))
    drawn = []
    for axis, values in panels:
        rows = inside(frame, values)
        _draw_lines(axis, inside(table, values), x, line, looks, intervals)
        if ceiling:
            ceilings.draw_ceilings(axis, rows, x, line, looks)
        if scale == "log":
            make_logarithmic(axis)
        axis.set_ylim(-0.03, 1.03)
        if theory and (x, panel) == ("theta", "kappa"):
            stated = predictions.in_panel(rows, context, line, looks.colours)
            _draw_predictions(axis, stated, values["kappa"], looks)
            drawn += [prediction for _, prediction in stated]
        levels = 0
        if second_axis in frame.columns:
            levels = _draw_second_axis(axis, rows, x, second_axis, line)
        panels.title(axis, values, context, pad=8 + 15 * levels if levels else 4)
    panels.label(axis_label(x), "probability of success")
    limit = [ceilings.handle()] if ceiling else []
    panels.legend([*looks.handles(context, success), *predictions.handles(drawn), *limit])
    judged = notes.judged_text(frame, context, success, line)
    said = [*_note(frame, context, table), judged, predictions.note(drawn)]
    panels.note([*said, ceilings.NOTE if ceiling else ""])
    return panels.figure


def _draw_lines(
    axis, table: pd.DataFrame, x: str, line: list[str], looks: Looks, intervals
) -> None:
    for key, points in table.groupby(line, sort=True):
        look = looks.of(*key)
        points = points.sort_values(x)
        low, high = intervals(points["successes"], points["trials"])
        axis.fill_between(points[x], low, high, color=look["color"], alpha=0.13, linewidth=0)
        # Staggered markers keep lines apart where they lie on one another, at 0 and at 1.
        step = max(1, min(len(looks.order), len(points) // 3))
        every = (looks.order[key[0]] % step, step)
        rate = points["successes"] / points["trials"]
        axis.plot(points[x], rate, **look, markevery=every, clip_on=False)


def _draw_predictions(
    axis, stated: list[tuple[str, Threshold]], kappa: float, looks: Looks
) -> None:
    """Vertical lines at the predicted transitions."""
    for label, prediction in stated:
        dash = predictions.dash(prediction)
        colour = looks.colours[label]
        axis.axvline(prediction.theta(kappa), color=colour, linestyle=dash, **predictions.LOOK)


def _draw_second_axis(axis, frame: pd.DataFrame, x: str, name: str, line: list[str]) -> int:
    """The values of ``name`` at the ticks of x along the top; the number of lines they take.

    One line of numbers is enough when all lines of the panel have the same; else there is one for
    each value of the key that tells them apart, and none when no single key does.
    """
    keys = [None, *reversed(line)]
    settle = (k for k in keys if frame.groupby([k, x] if k else x)[name].nunique().max() == 1)
    key_column = next(settle, "")
    if key_column == "":
        return 0
    groups = list(frame.groupby(key_column, sort=True)) if key_column else [(None, frame)]
    ticks = [t for t in axis.get_xticks() if frame[x].min() <= t <= frame[x].max()]
    for level, (key, rows) in enumerate(groups):
        known = rows.groupby(x, sort=True)[name].first()
        labels = [f"{np.interp(t, known.index, known):.0f}" for t in ticks]
        top = axis.secondary_xaxis(1.0 + 0.075 * level)
        top.set_xticks(ticks, labels, fontsize=7)
        top.xaxis.set_minor_locator(NullLocator())
        top.tick_params(length=2 if level == 0 else 0, pad=1)
        top.spines["top"].set_visible(level == 0)
        text = letter(name) if key is None else f"{letter(name)}, {letter(key_column)}={key}"
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
    return len(groups)


def _note(frame: pd.DataFrame, context: Context, table: pd.DataFrame) -> list[str]:
    trials = table["trials"]
    per_point = notes.trials_text(trials.min(), trials.max(), trials.sum())
    bands = "95% intervals valid at any stopping time" if context.adaptive else "95% Wilson bands"
    return [
        f"{notes.origin(context)}: {per_point}, {bands}",
        notes.failures_text(frame, "counted as no success"),
    ]
