"""The rows behind the points of a figure, and the condition by which one of them is replayed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from greedyexp.figures._plot.points import Points
from greedyexp.report.source import Source
from greedyexp.results.records import identity, matches, rows_where, with_sizes

# Runs of row numbers: first number, step, count.
Runs = list[list[int]]


class Rows:
    """The rows of a run that a figure shows.

    Parameters
    ----------
    source : Source
    where : mapping
        The choice of rows of the figure.
    """

    def __init__(self, source: Source, where: Mapping[str, Any]):
        self._context = source.context
        self._frame = with_sizes(rows_where(source.frame, where))
        self._masks: dict[tuple[str, str], np.ndarray] = {}
        self._index = self._frame.index.to_numpy()
        self.identity = identity(source.frame)
        self._swept = [name for axis in source.design.data_axes for name in axis]

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
        columns = [points.keys[name] for name in names]
        # Columns with one value for all points are compared once.
        fixed = [
            name
            for name, column in zip(names, columns, strict=True)
            if len(set(map(repr, column))) == 1
        ]
        shared = np.arange(len(self._frame))
        for name in fixed:
            shared = shared[self._mask(name, points.keys[name][0])[shared]]
        found: list[Runs] = []
        places: list[int] = []
        known: dict[str, int] = {}
        for values in zip(*columns, strict=True):
            # nan differs from itself, but not when it is written.
            key = repr(values)
            places.append(known.setdefault(key, len(found)))
            if places[-1] < len(found):
                continue
            kept = shared
            for name, value in zip(names, values, strict=True):
                if name not in fixed:
                    kept = kept[self._mask(name, value)[kept]]
            found.append(_runs(self._index[kept]))
        return found, places

    def _mask(self, name: str, value: Any) -> np.ndarray:
        key = name, repr(value)
        if key not in self._masks:
            column = self._frame[name]
            if isinstance(value, float) and np.isnan(value):
                mask = column.isna().to_numpy()
            else:
                mask = np.asarray(matches(column, [value]))
            if name == "algorithm" and not mask.any():
                # The label of an entry, whose swept parameters are keys too or chosen by ``where``.
                variants = self._context.variants
                labels = [name for name, one in variants.items() if one.entry == value]
                mask = column.isin(labels).to_numpy()
            self._masks[key] = mask
        return self._masks[key]

    def condition(self, row: int) -> dict[str, Any]:
        """Return the columns and values that choose the replicate of a row for ``replay``."""
        cells = self._frame.loc[row]
        return {
            name: _plain(cells[name])
            for name in self.identity
            if name in ("replicate", "algorithm") or name in self._swept
        }


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


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and np.isnan(value) else value
