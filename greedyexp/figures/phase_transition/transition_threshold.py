"""Crossings of a level of success against a property of the data, with predicted transitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot
from greedyexp.figures.phase_transition import _predictions as predictions
from greedyexp.results import successes, thresholds
from greedyexp.results.context import Context
from greedyexp.results.records import Where, require_finite, rows_where
from greedyexp.results.text import title_text
from greedyexp.results.words import axis_label, level_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# Room for a row of open arrows at the outermost places, in parts of the range of x.
_ARROWS_MARGIN = 0.13


def _columns(*, per: str | None = None, **params: Any) -> list[str]:
    return plot.reads(*([per] if per else []))(**params)


@figure("transition_threshold", title="Transition threshold", columns=_columns, apart=plot.separate)
def transition_threshold(
    frame: pd.DataFrame,
    context: Context,
    *,
    x: plot.X = "kappa",
    of: thresholds.Of = "theta",
    per: Annotated[str | None, Field(description="column that thresholds are divided by")] = None,
    panel: plot.Panel = None,
    row: plot.Row = None,
    line: plot.Line = ["algorithm"],  # noqa: B006 - a default that pydantic copies
    success: successes.Success = {"default": "sign_support"},  # noqa: B006
    where: Where = {},  # noqa: B006
    level: thresholds.Level = 0.5,
    scale: plot.Scale = "linear",
    theory: predictions.Theory = True,
) -> Figure:
    """Value of ``of`` at which success reaches ``level``, against ``x``, one line per algorithm.

    With ``per``, such as the number of nonzero coefficients, thresholds are multiples of it.

    Each threshold is the crossing of a logistic curve fitted to successes against ``of``. Vertical
    bars are 95% intervals: those of the curve where the data show one, otherwise intervals that
    assume only that success rises. Lines are shifted by a few points so that bars do not overlap. A
    replicate that failed is a trial without success. A threshold outside the tested range is an
    open arrow at the edge of the panel; arrows at one place stand side by side. The note counts
    them. Thin curves are the predicted transitions. They are drawn if ``x`` is kappa, ``of`` is
    theta and the coefficients have values for which the prediction is stated. The prediction for
    the Lasso, n = 2 s log(p), depends on p and s in theta: there is one curve for each size.
    """
    keys = [c for c in (row, panel, *line, x) if c]
    frame = rows_where(frame, where)
    metrics = successes.metrics_of(frame, context, success)
    frame = successes.trials_of(frame, metrics, [*keys, of])
    require_finite(frame, x)
    by = [*keys, per] if per else keys
    table = thresholds.thresholds(frame, context, of=of, success=success, by=by, level=level)
    tested = frame[of]
    if per is not None:
        _refuse_several(table, per, keys)
        ends = ["estimate", "low", "high"]
        table[ends] = table[ends].div(table[per], axis=0)
        tested = tested / frame[per]
    levels = np.unique(table[x])
    styles = plot.LineStyles(table, line, context, places=len(levels))
    panels = plot.Panels.by_columns(frame, context, row, panel)
    stated = {}
    if theory and (x, of) == ("kappa", "theta") and line[0] == "algorithm":
        for axis, values in panels:
            rows = plot.inside(frame, values)
            stated[axis] = predictions.in_panel(rows, context, line, styles.colours)
    drawn = [prediction for curves in stated.values() for _, prediction in curves]
    curve = np.linspace(table[x].min(), table[x].max(), 101)
    ends = table[["low", "high"]].to_numpy().ravel()
    predicted = [prediction.theta(k) for prediction in drawn for k in curve]
    limits = (tested.min(), tested.max())
    for axis, values in panels:
        axis.set_ylim(*plot.linear_limits([*table["estimate"], *predicted], ends, limits))
        axis.set_xscale(scale)
        panels.title(axis, values, context)
        for label, prediction in stated.get(axis, []):
            heights = [prediction.theta(k) for k in curve]
            look = predictions.style_of(prediction, styles.first(label))
            axis.plot(curve, heights, **look, gid="prediction")
        shown = plot.inside(table, values)
        shifts = [styles.shift(*key) for key in shown[line].itertuples(index=False, name=None)]
        shown = shown.assign(shift=plot.arrow_shifts(shown, x, shifts))
        if np.isinf(shown["estimate"]).any():
            axis.margins(x=_ARROWS_MARGIN)
        for key, points in shown.groupby(line, sort=True):
            marks = plot.draw_estimates(
                axis, points[x], points, styles.of(*key), styles.shift(*key)
            )
            plot.attach(marks, points[keys], thresholds.facts(points))
        if len(levels) <= 8:
            texts = [level_text(x, float(value)) for value in levels]
            plot.set_ticks(axis.xaxis, list(levels), texts)
    panels.label(axis_label(x), thresholds.threshold_name(of, level, per))
    beyond = table[np.isinf(table["estimate"])]
    beside = beyond.duplicated([*(c for c in (row, panel, x) if c), "estimate"]).any()
    note = [
        *thresholds.notes(frame, context, table, keys),
        # Arrows differ in colour alone.
        "Arrows side by side are in the order of the legend." if beside else "",
        successes.metrics_note(context, metrics, line),
        predictions.conversion_note(drawn),
    ]
    return panels.finish(
        *styles.legends(metrics),
        [*predictions.handles(drawn), *plot.arrow_handles(table["estimate"])],
        title=title_text(where, context),
        note=note,
    )


def _refuse_several(table: pd.DataFrame, per: str, keys: list[str]) -> None:
    """Refuse a column ``per`` with several values for one point of a line."""
    if table.duplicated(keys).any():
        raise ConfigError(
            f"'{per}' has several values for one threshold, so it cannot be divided by them.",
            remedy="Name the column that differs as line, row or panel.",
        )
