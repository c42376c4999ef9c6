"""Success probability against a control parameter, with intervals and predicted transitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot
from greedyexp.figures.phase_transition import _predictions as predictions
from greedyexp.results import successes
from greedyexp.results.context import Context
from greedyexp.results.records import Where, require_numeric, rows_where
from greedyexp.results.text import title_text
from greedyexp.results.words import axis_label, short_name, values_text
from greedyexp.stats.sequential import proportion_interval

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The control parameter of one task, whose support has s entries.
_ONE_TASK = r"control parameter $\theta = n\,/\,(s\,\log(p-s))$"


def _columns(*, ceiling: bool, **params: Any) -> list[str]:
    return [*plot.reads()(**params), *(predictions.CEILING_COLUMNS if ceiling else ())]


@figure("phase_transition", title="Phase transition", columns=_columns, apart=plot.separate)
def phase_transition(
    frame: pd.DataFrame,
    context: Context,
    *,
    x: Annotated[str, Field(description="column of the control parameter")] = "theta",
    panel: plot.Panel = None,
    row: plot.Row = None,
    line: plot.Line = ["algorithm"],  # noqa: B006 - a default that pydantic copies
    success: successes.Success = {"default": "sign_support"},  # noqa: B006
    where: Where = {},  # noqa: B006
    scale: plot.Scale = "linear",
    second_axis: Annotated[
        str | None, Field(description="column that grows with x, shown along the top")
    ] = "n_samples",
    theory: predictions.Theory = True,
    ceiling: Annotated[bool, Field(description="draw the limit that noise sets")] = False,
) -> Figure:
    """Success probability against ``x``, one line per algorithm and second key.

    Bands are 95% Wilson intervals, or intervals valid at any stopping time if the number of trials
    depended on results. A replicate that failed (error, timeout, not finite) is a trial without
    success; the note below the panels gives the rate of failures. Colours and markers show the
    algorithm, dashes the second key. Vertical lines are the predicted transitions of
    ``greedyexp.theory.transitions``. They are drawn if ``x`` is theta, ``panel`` is kappa and the
    coefficients have values for which the prediction is stated. The prediction for the Lasso,
    n = 2 s log(p), depends on p and s in theta: there is one line for each size. With ``ceiling``,
    curves give the probability that every nonzero value exceeds the noise
    (``greedyexp.theory.transitions``).
    """
    keys = [c for c in (row, panel, *line, x) if c]
    frame = rows_where(frame, where)
    metrics = successes.metrics_of(frame, context, success)
    frame = successes.trials_of(frame, metrics, keys)
    require_numeric(frame, x)
    table = successes.count(frame, metrics, keys)
    # The ceiling is dash-dotted.
    styles = plot.LineStyles(table, line, context, dashed=len(line) > 1 or not ceiling)
    panels = plot.Panels.by_columns(frame, context, row, panel)
    drawn = []
    # Of numbers along the top, in points.
    line_height = 1.45 * plot.small_text()
    for axis, values in panels:
        rows = plot.inside(frame, values)
        _draw_lines(axis, plot.inside(table, values), x, styles, context)
        if ceiling:
            predictions.draw_ceilings(axis, rows, x, line, styles)
        if scale == "log":
            _make_logarithmic(axis)
        axis.set_ylim(-0.03, 1.03)
        if theory and (x, panel) == ("theta", "kappa"):
            for label, prediction in predictions.in_panel(rows, context, line, styles.colours):
                look = predictions.style_of(prediction, styles.first(label))
                predictions.draw_vertical(axis, prediction.theta(values["kappa"]), look)
                drawn.append(prediction)
        levels = 0
        if second_axis not in (None, x) and second_axis in frame.columns:
            named = axis in panels.axes[:, 0]
            levels = _draw_second_axis(
                axis, rows, x, second_axis, line, step=line_height / panels.height, named=named
            )
        panels.title(axis, values, context, pad=8 + line_height * levels if levels else 4)
    alone = x == "theta" and "n_tasks" in frame.columns and (frame["n_tasks"] == 1).all()
    panels.label(_ONE_TASK if alone else axis_label(x), "probability of success")
    ceilings = [predictions.ceiling_handle()] if ceiling else []
    trials = table["trials"]
    bands = "95% intervals valid at any stopping time" if context.adaptive else "95% Wilson bands"
    note = [
        *successes.notes(frame, context, (trials.min(), trials.max(), trials.sum()), bands),
        successes.metrics_note(context, metrics, line),
        predictions.conversion_note(drawn),
        predictions.CEILING_NOTE if ceiling else "",
    ]
    return panels.finish(
        *styles.legends(metrics),
        [*predictions.handles(drawn), *ceilings],
        title=title_text(where, context),
        note=note,
    )


def _draw_lines(
    axis: Axes, table: pd.DataFrame, x: str, styles: plot.LineStyles, context: Context
) -> None:
    first = styles.levels[0]
    # Bands of many lines that lie on each other would hide the grid.
    alpha = min(0.13, 0.3 / len(styles))
    for key, points in table.groupby(styles.line, sort=True):
        style = styles.of(*key)
        points = points.sort_values(x)
        low, high = proportion_interval(
            points["successes"], points["trials"], sequential=context.adaptive
        )
        axis.fill_between(points[x], low, high, color=style["color"], alpha=alpha, linewidth=0)
        # Markers at different places show lines that overlap, at 0 and at 1.
        step = max(1, min(len(first), len(points) // 3))
        every = (first.index(key[0]) % step, step)
        rate = points["successes"] / points["trials"]
        (curve,) = axis.plot(points[x], rate, **style, markevery=every, clip_on=False)
        numbers = {name: points[name] for name in ("successes", "trials", "failed")}
        facts = {"probability of success": rate, "95% interval": (low, high)} | numbers
        plot.attach(curve, points.drop(columns=list(numbers)), facts)


def _make_logarithmic(axis: Axes) -> None:
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.xaxis.set_minor_locator(NullLocator())


def _draw_second_axis(
    axis: Axes,
    frame: pd.DataFrame,
    x: str,
    name: str,
    line: list[str],
    *,
    step: float,
    named: bool,
) -> int:
    """Write the values of ``name`` along the top, and return the number of lines of text.

    Lines are ``step`` apart, in parts of the panel, and named at the left if ``named``. One line of
    numbers suffices if all lines of the panel have the same numbers. Otherwise there is a line for
    each value of the key that separates them; if no single key does, none is drawn.
    """
    from matplotlib.ticker import NullLocator

    keys = [None, *reversed(line)]
    separates = (k for k in keys if frame.groupby([k, x] if k else x)[name].nunique().max() == 1)
    key_column = next(separates, "")
    if key_column == "":
        return 0
    groups: Any = list(frame.groupby(key_column)) if key_column else [(None, frame)]
    ticks = [t for t in axis.get_xticks() if frame[x].min() <= t <= frame[x].max()]
    for level, (key, rows) in enumerate(groups):
        known = rows.groupby(x, sort=True)[name].first()
        labels = [f"{np.interp(t, known.index, known):.0f}" for t in ticks]
        top = axis.secondary_xaxis(1.0 + step * level)
        top.set_xticks(ticks, labels, fontsize=plot.small_text())
        top.xaxis.set_minor_locator(NullLocator())
        top.tick_params(length=2 if level == 0 else 0, pad=1)
        top.spines["top"].set_visible(level == 0)
        top.set_xlabel("")
        if not named:
            continue
        text = short_name(name)
        if key_column is not None:
            text = f"{text}, {values_text({key_column: key})}"
        axis.annotate(
            text,
            (0, 1.0 + step * level),
            (-4, 2),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=plot.small_text(),
            color="0.3",
        )
    return len(groups)
