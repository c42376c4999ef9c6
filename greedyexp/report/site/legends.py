"""The legend of an interactive figure: which of its lines each entry shows and hides.

The figures draw one legend for all panels, whose entries have the styles of the lines and no other
connection with them. An entry belongs to a line with its label, or with its style: a colour (grey
stands for all colours), and where both have them, dashes and marker.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from matplotlib.artist import Artist
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from greedyexp.figures._plot.typeset import formulas
from greedyexp.report.site.artists import colour, has_line, has_marker, marker, stroke
from greedyexp.report.site.mathtext import plain

_RGB = re.compile(r"rgba?\((\d+),(\d+),(\d+)")


@dataclass(frozen=True)
class ArtistStyle:
    """The style of an artist, as far as legends distinguish it.

    Parameters
    ----------
    colour : str
        Without its transparency.
    dash : str or None
        Dashes; None if the line is solid.
    symbol : tuple or None
        Symbol, and whether it is filled; None without markers.
    width : float
        Width of the line in pixels; 0 without a line.
    area : bool
        True for bands and other areas.
    label : str
    """

    colour: str
    dash: str | None = None
    symbol: tuple[str, bool] | None = None
    width: float = 0.0
    area: bool = False
    label: str = ""


@dataclass
class Drawn:
    """Where an artist is in the figure of Plotly.

    Parameters
    ----------
    style : ArtistStyle
    traces, shapes : list of int
        Indices in ``data`` and ``layout.shapes``.
    """

    style: ArtistStyle
    traces: list[int] = field(default_factory=list)
    shapes: list[int] = field(default_factory=list)


def style_of(artist: Artist, shown: str = "") -> ArtistStyle:
    """Return the style of an artist; ``shown`` is the colour of a collection."""
    label = str(artist.get_label())
    label = "" if label.startswith("_") else formulas(label)
    if isinstance(artist, Line2D):
        symbol = None
        if has_marker(artist):
            style = marker(artist)
            filled = style["color"] == style["line"].get("color")
            symbol = (style["symbol"], filled)
        line: dict[str, Any] = stroke(artist) if has_line(artist) else {"width": 0.0}
        shown = _opaque(colour(artist.get_color()))
        return ArtistStyle(shown, line.get("dash"), symbol, line["width"], label=label)
    if isinstance(artist, Patch):
        shown = colour(artist.get_facecolor())
    return ArtistStyle(_opaque(shown), area=True, label=label)


def entries(figure: Figure, drawn: list[Drawn]) -> list[dict[str, Any]]:
    """Return the entries of all legends and colour bars: label, swatch, traces and shapes."""
    found = []
    written = list(_written(figure))
    texts = {text for text, _, _ in written}
    for text, handle, heading in written:
        style = handle if isinstance(handle, ArtistStyle) else style_of(handle)
        mine = [one for one in drawn if _belongs(one.style, style, text, texts)]
        found.append(
            {
                "label": plain(text),
                "heading": heading,
                "swatch": _swatch(style, handle),
                "traces": [index for one in mine for index in one.traces],
                "shapes": [index for one in mine for index in one.shapes],
            }
        )
    return found


def is_colour_bar(axes: Any) -> bool:
    """Return True for the axes of a colour bar."""
    return getattr(axes, "_colorbar", None) is not None


def _written(figure: Figure) -> Iterator[tuple[str, Any, str]]:
    """Yield text, handle and heading of each entry."""
    own = [axes.get_legend() for axes in figure.axes]
    for legend in filter(None, [*figure.legends, *own]):
        heading = plain(legend.get_title().get_text())
        written = list(zip(legend.get_texts(), legend.legend_handles, strict=True))
        for text, handle in _row_by_row(written, getattr(legend, "_ncols")):  # noqa: B009
            if handle is not None:
                yield text.get_text(), handle, heading
    for axes in filter(is_colour_bar, figure.axes):
        bar: Any = getattr(axes, "_colorbar")  # noqa: B009
        heading = plain(axes.get_ylabel() or axes.get_xlabel())
        labels: Iterable[Any] = axes.get_yticklabels()
        # Only steps have lines of their colours; a continuous bar has areas.
        steps = len(bar.get_ticks()) == bar.cmap.N
        for place, (tick, text) in enumerate(zip(bar.get_ticks(), labels, strict=True)):
            if steps:
                style = ArtistStyle(_opaque(colour(bar.cmap(place))), width=2.0)
            else:
                style = ArtistStyle(to_hex(bar.cmap(bar.norm(tick))), area=True)
            yield text.get_text(), style, heading


def _row_by_row(written: list[Any], columns: int) -> list[Any]:
    """Return entries in the order of reading; matplotlib fills the columns one after the other."""
    places = range(len(written))
    order = [place for column in range(columns) for place in places[column::columns]]
    return [one for _, one in sorted(zip(order, written, strict=True), key=lambda pair: pair[0])]


def _belongs(style: ArtistStyle, entry: ArtistStyle, text: str, texts: Container[str]) -> bool:
    """Return True if an artist belongs to an entry of a legend with these texts."""
    if style.label == text:
        return True
    grey = _is_grey(entry.colour)
    # A line with its own entry may also match a grey entry, which describes lines of any colour.
    if style.label in texts and (not grey or _is_grey(style.colour)):
        return False
    if not grey and style.colour != entry.colour:
        return False
    if entry.area or (grey and style.area):
        return entry.area == style.area
    if entry.symbol is not None:
        # Bands and intervals of a coloured line have no markers.
        return style.symbol == entry.symbol or (style.symbol is None and not grey)
    if grey:
        # Grey stands for all colours, so the line itself must be the same.
        return style.dash == entry.dash and style.width == entry.width
    return entry.dash is None or style.dash == entry.dash


def _swatch(style: ArtistStyle, handle: Any) -> dict[str, Any]:
    """Return what is drawn beside the label."""
    if isinstance(handle, Line2D):
        swatch: dict[str, Any] = {}
        if has_line(handle):
            swatch["line"] = stroke(handle)
        if has_marker(handle):
            swatch["marker"] = marker(handle)
        return swatch
    if isinstance(handle, Patch):
        return {"area": colour(handle.get_facecolor())}
    if style.area:
        return {"area": style.colour}
    return {"line": {"color": f"rgb({style.colour})", "width": style.width}}


def _opaque(text: str) -> str:
    return ",".join(_RGB.findall(text)[0]) if _RGB.match(text) else text


def _is_grey(text: str) -> bool:
    return len(set(text.split(","))) == 1
