"""Compute rows of a run again and compare them with its table."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from greedyexp.core import registry
from greedyexp.core.plugins import load_plugins
from greedyexp.core.trust import consent
from greedyexp.datasets.own import relative_to
from greedyexp.experiment.model import Experiment
from greedyexp.problems.problem import Problem
from greedyexp.protocols import fitting
from greedyexp.report.figure_notes import is_figure, run_of
from greedyexp.report.rows_again import (
    DIFFERS,
    changes_since,
    compared,
    computed_rows,
    narrowed,
    place_of,
    stored_cells,
)
from greedyexp.report.source import open_run, require_rows
from greedyexp.report.where import choose, parse
from greedyexp.results.records import identity
from greedyexp.runner import seeds
from greedyexp.runner.evaluator import Evaluator
from greedyexp.runner.rehearsal import computed
from greedyexp.runner.rows import columns_of
from greedyexp.runner.work import Item, RunOptions, work_of


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
    trust: bool = False,
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
    trust : bool
        Run the plugins in the folder; see ``greedyexp.open``.

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
    with consent(trust):
        source = open_run(folder)
        require_rows(source)
        chosen = choose(source, wanted)
        experiment = source.experiment()
    # All rows of the replicate. The condition may choose some of them.
    stored = stored_cells(source, _same_replicate(source.frame, chosen[0]))
    cells = stored[chosen[0]]
    one = narrowed(experiment, *place_of(experiment, cells, source.folder))
    point = one.points[0]
    item = Item(0, point.generator, point.params, int(cells["replicate"]), (0,))
    options = RunOptions(pdb=pdb, tracebacks=traceback, progress=False)
    work = work_of(one, options, columns_of(one).not_for_facts)
    with relative_to(one.folder):
        changes = changes_since(source, experiment, one.points)
        load_plugins(one.plugins)
        (result,) = computed(work, [[item]])
    if result.outcome.traceback:
        print(result.outcome.traceback, file=sys.stderr, end="")
    rows = computed_rows(one, stored, result).loc[chosen]
    message = stored[chosen[0]]["message"], result.outcome.message
    values = compared(one, stored, rows, result)
    return Replay(folder, wanted, rows, values, message, changes, one, item.replicate)


def _same_replicate(frame: pd.DataFrame, row: int) -> list[int]:
    """Return the numbers of the rows with the replicate of a row, which are one after another."""
    keys = frame[identity(frame)]
    own = keys.loc[row]
    same = ((keys == own) | (keys.isna() & own.isna())).all(axis=1)
    return [int(index) for index in frame.index[same]]
