"""The tidy tables of a run, streamed from the journal in canonical order."""

from __future__ import annotations

import csv
import gzip
import io
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from greedyexp.runner.columns import Columns, cell, columns_of
from greedyexp.runner.files import replacing
from greedyexp.runner.journal import Entry, Journal
from greedyexp.runner.plan import Plan, Slot

# Tables above this size are compressed: they are committed to a repository.
LARGE = 5_000_000

Write = Callable[[list[str]], object]


def write_tables(plan: Plan, journal: Journal, folder: Path) -> Path:
    """Write ``<name>.csv`` and ``timings.csv`` with every finished row of the plan.

    Values come from the journal and their order from the plan, so that the bytes do not depend on
    how, when or in how many pieces they were computed.

    Returns
    -------
    Path
        The table, ``.csv`` or, when it is large, ``.csv.gz``.

    Raises
    ------
    StorageError
        When the folder cannot be written; the old tables are kept.
    """
    rows = _Rows(plan, columns_of(plan.experiment), journal)
    table = _store(folder / f"{plan.experiment.name}.csv", rows.write_table)
    _store(folder / "timings.csv", rows.write_timings)
    return table


class _Rows:
    """The rows of the plan that are finished."""

    def __init__(self, plan: Plan, columns: Columns, journal: Journal):
        self._plan = plan
        self._columns = columns
        self._journal = journal
        self._point: tuple[int, dict[str, str]] = (-1, {})

    def write_table(self, write: Write) -> None:
        facts = self._fact_names()
        write(self._columns.of_table(facts))
        for slot, entry in self._finished():
            head = [
                *self._data_cells(slot.point, entry.facts),
                *(cell(entry.facts.get(name)) for name in facts),
                *self._algorithm_cells(slot),
                entry.outcome.status.value,
                entry.outcome.message,
            ]
            # A failure has no measurements and one row all the same.
            for row in entry.outcome.rows or [{}]:
                write([*head, *(cell(row.get(name)) for name in self._columns.measured)])

    def write_timings(self, write: Write) -> None:
        write(self._columns.of_timings)
        timed = bool(self._columns.seconds)
        for slot, timing in self._plan.timings(self._journal):
            where = [*self._data_cells(slot.point, {}), *self._algorithm_cells(slot)]
            write([*where, cell(timing.seconds), *([cell(timing.fit_seconds)] if timed else [])])

    def _fact_names(self) -> tuple[str, ...]:
        """Every fact of every problem, in the order in which the rows bring them up."""
        names: dict[str, None] = {}
        for _, entry in self._finished():
            names.update(dict.fromkeys(entry.facts))
        return tuple(name for name in names if name not in self._columns.data)

    def _finished(self) -> Iterator[tuple[Slot, Entry]]:
        for slots in self._plan.in_canonical_order():
            entries = self._journal.entries([slot.key for slot in slots])
            for slot in slots:
                if slot.key in entries:
                    yield slot, entries[slot.key]

    def _data_cells(self, point: int, facts: dict) -> list[str]:
        """Label and parameters; a fact stands where only other generators have the parameter."""
        if self._point[0] != point:
            cells = self._plan.experiment.points[point].cells
            known = {name: cell(cells[name]) for name in self._columns.data if name in cells}
            self._point = (point, known)
        known = self._point[1]
        return [
            known[name] if name in known else cell(facts.get(name)) for name in self._columns.data
        ]

    def _algorithm_cells(self, slot: Slot) -> list[str]:
        spec = self._plan.experiment.algorithms[slot.algorithm]
        swept = (cell(spec.swept.get(name)) for name in self._columns.swept)
        return [str(slot.replicate), spec.label, *swept]


def _store(target: Path, fill: Callable[[Write], None]) -> Path:
    """Write a table, compress it when it is large, and remove the other variant."""
    packed = target.with_name(f"{target.name}.gz")
    with replacing(target) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=False)
        fill(csv.writer(text, lineterminator="\n").writerow)
        text.flush()
        size = stream.tell()
        text.detach()
    if size <= LARGE:
        packed.unlink(missing_ok=True)
        return target
    with target.open("rb") as source, replacing(packed) as stream:
        _compress(source, stream)
    target.unlink()
    return packed


def _compress(source: BinaryIO, stream: BinaryIO) -> None:
    # Neither time nor file name in the header: equal tables give equal bytes.
    with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as packed:
        shutil.copyfileobj(source, packed, 1 << 20)
