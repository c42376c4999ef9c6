"""Intervals, theoretical bounds, vertical lines, and marks for accuracies not reached."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from greedyexp.core.errors import ConfigError
from greedyexp.figures._plot.coincident import bound_label
from greedyexp.figures._plot.panels import inside
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
    "zorder": 0.96,
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
    axis: Axes, at: Iterable[float], points: Any, colour: Any, shift: float = 0.0
) -> None:
    """Draw vertical bars; an end outside the limits of the panel becomes an arrow.

    Parameters
    ----------
    points : DataFrame or mapping
        ``low`` and ``high`` of each bar.
    shift : float
        Shift to the right in points.
    """
    floor, ceiling = axis.get_ylim()
    moved = shifted(axis, shift)
    bar: Style = {"color": colour, "linewidth": 0.9, "solid_capstyle": "butt", "gid": "interval"}
    arrow: Style = {"color": colour, "markersize": 4, "clip_on": False, "gid": "beyond"}
    for x, low, high in zip(at, points["low"], points["high"], strict=True):
        axis.plot([x, x], np.clip([low, high], floor, ceiling), **bar, transform=moved)
        for beyond, edge, marker in ((high > ceiling, ceiling, _UP), (low < floor, floor, _DOWN)):
            if beyond:
                axis.plot(x, edge, marker=marker, **arrow, transform=moved)


def draw_bars(axis: Axes, x: str, points: pd.DataFrame, colour: Any) -> None:
    """Draw a bar at each estimate, or an open arrow if it is infinite.

    Limits of the panel must be final. They do not take shifts into account.

    Parameters
    ----------
    x : str
        Column of the places along the horizontal axis.
    points : DataFrame
        ``estimate``, ``low`` and ``high`` of each point, and the ``shift`` to the right in points
        of its bar or its arrow.
    """
    known = points[points["low"].notna() & points["estimate"].notna()]
    for moved, some in known.groupby("shift", sort=False):
        draw_intervals(axis, some[x], some, colour, moved)
    beyond = points.loc[np.isinf(points["estimate"]), [x, "estimate", "shift"]].to_numpy()
    for at, estimate, moved in beyond:
        edge, up = axis.get_ylim()[int(estimate > 0)], bool(estimate > 0)
        arrow = _arrow_style(colour, up=up) | {"transform": shifted(axis, moved)}
        axis.plot(at, edge, **arrow, clip_on=False, zorder=3, gid="unreached")


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


def vertical_marks(rows: pd.DataFrame, mark: float | str | None) -> Callable[..., None]:
    """Return the layer of the vertical lines at a number, or at the value of a column.

    If the column is empty in a panel, no line is drawn there.

    Parameters
    ----------
    rows : DataFrame
        The rows of all panels.

    Raises
    ------
    ConfigError
        When the layer is drawn, if the column is missing, is not numeric or has several values in a
        panel.
    """

    def draw(axis: Axes, values: Mapping[str, Any]) -> None:
        if mark is None:
            return
        for place in _single(inside(rows, values), mark) if isinstance(mark, str) else [mark]:
            axis.axvline(place, **REFERENCE_LINE, gid="mark")

    return draw


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
