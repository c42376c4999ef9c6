"""Colours, dashes, markers and coordinates of matplotlib's artists, as Plotly writes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D

# Pixels of a browser in a point.
PIXELS = 96 / 72

Space = Literal["data", "axes"]

_SYMBOLS: dict[Any, str] = {
    "o": "circle", ".": "circle", "s": "square", "^": "triangle-up", "v": "triangle-down",
    "<": "triangle-left", ">": "triangle-right", "D": "diamond", "d": "diamond-tall", "P": "cross",
    "X": "x", "*": "star", "p": "pentagon", "h": "hexagon", "H": "hexagon2", "8": "octagon",
    "_": "line-ew-open", "|": "line-ns-open", "x": "x-thin-open", "+": "cross-thin-open",
    "1": "y-down-open", "2": "y-up-open", (3, 0, 0): "triangle-up", (3, 0, 180): "triangle-down",
}  # fmt: skip
_NONE = ("", " ", "None", "none", None)


def colour(value: Any, alpha: float | None = None) -> str:
    """Return a colour as ``rgb(r,g,b)``, or ``rgba(r,g,b,a)`` if it is transparent."""
    if isinstance(value, str) and value.lower() == "none":
        return "rgba(0,0,0,0)"
    red, green, blue, opacity = to_rgba(value, alpha)
    parts = [str(round(255 * part)) for part in (red, green, blue)]
    if opacity >= 1:
        return f"rgb({','.join(parts)})"
    return f"rgba({','.join(parts)},{round(opacity, 4):g})"


def has_line(line: Line2D) -> bool:
    """Return True if the points are joined."""
    return line.get_linestyle() not in _NONE and line.get_linewidth() > 0


def has_marker(line: Line2D) -> bool:
    """Return True if points are marked."""
    return line.get_marker() not in _NONE and line.get_markersize() > 0


def stroke(line: Line2D) -> dict[str, Any]:
    """Return colour, width and dashes of a line."""
    _, dashes = line._dash_pattern  # type: ignore[attr-defined]
    style: dict[str, Any] = {
        "color": colour(line.get_color(), line.get_alpha()),
        "width": _size(line.get_linewidth()),
    }
    if dashes:
        style["dash"] = ",".join(f"{_size(length):g}px" for length in dashes)
    return style


def marker(line: Line2D) -> dict[str, Any]:
    """Return symbol, size and colours of the markers of a line."""
    symbol = _SYMBOLS.get(_marker_key(line), "circle")
    edge = colour(line.get_markeredgecolor(), line.get_alpha())
    width = _size(line.get_markeredgewidth())
    style: dict[str, Any] = {"symbol": symbol, "size": _size(line.get_markersize())}
    if line.get_fillstyle() in ("bottom", "top", "left", "right"):
        # Plotly has no half filled markers.
        return style | {"symbol": f"{symbol}-open-dot", "color": edge, "line": {"width": width}}
    face = edge if symbol.endswith("-open") else colour(line.get_markerfacecolor())
    return style | {"color": face, "line": {"color": edge, "width": width}}


def _marker_key(line: Line2D) -> Any:
    found = line.get_marker()
    return found if isinstance(found, (str, tuple)) else "o"


def _size(points: float) -> float:
    return round(float(points) * PIXELS, 2)


def line_style(line: Line2D, axes: Axes) -> dict[str, Any]:
    """Return how a line is drawn: joined or not, and the size of the marker of each point."""
    lined, marked = has_line(line), has_marker(line)
    style: dict[str, Any] = {
        "mode": "+".join([*(["lines"] if lined else []), *(["markers"] if marked else [])])
        or "none"
    }
    if lined:
        style["line"] = stroke(line)
    if marked:
        style["marker"] = marker(line)
        every = _marked_points(line, axes)
        if every is not None:
            # All points have their numbers; only some have a marker.
            sizes = np.zeros(len(np.atleast_1d(line.get_xdata())))
            sizes[every] = style["marker"]["size"]
            style["marker"] |= {"size": sizes.tolist(), "opacity": 1}
    if not line.get_clip_on():
        style["cliponaxis"] = False
    if line.get_drawstyle().startswith("steps"):
        style.setdefault("line", {})["shape"] = "vh" if "pre" in line.get_drawstyle() else "hv"
    return style


def segments_by_colour(bars: LineCollection) -> Iterator[tuple[int, list[np.ndarray]]]:
    """Yield the place of each colour and its segments."""
    segments, colours = bars.get_segments(), bars.get_colors()
    if len(colours) != len(segments):
        yield 0, segments
        return
    for place in range(len(segments)):
        yield place, [segments[place]]


def spaces(artist: Artist, axes: Axes) -> tuple[Space, Space] | None:
    """Return whether x and y of an artist are data or parts of the axes; None if neither."""
    # A patch adds the transform of its own shape.
    transform = Artist.get_transform(artist)
    data = transform.contains_branch_seperately(axes.transData)
    parts = transform.contains_branch_seperately(axes.transAxes)
    if not all(one or other for one, other in zip(data, parts, strict=True)):
        return None
    return ("data" if data[0] else "axes", "data" if data[1] else "axes")


def is_native(axis: Axis) -> bool:
    """Return True if Plotly has the scale of an axis."""
    return axis.get_scale() in ("linear", "log")


def placed(axis: Axis, values: Any, space: Space = "data") -> np.ndarray:
    """Return places along an axis of Plotly; nan where it has none.

    Other scales than linear and logarithmic ones are linear there, in transformed values.
    """
    places = np.asarray(axis.convert_units(values), dtype=float)
    if space == "data" and not is_native(axis):
        places = axis.get_transform().transform(places)
    return np.where(np.isfinite(places), places, np.nan)


def in_range(axis: Axis, values: Any) -> np.ndarray:
    """Return places as Plotly writes ranges and annotations: logarithms on logarithmic axes."""
    places = placed(axis, values)
    if axis.get_scale() == "log":
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log10(places)
    return places


def plain(values: Any) -> list[Any]:
    """Return numbers for JSON, with None for nan and infinity."""
    return [
        None if isinstance(value, float) and not np.isfinite(value) else value
        for value in np.asarray(values).tolist()
    ]


def short(values: Sequence[Any]) -> list[Any]:
    """Return places with seven digits, which is more than a screen shows."""
    return [float(f"{value:.7g}") if isinstance(value, float) else value for value in values]


def _marked_points(line: Line2D, axes: Axes) -> list[int] | None:
    """Return the indices of the points with a marker; None for all."""
    every = line.get_markevery()
    if every is None:
        return None
    count = len(np.atleast_1d(line.get_xdata()))
    if isinstance(every, (int, np.integer)):
        return list(range(0, count, int(every)))
    if isinstance(every, float):
        every = (0.0, every)
    if isinstance(every, tuple) and isinstance(every[1], float):
        return _at_distances(line, axes, *map(float, every))
    if isinstance(every, tuple):
        return list(range(int(every[0]), count, int(every[1])))
    chosen = np.arange(count)[every]
    return [int(index) for index in np.atleast_1d(chosen)]


def _at_distances(line: Line2D, axes: Axes, start: float, step: float) -> list[int]:
    """Return the points nearest to even distances along a line, in parts of the axes' diagonal."""
    pixels = line.get_transform().transform(np.column_stack(line.get_data(orig=False)))
    known = np.flatnonzero(np.isfinite(pixels).all(axis=1))
    if not len(known):
        return []
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(pixels[known], axis=0).T))])
    diagonal = np.hypot(axes.bbox.width, axes.bbox.height)
    wanted = np.arange(start * diagonal, along[-1] + 1e-9, step * diagonal)
    nearest = np.abs(along[:, None] - wanted[None, :]).argmin(axis=0)
    return sorted({int(known[index]) for index in nearest})
