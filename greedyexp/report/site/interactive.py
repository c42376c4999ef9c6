"""Figures of matplotlib as figures of Plotly, so that every figure has one implementation.

Lines, bands, bars and texts become traces and annotations at the same places. What was attached to
the points of a line (``figures/_plot/points.py``) goes with its trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axes._secondary_axes import SecondaryAxis
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import Collection, LineCollection, PolyCollection
from matplotlib.colors import same_color, to_hex
from matplotlib.figure import Figure
from matplotlib.image import _ImageBase
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon, Rectangle
from matplotlib.path import Path
from matplotlib.spines import Spine
from matplotlib.text import Annotation, Text

from greedyexp.figures._plot.points import Points, attached
from greedyexp.report.site import artists, legends, mathtext
from greedyexp.report.site.artists import PIXELS, Space
from greedyexp.report.site.axes import layout_of, second_layout

# Room around the panels in pixels.
_MARGIN = 6
# Shapes of Plotly have no hatches.
_HATCHED = (0.5, 0.5, 0.5, 0.15)
# Cells with nearly the same value are one trace, since browsers are slow with thousands.
_SHADES = 40
# The mark where an axis is interrupted, whose symbol Plotly does not have.
_BREAK = "break"


class NotConvertible(Exception):
    """A figure has something that Plotly cannot show."""


@dataclass
class Interactive:
    """A figure of Plotly.

    Parameters
    ----------
    data : list of dict
        Traces.
    layout : dict
    legend : list of dict
        Entries, see ``legends.entries``.
    points : dict of int to Points
        What is known of the points of a trace, by its index.
    width, height : float
        Size in pixels.
    title, note : str
        Of the figure, in plain text.
    """

    data: list[dict[str, Any]]
    layout: dict[str, Any]
    legend: list[dict[str, Any]]
    points: dict[int, Points]
    width: float
    height: float
    title: str
    note: str


def interactive(figure: Figure) -> Interactive:
    """Convert a figure whose layout is final.

    Raises
    ------
    NotConvertible
        If it has an artist of another kind than lines, bands, bars and texts.
    """
    converter = _Converter(figure)
    for place, axes in enumerate(converter.panels, 1):
        converter.add(axes, place)
    return Interactive(
        converter.data,
        converter.layout | {"shapes": converter.shapes, "annotations": converter.annotations},
        legends.entries(figure, converter.drawn),
        converter.points,
        round(converter.box.width),
        round(converter.box.height),
        mathtext.plain(figure.get_suptitle()),
        mathtext.plain_note(figure.get_supxlabel()),
    )


@dataclass
class _Group:
    """Lines of one style without known points, which are one trace."""

    artist_style: legends.ArtistStyle
    style: dict[str, Any]
    x: list[Any] = field(default_factory=list)
    y: list[Any] = field(default_factory=list)


class _Converter:
    def __init__(self, figure: Figure):
        self.panels = [
            axes for axes in figure.axes if axes.get_visible() and not legends.is_colour_bar(axes)
        ]
        self.data: list[dict[str, Any]] = []
        self.layout: dict[str, Any] = {}
        self.shapes: list[dict[str, Any]] = []
        self.annotations: list[dict[str, Any]] = []
        self.drawn: list[legends.Drawn] = []
        self.points: dict[int, Points] = {}
        self._renderer = FigureCanvasAgg(figure).get_renderer()
        self._scale = 96 / figure.dpi
        self.box = self._box()

    def _box(self) -> Any:
        """Return the box around all panels in pixels of the browser."""
        from matplotlib.transforms import Bbox

        boxes = [axes.get_tightbbox(self._renderer) for axes in self.panels]
        around = Bbox.union([box for box in boxes if box is not None])
        return Bbox(np.reshape(around.extents, (2, 2)) * self._scale).padded(_MARGIN)

    def add(self, axes: Axes, place: int) -> None:
        """Add one panel; ``place`` counts from 1."""
        # The first axes of Plotly have no number.
        self._axes, self._name = axes, str(place) if place > 1 else ""
        box = axes.get_window_extent(self._renderer)
        across = (np.array([box.x0, box.x1]) * self._scale - self.box.x0) / self.box.width
        up = (np.array([box.y0, box.y1]) * self._scale - self.box.y0) / self.box.height
        for letter, axis, domain in (("x", axes.xaxis, across), ("y", axes.yaxis, up)):
            found = layout_of(axis, letter, domain)
            found["anchor"] = f"{'y' if letter == 'x' else 'x'}{self._name}"
            found |= self._shared(letter)
            self.layout[f"{letter}axis{self._name}"] = found
        self._titles(axes)
        if not same_color(axes.get_facecolor(), "white"):
            behind = artists.colour(axes.get_facecolor())
            self.shapes.append(self._range(("axes", "axes"), (0, 1), (0, 1), behind))
        groups: dict[Any, _Group] = {}
        for artist in sorted(axes.get_children(), key=lambda one: one.get_zorder()):
            if not artist.get_visible() or artist is axes.patch or isinstance(artist, Spine):
                continue
            if isinstance(artist, Line2D):
                self._line(artist, groups)
            elif isinstance(artist, PolyCollection) and artist.get_array() is not None:
                self._cells(artist)
            elif isinstance(artist, PolyCollection):
                colours = artist.get_facecolor()
                self._area(artist, artist.get_paths(), colours[0] if len(colours) else "none")
            elif isinstance(artist, Polygon):
                self._area(artist, [artist.get_path()], artist.get_facecolor())
            elif isinstance(artist, LineCollection):
                self._segments(artist)
            elif isinstance(artist, Text):
                self._text(artist)
            elif isinstance(artist, SecondaryAxis):
                self._second(artist)
            elif isinstance(artist, Rectangle):
                self._rectangle(artist)
            elif isinstance(artist, (Patch, Collection, _ImageBase)):
                raise NotConvertible(f"Plotly has no {type(artist).__name__}.")
        for group in groups.values():
            self._trace(group.x, group.y, group.style, group.artist_style)

    def _shared(self, letter: str) -> dict[str, str]:
        """Return the first axis with which an axis of the panel is zoomed, if there is one."""
        axes = self._axes
        shared = axes.get_shared_x_axes() if letter == "x" else axes.get_shared_y_axes()
        for place, other in enumerate(self.panels, 1):
            if other is axes:
                break
            if shared.joined(axes, other):
                return {"matches": f"{letter}{place if place > 1 else ''}"}
        return {}

    def _titles(self, axes: Axes) -> None:
        """Add the titles above a panel, where the layout has put them."""
        titles = (axes.title, "center"), (axes._left_title, "left"), (axes._right_title, "right")  # type: ignore[attr-defined]
        for title, across in titles:
            if title.get_text():
                place = title.get_transform().transform(title.get_position())
                inside = axes.transAxes.inverted().transform(place)
                self._annotate(title.get_text(), inside, ("axes", "axes"), across, "bottom")

    def _line(self, line: Line2D, groups: dict[Any, _Group]) -> None:
        spaces = artists.spaces(line, self._axes)
        x: Any
        y: Any
        x, y = (np.atleast_1d(values) for values in line.get_data(orig=True))
        if line.get_gid() == _BREAK and spaces:
            self._annotate("//", (x[0], y[0]), spaces, "center", "middle")
            return
        if spaces is not None and "axes" in spaces and artists.has_line(line):
            self._straight(line, spaces)
            return
        artist_style = legends.style_of(line)
        known = attached(line)
        style = artists.line_style(line, self._axes)
        x, y = self._placed(line, x, y)
        if known is not None or line.get_markevery() is not None or artist_style.label:
            self._trace(x, y, style, artist_style, known)
        else:
            group = groups.setdefault((artist_style, repr(style)), _Group(artist_style, style))
            group.x += [*x, None]
            group.y += [*y, None]

    def _placed(self, line: Line2D, x: Any, y: Any) -> tuple[list[Any], list[Any]]:
        """Return the coordinates of a line; of one that is shifted by points, those it has here."""
        if line.get_transform() != self._axes.transData:
            pixels = line.get_transform().transform(np.column_stack(line.get_data(orig=False)))
            x, y = self._axes.transData.inverted().transform(pixels).T
        return self._coordinates(x, y)

    def _coordinates(self, x: Any, y: Any) -> tuple[list[Any], list[Any]]:
        """Return places in the data of the panel as Plotly writes them."""
        return (
            artists.plain(artists.placed(self._axes.xaxis, x)),
            artists.plain(artists.placed(self._axes.yaxis, y)),
        )

    def _straight(self, line: Line2D, spaces: tuple[Space, Space]) -> None:
        """Add a line across the panel as a shape."""
        data: Any = line.get_data(orig=False)
        x, y = data
        self.drawn.append(legends.Drawn(legends.style_of(line), [], [len(self.shapes)]))
        self.shapes.append(
            {
                "type": "line",
                "xref": self._reference("x", spaces[0]),
                "yref": self._reference("y", spaces[1]),
                "x0": self._at(self._axes.xaxis, x[0], spaces[0]),
                "x1": self._at(self._axes.xaxis, x[-1], spaces[0]),
                "y0": self._at(self._axes.yaxis, y[0], spaces[1]),
                "y1": self._at(self._axes.yaxis, y[-1], spaces[1]),
                "line": artists.stroke(line),
                "layer": "below" if line.get_zorder() < 2 else "above",
            }
        )

    def _rectangle(self, patch: Rectangle) -> None:
        """Add a range that is marked by its background."""
        spaces = artists.spaces(patch, self._axes)
        if spaces is None:
            raise NotConvertible("Plotly has no Rectangle in other coordinates.")
        (left, bottom), width, height = patch.get_xy(), patch.get_width(), patch.get_height()
        artist_style = legends.style_of(patch)
        self.drawn.append(legends.Drawn(artist_style, [], [len(self.shapes)]))
        colour = artists.colour(_HATCHED if patch.get_hatch() else patch.get_facecolor())
        ends = (left, left + width), (bottom, bottom + height)
        self.shapes.append(self._range(spaces, *ends, colour))

    def _range(
        self, spaces: tuple[Space, Space], across: Any, up: Any, colour: str
    ) -> dict[str, Any]:
        """Return a coloured rectangle behind everything else."""
        x, y = (
            [self._at(axis, end, space) for end in ends]
            for axis, ends, space in zip(
                (self._axes.xaxis, self._axes.yaxis), (across, up), spaces, strict=True
            )
        )
        return {
            "type": "rect",
            "xref": self._reference("x", spaces[0]),
            "yref": self._reference("y", spaces[1]),
            **dict(zip(("x0", "x1", "y0", "y1"), (*x, *y), strict=True)),
            "fillcolor": colour,
            "line": {"width": 0},
            "layer": "below",
        }

    def _area(self, area: Polygon | PolyCollection, paths: Sequence[Path], face: Any) -> None:
        colour = artists.colour(_HATCHED if area.get_hatch() else face)
        x, y = self._outlines([np.asarray(path.vertices) for path in paths])
        self._trace(x, y, _filled(colour), legends.style_of(area, colour))

    def _cells(self, cells: PolyCollection) -> None:
        """Add cells with the colours of their values, and a point in the middle of each."""
        shades = np.rint(np.asarray(cells.norm(cells.get_array())) * _SHADES) / _SHADES  # type: ignore[arg-type]
        corners = [np.asarray(path.vertices) for path in cells.get_paths()]
        for shade in np.unique(shades):
            own = [one for one, value in zip(corners, shades, strict=True) if value == shade]
            # Pages adapt rgb() to a dark theme, but not the hexadecimal colours of a scale.
            style = _filled(to_hex(cells.cmap(shade)))
            # No entry of the legend shows or hides cells.
            self.data.append(self._placed_trace(*self._outlines(own), style))
        # The last corner of a path is the first one again.
        x, y = np.array([one[:-1].mean(axis=0) for one in corners]).T
        middle = self._coordinates(x, y)
        style = {"mode": "markers", "marker": {"size": 6, "opacity": 0}, "hoverinfo": "text"}
        known = attached(cells)
        if known is not None:
            self.points[len(self.data)] = known
            self.data.append(self._placed_trace(*middle, style))

    def _outlines(self, areas: Sequence[np.ndarray]) -> tuple[list[Any], list[Any]]:
        """Return the corners of areas, or the ends of segments, with None between them."""
        x: list[Any] = []
        y: list[Any] = []
        for corners in areas:
            across, up = self._coordinates(*np.reshape(corners, (-1, 2)).T)
            x += [*across, None]
            y += [*up, None]
        return x, y

    def _segments(self, bars: LineCollection) -> None:
        for place, segments in artists.segments_by_colour(bars):
            colour = artists.colour(bars.get_colors()[place])
            # A segment with an unknown end is empty.
            x, y = self._outlines(segments)
            width = round(float(np.atleast_1d(bars.get_linewidth())[0]) * PIXELS, 2)
            style = {"mode": "lines", "line": {"color": colour, "width": width}}
            self._trace(x, y, style, legends.style_of(bars, colour))

    def _text(self, text: Text) -> None:
        if not text.get_text() or text in (
            self._axes.title,
            self._axes._left_title,  # type: ignore[attr-defined]
            self._axes._right_title,  # type: ignore[attr-defined]
        ):
            return
        if isinstance(text, Annotation):
            text.update_positions(self._renderer)
        place = text.get_transform().transform(text.get_unitless_position())
        inside = artists.spaces(text, self._axes)
        if inside == ("data", "data"):
            place, spaces = self._axes.transData.inverted().transform(place), inside
        else:
            place, spaces = self._axes.transAxes.inverted().transform(place), ("axes", "axes")
        across, up = text.get_horizontalalignment(), text.get_verticalalignment()
        self._annotate(
            text.get_text(),
            place,
            spaces,
            across,
            {"baseline": "bottom", "center": "middle", "center_baseline": "middle"}.get(up, up),
            text,
        )

    def _annotate(
        self,
        text: str,
        place: Any,
        spaces: tuple[Space, Space],
        across: str,
        up: str,
        like: Text | None = None,
    ) -> None:
        found: dict[str, Any] = {
            "text": mathtext.markup(text),
            "xref": self._reference("x", spaces[0]),
            "yref": self._reference("y", spaces[1]),
            "x": self._at(self._axes.xaxis, place[0], spaces[0], ranged=True),
            "y": self._at(self._axes.yaxis, place[1], spaces[1], ranged=True),
            "xanchor": across,
            "yanchor": up,
            "showarrow": False,
            "align": across,
        }
        if like is not None:
            found["font"] = {
                "size": round(float(like.get_fontsize()) * PIXELS, 1),
                "color": artists.colour(like.get_color()),
            }
            found["textangle"] = -like.get_rotation()
        self.annotations.append(found)

    def _reference(self, letter: str, space: Space) -> str:
        return f"{letter}{self._name}{'' if space == 'data' else ' domain'}"

    def _at(self, axis: Axis, value: Any, space: Space, *, ranged: bool = False) -> Any:
        if space == "axes":
            return round(float(value), 5)
        put: Callable[..., np.ndarray] = artists.in_range if ranged else artists.placed
        return artists.plain(put(axis, [value]))[0]

    def _second(self, other: SecondaryAxis) -> None:
        """Add a second horizontal axis, whose ticks stand at places of the first."""
        if getattr(other, "_orientation") != "x":  # noqa: B009
            raise NotConvertible("Plotly has no second vertical axis.")
        # Several stand above each other.
        height = other.transAxes.transform((0, 0))[1] * self._scale
        up = float((height - self.box.y0) / self.box.height)
        name = len(self.panels) + 1 + sum("overlaying" in one for one in self.layout.values())
        self.layout[f"xaxis{name}"] = {
            **second_layout(other, self._axes, self.layout[f"xaxis{self._name}"]),
            "position": round(up, 5),
            "overlaying": f"x{self._name}",
            "matches": f"x{self._name}",
        }
        # An axis without a trace is not shown.
        self.data.append(
            {
                "x": [None],
                "y": [None],
                "xaxis": f"x{name}",
                "yaxis": f"y{self._name}",
                "mode": "lines",
            }
        )

    def _trace(
        self,
        x: Sequence[Any],
        y: Sequence[Any],
        style: dict[str, Any],
        artist_style: legends.ArtistStyle,
        known: Points | None = None,
    ) -> None:
        index = len(self.data)
        trace = self._placed_trace(x, y, style)
        if known is not None:
            self.points[index] = known
            trace["hoverinfo"] = "text"
        if artist_style.label:
            trace["name"] = mathtext.plain(artist_style.label)
        self.data.append(trace)
        self.drawn.append(legends.Drawn(artist_style, [index]))

    def _placed_trace(
        self, x: Sequence[Any], y: Sequence[Any], style: dict[str, Any]
    ) -> dict[str, Any]:
        return {
            "x": artists.short(x),
            "y": artists.short(y),
            "xaxis": f"x{self._name}",
            "yaxis": f"y{self._name}",
            "hoverinfo": "skip",
            **style,
        }


def _filled(colour: str) -> dict[str, Any]:
    return {"mode": "lines", "line": {"width": 0}, "fill": "toself", "fillcolor": colour}
