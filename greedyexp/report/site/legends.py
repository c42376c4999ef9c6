"""Which marks of a figure each entry of its legends shows and hides.

The figures draw one legend for all panels, whose entries have the styles of the marks and no other
connection with them. An entry belongs to a mark with its label, or with its style: a colour (grey
stands for all colours), and where both have them, dashes and marker.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import Collection, LineCollection
from matplotlib.colors import same_color, to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.spines import Spine
from matplotlib.text import Text

from greedyexp.figures._plot.typeset import formulas

_NONE = ("", " ", "None", "none", None)
_RING = ("o", False)


@dataclass(frozen=True)
class Style:
    """The style of a mark, as far as legends distinguish it.

    Parameters
    ----------
    colour : str
        Without its transparency.
    dash : tuple of float
        Dashes; empty if the line is solid.
    marker : tuple or None
        Marker, and whether it is filled; None without markers.
    width : float
        Width of the line in points; 0 without a line.
    area : bool
        True for bands and other areas.
    label : str
    """

    colour: str
    dash: tuple[float, ...] = ()
    marker: tuple[str, bool] | None = None
    width: float = 0.0
    area: bool = False
    label: str = ""


@dataclass(frozen=True)
class Entry:
    """An entry of a legend, or a step of a colour bar.

    Parameters
    ----------
    text : Text
    handle : Artist or None
        The sample beside the text.
    style : Style
    """

    text: Text
    handle: Artist | None
    style: Style

    def marks(self, style: Style, texts: set[str]) -> bool:
        """Return True if a mark of a style belongs to the entry, which is one of ``texts``."""
        entry = self.style
        if style.label == self.text.get_text():
            return True
        grey = _is_grey(entry.colour)
        # A line with its own entry may also match a grey entry, which describes lines of any
        # colour.
        if style.label in texts and (not grey or _is_grey(style.colour)):
            return False
        if not grey and style.colour != entry.colour:
            return False
        if entry.area or (grey and style.area):
            return entry.area == style.area
        if entry.marker is not None:
            if grey and entry.marker == _RING and style.marker is not None:
                # A grey ring stands for published numbers, whose markers are those of the lines.
                return not style.marker[1]
            # Bands and intervals of a coloured line have no markers.
            return style.marker == entry.marker or (style.marker is None and not grey)
        if grey:
            # Grey stands for all colours, so the line itself must be the same.
            return style.dash == entry.dash and style.width == entry.width
        return not entry.dash or style.dash == entry.dash


def marks_of(axes: Axes) -> list[Artist]:
    """Return the lines and areas of a panel."""
    kinds = (Line2D, Collection, Patch)
    return [
        child
        for child in axes.get_children()
        if isinstance(child, kinds)
        and not isinstance(child, Spine)
        and child is not axes.patch
        and child.get_visible()
    ]


def styles_of(mark: Artist) -> list[Style]:
    """Return the style of a mark; of segments in several colours, one each; none of cells."""
    if isinstance(mark, Line2D):
        return [_line_style(mark)]
    if isinstance(mark, Patch):
        return [Style(to_hex(mark.get_facecolor()), area=True, label=_label(mark))]
    assert isinstance(mark, Collection)
    if mark.get_array() is not None:
        return []
    drawn: Any = mark.get_facecolor()
    if isinstance(mark, LineCollection):
        drawn = mark.get_colors()
        if len(drawn) != len(mark.get_segments()):
            drawn = drawn[:1]
    else:
        drawn = drawn[:1] if len(drawn) else ["none"]
    return [Style(to_hex(colour), area=True, label=_label(mark)) for colour in drawn]


def entries_of(figure: Figure) -> Iterator[Entry]:
    """Yield the entries of all legends, then those of colour bars."""
    inside = [axes.get_legend() for axes in figure.axes]
    for legend in filter(None, [*figure.legends, *inside]):
        for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True):
            if handle is not None:
                yield Entry(text, handle, styles_of(handle)[0])
    for axes in filter(is_colour_bar, figure.axes):
        bar: Any = getattr(axes, "_colorbar")  # noqa: B009
        # Only steps have lines of their colours; a continuous bar has areas.
        if len(bar.get_ticks()) != bar.cmap.N:
            continue
        for place, text in enumerate(bar.long_axis.get_ticklabels()):
            yield Entry(text, None, Style(to_hex(bar.cmap(place)), width=2.0))


def is_colour_bar(axes: Axes) -> bool:
    """Return True for the axes of a colour bar."""
    return getattr(axes, "_colorbar", None) is not None


def _line_style(line: Line2D) -> Style:
    joined = line.get_linestyle() not in _NONE and line.get_linewidth() > 0
    _, dashes = line._dash_pattern  # type: ignore[attr-defined]
    marker = None
    if line.get_marker() not in _NONE and line.get_markersize() > 0:
        filled = same_color(line.get_markerfacecolor(), line.get_markeredgecolor())
        marker = (str(line.get_marker()), filled)
    return Style(
        to_hex(line.get_color()),
        tuple(np.round(dashes or (), 2)) if joined else (),
        marker,
        round(float(line.get_linewidth()), 2) if joined else 0.0,
        label=_label(line),
    )


def _label(artist: Artist) -> str:
    label = str(artist.get_label())
    return "" if label.startswith("_") else formulas(label)


def _is_grey(colour: str) -> bool:
    return colour[1:3] == colour[3:5] == colour[5:7]
