"""One run of one experiment: compute what is missing, then write the tables."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Iterable
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from tqdm import tqdm

from greedyexp import config as experiments
from greedyexp.config.patches import changes
from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.plugins import load_plugins
from greedyexp.datasets.own import relative_to
from greedyexp.protocols.base import Status
from greedyexp.runner.code_version import plugin_sources
from greedyexp.runner.columns import columns_of
from greedyexp.runner.digests import ROW_SETTINGS, parsed_settings
from greedyexp.runner.engines.base import Engine, Item, Result
from greedyexp.runner.engines.processes import ProcessesEngine, usable_cores
from greedyexp.runner.engines.serial import SerialEngine
from greedyexp.runner.files import make_folder
from greedyexp.runner.interrupt import Interruption
from greedyexp.runner.journal import Journal
from greedyexp.runner.keeper import Keeper
from greedyexp.runner.lock import FolderLock
from greedyexp.runner.manifest import Record
from greedyexp.runner.output import write_tables
from greedyexp.runner.plan import Batches, Plan
from greedyexp.runner.progress import Silent, progress_of
from greedyexp.runner.state import (
    CONFIG,
    PLUGINS,
    NextState,
    find,
    table_of,
)
from greedyexp.runner.work import describe

ENGINES = ("processes", "serial")


@dataclass(frozen=True)
class Report:
    """How a run ended; one replicate is one algorithm on one data set.

    Parameters
    ----------
    total : int
        Replicates of the plan; where results decide on more, as far as they have decided.
    done : int
        Those that are finished, in whatever status.
    failed : int
        Those of them that failed.
    computed : int
        Those computed by this run.
    wall_seconds : float
    csv : Path
        The tidy table.
    interrupted : bool
        Whether a signal ended it early.
    signum : int, optional
        The signal.
    replaced : tuple of str
        Settings that differ from those of the table that was in the folder before, such as
        ``data.noise_std: 0.1 -> 0.5``.
    """

    total: int
    done: int
    failed: int
    computed: int
    wall_seconds: float
    csv: Path
    interrupted: bool
    signum: int | None = None
    replaced: tuple[str, ...] = ()


def run(
    experiment,
    folder: Path,
    *,
    engine: str = "processes",
    jobs: int | None = None,
    force: bool = False,
    retry_failed: bool = False,
    progress: bool | None = None,
    tracebacks: bool = False,
    pdb: bool = False,
) -> Report:
    """Compute what the journal of a folder does not have yet, then write the tables.

    An experiment narrowed by ``only`` computes its own part; the tables have every finished row
    of the whole.

    Parameters
    ----------
    experiment : Experiment
    folder : Path
        ``<out>/<name>/<profile>``; made when there is none.
    engine : {"processes", "serial"}
    jobs : int, optional
        Worker processes; one for each usable core by default.
    force : bool
        Compute everything anew; an old row is replaced when its new one arrives.
    retry_failed : bool
        Compute failed replicates anew.
    progress : bool, optional
        False shows none. Otherwise a bar on a terminal, lines elsewhere, on stderr.
    tracebacks : bool
        Print where exceptions of parts were raised, each place once, on stderr.
    pdb : bool
        Stop in the debugger where a part raises; the engine is the serial one then.

    Raises
    ------
    StorageError
        When the folder is in use, cannot be written, or its journal cannot be read.
    ConfigError
        When the engine is unknown.
    PluginError
        When no worker can start, or a part breaks its contract (see ``protocols.contracts``).
    """
    chosen = _engine("serial" if pdb else engine, jobs)
    warn_of_time_limit(chosen, experiment.time_limit)
    with relative_to(experiment.folder):
        return _run(
            experiment,
            Path(folder),
            chosen,
            force=force,
            retry_failed=retry_failed,
            progress=False if pdb else progress,
            told={"tracebacks": tracebacks, "pdb": pdb},
        )


def _run(experiment, folder: Path, engine: Engine, **how) -> Report:
    start = time.monotonic()
    # Another experiment may have been loaded since, whose plugins have parts of the same names.
    load_plugins(experiment.plugins)
    plan = Plan(experiment)
    # With the same code and data, whatever is edited meanwhile: one finds what the other stored.
    whole = Plan(_whole(experiment), plan.disk)
    # The contents of data files are part of a key: what cannot be read is refused before a folder
    # is made.
    plan.key(0, 0, 0)
    sources = plugin_sources(experiment.plugins)
    settings = experiment.as_yaml([f"{PLUGINS}/{name}" for name in sources.entries])
    make_folder(folder)
    interruption = Interruption(announce=how["progress"] is not False)
    with interruption as halt, FolderLock(folder), Journal(folder) as journal:
        record = Record(whole.experiment, folder, engine)
        journal.remember_origin(experiment.folder)
        state = NextState(folder)
        state.begin(settings, sources.files)
        computed = _compute(plan, journal, engine, halt, **how)
        after = plan.census(journal)
        whole.settle(journal)
        table = write_tables(whole, journal, state.home)
        everything = after if len(whole) == len(plan) else whole.census(journal)
        record.close(
            state.home,
            everything,
            computed,
            data_files=plan.disk.checksums(),
            interrupted=halt.soon,
        )
        replaced = _replaced(folder, settings)
        state.commit()
    failed = sum(after.failed.values())
    seconds = time.monotonic() - start
    return Report(
        after.total,
        after.done,
        failed,
        computed,
        seconds,
        folder / table.name,
        halt.soon,
        halt.signum,
        replaced,
    )


def _replaced(folder: Path, settings: str) -> tuple[str, ...]:
    """How the settings differ from those of the rows in the folder; more trials do not count."""
    if table_of(folder) is None:
        return ()
    try:
        old = parsed_settings(find(folder, CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ()
    new = parsed_settings(settings)
    if old is None:
        return ()
    before, now = old.get("trials"), new["trials"]
    extended = isinstance(before, int) and isinstance(now, int) and before <= now
    keys = [key for key in ROW_SETTINGS if not (key == "trials" and extended)]
    return tuple(changes(old, new, keys))


def warn_of_time_limit(engine: Engine, time_limit: float | None) -> None:
    """Say on stderr that the serial engine does not keep a time limit."""
    if time_limit is not None and isinstance(engine, SerialEngine):
        print(
            f"Warning: the serial engine does not enforce the time limit of {time_limit:g} s.",
            file=sys.stderr,
        )


def _engine(name: str, jobs: int | None) -> Engine:
    if jobs is not None and jobs < 1:
        raise ConfigError(f"jobs = {jobs}: at least 1 worker is needed.", place="jobs")
    if name == "processes":
        return ProcessesEngine(jobs or usable_cores())
    if name != "serial":
        raise ConfigError(
            f"there is no engine '{name}'.", place="engine", remedy=did_you_mean(name, ENGINES)
        )
    return SerialEngine()


def _whole(experiment):
    """The experiment before ``only`` narrowed it."""
    return experiments.reload(
        experiment.resolved, profile=experiment.profile, beside=experiment.folder
    )


def _compute(
    plan: Plan,
    journal: Journal,
    engine: Engine,
    halt: Interruption,
    *,
    force: bool,
    retry_failed: bool,
    progress: bool | None,
    told: dict[str, bool],
) -> int:
    """Run the engine over what is missing; the number of results journaled."""
    if not force:
        plan.settle(journal, retry_failed=retry_failed)
    before = plan.census(journal)
    finished = before.done - (sum(before.failed.values()) if retry_failed else 0)
    finished = 0 if force else finished
    if finished == len(plan):
        return 0
    keeper = Keeper(plan, journal)
    name, open_ended = plan.experiment.name, plan.experiment.adaptive is not None
    shown = progress_of(progress, name, len(plan), finished, open_ended=open_ended)

    def grown() -> Iterable[Item]:
        keeper.write()
        while True:
            beyond = plan.wanted.copy()
            if not plan.grow(journal):
                return ()
            shown.extend(len(plan))
            items = plan.missing(journal, beyond=beyond, force=force, retry_failed=retry_failed)
            # What was decided on may be finished already, from an earlier run.
            for first in items:
                return chain((first,), items)

    batches = Batches(plan.missing(journal, force=force, retry_failed=retry_failed), grown)
    arriving = engine.results(
        describe(
            plan.experiment, columns_of(plan.experiment).not_for_facts, plan.disk.code, **told
        ),
        batches.next,
        expected=len(plan) - finished,
        time_limit=plan.experiment.time_limit,
        halt=halt,
    )
    return _gather(arriving, batches, keeper, shown, engine, halt)


def _gather(
    arriving: Generator[list[Result]],
    batches: Batches,
    keeper: Keeper,
    shown: Silent,
    engine: Engine,
    halt: Interruption,
) -> int:
    seen: set[tuple[str, ...]] = set()
    with closing(shown), closing(arriving), keeper:
        for results in arriving:
            if halt.soon:
                # The signal may have ended a program that a part had started.
                results = [one for one in results if one.outcome.status is not Status.ERROR]
            keeper.take(results)
            for result in results:
                batches.learn(result)
            _print_tracebacks(results, seen)
            failed = sum(result.outcome.status.failed for result in results)
            shown.advance(len(results), failed, engine.compiling)
    return keeper.kept


def _print_tracebacks(results: list[Result], seen: set[tuple[str, ...]]) -> None:
    """Print tracebacks on stderr; of those that differ in the message alone, the first."""
    for result in results:
        text = result.outcome.traceback
        frames = tuple(line for line in text.splitlines() if line.startswith("  File "))
        if text and frames not in seen:
            seen.add(frames)
            tqdm.write(text, file=sys.stderr, end="")
