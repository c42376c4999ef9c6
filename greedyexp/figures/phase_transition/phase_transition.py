"""Success probability against a control parameter, with intervals and predicted transitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot
from greedyexp.figures.phase_transition import _predictions as predictions
from greedyexp.results import successes

# The control parameter of one task, whose support has s entries.
_ONE_TASK = r"control parameter $\theta = n\,/\,(s\,\log(p-s))$"


def _columns(*, ceiling: bool, **params: Any) -> list[str]:
    return [*plot.reads()(**params), *(predictions.CEILING_COLUMNS if ceiling else ())]


@figure("phase_transition", title="Phase transition", columns=_columns, apart=plot.separate)
def phase_transition(
    frame: plot.Frame,
    context: plot.Context,
    *,
    x: Annotated[str, Field(description="column of the control parameter")] = "theta",
    panel: plot.Panel = None,
    row: plot.Row = None,
    line: plot.Line = ["algorithm"],  # noqa: B006 - a default that pydantic copies
    success: successes.Success = {"default": "sign_support"},  # noqa: B006
    where: plot.Where = {},  # noqa: B006
    scale: plot.Scale = "linear",
    second_axis: Annotated[
        str | None, Field(description="column that grows with x, shown along the top")
    ] = "n_samples",
    theory: predictions.WithTheory = True,
    ceiling: Annotated[bool, Field(description="draw the limit that noise sets")] = False,
) -> plot.Figure:
    """Success probability against ``x``, one line per algorithm and second key.

    Bands are Wilson intervals, or intervals valid at any stopping time if the number of trials
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
    rows, metrics = successes.trials(frame, context, success, keys, where)
    plot.require_numeric(rows, x)
    table = successes.shares(rows, context, metrics, keys)
    # The ceiling is dash-dotted.
    styles = plot.LineStyles(table, line, context, dashed=len(line) > 1 or not ceiling)
    panels = plot.Panels.by_columns(rows, context, row, panel)
    shown = theory and (x, panel) == ("theta", "kappa")
    stated = predictions.in_panels(panels, rows, context, styles) if shown else {}

    def beside(axis: plot.Axes, values: Mapping[str, Any]) -> dict[str, float]:
        own = plot.inside(rows, values)
        if ceiling:
            predictions.draw_ceilings(axis, own, x, styles)
        if scale == "log":
            _make_logarithmic(axis)
        axis.set_ylim(-0.03, 1.03)
        for label, prediction in stated.get(axis, ()):
            look = predictions.style_of(prediction, styles.first(label))
            predictions.draw_vertical(axis, prediction.theta(values["kappa"]), look)
        if second_axis in (None, x) or second_axis not in own.columns:
            return {}
        return _draw_second_axis(axis, own, x, str(second_axis), line, panels)

    curves = plot.Curves(
        *(table, x, keys, styles, "probability of success"),
        counts={name: name for name in ("successes", "trials", "failed")},
        # Bands of many lines that lie on each other would hide the grid.
        alpha=min(0.13, 0.3 / len(styles)),
        every=lambda key, points: _every(styles.levels[0], key, points),
        look={"clip_on": False},
    )
    alone = x == "theta" and "n_tasks" in rows.columns and (rows["n_tasks"] == 1).all()
    texts = _ONE_TASK if alone else plot.axis_label(x), "probability of success"
    trials, bands = table["trials"], successes.interval_text(context, "bands")
    note = [
        *successes.notes(rows, context, (trials.min(), trials.max(), trials.sum()), bands),
        successes.metrics_note(context, metrics, line),
        predictions.conversion_note(stated),
        predictions.CEILING_NOTE if ceiling else "",
    ]
    ceilings = [predictions.ceiling_handle()] if ceiling else []
    legends = [*styles.legends(metrics), [*predictions.handles(stated), *ceilings]]
    return plot.chart(panels, context, [curves, beside], texts, legends, note, where)


def _every(levels: list, key: tuple, points: plot.Frame) -> tuple[int, int]:
    """Return a ``markevery`` at different places for lines that overlap, at 0 and at 1."""
    step = max(1, min(len(levels), len(points) // 3))
    return levels.index(key[0]) % step, step


def _make_logarithmic(axis: plot.Axes) -> None:
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.xaxis.set_minor_locator(NullLocator())


def _draw_second_axis(
    axis: plot.Axes, rows: plot.Frame, x: str, name: str, line: list[str], panels: plot.Panels
) -> dict[str, float]:
    """Write the values of ``name`` along the top, and return where the title of the panel is.

    One line of numbers suffices if all lines of the panel have the same numbers. Otherwise there is
    a line for each value of the key that separates them; if no single key does, none is drawn.
    """
    from matplotlib.ticker import NullLocator

    keys = [None, *reversed(line)]
    separates = (k for k in keys if rows.groupby([k, x] if k else x)[name].nunique().max() == 1)
    key_column = next(separates, "")
    if key_column == "":
        return {}
    groups: Any = list(rows.groupby(key_column)) if key_column else [(None, rows)]
    ticks = [t for t in axis.get_xticks() if rows[x].min() <= t <= rows[x].max()]
    size = plot.small_text()
    label: plot.Style = {"ha": "right", "va": "bottom", "color": "0.3", "fontsize": size}
    label |= {"xycoords": "axes fraction", "textcoords": "offset points"}
    # Of a line of text, in points.
    height = 1.45 * size
    for level, (key, group) in enumerate(groups):
        known = group.groupby(x, sort=True)[name].first()
        labels = [f"{np.interp(t, known.index, known):.0f}" for t in ticks]
        place = 1.0 + level * height / panels.height
        top = axis.secondary_xaxis(place)
        top.set_xticks(ticks, labels, fontsize=size)
        top.xaxis.set_minor_locator(NullLocator())
        top.tick_params(length=2 if level == 0 else 0, pad=1)
        top.spines["top"].set_visible(level == 0)
        top.set_xlabel("")
        if axis in panels.axes[:, 0]:
            text = plot.short_name(name)
            text += f", {plot.values_text({key_column: key})}" if key_column else ""
            axis.annotate(text, (0, place), (-4, 2), **label)
    return {"pad": 8 + height * len(groups)}
