"""The SVG of a figure for a page: small, without styles, and with the places of its points.

matplotlib draws it with text as text. Styles become attributes, since the policy of the pages
forbids styles inside of them. Marks and entries of the legend name each other, so that the script
of the page can show and hide marks.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from xml.etree.ElementTree import Element, SubElement, fromstring, register_namespace, tostring

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from greedyexp.figures._plot.points import Points, attached
from greedyexp.report.site.legends import entries_of, is_colour_bar, marks_of, styles_of

register_namespace("", "http://www.w3.org/2000/svg")
register_namespace("xlink", "http://www.w3.org/1999/xlink")
_SVG = "{http://www.w3.org/2000/svg}"
_METADATA, _STYLE = f"{_SVG}metadata", f"{_SVG}style"
# Attributes that name other elements, and those with numbers.
_LINKS = ("{http://www.w3.org/1999/xlink}href", "clip-path")
_NUMBERS = ("d", "x", "y", "transform")
_NAMED = re.compile(r"^(?:url\()?#(\w+)")
# The widths of Verdana are nearly those of matplotlib's font.
_FONTS = "DejaVu Sans, Verdana, sans-serif"
_NUMBER = re.compile(r"-?\d+\.\d+")
# Points outside of the panel by less than this many units are on its edge.
_EDGE = 1.0


@dataclass(frozen=True)
class Series:
    """The points of a curve, or the cells of a heat map.

    Parameters
    ----------
    points : Points
        What is known of each point.
    places : array of shape (points, 2)
        Where they are in the units of the SVG; nan if they are not shown.
    sizes : array of shape (points, 2)
        Widths and heights of cells; zeros for points of curves.
    entries : list of int
        Entries of the legend that hide them.
    """

    points: Points
    places: np.ndarray
    sizes: np.ndarray
    entries: list[int]


def svg_of(figure: Figure, name: str, about: str = "", label: str = "") -> tuple[str, list[Series]]:
    """Return the SVG of a figure whose layout is final, and its series.

    Parameters
    ----------
    figure : Figure
    name : str
        The start of all ids, which must differ between the figures of a page.
    about : str
        Metadata of the file.
    label : str
        What those hear who do not see the figure.
    """
    entries = list(entries_of(figure))
    texts = {entry.text.get_text() for entry in entries}
    height = float(figure.get_figheight()) * 72
    hidden: dict[str, list[list[int]]] = {}
    series = []
    for axes in (axes for axes in figure.axes if axes.get_visible() and not is_colour_bar(axes)):
        for mark in marks_of(axes):
            own = [
                [place for place, entry in enumerate(entries) if entry.marks(style, texts)]
                for style in styles_of(mark)
            ]
            mark.set_gid(f"mark{len(hidden)}")
            hidden[str(mark.get_gid())] = own
            known = attached(mark)
            if known is not None:
                places, sizes = _places(mark, 72 / figure.dpi, height)
                series.append(Series(known, places, sizes, own[0] if own else []))
    used = {place for own in hidden.values() for places in own for place in places}
    for place in used:
        for part, artist in (("text", entries[place].text), ("handle", entries[place].handle)):
            if artist is not None:
                artist.set_gid(f"{part}{place}")
    root = _drawn(figure)
    parents = {child: parent for parent in root.iter() for child in parent}
    by_id = {element.get("id", ""): element for element in root.iter()}
    for gid, own in hidden.items():
        _name_entries(by_id.get(gid), own)
    for place in used:
        _make_button(by_id, parents, place)
    _clean(root, name)
    root.attrib.update({"role": "group", "aria-label": label, "font-family": _FONTS})
    root.insert(0, Element(_METADATA))
    root[0].text = about
    return tostring(root, "unicode"), series


def _drawn(figure: Figure) -> Element:
    stream = io.BytesIO()
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    root = fromstring(stream.getvalue())  # noqa: S314 - drawn above
    width, height = (float(number) for number in str(root.get("viewBox")).split()[2:])
    # Pixels of browsers in a point.
    root.set("width", f"{width * 96 / 72:.0f}")
    root.set("height", f"{height * 96 / 72:.0f}")
    return root


def _places(mark: Artist, scale: float, height: float) -> tuple[np.ndarray, np.ndarray]:
    """Return where the points of a line, or the middles of cells, are, and the sizes of cells."""
    transform = mark.get_transform()
    if isinstance(mark, Line2D):
        pixels = transform.transform(np.column_stack(mark.get_data(orig=False)))
        sizes = np.zeros_like(pixels)
    else:
        assert isinstance(mark, PolyCollection)
        # The last corner of a path is the first one again.
        corners = [transform.transform(np.asarray(path.vertices)[:-1]) for path in mark.get_paths()]
        pixels = np.array([cell.mean(axis=0) for cell in corners]).reshape(-1, 2)
        sizes = np.array([np.ptp(cell, axis=0) for cell in corners]).reshape(-1, 2)
    if mark.get_clip_on() and mark.axes is not None:
        low, high = np.reshape(mark.axes.bbox.padded(_EDGE / scale).extents, (2, 2))
        outside = ((pixels < low) | (pixels > high)).any(axis=1, keepdims=True)
        pixels = np.where(outside, np.nan, pixels)
    places = pixels * scale
    places[:, 1] = height - places[:, 1]
    return places, sizes * scale


def _name_entries(element: Element | None, entries: list[list[int]]) -> None:
    """Write into a mark, or into each of its segments, which entries hide it."""
    if element is None:
        return
    if not entries:
        # Browsers would leave gaps between cells.
        element.set("shape-rendering", "crispEdges")
    parts = [element]
    if len(entries) > 1:
        parts = [child for child in element if child.tag != f"{_SVG}defs"]
    # A segment with an unknown end is not drawn, and then segments cannot be told apart.
    for part, places in zip(parts, entries, strict=False):
        if places:
            part.set("data-entries", " ".join(map(str, places)))


def _make_button(
    by_id: dict[str, Element],
    parents: dict[Element, Element],
    place: int,
) -> None:
    """Make a button of an entry of a legend."""
    found = (by_id.get(f"{part}{place}") for part in ("handle", "text"))
    parts = [part for part in found if part is not None]
    if not parts:
        return
    home = parents[parts[-1]]
    about = {"role": "button", "tabindex": "0", "aria-pressed": "true", "data-entry": str(place)}
    button = Element(f"{_SVG}g", about)
    home.insert(list(home).index(parts[-1]), button)
    for part in parts:
        parents[part].remove(part)
        button.append(part)


def _clean(root: Element, name: str) -> None:
    """Turn styles into attributes, shorten numbers, and prefix the ids that are used."""
    links = [element.get(key, "") for element in root.iter() for key in _LINKS]
    used = {found for link in links for found in _NAMED.findall(link)}
    for element in root.iter():
        for child in [child for child in element if child.tag in (_METADATA, _STYLE)]:
            element.remove(child)
        for setting in filter(None, map(str.strip, element.attrib.pop("style", "").split(";"))):
            key, _, value = setting.partition(":")
            element.set(key.strip(), value.strip())
        if element.get("font-family", "").startswith("'DejaVu Sans'"):
            del element.attrib["font-family"]
        gid = element.attrib.pop("id", "")
        if gid in used:
            element.set("id", f"{name}-{gid}")
        for key in _LINKS:
            if _NAMED.search(element.get(key, "")):
                element.set(key, element.attrib[key].replace("#", f"#{name}-", 1))
        for key in element.attrib.keys() & set(_NUMBERS):
            element.set(key, _short(element.attrib[key]))
        if len(element) and (element.text or "").isspace():
            element.text = None
        element.tail = None
    for text in list(root.iter(f"{_SVG}text")):
        _order(text)
    # matplotlib writes it as a style of all elements.
    root.attrib.update({"stroke-linejoin": "round", "stroke-linecap": "butt"})


def _short(text: str) -> str:
    """Return coordinates or a path with two decimals and without the blanks around letters."""
    shorter = _NUMBER.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), text)
    return re.sub(r"\s*\b([A-Za-z])\b\s*|\s*(?<=\d)([A-Za-z])\s*", r"\1\2", shorter)


def _order(text: Element) -> None:
    """Write the letters of a formula in the order of reading.

    matplotlib writes them in the order of their styles.
    """
    letters: list[tuple[float, dict[str, str], str]] = []
    for span in text:
        about, word = dict(span.attrib), span.text or ""
        places = list(map(float, about.pop("x", "").split()))
        if len(places) != len(word):
            return
        letters += [(x, about, letter) for x, letter in zip(places, word, strict=True)]
    text[:] = []
    letters.sort(key=itemgetter(0))
    for about, group in groupby(letters, key=itemgetter(1)):
        line = list(group)
        span = SubElement(text, f"{_SVG}tspan", about | {"x": " ".join(f"{x:g}" for x, *_ in line)})
        span.text = "".join(letter for *_, letter in line)
