"""The tables that a run writes: their rows, streamed from the journal in canonical order."""

from __future__ import annotations

import csv
import gzip
import io
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from greedyexp.core import registry
from greedyexp.core.files import replacing
from greedyexp.core.registry import RESERVED_COLUMNS
from greedyexp.experiment.design import DATA_COLUMN
from greedyexp.experiment.model import Experiment
from greedyexp.runner.journal import Journal
from greedyexp.runner.seeds import plain_data
from greedyexp.runner.work import Find, Found, Slot

# Larger tables (in bytes) are compressed, since they are committed to repositories.
LARGE = 1_000_000

Write = Callable[[list[str]], object]


@dataclass(frozen=True)
class TableColumns:
    """Column names of an experiment, except the facts of its problems.

    Parameters
    ----------
    data : tuple of str
        The label of the block if the data are a list; then the parameters of the generators, in
        the order of their signatures.
    swept : tuple of str
        Parameters that are swept inside an algorithm's entry.
    measured : tuple of str
        Columns of the protocol.
    seconds : tuple of str
        Columns of the protocol with times, which differ from run to run.
    """

    data: tuple[str, ...]
    swept: tuple[str, ...]
    measured: tuple[str, ...]
    seconds: tuple[str, ...]

    @cached_property
    def not_for_facts(self) -> tuple[str, ...]:
        """Names that facts of a problem must not have."""
        return (*RESERVED_COLUMNS, *self.swept, *self.measured, *self.seconds)

    def of_table(self, facts: tuple[str, ...]) -> list[str]:
        """Return the header of ``<name>.csv``."""
        return [
            *self.data, *facts, "replicate", "algorithm", *self.swept, "status", "message",
            *self.measured,
        ]  # fmt: skip

    @property
    def of_timings(self) -> list[str]:
        """Return the header of ``timings.csv``."""
        return [*self.data, "replicate", "algorithm", *self.swept, "seconds", *self.seconds]


def columns_of(experiment: Experiment) -> TableColumns:
    """Return the columns of an experiment."""
    generators = dict.fromkeys(point.generator for point in experiment.points)
    parameters = [registry.find("generator", name).parameters.model_fields for name in generators]
    label = [] if experiment.points[0].label is None else [DATA_COLUMN]
    protocol = registry.find("protocol", experiment.protocol.name)
    metrics = [registry.find("metric", name) for name in experiment.metrics]
    measured = protocol.columns(metrics, **experiment.protocol.params)
    return TableColumns(
        data=(*label, *dict.fromkeys(name for fields in parameters for name in fields)),
        swept=tuple(dict.fromkeys(name for spec in experiment.algorithms for name in spec.swept)),
        measured=tuple(column.name for column in measured if column.kind != "seconds"),
        seconds=tuple(column.name for column in measured if column.kind == "seconds"),
    )


def cell(value: object) -> str:
    """Return the cell of the CSV for a value.

    Floats are written by ``repr``, booleans as 0 or 1, None as an empty cell, lists as JSON.
    """
    value = plain_data(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, str):
        return value
    if isinstance(value, (dict, list)):
        return json.dumps(value, separators=(",", ":"))
    return repr(value)


class Finished(Protocol):
    """The finished replicates of a plan, see ``Plan.finished``."""

    def __call__(self, find: Find[Found]) -> Iterator[tuple[Slot, Found]]: ...


class Rows:
    """The finished rows of a plan.

    Parameters
    ----------
    experiment : Experiment
    finished : callable
        ``Plan.finished``.
    journal : Journal
    """

    def __init__(self, experiment: Experiment, finished: Finished, journal: Journal):
        self._experiment = experiment
        self._finished = finished
        self._columns = columns_of(experiment)
        self._journal = journal
        self._point: tuple[int, dict[str, str]] = (-1, {})

    @property
    def timed(self) -> bool:
        """True if the timings have columns of the protocol."""
        return bool(self._columns.seconds)

    def arms(self) -> list[tuple[int, int]]:
        """Return point and algorithm of each row of the table."""
        return [
            (slot.point, slot.algorithm)
            for slot, entry in self._finished(self._journal.entries)
            for _ in entry.outcome.rows or [{}]
        ]

    def write_table(self, write: Write) -> None:
        """Write the header and the rows of ``<name>.csv``."""
        facts = self._fact_names()
        write(self._columns.of_table(facts))
        for slot, entry in self._finished(self._journal.entries):
            head = [
                *self._data_cells(slot.point, entry.facts),
                *(cell(entry.facts.get(name)) for name in facts),
                *self._algorithm_cells(slot),
                entry.outcome.status.value,
                entry.outcome.message,
            ]
            # A failure has one row, without measurements.
            for row in entry.outcome.rows or [{}]:
                write([*head, *(cell(row.get(name)) for name in self._columns.measured)])

    def write_timings(self, write: Write) -> None:
        """Write the header and the rows of ``timings.csv``."""
        write(self._columns.of_timings)
        for slot, timing in self._finished(self._journal.timings):
            where = [*self._data_cells(slot.point, {}), *self._algorithm_cells(slot)]
            write(
                [*where, cell(timing.seconds), *([cell(timing.fit_seconds)] if self.timed else [])]
            )

    def _fact_names(self) -> tuple[str, ...]:
        """Return the facts of all problems in the order of their first row."""
        names: dict[str, None] = {}
        for _, entry in self._finished(self._journal.entries):
            names.update(dict.fromkeys(entry.facts))
        return tuple(name for name in names if name not in self._columns.data)

    def _data_cells(self, point: int, facts: dict[str, Any]) -> list[str]:
        """Return label and parameters; facts fill columns of parameters of other generators."""
        if self._point[0] != point:
            cells = self._experiment.points[point].cells
            known = {name: cell(cells[name]) for name in self._columns.data if name in cells}
            self._point = (point, known)
        known = self._point[1]
        return [
            known[name] if name in known else cell(facts.get(name)) for name in self._columns.data
        ]

    def _algorithm_cells(self, slot: Slot) -> list[str]:
        spec = self._experiment.algorithms[slot.algorithm]
        swept = (cell(spec.swept.get(name)) for name in self._columns.swept)
        return [str(slot.replicate), spec.label, *swept]


def write_tables(
    experiment: Experiment, finished: Finished, journal: Journal, folder: Path
) -> Path:
    """Write ``<name>.csv`` and ``timings.csv`` with every finished row of a plan.

    Values come from the journal and their order from the plan. The bytes therefore do not depend on
    how, when or in how many runs the rows were computed.

    Returns
    -------
    Path
        The table, ``.csv`` or, if it is large, ``.csv.gz``.

    Raises
    ------
    StorageError
        If the folder cannot be written; the old tables are kept.
    """
    rows = Rows(experiment, finished, journal)
    table = _store(folder / f"{experiment.name}.csv", rows.write_table)
    _store(folder / "timings.csv", rows.write_timings)
    return table


def _store(target: Path, fill: Callable[[Write], None]) -> Path:
    """Write a table, and compress it if it is large."""
    packed = target.with_name(f"{target.name}.gz")
    with replacing(target) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=False)
        fill(csv.writer(text, lineterminator="\n").writerow)
        text.flush()
        size = stream.tell()
        text.detach()
    if size <= LARGE:
        return target
    with (
        target.open("rb") as source,
        replacing(packed) as stream,
        # Without time and file name in the header, equal tables give equal bytes.
        gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as compressed,
    ):
        shutil.copyfileobj(source, compressed)
    target.unlink()
    return packed
