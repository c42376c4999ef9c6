"""One run of one experiment: compute what is missing, then write the tables."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from greedyexp import experiment as experiments
from greedyexp.errors import ConfigError, did_you_mean
from greedyexp.protocols.outcome import Status
from greedyexp.runner.columns import columns_of
from greedyexp.runner.engines.base import Engine, Item, Result
from greedyexp.runner.engines.processes import ProcessesEngine, usable_cores
from greedyexp.runner.engines.serial import SerialEngine
from greedyexp.runner.files import make_folder, write_text
from greedyexp.runner.interrupt import Interruption
from greedyexp.runner.journal import Journal
from greedyexp.runner.keeper import Keeper
from greedyexp.runner.lock import FolderLock
from greedyexp.runner.manifest import Record
from greedyexp.runner.output import write_tables
from greedyexp.runner.plan import Batches, Plan
from greedyexp.runner.progress import Silent, progress_of
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
    """

    total: int
    done: int
    failed: int
    computed: int
    wall_seconds: float
    csv: Path
    interrupted: bool
    signum: int | None = None


def run(
    experiment,
    folder: Path,
    *,
    engine: str = "processes",
    jobs: int | None = None,
    force: bool = False,
    retry_failed: bool = False,
    progress: bool | None = None,
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

    Raises
    ------
    StorageError
        When the folder is in use, cannot be written, or its journal cannot be read.
    ConfigError
        When the engine is unknown or cannot do what the experiment asks for.
    PluginError
        When no worker can start.
    """
    start = time.monotonic()
    folder = Path(folder)
    chosen = _engine(engine, jobs, experiment.time_limit)
    plan = Plan(experiment)
    # With the same code and data, whatever is edited meanwhile: one finds what the other stored.
    whole = Plan(_whole(experiment), plan.disk)
    # The contents of data files are part of a key: what cannot be read is refused before a folder
    # is made.
    plan.key(0, 0, 0)
    make_folder(folder)
    interruption = Interruption(announce=progress is not False)
    with interruption as halt, FolderLock(folder), Journal(folder) as journal:
        record = Record(whole.experiment, folder, chosen)
        write_text(folder / "config.yaml", experiment.as_yaml())
        computed = _compute(
            plan, journal, chosen, halt, force=force, retry_failed=retry_failed, progress=progress
        )
        after = plan.census(journal)
        whole.settle(journal)
        table = write_tables(whole, journal, folder)
        everything = after if len(whole) == len(plan) else whole.census(journal)
        record.close(everything, computed, interrupted=halt.soon)
    failed = sum(after.failed.values())
    seconds = time.monotonic() - start
    return Report(after.total, after.done, failed, computed, seconds, table, halt.soon, halt.signum)


def _engine(name: str, jobs: int | None, time_limit: float | None) -> Engine:
    if jobs is not None and jobs < 1:
        raise ConfigError(f"jobs = {jobs}: at least 1 worker is needed.", place="jobs")
    if name == "processes":
        return ProcessesEngine(jobs or usable_cores())
    if name != "serial":
        raise ConfigError(
            f"there is no engine '{name}'.", place="engine", remedy=did_you_mean(name, ENGINES)
        )
    if time_limit is not None:
        raise ConfigError(
            "the serial engine cannot end an algorithm that runs too long, so it takes no"
            " time_limit.",
            place="engine",
            remedy="Use the processes engine, or set time_limit to null.",
        )
    return SerialEngine()


def _whole(experiment):
    """The experiment before ``only`` narrowed it."""
    return experiments.reload(experiment.resolved, profile=experiment.profile)


def _compute(
    plan: Plan,
    journal: Journal,
    engine: Engine,
    halt: Interruption,
    *,
    force: bool,
    retry_failed: bool,
    progress: bool | None,
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
        describe(plan.experiment, columns_of(plan.experiment).not_for_facts, plan.disk.code),
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
    with closing(shown), closing(arriving), keeper:
        for results in arriving:
            if halt.soon:
                # The signal may have ended a program that a part had started.
                results = [one for one in results if one.outcome.status is not Status.ERROR]
            keeper.take(results)
            for result in results:
                batches.learn(result)
            failed = sum(result.outcome.status.failed for result in results)
            shown.advance(len(results), failed, engine.compiling)
    return keeper.kept
