"""Crossings of a level of success against a property of the data, with predicted transitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot
from greedyexp.figures.phase_transition import _predictions as predictions
from greedyexp.results import successes

# Room for a row of open arrows at the outermost places, in parts of the range of x.
_ARROWS_MARGIN = 0.13


def _columns(*, per: str | None = None, **params: Any) -> list[str]:
    return plot.reads(*([per] if per else []))(**params)


@figure("transition_threshold", title="Transition threshold", columns=_columns, apart=plot.separate)
def transition_threshold(
    frame: plot.Frame,
    context: plot.Context,
    *,
    x: plot.X = "kappa",
    of: successes.Of = "theta",
    per: Annotated[str | None, Field(description="column that thresholds are divided by")] = None,
    panel: plot.Panel = None,
    row: plot.Row = None,
    line: plot.Line = ["algorithm"],  # noqa: B006 - a default that pydantic copies
    success: successes.Success = {"default": "sign_support"},  # noqa: B006
    where: plot.Where = {},  # noqa: B006
    level: successes.Level = 0.5,
    direction: successes.Direction = None,
    scale: plot.Scale = "linear",
    of_scale: Annotated[
        Literal["linear", "log"], Field(description="scale of the vertical axis")
    ] = "linear",
    theory: predictions.WithTheory = True,
) -> plot.Figure:
    """Value of ``of`` at which success reaches ``level``, against ``x``, one line per algorithm.

    With ``per``, such as the number of nonzero coefficients, thresholds are multiples of it.

    Each threshold is the crossing of a logistic curve fitted to successes against ``of``. Vertical
    bars are intervals: those of the curve where the data show one, otherwise intervals that
    assume only that success rises, or falls (``direction``). A curve that does neither has no
    threshold, and a note names it. Lines are shifted by a few points so that bars do not overlap. A
    replicate that failed is a trial without success. A threshold outside the tested range is an
    open arrow at the edge of the panel; arrows at one place stand side by side. The note counts
    them. Thin curves are the predicted transitions. They are drawn if ``x`` is kappa, ``of`` is
    theta and the coefficients have values for which the prediction is stated. The prediction for
    the Lasso, n = 2 s log(p), depends on p and s in theta: there is one curve for each size.
    """
    keys = [c for c in (row, panel, *line, x) if c]
    rows, metrics = successes.trials(frame, context, success, [*keys, of], where)
    plot.require_finite(rows, x)
    by = [*keys, per] if per else keys
    given: Any = {"of": of, "success": success, "level": level, "direction": direction}
    table, tested = successes.thresholds(rows, context, by=by, **given), rows[of]
    ends = ["estimate", "low", "high"]
    if per is not None:
        _refuse_several(table, per, keys)
        table[ends] = table[ends].div(table[per], axis=0)
        tested = tested / rows[per]
    levels = np.unique(table[x])
    styles = plot.LineStyles(table, line, context, places=len(levels))
    panels = plot.Panels.by_columns(rows, context, row, panel)
    shown = theory and (x, of, line[0]) == ("kappa", "theta", "algorithm")
    stated = predictions.in_panels(panels, rows, context, styles) if shown else {}
    curve = np.linspace(table[x].min(), table[x].max(), 101)
    predicted = [one.theta(k) for one in predictions.drawn(stated) for k in curve]
    heights: Any = ([*table["estimate"], *predicted], table[["low", "high"]].to_numpy().ravel())
    heights += ((tested.min(), tested.max()), of_scale)

    def scales_and_theory(axis: plot.Axes, values: Mapping[str, Any]) -> None:
        plot.set_limits(axis, *heights)
        axis.set_xscale(scale)
        for label, prediction in stated.get(axis, ()):
            look = predictions.style_of(prediction, styles.first(label))
            axis.plot(curve, [prediction.theta(k) for k in curve], **look, gid="prediction")
        if np.isinf(plot.inside(table, values)["estimate"]).any():
            axis.margins(x=_ARROWS_MARGIN)

    def ticks(axis: plot.Axes, _: Mapping[str, Any]) -> None:
        if len(levels) <= 8:
            texts = [plot.level_text(x, float(value)) for value in levels]
            plot.set_ticks(axis.xaxis, list(levels), texts)

    about = (keys, styles, "threshold")
    curves = plot.Curves(table, x, *about, counts=successes.COUNTS, bars=True)
    beyond = table[np.isinf(table["estimate"])]
    beside = beyond.duplicated([*(c for c in (row, panel, x) if c), "estimate"]).any()
    note = [
        *successes.threshold_notes(rows, context, table, keys),
        # Arrows differ in colour alone.
        "Arrows side by side are in the order of the legend." if beside else "",
        successes.metrics_note(context, metrics, line),
        predictions.conversion_note(stated),
    ]
    handles = [*predictions.handles(stated), *plot.arrow_handles(table["estimate"])]
    texts = plot.axis_label(x), successes.threshold_name(of, level, per)
    legends = [*styles.legends(metrics), handles]
    layers: list[plot.Layer] = [scales_and_theory, curves, ticks]
    return plot.chart(panels, context, layers, texts, legends, note, where)


def _refuse_several(table: plot.Frame, per: str, keys: list[str]) -> None:
    """Refuse a column ``per`` with several values for one point of a line."""
    if table.duplicated(keys).any():
        raise ConfigError(
            f"'{per}' has several values for one threshold, so it cannot be divided by them.",
            remedy="Name the column that differs as line, row or panel.",
        )
