"""The rows behind the points of a figure, and the condition by which one of them is replayed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from greedyexp.figures._plot.points import Points
from greedyexp.results.records import identity, rows_where, with_sizes
from greedyexp.runner.run_contents import Run

# Runs of row numbers: first number, step, count.
Runs = list[list[int]]

# Codes of values by column, and positions of rows by codes.
_Groups = tuple[list[dict[Any, int]], dict[tuple[int, ...], np.ndarray]]


class Rows:
    """The rows of a run that a figure shows.

    Parameters
    ----------
    source : Run
    where : mapping
        The choice of rows of the figure.
    """

    def __init__(self, source: Run, where: Mapping[str, Any]):
        self._variants = source.context.variants
        self._frame = with_sizes(rows_where(source.frame, where))
        self._index = self._frame.index.to_numpy()
        self._groups: dict[tuple[tuple[str, bool], ...], _Groups] = {}
        swept = {name for axis in source.design.data_axes for name in axis}
        self._chosen_by = {
            name: self._frame[name].to_numpy()
            for name in identity(source.frame)
            if name in ("replicate", "algorithm") or name in swept
        }

    def behind(self, points: Points) -> tuple[list[Runs], list[int]]:
        """Find the rows behind each point.

        Returns
        -------
        found : list of Runs
            Numbers of rows, counted from 0 as in the CSV.
        places : list of int
            The place of each point in ``found``: all points of a curve may have the same rows.
        """
        names = [name for name in points.keys if name in self._frame.columns]
        levels = {name: list(map(_level, points.keys[name])) for name in names}
        labels = set(map(str, self._frame["algorithm"].unique()))
        # Labels of entries stand for all their variants: swept parameters are keys too.
        columns = tuple(
            (name, name == "algorithm" and not labels.issuperset(levels[name])) for name in names
        )
        if columns not in self._groups:
            self._groups[columns] = self._grouped(columns)
        codes, groups = self._groups[columns]
        known: dict[tuple[int, ...], int] = {}
        places = []
        for values in zip(*levels.values(), strict=True):
            key = tuple(code.get(value, -1) for code, value in zip(codes, values, strict=True))
            places.append(known.setdefault(key, len(known)))
        none = np.array([], dtype=int)
        return [_runs(self._index[groups.get(key, none)]) for key in known], places

    def _grouped(self, columns: Sequence[tuple[str, bool]]) -> _Groups:
        """Return the code of each value by column, and the positions of rows by codes."""
        codes, numbers = [], {}
        for name, by_entry in columns:
            column = self._frame[name]
            if by_entry:
                entries = {label: one.entry for label, one in self._variants.items()}
                column = column.map(entries).fillna(column)
            numbers[name], values = pd.factorize(column, use_na_sentinel=False)
            codes.append({_level(value): code for code, value in enumerate(values.tolist())})
        # A second column makes all keys tuples.
        grouped = pd.DataFrame({**numbers, "": 0}).groupby([*numbers, ""], sort=False)
        return codes, {key[:-1]: places for key, places in grouped.indices.items()}

    def condition(self, row: int) -> dict[str, Any]:
        """Return the columns and values that choose the replicate of a row for ``replay``."""
        place = int(np.searchsorted(self._index, row))
        return {name: _plain(column[place]) for name, column in self._chosen_by.items()}


def _runs(numbers: np.ndarray) -> Runs:
    """Return sorted numbers as runs with equal steps."""
    steps = np.diff(numbers)
    # Places where a step differs from the one before it.
    changes = np.append(np.flatnonzero(np.diff(steps)) + 1, len(steps))
    runs, start = [], 0
    while start < len(steps):
        end = int(changes[np.searchsorted(changes, start, side="right")])
        runs.append([int(numbers[start]), int(steps[start]), end - start + 1])
        start = end + 1
    if start < len(numbers):
        runs.append([int(numbers[start]), 1, 1])
    return runs


def _level(value: Any) -> Any:
    """Return a value that is equal to itself; a number is equal to its text."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = float(value)
    if isinstance(value, (int, float)):
        return "" if np.isnan(value) else float(value)
    return "" if value is None else str(value)


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and np.isnan(value) else value
