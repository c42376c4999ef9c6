"""How lines look in figures where dashes tell measured curves from proved and predicted ones."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.lines import Line2D

from greedyexp.figures.style import COLOURS, MARKERS, assign, shades
from greedyexp.results.context import Context
from greedyexp.results.notes import group_text


class Strands:
    """Colour by the first key of a line, marker by the second, or by the first when alone.

    Numbers get shades from dark to light, words the colours of all figures.

    Parameters
    ----------
    rows : DataFrame
        Has a row for every line that will be drawn.
    line : sequence of one or two str
        The columns that tell lines apart.
    """

    def __init__(self, rows: pd.DataFrame, line: Sequence[str]):
        self.line = list(line)
        self.levels = [_ordered(rows[column]) for column in line]
        words = isinstance(self.levels[0][0], str)
        self._colours = assign(self.levels[0], COLOURS) if words else shades(self.levels[0])
        self._markers = assign(self.levels[-1], MARKERS)

    def of(self, key: Sequence) -> dict:
        """Matplotlib's keywords for the line with these values of its columns."""
        return {"color": self._colours[key[0]], "marker": self._markers[key[-1]]}

    def keys(self, rows: pd.DataFrame) -> list[tuple]:
        """The lines that the rows have, first key first."""
        present = set(rows[self.line].itertuples(index=False, name=None))
        order = [{level: k for k, level in enumerate(levels)} for levels in self.levels]
        return sorted(
            present, key=lambda key: [place[v] for place, v in zip(order, key, strict=True)]
        )

    def stagger(self, key: Sequence, step: float) -> tuple[float, float]:
        """Where along a line its markers stand, so that those of other lines stand elsewhere."""
        places = [levels.index(value) for levels, value in zip(self.levels, key, strict=True)]
        rank = places[0] + (len(self.levels[0]) * places[1] if len(places) > 1 else 0)
        return (step * (0.15 + 0.3 * rank) % step, step)

    def handles(self, context: Context) -> list[Line2D]:
        """Legend entries: one for each value of the first key, one for each of the second."""
        single = len(self.line) == 1
        handles = [
            Line2D(
                [],
                [],
                color=colour,
                marker=self._markers[value] if single else None,
                label=group_text({self.line[0]: value}, context),
            )
            for value, colour in self._colours.items()
        ]
        if not single:
            handles += [
                Line2D(
                    [],
                    [],
                    color="0.3",
                    linestyle="none",
                    marker=marker,
                    label=group_text({self.line[1]: value}, context),
                )
                for value, marker in self._markers.items()
            ]
        return handles


def _ordered(column: pd.Series) -> list:
    """Numbers by size, words as the table lists them."""
    levels = list(column.unique())
    return levels if isinstance(levels[0], str) else sorted(levels)
