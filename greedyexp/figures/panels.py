"""Grids of panels: one for each value of one or two columns, one legend and one note for all."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal

import pandas as pd
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure

from greedyexp.results.context import Context
from greedyexp.results.notes import group_text

# Characters of the note's type size that fit into one inch.
_NOTE_DENSITY = 20
# Where a line of the note is broken if it must be.
_CLAUSE_END = re.compile(r"(?<=[.:;,]) ")
# Inches of a row of panels that may be narrower: a wider figure is shrunk, and its words with it.
_WIDEST = 13.0


class Panels:
    """A figure with one panel for each cell of a grid.

    Parameters
    ----------
    grid : list of rows, each a list of dict or None
        What each panel shows, as ``grid`` and ``wrapped`` give it; None leaves the place empty.
    width, height : float
        Inches of one panel.
    narrowest : float, optional
        Inches that a panel keeps at least where a row of many would be wide; ``width`` when None.
    sharex : bool or "row"
        Whether all panels have one horizontal axis, or those of each row, or none share it.
    sharey : bool
        Whether all panels have one vertical axis.
    """

    def __init__(
        self,
        grid: list[list],
        *,
        width: float = 3.4,
        height: float = 2.6,
        narrowest: float | None = None,
        sharex: bool | Literal["row"] = True,
        sharey: bool = True,
    ):
        columns = len(grid[0])
        width = max(min(width, _WIDEST / columns), width if narrowest is None else narrowest)
        size = (max(6.5, 1.2 + width * columns), 1.9 + height * len(grid))
        # Not by pyplot, which needs a backend and keeps figures open.
        self.figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(self.figure)
        self.axes = self.figure.subplots(
            len(grid), columns, sharex=sharex, sharey=sharey, squeeze=False
        )
        self._shown = list(zip(self.axes.flat, chain.from_iterable(grid), strict=True))
        for axis, shown in self._shown:
            axis.set_visible(shown is not None)

    def __iter__(self) -> Iterator[tuple[Axes, dict]]:
        """Each panel with what it shows."""
        return ((axis, shown) for axis, shown in self._shown if shown is not None)

    def title(self, axis: Axes, values: dict, context: Context, pad: float = 4) -> None:
        """Say which values a panel shows: once for its row and its column where it has both."""
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
        """Axis labels on the outer panels only."""
        for axis in self.axes[:, 0]:
            axis.set_ylabel(y)
        for column in self.axes.T:
            # The place below the last panel may be empty.
            axis = [axis for axis in column if axis.get_visible()][-1]
            axis.tick_params(labelbottom=True)
            axis.set_xlabel(x)

    def legend(self, handles: Sequence) -> None:
        """One legend above all panels, in as many columns as fit."""
        columns = max(1, int(self.figure.get_figwidth() / 2.3))
        self.figure.legend(
            handles=list(handles), loc="outside upper center", ncols=min(len(handles), columns)
        )

    def scale(self, colours: Mapping, label: str, texts: Sequence[str]) -> None:
        """A bar of colours at the right of all panels, one step for each value.

        Parameters
        ----------
        colours : mapping of float to colour
            From bottom to top.
        texts : sequence of str
            How each value is written beside the bar.
        """
        count = len(colours)
        steps = ListedColormap(list(colours.values()))
        bar = self.figure.colorbar(
            ScalarMappable(Normalize(-0.5, count - 0.5), steps),
            ax=self.axes,
            ticks=list(range(count)),
            aspect=14 * len(self.axes),
            pad=0.02,
            label=label,
        )
        bar.ax.set_yticklabels(texts)
        bar.ax.tick_params(length=0)
        bar.outline.set_visible(False)

    def note(self, lines: Sequence[str]) -> None:
        """Lines below the panels, broken where they would be wider than the figure."""
        width = int(_NOTE_DENSITY * self.figure.get_figwidth())
        broken = [part for line in lines for part in _broken(line, width)]
        self.figure.supxlabel("\n".join(broken), fontsize=7, color="0.35")


def grid(
    frame: pd.DataFrame, context: Context, *, row: str | None, panel: str | None
) -> list[list[dict]]:
    """A row of panels for each value of one column, in it one for each value of another.

    Numbers are sorted; words stand as the file lists them, or else the table.
    """
    return [
        [
            {column: value for column, value in ((row, i), (panel, j)) if column is not None}
            for j in _levels(frame, panel, context)
        ]
        for i in _levels(frame, row, context)
    ]


def laid_out(
    frame: pd.DataFrame, context: Context, *, row: str | None, panel: str | None
) -> list[list]:
    """As ``grid``, but panels of one column alone in rows that fit."""
    cells = grid(frame, context, row=row, panel=panel)
    return cells if row else wrapped(cells[0])


def wrapped(shown: Sequence, most: int = 3) -> list[list]:
    """Panels in as few rows as fit, evenly filled, the rest left empty."""
    rows = math.ceil(len(shown) / most)
    columns = math.ceil(len(shown) / rows)
    padded = [*shown, *[None] * (rows * columns - len(shown))]
    return [padded[i * columns : (i + 1) * columns] for i in range(rows)]


def inside(table: pd.DataFrame, values: dict) -> pd.DataFrame:
    """The rows of a table with these values in these columns."""
    keep = pd.Series(True, index=table.index)
    for column, value in values.items():
        keep &= table[column] == value
    return table[keep]


def _broken(line: str, width: int) -> list[str]:
    """A line in parts of at most ``width`` characters, clauses kept whole where they fit."""
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
    words = isinstance(levels[0], str)
    return context.in_order(column, levels) if words else sorted(levels)
