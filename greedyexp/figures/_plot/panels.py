"""Grids of panels with title, legends and notes, and the parameters that choose them."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from greedyexp.figures._plot.coincident import coincident_text, show_coincident
from greedyexp.results.context import Context
from greedyexp.results.text import group_text, sentences

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

# Parameters of figures.
Panel = Annotated[str | None, Field(description="column with one panel per value")]
Row = Annotated[str | None, Field(description="column with one row of panels per value")]
Line = Annotated[
    list[str], Field(min_length=1, max_length=2, description="columns that distinguish lines")
]
X = Annotated[str, Field(description="column along the horizontal axis")]
Scale = Annotated[Literal["linear", "log"], Field(description="scale of the horizontal axis")]
IterationScale = Annotated[Literal["linear", "log"], Field(description="scale of the iterations")]

# Sizes in inches for text of 9 points: what is left of all panels, and above and below each.
_LEFT, _AROUND = 0.75, 0.5
_GAP = 0.04
# Distance between a panel and its title in points.
_PAD = 4.0
# Widths of a panel in inches.
_NARROWEST, _WIDEST, _ALONE = 1.9, 3.4, 4.6
# Panels in a row, and in a row of a grid.
_MOST, _MOST_IN_GRID = 3, 4
# Height of a panel over its width, and its limits in inches.
_ASPECT, _LOWEST, _HIGHEST = 0.8, 1.6, 3.0
# Average width of a character over its size.
_CHARACTER = 0.53
# How much wider bold characters are.
_BOLD = 1.2
# Preferred places for a line break in the note.
_CLAUSE_END = re.compile(r"(?<=[.:;,]) ")
_SINGLE_WORD = re.compile(r"(?<=, )(\w+:) ")
_UNBROKEN = "\N{NO-BREAK SPACE}"


class Panels:
    """A figure with a grid of panels, as wide as they need but at most as wide as the style allows.

    Text has the same size whatever the width: rows of panels that do not fit are broken.

    Parameters
    ----------
    rows : list of rows, each a list
        The values shown in each panel. All rows have the same length.
    height : float, optional
        Height of one panel in inches; in proportion to its width if None.
    sharex : bool or "row"
        Panels that share their horizontal axis: all, those of each row, or none.
    sharey : bool
        Share one vertical axis among all panels.
    """

    def __init__(
        self,
        rows: Sequence[Sequence[Any]],
        *,
        height: float | None = None,
        sharex: bool | Literal["row"] = True,
        sharey: bool = True,
    ):
        from matplotlib import rcParams
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        unit = rcParams["font.size"] / 9.0
        room = rcParams["figure.figsize"][0] - _LEFT * unit
        most = _MOST if len(rows) == 1 else _MOST_IN_GRID
        most = min(most, max(1, int(room / (_NARROWEST * unit))))
        grid = [part for row in rows for part in wrapped(row, most)]
        columns = len(grid[0])
        width = min(room / columns, (_ALONE if columns == 1 else _WIDEST) * unit)
        if height is None:
            height = min(max(_ASPECT * width, _LOWEST * unit), _HIGHEST * unit)
        self._size = (width, height)
        size = (_LEFT * unit + width * columns, (height + _AROUND * unit) * len(grid))
        # Do not use pyplot, which needs a backend and keeps figures open.
        self._layout = ConstrainedLayoutEngine()
        self.figure = Figure(figsize=size, layout=self._layout)
        FigureCanvasAgg(self.figure)
        self.axes = self.figure.subplots(
            len(grid), columns, sharex=sharex, sharey=sharey, squeeze=False
        )
        self._broken = len(grid) > len(rows)
        self._names: dict[Axes, str] = {}
        self._above = 0.0
        self._shown = list(zip(self.axes.flat, chain.from_iterable(grid), strict=True))
        for axis, shown in self._shown:
            axis.set_visible(shown is not None)

    @classmethod
    def by_columns(
        cls, frame: pd.DataFrame, context: Context, row: str | None, panel: str | None, **size: Any
    ) -> Panels:
        """Return a row of panels for each value of ``row``, with one for each value of ``panel``.

        Numbers are sorted; words keep the order of the experiment file or of the table. ``size``
        are other parameters of ``Panels``.
        """
        return cls(
            [
                [
                    {column: value for column, value in ((row, i), (panel, j)) if column}
                    for j in panel_levels(frame, panel, context)
                ]
                for i in panel_levels(frame, row, context)
            ],
            **size,
        )

    def __iter__(self) -> Iterator[tuple[Axes, Any]]:
        """Yield each panel and the values that it shows."""
        return ((axis, shown) for axis, shown in self._shown if shown is not None)

    def title(
        self,
        axis: Axes,
        values: Mapping[str, Any],
        context: Context,
        *,
        pad: float = _PAD,
        above: float = 0.0,
    ) -> None:
        """Write the values of a panel; in a grid, once for each row and column.

        Parameters
        ----------
        pad : float
            Distance from the panel in points, such as for text above it.
        above : float
            Height of another axis along the top in points, above which matplotlib puts the title.
        """
        from matplotlib import rcParams

        self._names[axis] = group_text(values, context)
        self._above = max(self._above, (pad - _PAD + above) / 72)
        if len(values) < 2 or self._broken:
            axis.set_title(self._names[axis], pad=pad)
            return
        (row, left), (panel, top) = values.items()
        if axis in self.axes[0]:
            axis.set_title(group_text({panel: top}, context), pad=pad)
        if axis in self.axes[:, 0]:
            axis.annotate(
                group_text({row: left}, context),
                (0, 0.5),
                (-5, 0),
                xycoords=(axis.yaxis.label, "axes fraction"),
                textcoords="offset points",
                ha="right",
                va="center",
                rotation="vertical",
                fontsize=rcParams["axes.titlesize"],
            )

    @property
    def height(self) -> float:
        """Height of a panel in points."""
        return 72 * self._size[1]

    def label(self, x: str, y: str) -> None:
        """Label the axes of the outer panels; long labels are broken to fit."""
        x, y = _fitted(x, self._size[0]), _fitted(y, self._size[1])
        for axis in self.axes[:, 0]:
            axis.set_ylabel(y)
        for column in self.axes.T:
            # The place below the last panel may be empty.
            axis = [axis for axis in column if axis.get_visible()][-1]
            axis.tick_params(labelbottom=True)
            axis.set_xlabel(x)

    def label_panel(self, axis: Axes, x: str, y: str) -> None:
        """Label the axes of one panel; long labels are broken to fit."""
        axis.tick_params(labelbottom=True)
        axis.set_xlabel(_fitted(x, self._size[0]))
        axis.set_ylabel(_fitted(y, self._size[1]))

    def colour_bar(
        self, colours: Sequence[str] | str, label: str, texts: Sequence[str] = ()
    ) -> None:
        """Draw a bar to the right of all panels.

        Parameters
        ----------
        colours : sequence of colour, or str
            Colours from bottom to top, or the name of a map of colours from 0 to 1.
        texts : sequence of str
            The text next to each colour.
        """
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import ListedColormap, Normalize

        steps = colours if isinstance(colours, str) else ListedColormap(list(colours))
        ends = (-0.5, len(texts) - 0.5) if texts else (0.0, 1.0)
        bar = self.figure.colorbar(
            ScalarMappable(Normalize(*ends), steps),
            ax=list(self.axes.flat),
            aspect=(14 if texts else 18) * len(self.axes),
            pad=0.02,
            label=label,
        )
        if texts:
            bar.set_ticks(list(range(len(texts))), labels=texts)
            bar.ax.tick_params(length=0)
        bar.outline.set_visible(False)

    def finish(
        self, *legends: Sequence[Artist], title: str = "", note: Sequence[str] = ()
    ) -> Figure:
        """Add title, legends and notes, and return the figure, which grows by their height.

        Curves that coincide are made visible and named in the note.

        Parameters
        ----------
        *legends : sequence of artists
            One legend for each encoding, such as one for colours and one for dashes.
        title : str
            What tells this figure apart from others of the experiment.
        note : sequence of str
            Lines below the panels, broken to the width of the figure, each with a full stop at its
            end; empty ones are left out.
        """
        from matplotlib import rcParams

        figure, size = self.figure, rcParams["font.size"]
        groups = [(self._name(axis), show_coincident(axis)) for axis, _ in self]
        alike = (_alike_text(handles) for handles in legends)
        said = sentences([*note, coincident_text(groups), *alike])
        width = int(self._characters(size - 1))
        lines = [part for line in said for part in _broken(line, width)]
        figure.supxlabel("\n".join(lines), fontsize=size - 1, color="0.35")
        tops = [_GAP]
        headings = textwrap.wrap(title, int(self._characters(size + 1) / _BOLD))
        if headings:
            tops.append((0.3 + 1.3 * len(headings)) * size / 72)
        for handles in legends:
            if handles:
                legend = self._legend(handles)
                tops.append(legend.get_window_extent().height / figure.dpi)
        height = figure.get_figheight() + sum(tops) + 1.5 * len(lines) * size / 72
        height += self._above * len(self.axes)
        figure.set_figheight(height)
        if headings:
            heading = figure.suptitle(
                "\n".join(headings), y=1 - _GAP / height, fontsize=size + 1, fontweight="bold"
            )
            heading.set_in_layout(False)
        below = tops[: 2 if headings else 1]
        for legend, top in zip(figure.legends, tops[len(below) :], strict=True):
            legend.set_bbox_to_anchor((0.5, 1 - sum(below) / height))
            below.append(top)
        self._layout.set(rect=(0, 0, 1, 1 - sum(tops) / height))
        return figure

    def _name(self, axis: Axes) -> str:
        return self._names.get(axis) or " ".join(axis.get_ylabel().split())

    def _legend(self, handles: Sequence[Artist]) -> Legend:
        """Draw a legend in as few rows as fit, filled evenly, to be read row by row."""
        count = len(handles)
        widths = sorted(range(1, count + 1), key=lambda k: (math.ceil(count / k), k))
        for columns in widths:
            # Matplotlib fills the columns one after the other.
            given = [handle for column in range(columns) for handle in handles[column::columns]]
            legend = self.figure.legend(handles=given, loc="upper center", ncols=columns)
            width = legend.get_window_extent().width / self.figure.dpi
            if columns == 1 or width <= self.figure.get_figwidth():
                break
            legend.remove()
        return legend

    def _characters(self, size: float) -> float:
        """Return how many characters of a size in points the figure is wide."""
        return float(self.figure.get_figwidth() * 72 / (_CHARACTER * size))


def _alike_text(handles: Sequence[Artist]) -> str:
    """Name the entries of a legend that look alike; empty if there are none."""
    labels: dict[Any, list[str]] = {}
    for handle in handles:
        labels.setdefault(_look(handle), []).append(str(handle.get_label()))
    texts = [" and ".join(alike) for alike in labels.values() if len(alike) > 1]
    return f"Entries of the legend that look alike: {'; '.join(texts)}." if texts else ""


def _look(handle: Artist) -> tuple[Any, ...]:
    """Return all that tells one entry of a legend from another."""
    from matplotlib.lines import Line2D

    names = ["facecolor", "edgecolor", "linestyle", "hatch", "alpha"]
    if isinstance(handle, Line2D):
        names = ["color", "linestyle", "linewidth", "marker", "markersize", "markerfacecolor"]
    values = [str(getattr(handle, f"get_{name}", lambda: "")()) for name in names]
    # All dashes of one's own are "--" otherwise.
    return (*values, getattr(handle, "_unscaled_dash_pattern", None))


def _fitted(label: str, inches: float) -> str:
    """Break the label of an axis into two lines if it is longer than the axis."""
    from matplotlib import rcParams

    # A formula is not broken. Its commands are letters, but for the logarithm and small spaces.
    pieces = re.findall(r"(?:\$[^$]*\$|[^\s$])+", label)
    shown = [re.sub(r"[$\\{}]|\\,", "", re.sub(r"\\(?!log)[a-z]+", "x", one)) for one in pieces]
    sizes = [len(one) + 1 for one in shown]
    if sum(sizes) * _CHARACTER * rcParams["font.size"] / 72 <= inches:
        return label
    rests = [abs(sum(sizes[:k]) - sum(sizes[k:])) for k in range(1, len(pieces))]
    if not rests:
        return label
    first = 1 + rests.index(min(rests))
    return f"{' '.join(pieces[:first])}\n{' '.join(pieces[first:])}"


def wrapped(shown: Sequence, most: int) -> list[list]:
    """Arrange panels in as few rows as fit, filled evenly; None fills the rest."""
    rows = math.ceil(len(shown) / most)
    columns = math.ceil(len(shown) / rows)
    padded = [*shown, *[None] * (rows * columns - len(shown))]
    return [padded[i * columns : (i + 1) * columns] for i in range(rows)]


def inside(table: pd.DataFrame, values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows of a panel or a line."""
    import pandas as pd

    keep = pd.Series(True, index=table.index)
    for column, value in values.items():
        keep &= table[column] == value
    return table[keep]


def _broken(line: str, width: int) -> list[str]:
    """Break a line into parts of at most ``width`` characters, between clauses if possible."""
    parts: list[str] = []
    # A single word that ends in a colon stays with what follows.
    line = _SINGLE_WORD.sub(f"\\1{_UNBROKEN}", line)
    for clause in _CLAUSE_END.split(line):
        if parts and len(parts[-1]) + 1 + len(clause) <= width:
            parts[-1] += f" {clause}"
        else:
            parts += textwrap.wrap(clause, width, break_on_hyphens=False)
    return [part.replace(_UNBROKEN, " ") for part in parts]


def panel_levels(frame: pd.DataFrame, column: str | None, context: Context) -> list:
    """Return the values of a column in the order of panels; [None] without a column."""
    if column is None:
        return [None]
    levels = list(frame[column].unique())
    return context.in_order(column, levels) if isinstance(levels[0], str) else sorted(levels)
