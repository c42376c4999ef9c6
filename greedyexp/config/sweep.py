"""The sweep grammar: grids of lists and ranges, and zips of lists that go together."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass

from greedyexp.config.document import Document
from greedyexp.config.mistakes import Keys, Mistakes, dotted
from greedyexp.core.errors import did_you_mean
from greedyexp.experiment.messages import show
from greedyexp.experiment.parameters import BadValue, Parameters
from greedyexp.experiment.sweep import Range, read_range


@dataclass
class Axis:
    """Parameters that move together, and the values they take.

    Parameters
    ----------
    names : tuple of str
        One parameter, or those of one zip.
    columns : tuple of list or Range
        The values of each, as written; all of one length.
    keys : tuple of key path
        Where each column was written.
    """

    names: tuple[str, ...]
    columns: tuple[list | Range, ...]
    keys: tuple[Keys, ...]

    @property
    def count(self) -> int:
        """Number of steps; known without making the values."""
        return _count(self.columns[0])

    def rows(self, parameters: Parameters, doc: Document, mistakes: Mistakes) -> list[tuple]:
        """The validated values, one tuple for each step of the axis."""
        columns = []
        for name, column, keys in zip(self.names, self.columns, self.keys, strict=True):
            values = []
            for index, value in enumerate(column):
                here = keys if isinstance(column, Range) else (*keys, index)
                try:
                    values.append(parameters.read(name, value))
                except BadValue as error:
                    for inner, message, remedy in error.found:
                        mistakes.add(doc.place((*here, *inner)), message, remedy)
            columns.append(values)
        if len({len(column) for column in columns}) > 1:
            return []
        rows = list(zip(*columns, strict=True))
        self._refuse_twins(rows, doc, mistakes)
        return rows

    def _refuse_twins(self, rows: list[tuple], doc: Document, mistakes: Mistakes) -> None:
        seen = set()
        for index, row in enumerate(rows):
            key = sort_key(row)
            if key in seen:
                names = " and ".join(self.names)
                value = " and ".join(show(item) for item in row)
                mistakes.add(
                    doc.place((*self.keys[0], index)), f"the sweep of {names} has {value} twice."
                )
            seen.add(key)


def read_axes(
    sweep, keys: Keys, parameters: Parameters, doc: Document, mistakes: Mistakes
) -> list[Axis]:
    """The axes of a ``sweep:`` mapping.

    Parameters
    ----------
    sweep : object
        Parameter -> list or range, and ``zip`` -> one such mapping or a list of them.
    keys : key path
        Where the sweep stands in the document.
    """
    if sweep is None:
        return []
    if not isinstance(sweep, dict):
        mistakes.add(doc.place(keys), f"sweep must be a mapping, but is {show(sweep)}.")
        return []
    axes = []
    for name, value in sweep.items():
        here = (*keys, name)
        if name == "zip":
            groups = value if isinstance(value, list) else [value]
            for index, group in enumerate(groups):
                where = (*here, index) if isinstance(value, list) else here
                axes += _zip(group, where, parameters, doc, mistakes)
            if not groups:
                mistakes.add(doc.place(here), "zip lists nothing to sweep.")
        elif _known(name, here, parameters, doc, mistakes):
            column = _column(name, value, here, doc, mistakes)
            if column is not None:
                axes.append(Axis((name,), (column,), (here,)))
    _refuse_overlap(axes, doc, mistakes)
    return axes


def _zip(
    group, keys: Keys, parameters: Parameters, doc: Document, mistakes: Mistakes
) -> list[Axis]:
    if not isinstance(group, dict) or not group:
        mistakes.add(
            doc.place(keys), f"zip takes parameters with their lists, but is {show(group)}."
        )
        return []
    columns = {}
    for name, value in group.items():
        here = (*keys, name)
        if _known(name, here, parameters, doc, mistakes):
            columns[name] = _column(name, value, here, doc, mistakes)
    if len(columns) < len(group) or any(column is None for column in columns.values()):
        return []
    lengths = {name: _count(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {count}" for name, count in lengths.items())
        mistakes.add(doc.place(keys), f"zip pairs lists of equal length, but {told}.")
        return []
    paths = tuple((*keys, name) for name in columns)
    return [Axis(tuple(columns), tuple(columns.values()), paths)]


def _count(column: list | Range) -> int:
    return column.count if isinstance(column, Range) else len(column)


def _known(
    name: str, keys: Keys, parameters: Parameters, doc: Document, mistakes: Mistakes
) -> bool:
    if name in parameters.names:
        return True
    part = parameters.part
    mistakes.add(
        doc.place(keys),
        f"{part.kind} '{part.name}' has no parameter '{name}' to sweep.",
        did_you_mean(name, parameters.names),
    )
    return False


def _column(name: str, value, keys: Keys, doc: Document, mistakes: Mistakes) -> list | Range | None:
    """The values written for one swept parameter, or None after noting a mistake."""
    if isinstance(value, list):
        if not value:
            mistakes.add(doc.place(keys), f"the sweep of {name} is empty.")
        return value or None
    if isinstance(value, dict):
        try:
            return read_range(value, name)
        except BadValue as error:
            for inner, message, remedy in error.found:
                mistakes.add(doc.place((*keys, *inner)), message, remedy)
            return None
    mistakes.add(
        doc.place(keys),
        f"the sweep of {name} must be a list or a range, but is {show(value)}.",
        f"For one value move {name} out of the sweep.",
    )
    return None


def _refuse_overlap(axes: list[Axis], doc: Document, mistakes: Mistakes) -> None:
    seen: set[str] = set()
    for axis in axes:
        for name, keys in zip(axis.names, axis.keys, strict=True):
            if name in seen:
                mistakes.add(
                    doc.place(keys), f"{name} is swept twice (see {dotted(keys)}).", "Keep one."
                )
            seen.add(name)


def combinations(axes: list[Axis], rows: list[list[tuple]]) -> Iterator[dict]:
    """Every combination of the axes' rows, as mappings from parameter to value."""
    names = [name for axis in axes for name in axis.names]
    for choice in itertools.product(*rows):
        yield dict(zip(names, itertools.chain.from_iterable(choice), strict=True))


def size(axes: list[Axis]) -> int:
    """How many combinations there are, without making them."""
    return math.prod(axis.count for axis in axes)


def sort_key(value) -> tuple:
    """A key that orders values of any YAML type: empty, numbers, texts, lists, mappings."""
    if value is None:
        return (0,)
    if isinstance(value, (bool, int, float)):
        return (1, value)
    if isinstance(value, str):
        return (2, value)
    if isinstance(value, (list, tuple)):
        return (3, tuple(sort_key(item) for item in value))
    return (4, json.dumps(value, sort_keys=True, default=str))
