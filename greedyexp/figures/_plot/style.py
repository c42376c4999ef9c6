"""The common style of all figures, and the styles of their lines."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from greedyexp.figures._plot.methods import COLOURS, MARKERS, method_styles, style_at
from greedyexp.results.context import Context
from greedyexp.results.text import group_text
from greedyexp.results.words import metric_title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.lines import Line2D

# Keyword arguments of a matplotlib artist.
Style = dict[str, Any]

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")

# Dashes of second keys, bounds and predictions.
LINES: tuple = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)))

# Distance between the intervals of two lines at one x, in points. That of the outermost from x is
# smaller where x has many values.
_STEP, _LEAST_SHIFTED, _MOST_SHIFTED, _ALL_SHIFTED = 2.0, 3.0, 8.0, 30.0

# Colour of legend entries for lines of several colours.
GREY = "0.3"

SETTINGS: Any = {
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.formatter.use_mathtext": True,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "legend.columnspacing": 1.4,
    "legend.borderpad": 0.15,
    "legend.borderaxespad": 0.1,
    # The largest width of a figure in inches, at which a page shows its text in full size.
    "figure.figsize": (9.0, 6.0),
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    # Keep text as text in the PDF, so that it can be searched.
    "pdf.fonttype": 42,
    # The same figure gives the same SVG.
    "svg.hashsalt": "greedyexp",
}


# What differs for print, with the fonts of TeX's text, and for projection.
STYLES: dict[str, Any] = {
    "": {},
    "paper": {
        "font.family": "STIXGeneral",
        "mathtext.fontset": "stix",
        "figure.figsize": (7.0, 6.0),
        "savefig.dpi": 600,
    },
    "slides": {
        **dict.fromkeys(("font.size", "axes.titlesize", "axes.labelsize", "legend.fontsize"), 16),
        **dict.fromkeys(("xtick.labelsize", "ytick.labelsize"), 14),
        "lines.linewidth": 2.4,
        "lines.markersize": 7,
        "figure.figsize": (13.0, 6.0),
    },
}


def use_style(name: str = "", width: float | None = None) -> None:
    """Reset matplotlib's defaults and apply the settings of a style.

    Parameters
    ----------
    name : {"", "paper", "slides"}
    width : float, optional
        Largest width of a figure in inches. Text keeps its size.
    """
    import matplotlib

    matplotlib.rcdefaults()
    matplotlib.rcParams.update(SETTINGS | STYLES[name])
    if width is not None:
        matplotlib.rcParams["figure.figsize"] = (width, 6.0)


def small_text() -> float:
    """Return the size of secondary text in points."""
    from matplotlib import rcParams

    return float(rcParams["font.size"]) - 1.5


def cycle(names: Sequence[Key], items: Sequence[Item]) -> dict[Key, Item]:
    """Assign items to names in the given order, and start over if there are more names."""
    return {name: items[i % len(items)] for i, name in enumerate(names)}


def shades(levels: Sequence[Key]) -> dict[Key, str]:
    """Assign colours from dark to light to ordered values; the lightest is still legible."""
    import matplotlib

    places = np.linspace(0.0, 0.88, len(levels)) if len(levels) > 1 else [0.35]
    colours: Any = matplotlib.colormaps["viridis"](places)
    return dict(zip(levels, map(matplotlib.colors.to_hex, colours), strict=True))


def legend_entry(label: str, *, color: Any = GREY, **style: Any) -> Line2D:
    """Return a legend entry with the style of a line."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, color=color, **style)


class LineStyles:
    """The styles of lines that are separated by one or two columns.

    The first column has colour, marker and dashes. Algorithms have those of ``method_styles``,
    numbers get shades from dark to light, and words get the colours of the palette in the order of
    the experiment. A second column takes over the dashes, or the markers if lines are not dashed.

    Parameters
    ----------
    table : DataFrame
        A table with at least one row for every line.
    line : sequence of one or two str
        The columns that separate lines.
    context : Context
    dashed : bool
        False in figures whose dashes distinguish bounds from measurements: all lines are solid.
    places : int, optional
        Number of values along the horizontal axis. Where they are few, lines are shifted further.
    """

    def __init__(
        self,
        table: pd.DataFrame,
        line: Sequence[str],
        context: Context,
        *,
        dashed: bool = True,
        places: int | None = None,
    ):
        self.line = list(line)
        room = _ALL_SHIFTED / places if places else 0.0
        self._outermost = min(max(room, _LEAST_SHIFTED), _MOST_SHIFTED)
        self.dashed = dashed
        self.levels = [_levels(table[column], column, context) for column in line]
        self._context = context
        first = self.levels[0]
        self._first = _styles_of(line[0], first, context)
        self.colours: dict[Any, str] = {level: self._first[level]["color"] for level in first}
        self._second: dict[Any, Style] = {}
        if len(line) > 1:
            if dashed:
                # The largest value gets a solid line: it is closest to the asymptotic statement.
                self.levels[1].reverse()
            name, looks = ("linestyle", LINES) if dashed else ("marker", MARKERS)
            self._second = {
                level: {name: look} for level, look in cycle(self.levels[1], looks).items()
            }

    def first(self, value: Any) -> Style:
        """Return colour, dashes and marker of a value of the first column."""
        return dict(self._first[value])

    def of(self, *key: Any) -> Style:
        """Return the style of the line with these values in its columns."""
        style = self._first[key[0]] | (self._second[key[1]] if len(key) > 1 else {})
        solid: Style = {} if self.dashed else {"linestyle": "-"}
        values = dict(zip(self.line, key, strict=True))
        return style | solid | {"label": group_text(values, self._context)}

    def keys(self, rows: pd.DataFrame) -> list[tuple]:
        """Return the lines in the rows, ordered by the first column."""
        present = set(rows[self.line].itertuples(index=False, name=None))
        return sorted(present, key=self._indices)

    def _indices(self, key: Sequence) -> list[int]:
        return [levels.index(value) for levels, value in zip(self.levels, key, strict=True)]

    def marker_phase(self, key: Sequence, step: float) -> tuple[float, float]:
        """Return a ``markevery`` that places the markers of each line at different positions."""
        first, *second = self._indices(key)
        rank = first + (len(self.levels[0]) * second[0] if second else 0)
        return (step * (0.15 + 0.3 * rank) % step, step)

    def __len__(self) -> int:
        """Return the largest possible number of lines."""
        return len(self.colours) * max(1, len(self._second))

    def shift(self, *key: Any) -> float:
        """Return how far a line or its intervals are shifted to the right, in points."""
        # Lines of one colour are nearest in y, so they are shifted furthest apart in x.
        second = self.levels[1] if len(self.levels) > 1 else [None]
        keys = [(f,) if s is None else (f, s) for s in second for f in self.levels[0]]
        middle = (len(keys) - 1) / 2
        return (keys.index(key) - middle) * min(_STEP, self._outermost / middle if middle else 0.0)

    def legends(self, metrics: Mapping[str, str] | None = None) -> list[list[Line2D]]:
        """Return the entries of the legend of the first column, and of the second column.

        Parameters
        ----------
        metrics : mapping of str to str, optional
            The metric of each algorithm, written in brackets after its title if they differ.
        """
        metrics = metrics if metrics and len(set(metrics.values())) > 1 else {}
        metrics = metrics if self.line[0] == "algorithm" else {}
        handles = []
        for value in self.levels[0]:
            label = group_text({self.line[0]: value}, self._context)
            label += f" ({metric_title(metrics[value])})" if value in metrics else ""
            solid: Style = {"linestyle": "-"} if self._second or not self.dashed else {}
            unmarked: Style = {"marker": None} if self._second and not self.dashed else {}
            handles.append(legend_entry(label, **self._first[value] | solid | unmarked))
        second = []
        # Dashes are given out from the last value to the first.
        given = list(self._second.items())
        for value, look in reversed(given) if self.dashed else given:
            label = group_text({self.line[1]: value}, self._context)
            unjoined: Style = {} if self.dashed else {"linestyle": "none"}
            second.append(legend_entry(label, **unjoined, **look))
        return [handles, second]


def _styles_of(column: str, levels: Sequence[Key], context: Context) -> dict[Key, Style]:
    """Return colour, dashes and marker of each value of a column."""
    if column == "algorithm":
        known: Any = method_styles(context, map(str, levels))
        return {level: known[level] for level in levels}
    styles = {}
    for place, level in enumerate(levels):
        turn, number = divmod(place, len(COLOURS))
        styles[level] = style_at(number, turn)
    if not isinstance(levels[0], str):
        for level, colour in shades(levels).items():
            styles[level]["color"] = colour
    return styles


def _levels(column: pd.Series, name: str, context: Context) -> list:
    """Return the values: numbers sorted, words in the order of the experiment."""
    levels = sorted(column.unique())
    return context.in_order(name, levels) if isinstance(levels[0], str) else levels
