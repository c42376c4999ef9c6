"""Compute rows of a run again and compare them with its table."""

from __future__ import annotations

import csv
import io
import math
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from greedyexp.core import registry
from greedyexp.core.errors import StorageError
from greedyexp.core.plugins import load_plugins
from greedyexp.datasets.own import relative_to
from greedyexp.experiment.model import Experiment
from greedyexp.problems.problem import Problem
from greedyexp.protocols import fitting
from greedyexp.report.figure_notes import is_figure, run_of
from greedyexp.report.source import Source, read_run, require_rows
from greedyexp.report.where import choose, parse
from greedyexp.results.records import identity
from greedyexp.runner import seeds
from greedyexp.runner.evaluator import Evaluator
from greedyexp.runner.folder_status import finished_experiment
from greedyexp.runner.manifest import changed_files, provenance, version_changes
from greedyexp.runner.output import cell, columns_of
from greedyexp.runner.rehearsal import computed
from greedyexp.runner.work import Item, Result, RunOptions, work_of

if TYPE_CHECKING:
    import pandas as pd

# Two numbers are equal up to rounding if they differ by at most this part of the larger one, or by
# at most ``ZERO``: what is left of terms that cancel, such as a gap of 1e-17, has no correct digit.
RELATIVE = 1e-6
ZERO = 1e-12

EQUAL, ROUNDING, DIFFERS = "equal", "equal up to rounding", "differs"

_WHOLE = re.compile(r"-?\d+")


@dataclass(frozen=True)
class Replay:
    """Rows of a run, computed again; see ``replay``.

    Parameters
    ----------
    folder : Path
        The run folder.
    where : dict
        The condition that chose the rows.
    row : DataFrame
        The chosen rows as they are computed now: facts of the data, status and measurements. The
        index has their numbers in the table. It is one row unless the condition leaves several.
    values : DataFrame
        One line for each value of the chosen rows: ``row`` (its number in the table), ``column``,
        ``stored`` and ``computed`` (cells of the CSV), ``difference`` (relative to the larger, of
        numbers) and ``verdict``: ``equal``, ``equal up to rounding`` or ``differs``.
    message : tuple of str
        The message of the row in the table and the one of now. Messages are for readers and are not
        compared.
    changes : list of str
        Versions of code and libraries that differ from those of the run, and changes of data files.
    """

    folder: Path
    where: dict[str, Any]
    row: pd.DataFrame
    values: pd.DataFrame
    message: tuple[str, str]
    changes: list[str]
    _experiment: Experiment
    _replicate: int

    @property
    def same(self) -> bool:
        """True if no value differs by more than rounding."""
        return not (self.values["verdict"] == DIFFERS).any()

    @cached_property
    def problem(self) -> Problem:
        """The data of the rows."""
        from threadpoolctl import threadpool_limits

        point = self._experiment.points[0]
        load_plugins(self._experiment.plugins)
        with threadpool_limits(limits=1):
            evaluator = Evaluator(work_of(self._experiment))
            return evaluator.problem(point.generator, point.params, self._replicate)

    @cached_property
    def path(self) -> Any:
        """What the algorithm returns on the problem, with its parameters and random stream.

        A ``Path`` of estimates for most algorithms, an ``Iteration`` for iterative methods and a
        ``Constant`` for constants.
        """
        from threadpoolctl import threadpool_limits

        experiment, problem = self._experiment, self.problem
        point, spec = experiment.points[0], experiment.algorithms[0]
        part = registry.find("algorithm", spec.name)
        seeding = registry.find("generator", point.generator).seeding(point.params)
        rng = seeds.algorithm_stream(
            experiment.seed, point.generator, seeding, self._replicate, spec.name
        )
        with threadpool_limits(limits=1):
            if part.yields == "estimates":
                return fitting.fit(part, problem, spec.params, rng=rng)
            given = {"rng": rng} if part.takes_rng else {}
            return part.function(problem, **spec.params, **given)

    @property
    def code(self) -> str:
        """Python that computes the rows again."""
        return (
            "import greedyexp\n\n"
            f"again = greedyexp.replay({str(self.folder)!r}, {self.where!r})\n"
            "problem = again.problem  # the data\n"
            f"path = again.path  # what {self._experiment.algorithms[0].label} returns on them\n"
            "print(again.row)"
        )


def replay(
    run: str | PathLike[str],
    where: str | Mapping[str, Any] = "",
    *,
    pdb: bool = False,
    traceback: bool = False,
) -> Replay:
    """Compute one replicate of a run again and compare each of its values with the table.

    The journal is not needed: settings and table are enough. Nothing is written.

    Parameters
    ----------
    run : path
        A run folder, or a figure, which names its rows.
    where : str or dict
        Columns and values, such as ``"p=128, theta=1, replicate=7, algorithm=lasso"``. They must
        choose the rows of one replicate. Numbers match up to rounding.
    pdb : bool
        Stop in the debugger at an exception of a part.
    traceback : bool
        Print the traceback of an exception of a part on stderr.

    Returns
    -------
    Replay
        With ``problem``, ``path`` and ``row``; ``values`` compares, and ``same`` is true if all
        values are equal up to rounding.

    Raises
    ------
    ConfigError
        If the condition chooses no row or several replicates, or this version does not accept the
        settings of the run.
    StorageError
        If the run cannot be read.
    PluginError
        If a plugin cannot be used.
    """
    folder = Path(run)
    if is_figure(folder):
        folder = run_of(folder)
    wanted = parse(where) if isinstance(where, str) else dict(where)
    source = read_run(folder)
    require_rows(source)
    chosen = choose(source, wanted)
    experiment = finished_experiment(folder, source.design.settings)
    # All rows of the replicate. The condition may choose some of them.
    stored = _cells(source, _same_replicate(source.frame, chosen[0]))
    one, item = _narrowed(experiment, stored[chosen[0]], source.folder)
    options = RunOptions(pdb=pdb, tracebacks=traceback, progress=False)
    work = work_of(one, options, columns_of(one).not_for_facts)
    with relative_to(one.folder):
        changes = [*_changes(source, experiment), *_changed_data(source, one)]
        load_plugins(one.plugins)
        (result,) = computed(work, [[item]])
    if result.outcome.traceback:
        print(result.outcome.traceback, file=sys.stderr, end="")
    rows = _rows(one, stored, result).loc[chosen]
    message = stored[chosen[0]]["message"], result.outcome.message
    values = _compared(one, stored, rows, result)
    return Replay(folder, wanted, rows, values, message, changes, one, item.replicate)


def _cells(source: Source, rows: list[int]) -> dict[int, dict[str, str]]:
    """Return the cells of some rows of the table as texts, by the number of the row."""
    text = source.state.table_content.decode("utf-8")
    wanted = set(rows)
    lines = csv.DictReader(io.StringIO(text, newline=""))
    return {index: line for index, line in enumerate(lines) if index in wanted}


def _same_replicate(frame: pd.DataFrame, row: int) -> list[int]:
    """Return the numbers of the rows with the replicate of a row, which are one after another."""
    keys = frame[identity(frame)]
    own = keys.loc[row]
    same = ((keys == own) | (keys.isna() & own.isna())).all(axis=1)
    return [int(index) for index in frame.index[same]]


def _narrowed(
    experiment: Experiment, cells: Mapping[str, str], folder: Path
) -> tuple[Experiment, Item]:
    """Return the experiment with the point and the algorithm of a row, and its replicate.

    Raises
    ------
    StorageError
        If the settings of the run have no such point or algorithm.
    """
    # A table of an earlier version lacks the parameters that were added since.
    points = [
        point
        for point in experiment.points
        if all(cell(value) == cells[name] for name, value in point.cells.items() if name in cells)
    ]
    specs = [spec for spec in experiment.algorithms if spec.label == cells["algorithm"]]
    if not points or not specs:
        what = "data" if not points else "algorithm"
        raise StorageError(
            f"the settings of the run, as this version reads them, lack the {what} of the row.",
            place=str(folder),
            remedy="Use the version in manifest.json, or run the experiment again.",
        )
    one = replace(experiment, points=points[:1], algorithms=specs[:1])
    point = points[0]
    return one, Item(0, point.generator, point.params, int(cells["replicate"]), (0,))


def _rows(
    experiment: Experiment, stored: Mapping[int, Mapping[str, str]], result: Result
) -> pd.DataFrame:
    """Return the computed rows of a replicate, as many as there are stored rows."""
    import pandas as pd

    columns = list(next(iter(stored.values())))
    parameters = {*experiment.points[0].cells, *experiment.algorithms[0].swept}
    facts = [name for name in columns[: columns.index("replicate")] if name not in parameters]
    shared = {name: result.facts.get(name) for name in facts}
    shared["status"] = result.outcome.status.value
    measured = columns[columns.index("message") + 1 :]
    # A failure has one row, without measurements.
    found = [*result.outcome.rows, *({} for _ in stored)][: len(stored)]
    lines = [shared | {name: row.get(name) for name in measured} for row in found]
    return pd.DataFrame(lines, index=pd.Index(stored, name="row"), dtype=object)


def _compared(
    experiment: Experiment,
    stored: Mapping[int, Mapping[str, str]],
    rows: pd.DataFrame,
    result: Result,
) -> pd.DataFrame:
    """Compare rows with those of the table, and the number of all rows of the replicate."""
    import pandas as pd

    kinds = {one.name: one.kind for one in experiment.design.measured}
    lines: list[tuple[Any, ...]] = []
    table: dict[int, dict[str, Any]] = rows.to_dict("index")  # type: ignore[assignment]
    for index, row in table.items():
        for name, value in row.items():
            old, new = stored[index][name], cell(value)
            if old or new:
                lines.append((index, name, old, new, *compare_cells(old, new, kinds.get(name))))
    counts = str(len(stored)), str(max(len(result.outcome.rows), 1))
    if counts[0] != counts[1]:
        lines.append((rows.index[0], "number of rows", *counts, *compare_cells(*counts)))
    names = ["row", "column", "stored", "computed", "difference", "verdict"]
    return pd.DataFrame(lines, columns=names)


def compare_cells(stored: str, computed: str, kind: str | None = None) -> tuple[float, str]:
    """Compare two cells of a CSV.

    Texts, whole numbers, successes and keys must be equal. Other numbers may differ by rounding: by
    at most 1e-6 of the larger one, or by at most 1e-12.

    Parameters
    ----------
    stored, computed : str
    kind : str, optional
        Kind of the column, see ``protocols.base.Measured``.

    Returns
    -------
    difference : float
        |stored - computed| relative to the larger; nan if they are not both finite numbers.
    verdict : {"equal", "equal up to rounding", "differs"}
    """
    if stored == computed:
        return 0.0, EQUAL
    try:
        one, other = float(stored), float(computed)
    except ValueError:
        return math.nan, DIFFERS
    if not (math.isfinite(one) and math.isfinite(other)):
        return math.nan, DIFFERS
    size = max(abs(one), abs(other))
    difference = abs(one - other) / size if size else 0.0
    exact = kind in ("success", "key", "text") or all(map(_WHOLE.fullmatch, (stored, computed)))
    close = bool(close_numbers(one, other))
    return difference, ROUNDING if close and not exact else DIFFERS


def close_numbers(one: Any, other: Any) -> Any:
    """Return whether two finite numbers, or those of two arrays, are equal up to rounding."""
    # The gap of infinite numbers is not known, and 0 / 0 is decided by ``ZERO``.
    with np.errstate(invalid="ignore", over="ignore"):
        gap, size = np.abs(np.subtract(one, other)), np.maximum(np.abs(one), np.abs(other))
        return (gap <= ZERO) | (gap / size <= RELATIVE)


def _changes(source: Source, experiment: Experiment) -> list[str]:
    """Return the versions in the manifest that are not those of this process."""
    if not source.state.manifest:
        return ["the run has no manifest.json, so its versions are not known"]
    return version_changes(source.state.manifest, provenance(source.folder, experiment))


def _changed_data(source: Source, experiment: Experiment) -> Iterator[str]:
    """Yield the data files whose contents are not those of the run."""
    from greedyexp.runner.fingerprint import InputFiles

    point = experiment.points[0]
    reads = registry.find("generator", point.generator).reads
    files = InputFiles()
    for name in reads(**point.params) if reads else ():
        files.hash(name)
    for name in changed_files(source.state.manifest, files.checksums()):
        yield f"data file {name} has changed since the run"
