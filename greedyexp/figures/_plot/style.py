"""Colours, markers and dashes: the common style of all figures and the styles of their lines."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from greedyexp.results.context import Context
from greedyexp.results.text import group_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.lines import Line2D

# Keyword arguments of a matplotlib artist.
Style = dict[str, Any]

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")

# Okabe & Ito's colours, which colour-blind readers can distinguish; markers repeat the distinction
# for greyscale prints.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)))

# Colour of legend entries for lines of several colours.
GREY = "0.3"

SETTINGS: Any = {
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    # Keep text as text in the PDF, so that it can be searched.
    "pdf.fonttype": 42,
}


def use_style() -> None:
    """Reset matplotlib's defaults and apply the settings."""
    import matplotlib

    matplotlib.rcdefaults()
    matplotlib.rcParams.update(SETTINGS)


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

    Colour and marker show the first column. A second column is shown by dashes, or by markers
    in figures whose dashes distinguish bounds from measurements.

    Parameters
    ----------
    table : DataFrame
        A table with at least one row for every line.
    line : sequence of one or two str
        The columns that separate lines.
    second : {"linestyle", "marker"}
        With "marker", numbers in the first column get shades from dark to light.
    """

    def __init__(
        self,
        table: pd.DataFrame,
        line: Sequence[str],
        second: Literal["linestyle", "marker"] = "linestyle",
    ):
        self.line = list(line)
        self.dashed = second == "linestyle"
        self.levels = [_levels(table[column], self.dashed) for column in line]
        if self.dashed and len(line) > 1:
            # The largest value gets a solid line, since it is closest to the asymptotic statement.
            self.levels[1].reverse()
        first = self.levels[0]
        numbers = not self.dashed and not isinstance(first[0], str)
        self.colours: dict[Any, str] = shades(first) if numbers else cycle(first, COLOURS)
        self._markers = cycle(first if self.dashed else self.levels[-1], MARKERS)
        self._dashes = cycle(self.levels[1] if len(line) > 1 else [None], DASHES)

    def of(self, *key: Any) -> Style:
        """Return the style of the line with these values in its columns."""
        if not self.dashed:
            return {"color": self.colours[key[0]], "marker": self._markers[key[-1]]}
        dash = self._dashes[key[1] if len(key) > 1 else None]
        return {"color": self.colours[key[0]], "marker": self._markers[key[0]], "linestyle": dash}

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
        return len(self.colours) * len(self._dashes)

    def offsets(self, width: float) -> dict[tuple, float]:
        """Return a shift of each line along x that avoids overlaps of intervals.

        Parameters
        ----------
        width : float
            Distance between the outermost lines, in units of x.
        """
        # Lines of one colour are nearest in y, so they are shifted furthest apart in x.
        second = self.levels[1] if len(self.levels) > 1 else [None]
        keys = [(f,) if s is None else (f, s) for s in second for f in self.levels[0]]
        return {
            key: width * (i / (len(keys) - 1) - 0.5) if len(keys) > 1 else 0.0
            for i, key in enumerate(keys)
        }

    def handles(self, context: Context, metrics: Mapping[str, str] | None = None) -> list[Line2D]:
        """Return a legend entry for each value of the first column and of the second column.

        Parameters
        ----------
        metrics : mapping of str to str, optional
            The metric of each algorithm, written in brackets after its title.
        """
        metrics = (metrics or {}) if self.line[0] == "algorithm" else {}
        single = self.dashed or len(self.line) == 1
        handles = []
        for value, colour in self.colours.items():
            label = group_text({self.line[0]: value}, context)
            label += f" ({metrics[value].replace('_', ' ')})" if value in metrics else ""
            marker = self._markers[value] if single else None
            handles.append(legend_entry(label, color=colour, marker=marker))
        for value in self.levels[1] if len(self.line) > 1 else ():
            style: Style = {"linestyle": "none", "marker": self._markers.get(value)}
            if self.dashed:
                style = {"linestyle": self._dashes[value]}
            label = group_text({self.line[1]: value}, context)
            handles.append(legend_entry(label, **style))
        return handles


def _levels(column: pd.Series, by_size: bool) -> list:
    """Return the values: numbers sorted, words in the order of the table or sorted."""
    levels = list(column.unique())
    return levels if isinstance(levels[0], str) and not by_size else sorted(levels)
