"""Predicted transitions, and the success probability limited by noise: conditions and styles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from greedyexp.core.errors import ConfigError
from greedyexp.figures import _plot as plot
from greedyexp.results.context import Context
from greedyexp.results.records import require_columns
from greedyexp.theory.transitions import TWO_TASKS, Threshold, visible

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# A parameter of figures.
Theory = Annotated[bool, Field(description="draw the predicted two-task transitions")]

# Draw above the grid, which coincides with some predictions, and below the data.
_STYLE: plot.Style = {"linewidth": 1.1, "zorder": 0.9}
# Sparse dashes, which no measurement has.
_PROVED = (0, (3, 4))
# Line style and legend of a predicted transition, by whether it is proved.
_KINDS: dict[bool, tuple[Any, str]] = {
    True: (_PROVED, "predicted transition"),
    # Not the dashes of a second key, which rarely has five values.
    False: (plot.LINES[4], "conjectured"),
}
# Algorithms whose predictions are for n / (s log(p)); theta has log(p - (2 - kappa) s) instead.
_PER_LOG_P = ("lasso",)

# Columns that the success allowed by noise depends on.
CEILING_COLUMNS = ("values", "noise_std", "n_samples", "p", "n_tasks", "s")
CEILING_NOTE = (
    r"Dash-dotted: probability that every nonzero value exceeds $\sigma\,(2\log(pr)/n)^{1/2}$."
)
_CEILING: plot.Style = {"linewidth": 1.1, "linestyle": plot.LINES[3], "zorder": 1.5}


@dataclass(frozen=True)
class _Converted(Threshold):
    """A prediction for n / (s log(p)), converted to theta for one p and s."""


def applicable(
    frame: pd.DataFrame, context: Context, labels: Iterable[str]
) -> dict[str, Threshold]:
    """Return the predictions that hold for the data, by algorithm label.

    All predictions are for two tasks and independent columns, and some are only for coefficients
    of equal size.

    Parameters
    ----------
    frame : DataFrame
        The rows of one panel.
    """
    if "n_tasks" in frame.columns and (frame["n_tasks"] != 2).any():
        return {}
    if "correlation" in frame.columns and (frame["correlation"] != 0).any():
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
    """Return labels and predictions of a panel in units of theta, one per size if they differ.

    Parameters
    ----------
    rows : DataFrame
        The rows of the panel.
    line : sequence of str
        Columns that separate lines, the algorithm first.
    labels : iterable of str
        Labels of the algorithms.
    """
    groups = [group for _, group in rows.groupby(list(line[1:]))] if len(line) > 1 else [rows]
    stated = applicable(rows, context, labels).items()
    found = []
    for group in groups:
        for label, prediction in stated:
            per_log_p = context.algorithms.get(label, label) in _PER_LOG_P
            found.append((label, _at_size(prediction, group) if per_log_p else prediction))
    return list(dict.fromkeys(found))


def _at_size(prediction: Threshold, rows: pd.DataFrame) -> Threshold:
    """Convert a prediction for n / (s log(p)) to theta for the size of these rows.

    At finite sizes, the prediction for the Lasso, n = 2 s log(p), is not a constant theta. If the
    rows have several sizes or none, its limit 2 is kept.
    """
    sizes = rows[["p", "s"]].drop_duplicates() if {"p", "s"} <= set(rows.columns) else []
    if len(sizes) != 1:
        return prediction
    ((p, s),) = np.asarray(sizes, dtype=float)
    return _Converted(
        lambda kappa: prediction.theta(kappa) * log(p) / log(p - (2 - kappa) * s),
        prediction.proved,
        prediction.even_values,
    )


def conversion_note(drawn: Iterable[Threshold]) -> str:
    """Explain predictions that were converted; empty if there is none."""
    if any(isinstance(prediction, _Converted) for prediction in drawn):
        return "Predicted for the Lasso: n = 2 s log(p), so θ depends on $p$."
    return ""


def style_of(prediction: Threshold, style: plot.Style) -> plot.Style:
    """Return the style of a prediction from that of its method.

    Dashes show whether it is proved. Small markers of the method distinguish predictions in
    greyscale.
    """
    return plot.bound_style(_KINDS[prediction.proved][0], style) | _STYLE


def draw_vertical(axis: Axes, theta: float, style: plot.Style) -> None:
    """Draw a vertical line across a panel, with markers at a quarter and three quarters of it."""
    places, heights = [theta] * 4, [0.0, 0.25, 0.75, 1.0]
    look = style | {"markevery": [1, 2], "transform": axis.get_xaxis_transform()}
    axis.plot(places, heights, **look, gid="prediction")


def handles(drawn: Iterable[Threshold], linewidth: float = _STYLE["linewidth"]) -> list[Line2D]:
    """Return legend entries of the kinds that were drawn, proved before conjectured."""
    return [
        plot.legend_entry(
            _KINDS[kind][1], color="0.5", linewidth=linewidth, linestyle=_KINDS[kind][0]
        )
        for kind in sorted({prediction.proved for prediction in drawn}, reverse=True)
    ]


def draw_ceilings(
    axis: Axes, rows: pd.DataFrame, x: str, line: list[str], styles: plot.LineStyles
) -> None:
    """Draw the success probability limited by noise, one curve for each line of a panel.

    Curves are grey if lines of one colour may have different ones. Otherwise they have the colour
    and small markers of their line.

    Raises
    ------
    ConfigError
        If a column is missing, a line mixes settings with different curves, or there is no curve
        for the values.
    """
    require_columns(rows, CEILING_COLUMNS)
    drawn = set()
    for key, group in rows.groupby(line, sort=True):
        settings = group[[x, *CEILING_COLUMNS]].drop_duplicates().sort_values(x)
        if settings[x].duplicated().any():
            mixed = [
                name for name in CEILING_COLUMNS if settings.groupby(x)[name].nunique().max() > 1
            ]
            raise ConfigError(
                f"a line mixes values of '{mixed[0]}', which have different ceilings.",
                remedy=f"Put {mixed[0]} into line, panel or row, or leave out the ceiling.",
            )
        heights = tuple(_ceiling(setting) for setting in settings.itertuples())
        look: plot.Style = {"color": "0.4"}
        if line[0] != "algorithm":
            look = plot.bound_style(_CEILING["linestyle"], styles.of(*key))
        if (look["color"], heights) not in drawn:
            axis.plot(settings[x], heights, **look | _CEILING, gid="ceiling")
            drawn.add((look["color"], heights))


def ceiling_handle() -> Line2D:
    """Return the legend entry of the success probability limited by noise."""
    return plot.legend_entry("predicted from noise alone", color="0.4", **_CEILING)


def _ceiling(setting: Any) -> float:
    try:
        return visible(
            setting.values,
            setting.noise_std,
            n_samples=setting.n_samples,
            n_features=setting.p,
            n_tasks=setting.n_tasks,
            sparsity=setting.s,
        )
    except ValueError as error:
        raise ConfigError(
            f"the table has settings without a ceiling: {error}", remedy="Leave out the ceiling."
        ) from None
