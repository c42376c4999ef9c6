"""Which colour, marker and dashes a line has, and what the legend says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.lines import Line2D

from greedyexp.figures.style import COLOURS, DASHES, MARKERS, assign
from greedyexp.results.context import Context
from greedyexp.results.counts import success_column
from greedyexp.results.labels import levels_text


class Looks:
    """Colour and marker by the first key of a line, dashes by the second.

    Parameters
    ----------
    table : DataFrame
        Has a row for every line that will be drawn.
    line : sequence of one or two str
        The columns that tell lines apart.
    """

    def __init__(self, table: pd.DataFrame, line: Sequence[str]):
        self.first = line[0]
        names = sorted(table[self.first].unique())
        self.colours = assign(names, COLOURS)
        self.markers = assign(names, MARKERS)
        self.order = {name: i for i, name in enumerate(names)}
        self.second = line[1] if len(line) > 1 else None
        # Largest value solid: it is the one nearest to the asymptotic statement.
        second = sorted(table[self.second].unique(), reverse=True) if self.second else [None]
        self.dashes = assign(second, DASHES)

    def of(self, first, second=None) -> dict:
        """Matplotlib's keywords for the line with these keys."""
        return {
            "color": self.colours[first],
            "marker": self.markers[first],
            "linestyle": self.dashes[second],
        }

    def __len__(self) -> int:
        """Number of lines, at most."""
        return len(self.order) * len(self.dashes)

    def places(self, width: float) -> dict[tuple, float]:
        """An offset for each line, so that intervals at one x stand beside one another.

        Parameters
        ----------
        width : float
            Distance of the outermost two, in units of x.
        """
        # Lines of one colour lie nearest to one another in y, so they are set furthest apart in x.
        keys = [(f, s) if self.second else (f,) for s in self.dashes for f in self.order]
        return {
            key: width * (i / (len(keys) - 1) - 0.5) if len(keys) > 1 else 0.0
            for i, key in enumerate(keys)
        }

    def handles(self, context: Context, success: Mapping[str, str] | None = None) -> list[Line2D]:
        """Legend entries: one for each value of the first key, one for each of the second.

        Parameters
        ----------
        success : mapping of str to str, optional
            Metric by algorithm, named behind the algorithm's title.
        """
        handles = [
            Line2D(
                [],
                [],
                color=colour,
                marker=self.markers[name],
                label=self._title(name, context, success),
            )
            for name, colour in self.colours.items()
        ]
        if self.second:
            handles += [
                Line2D([], [], color="0.3", linestyle=dash, label=levels_text({self.second: value}))
                for value, dash in self.dashes.items()
            ]
        return handles

    def _title(self, name, context: Context, success: Mapping[str, str] | None) -> str:
        if self.first != "algorithm":
            return levels_text({self.first: name})
        title = context.titles.get(name, name)
        if success is None:
            return title
        return f"{title} ({success_column(success, name, context).replace('_', ' ')})"
