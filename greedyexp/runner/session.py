"""A run of an experiment: compute missing replicates, then write the tables."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from numbers import Integral
from pathlib import Path
from typing import Any

from greedyexp.config.run_names import changes
from greedyexp.core.blas import usable_cores
from greedyexp.core.errors import ConfigError, StorageError, did_you_mean
from greedyexp.core.files import folder_lock, make_folder, read_bytes
from greedyexp.core.plugins import load_plugins
from greedyexp.core.run_files import CONFIG, PLUGINS
from greedyexp.datasets.own import relative_to
from greedyexp.experiment.design import DECIDED
from greedyexp.experiment.model import Experiment
from greedyexp.protocols.base import Status
from greedyexp.runner.code_version import plugin_sources, require_importable
from greedyexp.runner.digests import ROW_SETTINGS, installation, parsed_settings
from greedyexp.runner.engine import Engine, Interruption, SerialEngine, results_of
from greedyexp.runner.journal import Journal, JournalEntry
from greedyexp.runner.manifest import Manifest
from greedyexp.runner.next_state import next_state, refuse_other_files
from greedyexp.runner.plan import Batches, Plan
from greedyexp.runner.processes import ProcessesEngine
from greedyexp.runner.progress import progress_of
from greedyexp.runner.rows import columns_of
from greedyexp.runner.run_folder import RunFolder
from greedyexp.runner.work import DEFAULTS, Batch, Item, Result, RunOptions, work_of

# Results are written this many seconds after the last write, or when there are this many.
_LONGEST_WAIT = 0.5
_MOST_WAITING = 1000

ENGINES = ("processes", "serial", "dask")


@dataclass(frozen=True)
class Report:
    """The result of a run; one replicate is one algorithm on one data set.

    Parameters
    ----------
    total : int
        Replicates of the plan; with adaptive trials, those requested so far.
    done : int
        Finished replicates with any status.
    failed : int
        Finished replicates that failed.
    computed : int
        Replicates computed by this run.
    wall_seconds : float
    csv : Path
        The tidy table.
    interrupted : bool
        True if a signal ended the run early.
    late : bool
        True if ``max_time`` ended the run early.
    signum : int, optional
        The signal.
    replaced : tuple of str
        Settings that differ from those of the previous table in the folder, such as
        ``data.noise_std: 0.1 -> 0.5``.
    """

    total: int
    done: int
    failed: int
    computed: int
    wall_seconds: float
    csv: Path
    interrupted: bool
    late: bool = False
    signum: int | None = None
    replaced: tuple[str, ...] = ()


def run(experiment: Experiment, folder: Path, options: RunOptions = DEFAULTS) -> Report:
    """Compute the replicates that the journal of a folder lacks, then write the tables.

    If ``only`` narrows the experiment, just that part is computed, but the tables contain all
    finished rows of the whole experiment.

    Parameters
    ----------
    experiment : Experiment
    folder : Path
        ``<out>/<name>/<profile>``; created if it does not exist. Each shard needs its own.
    options : RunOptions

    Raises
    ------
    StorageError
        If the folder is in use, cannot be written, or has files of the user in the places of those
        that the run writes, or if its journal cannot be read.
    ConfigError
        If the engine is unknown, or an option does not fit the experiment.
    PluginError
        If no worker can start, or a part breaks its contract (see ``protocols.contracts``).
    """
    if options.pdb:
        options = replace(options, engine="serial", progress=False)
    engine = _engine(options)
    options.require_decisions(experiment)
    warn_of_time_limit(engine, experiment.time_limit)
    with relative_to(experiment.folder):
        return _run(experiment, Path(folder), engine, options)


def _run(experiment: Experiment, folder: Path, engine: Engine, options: RunOptions) -> Report:
    start, installed = time.monotonic(), installation()
    # Another experiment may meanwhile have registered parts of the same names.
    load_plugins(experiment.plugins)
    plan = Plan(experiment, shard=options.shard)
    # The shared files give both plans the same keys, even if code or data are edited meanwhile.
    whole = Plan(experiment.whole, plan.files, options.shard) if experiment.whole else plan
    # Keys depend on the data files, so an unreadable file is refused before a folder is created.
    plan.key(0, 0, 0)
    require_importable(experiment.plugins)
    sources = plugin_sources(experiment.plugins)
    settings = experiment.as_yaml([f"{PLUGINS}/{name}" for name in sources.entries])
    make_folder(folder)
    sources.remember(folder)
    with Interruption(announce=options.progress) as interruption, folder_lock(folder):
        refuse_other_files(folder, experiment.name)
        with Journal(folder) as journal, next_state(folder, settings, sources.files) as home:
            manifest = Manifest(whole, journal, engine, installed, options.shard)
            journal.remember_components(plan.fingerprints.components())
            computed = _compute(plan, journal, engine, interruption, options)
            whole.grow_fully(journal)
            after = plan.census(journal)
            if after.missing and not interruption.soon and options.max_time is None:
                raise StorageError(
                    f"{after.missing} of {after.total} replicates were computed but are not found"
                    " in the journal, which is damaged; the tables are those of the last run.",
                    place=str(journal.path),
                    remedy="Move the file to another folder, and run again.",
                )
            census = after if whole is plan else whole.census(journal)
            table = manifest.finish(home, census, computed, interrupted=interruption.soon)
            replaced = _replaced(folder, settings)
    return Report(
        total=after.total,
        done=after.done,
        failed=sum(after.failed.values()),
        computed=computed,
        wall_seconds=time.monotonic() - start,
        csv=folder / table.name,
        interrupted=interruption.soon,
        late=bool(options.max_time and after.missing and not interruption.soon),
        signum=interruption.signum,
        replaced=replaced,
    )


def _replaced(folder: Path, settings: str) -> tuple[str, ...]:
    """Return the changes of settings since the last table, except an increase of ``trials``."""
    try:
        old = parsed_settings(read_bytes(RunFolder(folder).find(CONFIG), folder).decode("utf-8"))
    except (OSError, ValueError):
        old = None
    new = parsed_settings(settings)
    if old is None or new is None or RunFolder(folder).table is None:
        return ()
    # The file of the folder may have been edited.
    before, now = (_least_trials(settings.get("trials")) for settings in (old, new))
    extended = before is not None and now is not None and before <= now
    keys = [key for key in ROW_SETTINGS if not (key == "trials" and extended)]
    return tuple(changes(old, new, keys))


def _least_trials(trials: Any) -> int | None:
    """Return the replicates that every point of a table has; None if a rule decides each alone."""
    if isinstance(trials, dict):
        trials = trials.get("min") if trials.get("until") == DECIDED else None
    return trials if isinstance(trials, int) else None


def warn_of_time_limit(engine: Engine, time_limit: float | None) -> None:
    """Warn on stderr that the serial engine does not enforce a time limit."""
    if time_limit is not None and isinstance(engine, SerialEngine):
        print(
            f"Warning: the serial engine does not enforce the time limit of {time_limit:g} s.",
            file=sys.stderr,
        )


def _engine(options: RunOptions) -> Engine:
    name, jobs = options.engine, options.jobs
    if jobs is not None and not (isinstance(jobs, Integral) and jobs >= 1):
        raise ConfigError(f"jobs must be a whole number of at least 1, but is {jobs!r}.")
    for option in ("scheduler", "cluster"):
        if getattr(options, option) is not None and name != "dask":
            raise ConfigError(
                f"the engine '{name}' has no use for `{option}`.", remedy="Use the engine 'dask'."
            )
    if name == "dask":
        return _dask_engine(options)
    if name == "processes":
        return ProcessesEngine(jobs or usable_cores())
    if name != "serial":
        raise ConfigError(
            f"there is no engine '{name}'.", place="engine", remedy=did_you_mean(name, ENGINES)
        )
    return SerialEngine()


def _dask_engine(options: RunOptions) -> Engine:
    from greedyexp.runner.dask import clusters

    clusters.require_distributed()
    cluster: clusters.Cluster
    if options.scheduler is not None and options.cluster is not None:
        raise ConfigError("give `scheduler` or `cluster`, not both.")
    if options.jobs and (options.scheduler, options.cluster) != (None, None):
        raise ConfigError(
            "`jobs` is the number of workers on this machine; a Dask cluster has its own.",
            place="jobs",
        )
    if options.scheduler is not None:
        cluster = clusters.Scheduler(options.scheduler)
    elif options.cluster is not None:
        cluster = clusters.Started(options.cluster)
    else:
        cluster = clusters.Local(options.jobs or usable_cores())
    # Importing Dask takes a second.
    from greedyexp.runner.dask.engine import DaskEngine

    return DaskEngine(cluster, announce=options.progress)


class JournalWriter:
    """Write results to the journal in large transactions. Use it as a context manager.

    Attributes
    ----------
    written : int
        Number of results written so far.
    """

    def __init__(self, plan: Plan, journal: Journal):
        self._plan = plan
        self._journal = journal
        self._waiting: list[JournalEntry] = []
        self._last = time.monotonic()
        self.written = 0

    def __enter__(self) -> JournalWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()

    def add(self, results: list[Result]) -> None:
        """Add results, and write them if they have waited long enough.

        Raises
        ------
        DataError
            If the data files were changed.
        """
        if results:
            self._plan.files.require_unchanged_data()
        for result in results:
            key = self._plan.key(result.point, result.replicate, result.algorithm)
            self._waiting.append(JournalEntry(key, result.outcome, result.facts, result.seconds))
        late = time.monotonic() - self._last > _LONGEST_WAIT
        if late or len(self._waiting) >= _MOST_WAITING:
            self.flush()

    def flush(self) -> None:
        """Write all results that are waiting."""
        if self._waiting:
            entries, self._waiting = self._waiting, []
            self._journal.add(entries)
            self.written += len(entries)
        self._last = time.monotonic()


def _compute(
    plan: Plan, journal: Journal, engine: Engine, interruption: Interruption, options: RunOptions
) -> int:
    """Compute missing replicates; return the number of results written to the journal."""
    force, retry_failed = options.force, options.retry_failed
    if not force:
        plan.grow_fully(journal, retry_failed=retry_failed)
    before = plan.census(journal)
    repeated = before.done if force else sum(before.failed.values()) if retry_failed else 0
    finished = before.done - repeated
    if finished == len(plan):
        return 0
    experiment = plan.experiment
    deadline = math.inf if options.max_time is None else time.monotonic() + options.max_time
    writer = JournalWriter(plan, journal)
    shown = progress_of(
        options.progress,
        experiment.name,
        len(plan),
        finished,
        open_ended=experiment.adaptive is not None,
    )

    def more() -> Iterable[Item]:
        writer.flush()
        while True:
            beyond = plan.wanted.copy()
            if not plan.grow(journal):
                return ()
            shown.extend(len(plan))
            items = plan.missing(journal, beyond=beyond, force=force, retry_failed=retry_failed)
            # An earlier run may already have finished the new replicates.
            for first in items:
                return chain((first,), items)

    batches = Batches(plan.missing(journal, force=force, retry_failed=retry_failed), more)

    def next_batch() -> Batch:
        if time.monotonic() > deadline:
            return []
        return batches.next(engine.batch_seconds, engine.most_items)

    arriving = results_of(
        engine,
        work_of(experiment, options, columns_of(experiment).not_for_facts, plan.files),
        next_batch,
        expected=len(plan) - finished,
        interruption=interruption,
    )
    seen: set[tuple[str, ...]] = set()
    with closing(shown), closing(arriving), writer:
        for results in arriving:
            if interruption.soon:
                # The signal may have killed a program that a part had started.
                results = [one for one in results if one.outcome.status is not Status.ERROR]
            writer.add(results)
            for result in results:
                batches.learn(result)
            _print_tracebacks(results, seen)
            failed = sum(result.outcome.status.failed for result in results)
            shown.advance(len(results), failed)
    return writer.written


def _print_tracebacks(results: list[Result], seen: set[tuple[str, ...]]) -> None:
    """Print tracebacks on stderr, unless one with the same frames is in ``seen``."""
    from tqdm import tqdm

    for result in results:
        text = result.outcome.traceback
        frames = tuple(line for line in text.splitlines() if line.startswith("  File "))
        if text and frames not in seen:
            seen.add(frames)
            tqdm.write(text, file=sys.stderr, end="")
