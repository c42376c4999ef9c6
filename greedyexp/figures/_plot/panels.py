"""Grids of panels with one legend and one note, and the parameters that choose panels and lines."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from greedyexp.results.context import Context
from greedyexp.results.text import group_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

# Parameters of figures.
Panel = Annotated[str | None, Field(description="column with one panel per value")]
Row = Annotated[str | None, Field(description="column with one row of panels per value")]
Line = Annotated[
    list[str], Field(min_length=1, max_length=2, description="columns that distinguish lines")
]
X = Annotated[str, Field(description="column along the horizontal axis")]
Scale = Annotated[Literal["linear", "log"], Field(description="scale of the horizontal axis")]
IterationScale = Annotated[Literal["linear", "log"], Field(description="scale of the iterations")]

# Characters of the note that fit into one inch.
_NOTE_DENSITY = 20
# Preferred places for a line break in the note.
_CLAUSE_END = re.compile(r"(?<=[.:;,]) ")
# Largest width of a row of panels in inches: a wider figure would be shrunk, and its text with it.
_MAX_WIDTH = 13.0


class Panels:
    """A figure with a grid of panels.

    Parameters
    ----------
    grid : list of rows, each a list of dict or None
        The values shown in each panel, from ``wrapped``; None leaves a place empty.
    width, height : float
        Size of one panel in inches.
    min_width : float, optional
        Smallest width of a panel in a long row; ``width`` if None.
    sharex : bool or "row"
        Panels that share their horizontal axis: all, those of each row, or none.
    sharey : bool
        Share one vertical axis among all panels.
    """

    def __init__(
        self,
        grid: list[list],
        *,
        width: float = 3.4,
        height: float = 2.6,
        min_width: float | None = None,
        sharex: bool | Literal["row"] = True,
        sharey: bool = True,
    ):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        columns = len(grid[0])
        width = max(min(width, _MAX_WIDTH / columns), width if min_width is None else min_width)
        size = (max(6.5, 1.2 + width * columns), 1.9 + height * len(grid))
        # Do not use pyplot, which needs a backend and keeps figures open.
        self.figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(self.figure)
        self.axes = self.figure.subplots(
            len(grid), columns, sharex=sharex, sharey=sharey, squeeze=False
        )
        self._shown = list(zip(self.axes.flat, chain.from_iterable(grid), strict=True))
        for axis, shown in self._shown:
            axis.set_visible(shown is not None)

    @classmethod
    def by_columns(
        cls,
        frame: pd.DataFrame,
        context: Context,
        row: str | None,
        panel: str | None,
        *,
        wrap: bool = True,
        **size: Any,
    ) -> Panels:
        """Return a row of panels for each value of ``row``, with one for each value of ``panel``.

        Numbers are sorted; words keep the order of the experiment file or of the table.

        Parameters
        ----------
        wrap : bool
            Break a single row of panels into rows that fit.
        **size
            Other parameters of ``Panels``.
        """
        grid = [
            [
                {column: value for column, value in ((row, i), (panel, j)) if column is not None}
                for j in _levels(frame, panel, context)
            ]
            for i in _levels(frame, row, context)
        ]
        return cls(wrapped(grid[0]) if wrap and row is None else grid, **size)

    def __iter__(self) -> Iterator[tuple[Axes, Any]]:
        """Yield each panel and the values that it shows."""
        return ((axis, shown) for axis, shown in self._shown if shown is not None)

    def title(
        self, axis: Axes, values: Mapping[str, Any], context: Context, pad: float = 4
    ) -> None:
        """Write the values of a panel; in a grid, once for each row and column."""
        from matplotlib import rcParams

        if len(values) < 2:
            axis.set_title(group_text(values, context), pad=pad)
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

    def label(self, x: str, y: str) -> None:
        """Label the axes of the outer panels."""
        for axis in self.axes[:, 0]:
            axis.set_ylabel(y)
        for column in self.axes.T:
            # The place below the last panel may be empty.
            axis = [axis for axis in column if axis.get_visible()][-1]
            axis.tick_params(labelbottom=True)
            axis.set_xlabel(x)

    def legend(self, handles: Sequence[Artist]) -> None:
        """Draw one legend above all panels, in as many columns as fit."""
        columns = max(1, int(self.figure.get_figwidth() / 2.3))
        self.figure.legend(
            handles=list(handles), loc="outside upper center", ncols=min(len(handles), columns)
        )

    def colour_bar(self, colours: Mapping[float, str], label: str, texts: Sequence[str]) -> None:
        """Draw a bar to the right of all panels, with one step for each colour.

        Parameters
        ----------
        colours : mapping of float to colour
            Colour of each number, from bottom to top.
        texts : sequence of str
            The text next to each step.
        """
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import ListedColormap, Normalize

        count = len(colours)
        steps = ListedColormap(list(colours.values()))
        bar = self.figure.colorbar(
            ScalarMappable(Normalize(-0.5, count - 0.5), steps),
            ax=list(self.axes.flat),
            ticks=list(range(count)),
            aspect=14 * len(self.axes),
            pad=0.02,
            label=label,
        )
        bar.ax.set_yticklabels(texts)
        bar.ax.tick_params(length=0)
        bar.outline.set_visible(False)

    def note(self, *lines: str) -> None:
        """Write lines below the panels, broken to the width of the figure."""
        width = int(_NOTE_DENSITY * self.figure.get_figwidth())
        broken = [part for line in lines for part in _broken(line, width)]
        self.figure.supxlabel("\n".join(broken), fontsize=7, color="0.35")


def wrapped(shown: Sequence, most: int = 3) -> list[list]:
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
    for clause in _CLAUSE_END.split(line):
        if parts and len(parts[-1]) + 1 + len(clause) <= width:
            parts[-1] += f" {clause}"
        else:
            parts += textwrap.wrap(clause, width, break_on_hyphens=False)
    return parts


def _levels(frame: pd.DataFrame, column: str | None, context: Context) -> list:
    if column is None:
        return [None]
    levels = list(frame[column].unique())
    return context.in_order(column, levels) if isinstance(levels[0], str) else sorted(levels)
