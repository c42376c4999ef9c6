"""Grids of panels: one for each value of one or two columns, one legend and one note for all."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

import matplotlib.pyplot as plt
import pandas as pd

from greedyexp.figures.labels import levels_text

# Characters of the note's type size that fit into one inch.
_NOTE_DENSITY = 20


class Panels:
    """A figure with one panel for each pair of values of two columns.

    Parameters
    ----------
    table : DataFrame
        Has the values.
    row, panel : str or None
        Columns whose values become rows and columns of panels; None for a single one.
    width, height : float
        Inches of one panel.
    sharex, sharey : bool
        Whether all panels have one axis.
    """

    def __init__(
        self,
        table: pd.DataFrame,
        *,
        row: str | None,
        panel: str | None,
        width: float = 3.4,
        height: float = 2.6,
        sharex: bool = True,
        sharey: bool = True,
    ):
        self.row, self.panel = row, panel
        self.rows, self.columns = _levels(table, row), _levels(table, panel)
        self.figure, self.axes = plt.subplots(
            len(self.rows),
            len(self.columns),
            figsize=(
                max(6.5, 1.2 + width * len(self.columns)),
                1.9 + height * len(self.rows),
            ),
            sharex=sharex,
            sharey=sharey,
            squeeze=False,
            layout="constrained",
        )

    def __iter__(self) -> Iterator[tuple[plt.Axes, dict]]:
        """Each panel with the values of its columns."""
        for i, row_value in enumerate(self.rows):
            for j, panel_value in enumerate(self.columns):
                values = {self.row: row_value, self.panel: panel_value}
                yield self.axes[i, j], {c: v for c, v in values.items() if c is not None}

    def label(self, x: str, y: str) -> None:
        """Axis labels on the outer panels only."""
        for axis in self.axes[:, 0]:
            axis.set_ylabel(y)
        for axis in self.axes[-1]:
            axis.set_xlabel(x)

    def legend(self, handles: Sequence) -> None:
        """One legend above all panels, in as many columns as fit."""
        columns = max(1, int(self.figure.get_figwidth() / 2.3))
        self.figure.legend(
            handles=list(handles), loc="outside upper center", ncols=min(len(handles), columns)
        )

    def note(self, lines: Sequence[str]) -> None:
        """Lines below the panels, broken where they would be wider than the figure."""
        width = int(_NOTE_DENSITY * self.figure.get_figwidth())
        broken = [
            part for line in lines for part in textwrap.wrap(line, width, break_on_hyphens=False)
        ]
        self.figure.supxlabel("\n".join(broken), fontsize=7, color="0.35")


def inside(table: pd.DataFrame, values: dict) -> pd.DataFrame:
    """The rows of a table with these values in these columns."""
    keep = pd.Series(True, index=table.index)
    for column, value in values.items():
        keep &= table[column] == value
    return table[keep]


def title(axis: plt.Axes, values: dict, pad: float = 4) -> None:
    """Say which values a panel shows."""
    axis.set_title(levels_text(values), pad=pad)


def _levels(table: pd.DataFrame, column: str | None) -> list:
    return [None] if column is None else sorted(table[column].unique())
