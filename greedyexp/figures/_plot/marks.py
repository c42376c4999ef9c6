"""Intervals, theoretical bounds, vertical lines, and marks for accuracies not reached."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from greedyexp.core.errors import ConfigError
from greedyexp.figures._plot.coincident import bound_label
from greedyexp.figures._plot.style import GREY, LINES, Style, cycle, legend_entry
from greedyexp.results.records import require_columns
from greedyexp.results.words import number_text, short_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.transforms import Transform

# A parameter of figures.
Mark = Annotated[
    float | str | None, Field(description="position of a vertical line: a number or a column")
]

REFERENCE_LINE: Style = {
    "color": "0.45",
    "linewidth": 1.0,
    "linestyle": (0, (2, 2)),
    "zorder": 0.95,
}
_UP, _DOWN = (3, 0, 0), (3, 0, 180)
# Size of an open arrow in points.
_ARROW = 7.0
_BOUND_WIDTH = 1.0
# Distance of the markers along a bound, in parts of the diagonal of the panel.
_BETWEEN_MARKERS = 0.3
# As a line, a bound that is known at a single place would be invisible.
_BOUND_MARKERS = cycle(LINES, ("_", "x", "+", "1", "2"))


def draw_intervals(
    axis: Axes, at: Iterable[float], points: pd.DataFrame, colour: Any, shift: float = 0.0
) -> None:
    """Draw vertical bars from ``low`` to ``high`` at some places; see ``draw_interval``."""
    for x, low, high in zip(at, points["low"], points["high"], strict=True):
        draw_interval(axis, x, low, high, colour, shift)


def draw_interval(
    axis: Axes, x: float, low: float, high: float, colour: Any, shift: float = 0.0
) -> None:
    """Draw a vertical bar; an end outside the limits of the panel becomes an arrow.

    Parameters
    ----------
    shift : float
        Shift to the right in points.
    """
    floor, ceiling = axis.get_ylim()
    bar = np.clip([low, high], floor, ceiling)
    moved = shifted(axis, shift)
    style: Style = {"color": colour, "linewidth": 0.9, "solid_capstyle": "butt"}
    axis.plot([x, x], bar, **style, transform=moved, gid="interval")
    for beyond, edge, marker in ((high > ceiling, ceiling, _UP), (low < floor, floor, _DOWN)):
        if beyond:
            style = {"marker": marker, "color": colour, "markersize": 4, "clip_on": False}
            axis.plot(x, edge, **style, transform=moved, gid="beyond")


def shifted(axis: Axes, shift: float) -> Transform:
    """Return the coordinates of the data, shifted to the right by points."""
    from matplotlib.transforms import ScaledTranslation

    if shift == 0.0:
        return axis.transData
    return axis.transData + ScaledTranslation(shift / 72, 0, axis.figure.dpi_scale_trans)


def _arrow_style(colour: Any, *, up: bool = True) -> Style:
    """Return the style of an open arrow at the edge of a panel."""
    style: Style = {"marker": _UP if up else _DOWN, "markersize": _ARROW, "linestyle": "none"}
    return style | {"markerfacecolor": "white", "markeredgecolor": colour}


def arrow_shifts(table: pd.DataFrame, x: str, shifts: Sequence[float]) -> pd.Series:
    """Return the shift of each estimate in points; infinite ones at one place stand in a row.

    Parameters
    ----------
    table : DataFrame
        The estimates of one panel.
    x : str
        Column along the horizontal axis.
    shifts : sequence of float
        Shift of the line of each estimate. The arrows of a row are in this order.
    """
    import pandas as pd

    found = pd.Series(shifts, index=table.index, dtype=float)
    beyond = table[np.isinf(table["estimate"])]
    for _, row in beyond.groupby([x, "estimate"]):
        order = found[row.index].sort_values(kind="stable").index
        found[order] = _ARROW * (np.arange(len(order)) - (len(order) - 1) / 2)
    return found


def arrow_handles(estimates: Iterable[float]) -> list[Line2D]:
    """Return the legend entries of the open arrows that some estimates have."""
    signs = {bool(estimate > 0) for estimate in estimates if np.isinf(estimate)}
    labels = {True: "above the tested range", False: "below the tested range"}
    return [
        legend_entry(labels[up], **_arrow_style(GREY, up=up)) for up in sorted(signs, reverse=True)
    ]


def draw_estimates(
    axis: Axes,
    at: pd.Series,
    points: pd.DataFrame,
    style: Style,
    shift: float = 0.0,
    gid: str | None = None,
) -> Line2D:
    """Draw estimates with intervals, and an open arrow for each that is infinite.

    Parameters
    ----------
    points : DataFrame
        ``estimate``, ``low``, ``high`` and the ``shift`` to the right of each interval and each
        arrow in points.
    shift : float
        Shift of the line to the right in points.

    Returns
    -------
    Line2D
        The line through the estimates.
    """
    finite = points["estimate"].where(np.isfinite(points["estimate"]))
    (line,) = axis.plot(at, finite, **style, gid=gid)
    line.set_transform(shifted(axis, shift))
    numbers = points[["estimate", "low", "high", "shift"]].to_numpy(dtype=float)
    for place, (estimate, low, high, moved) in zip(at, numbers, strict=True):
        if not np.isnan(estimate):
            draw_interval(axis, place, low, high, style["color"], moved)
        if np.isinf(estimate):
            edge, up = axis.get_ylim()[int(estimate > 0)], bool(estimate > 0)
            arrow = _arrow_style(style["color"], up=up) | {"transform": shifted(axis, moved)}
            axis.plot(place, edge, **arrow, clip_on=False, zorder=3, gid="unreached")
    return line


def draw_mark(axis: Axes, rows: pd.DataFrame, mark: float | str | None) -> None:
    """Draw the vertical line of a panel; if the column is empty there, draw nothing.

    Parameters
    ----------
    rows : DataFrame
        The rows of the panel.

    Raises
    ------
    ConfigError
        If the column is missing, is not numeric or has several values in the panel.
    """
    if mark is None:
        return
    places: Iterable[float] = [mark] if not isinstance(mark, str) else _single(rows, mark)
    for place in places:
        axis.axvline(place, **REFERENCE_LINE, gid="mark")


def mark_handles(mark: float | str | None, x: str) -> list[Line2D]:
    """Return the legend entry of the vertical lines, if there are any."""
    if mark is None:
        return []
    where = short_name(mark) if isinstance(mark, str) else number_text(mark)
    return [legend_entry(f"{short_name(x)} = {where}", **REFERENCE_LINE)]


def _single(rows: pd.DataFrame, column: str) -> np.ndarray:
    import pandas as pd

    require_columns(rows, [column])
    known = rows[column].dropna().unique()
    if not pd.api.types.is_numeric_dtype(rows[column]) or len(known) > 1:
        raise ConfigError(
            f"column '{column}' is not one number in each panel, so no line can be drawn at it.",
            remedy="Leave out `mark`, or name its column as row or panel.",
        )
    return known


def unreached_style(partly: bool, colour: Any) -> Style:
    """Return the style of a triangle: half filled if some replicates reached it, else open."""
    style: Style = {"linestyle": "none", "marker": "^", "markersize": 4, "markeredgewidth": 0.8}
    style |= {"markeredgecolor": colour, "markerfacecolor": colour, "color": colour}
    if partly:
        return style | {"fillstyle": "bottom", "markerfacecoloralt": "white"}
    return style | {"markerfacecolor": "white"}


def unreached_handles(kinds: Iterable[bool], limit: str = "") -> list[Line2D]:
    """Return the legend entries of the triangles.

    Parameters
    ----------
    kinds : iterable of bool
        The kinds that are drawn: True for half filled triangles, False for open ones.
    limit : str
        The budget, such as " within 100 steps".
    """
    labels = {False: f"not reached{limit}", True: "not reached by some replicates"}
    return [legend_entry(labels[kind], **unreached_style(kind, GREY)) for kind in sorted(kinds)]


def isolated(heights: Iterable[float]) -> list[int]:
    """Return the indices of finite values whose neighbours are not finite."""
    finite = np.isfinite(np.asarray(list(heights), dtype=float))
    padded = np.pad(finite, 1)
    return np.flatnonzero(finite & ~padded[:-2] & ~padded[2:]).tolist()


def bound_marker(dash: Any) -> Style:
    """Return the marker style of a bound with these dashes."""
    # A stroke must extend on both sides of the markers of measurements.
    size = 16 if _BOUND_MARKERS[dash] == "_" else 7
    return {"marker": _BOUND_MARKERS[dash], "markersize": size, "markeredgewidth": 1.3}


def bound_style(dash: Any, style: Style | None = None) -> Style:
    """Return the style of a bound with these dashes.

    Parameters
    ----------
    style : dict, optional
        Style of the method that the bound is for: its colour, and its marker at a few places,
        which tells bounds of several methods apart in greyscale.
    """
    found: Style = {"linestyle": dash, "linewidth": _BOUND_WIDTH, "zorder": 1.8}
    if style is not None:
        found |= {name: style[name] for name in ("color", "marker")}
        found |= {"markersize": 3, "markevery": _BETWEEN_MARKERS}
    return found


def draw_bound(axis: Axes, at: pd.Series, heights: pd.Series, style: Style, name: str) -> bool:
    """Draw one bound below all measurements, and return True if markers were needed.

    Parameters
    ----------
    style : dict
        See ``bound_style``.
    name : str
        Its name in the note, if it coincides with another one.
    """
    points = isolated(heights)
    style = style | (bound_marker(style["linestyle"]) | {"markevery": points} if points else {})
    axis.plot(at, heights, **style, gid="promise", label=bound_label(name))
    return bool(points)


def bound_handle(label: str, dash: Any, colour: Any = GREY, *, marked: bool = False) -> Line2D:
    """Return the legend entry of a bound, with its marker if one was drawn."""
    style = bound_marker(dash) if marked else {}
    return legend_entry(label, color=colour, linestyle=dash, linewidth=_BOUND_WIDTH, **style)
