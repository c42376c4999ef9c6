"""Predicted transitions, and the success probability limited by noise: conditions and styles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from greedyexp.core.errors import ConfigError
from greedyexp.figures import _plot as plot
from greedyexp.theory.transitions import TWO_TASKS, Threshold, visible

# A parameter of figures.
WithTheory = Annotated[bool, Field(description="draw the predicted two-task transitions")]

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

# Label and prediction of each curve of a panel.
Stated = Mapping["plot.Axes", list[tuple[str, Threshold]]]

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
    frame: plot.Frame, context: plot.Context, labels: Iterable[str]
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


def in_panels(
    panels: plot.Panels, rows: plot.Frame, context: plot.Context, styles: plot.LineStyles
) -> Stated:
    """Return labels and predictions of each panel in units of theta, one per size if they differ.

    Parameters
    ----------
    rows : DataFrame
        The rows of all panels.
    styles : LineStyles
        Of the lines, which the algorithm separates first.
    """
    return {
        axis: _in_panel(plot.inside(rows, values), context, styles.line[1:], styles.colours)
        for axis, values in panels
    }


def _in_panel(
    rows: plot.Frame, context: plot.Context, others: list[str], labels: Iterable[str]
) -> list[tuple[str, Threshold]]:
    groups = [group for _, group in rows.groupby(others)] if others else [rows]
    found = []
    for group in groups:
        for label, prediction in applicable(rows, context, labels).items():
            per_log_p = context.algorithms.get(label, label) in _PER_LOG_P
            found.append((label, _at_size(prediction, group) if per_log_p else prediction))
    return list(dict.fromkeys(found))


def _at_size(prediction: Threshold, rows: plot.Frame) -> Threshold:
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


def drawn(stated: Stated) -> list[Threshold]:
    """Return the predictions of all panels."""
    return [prediction for curves in stated.values() for _, prediction in curves]


def conversion_note(stated: Stated) -> str:
    """Explain predictions that were converted; empty if there is none."""
    if any(isinstance(prediction, _Converted) for prediction in drawn(stated)):
        return "Predicted for the Lasso: n = 2 s log(p), so θ depends on $p$."
    return ""


def style_of(prediction: Threshold, style: plot.Style) -> plot.Style:
    """Return the style of a prediction from that of its method.

    Dashes show whether it is proved. Small markers of the method distinguish predictions in
    greyscale.
    """
    return plot.bound_style(_KINDS[prediction.proved][0], style) | _STYLE


def draw_vertical(axis: plot.Axes, theta: float, style: plot.Style) -> None:
    """Draw a vertical line across a panel, with markers at a quarter and three quarters of it."""
    places, heights = [theta] * 4, [0.0, 0.25, 0.75, 1.0]
    look = style | {"markevery": [1, 2], "transform": axis.get_xaxis_transform()}
    axis.plot(places, heights, **look, gid="prediction")


def handles(stated: Stated, linewidth: float = _STYLE["linewidth"]) -> list[plot.Line2D]:
    """Return legend entries of the kinds that are drawn, proved before conjectured."""
    kinds = sorted({prediction.proved for prediction in drawn(stated)}, reverse=True)
    look: plot.Style = {"color": "0.5", "linewidth": linewidth}
    return [plot.legend_entry(_KINDS[one][1], linestyle=_KINDS[one][0], **look) for one in kinds]


def draw_ceilings(axis: plot.Axes, rows: plot.Frame, x: str, styles: plot.LineStyles) -> None:
    """Draw the success probability limited by noise, one curve for each line of a panel.

    Curves are grey if lines of one colour may have different ones. Otherwise they have the colour
    and small markers of their line.

    Raises
    ------
    ConfigError
        If a column is missing, or there is no curve for the values.
    """
    plot.require_columns(rows, CEILING_COLUMNS)
    columns, seen = [*CEILING_COLUMNS], set()
    for key, group in rows.groupby(styles.line, sort=True):
        settings = group[[*dict.fromkeys([x, *columns])]].drop_duplicates().sort_values(x)
        named = settings[columns].rename(columns={"p": "n_features", "s": "sparsity"})
        try:
            heights = tuple(visible(**one) for one in named.to_dict("records"))
        except ValueError as error:
            raise ConfigError(
                f"the table has settings without a ceiling: {error}",
                remedy="Leave out the ceiling.",
            ) from None
        look: plot.Style = {"color": "0.4"}
        if styles.line[0] != "algorithm":
            look = plot.bound_style(_CEILING["linestyle"], styles.of(*key))
        if (look["color"], heights) not in seen:
            axis.plot(settings[x], heights, **look | _CEILING, gid="ceiling")
            seen.add((look["color"], heights))


def ceiling_handle() -> plot.Line2D:
    """Return the legend entry of the success probability limited by noise."""
    return plot.legend_entry("predicted from noise alone", color="0.4", **_CEILING)
