"""The functions that Dask workers run.

Each thread of a Dask worker has a worker process of its own, as the engine ``processes`` has. So a
part that crashes or exceeds its time limit costs this process and not the Dask worker, and results
are the same.
"""

from __future__ import annotations

import asyncio
import pickle
import signal
import tempfile
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from greedyexp.runner.code_version import PluginSources, SourceFile
from greedyexp.runner.dask.compatibility import (
    Difference,
    Package,
    data_error,
    differences,
    packages_of,
)
from greedyexp.runner.engine import Interruption
from greedyexp.runner.processes import Pool
from greedyexp.runner.work import Batch, Result, Work

# After this many seconds without a batch, a run is forgotten and its worker processes end. The
# client may have been killed.
_IDLE_LIMIT = 60.0

# Tells a restarted Dask worker from the one before at the same address.
_PROCESS = uuid.uuid4().hex


@dataclass(frozen=True)
class Setup:
    """What a Dask worker must know of a run before it computes batches.

    Parameters
    ----------
    run : str
        Name of the run, different for each.
    work : Work
        As on the client.
    plugins : PluginSources
        Sources of its plugins.
    sent : dict of str to SourceFile
        The files of code among these sources.
    packages : list of Package
        The other files of code.
    cwd : Path
        Working directory on the client.
    allow_mixed : bool
        Compute although versions differ.
    """

    run: str
    work: Work
    plugins: PluginSources
    sent: dict[str, SourceFile]
    packages: list[Package]
    cwd: Path
    allow_mixed: bool


def setup_of(work: Work, plugins: PluginSources, *, allow_mixed: bool) -> Setup:
    """Return the setup of a new run, on the client."""
    sent: dict[Path, str] = {}
    for plugin, entry in zip(map(Path, work.plugins), plugins.entries, strict=True):
        for path, _ in work.code:
            if path.is_relative_to(plugin.parent):
                name = Path(entry).parent / path.relative_to(plugin.parent)
                if name.as_posix() in plugins.files:
                    sent[path] = name.as_posix()
    return Setup(
        run=uuid.uuid4().hex,
        work=replace(work, code=()),
        plugins=plugins,
        sent={sent[path]: source for path, source in work.code if path in sent},
        packages=packages_of(one for one in work.code if one[0] not in sent),
        cwd=Path.cwd(),
        allow_mixed=allow_mixed,
    )


class Answer(NamedTuple):
    """The answer of a Dask worker to a setup.

    Parameters
    ----------
    process : str
        Identifies the process of the Dask worker.
    differences : list of Difference
        Versions that differ from those of the client.
    error : str
        A sentence if data are missing, or ''.
    """

    process: str
    differences: list[Difference]
    error: str


class Computed(NamedTuple):
    """The answer of a Dask worker to a batch.

    Parameters
    ----------
    process : str
        Identifies the process of the Dask worker.
    results : bytes or None
        Pickled list of results; None if the process does not know the run.
    """

    process: str
    results: bytes | None


class _Run:
    """A run on this Dask worker."""

    def __init__(self, setup: Setup):
        self._folder = tempfile.TemporaryDirectory(prefix="greedyexp-")
        self._work = _localised(setup, Path(self._folder.name))
        self._pools: dict[int, Pool] = {}
        self._lock = threading.Lock()
        self._busy = 0
        self._idle: threading.Timer | None = None
        self._left = False
        self.halted = False

    def compute(self, batch: Batch, cancelled: Callable[[], bool]) -> list[Result] | None:
        """Compute a batch in the process of this thread; a part of it if the run is halted.

        Returns None if the run was left while this batch arrived.
        """
        # One process for each thread, since Linux kills a process when the thread that has started
        # it ends.
        thread = threading.get_ident()
        with self._lock:
            if self._left:
                return None
            self._stay()
            self._busy += 1
            pool = self._pools.pop(thread, None) or Pool(self._work, 1)
        given = iter([batch])
        results: list[Result] = []
        interruption = Interruption(announce=False)
        finished = False
        try:
            for some in pool.run(lambda: next(given, []), interruption):
                results += some
                interruption.now = cancelled()
                if self.halted or interruption.now:
                    interruption.signum = signal.SIGINT
            finished = not interruption.soon
        finally:
            if not finished:
                pool.end(at_once=True)
            with self._lock:
                self._busy -= 1
                if finished:
                    self._pools[thread] = pool
                self.leave_later()
        return results

    def leave_later(self) -> None:
        """End this run if no batch comes within the limit."""
        self._stay()
        if not self._busy:
            self._idle = threading.Timer(_IDLE_LIMIT, self._leave)
            self._idle.daemon = True
            self._idle.start()

    def _stay(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _leave(self) -> None:
        with self._lock:
            if self._busy:
                return
            self._left = True
        for name, run in list(_runs.items()):
            if run is self:
                _runs.pop(name, None)
        self.end()

    def end(self) -> None:
        """End the worker processes that are not busy, the others soon; remove the plugins."""
        self.halted = True
        with self._lock:
            self._stay()
            pools = [self._pools.pop(thread) for thread in list(self._pools)]
        for pool in pools:
            pool.end(at_once=True)
        self._folder.cleanup()


_runs: dict[str, _Run] = {}
_preparing = threading.Lock()


def prepare(versions: dict[str, str], setup: bytes) -> Answer:
    """Get ready for the batches of a run, unless this worker would compute other rows.

    Parameters
    ----------
    versions : dict of str to str
        Versions on the client that rows depend on.
    setup : bytes
        A pickled ``Setup``.
    """
    found = differences(versions)
    try:
        asked: Setup = pickle.loads(setup)
    except (AttributeError, ImportError) as cause:
        # Another version of greedyexp may have other classes.
        return Answer(_PROCESS, found, f"its greedyexp cannot read the run ({cause}).")
    for package in asked.packages:
        found += package.differences()
    error = data_error(asked.work, asked.cwd)
    if not error and (asked.allow_mixed or not found):
        with _preparing:
            if asked.run not in _runs:
                _runs[asked.run] = _Run(asked)
                _runs[asked.run].leave_later()
    return Answer(_PROCESS, found, error)


def compute(run: str, batch: bytes) -> Computed:
    """Compute a batch.

    Parameters
    ----------
    run : str
    batch : bytes
        A pickled list of items.
    """
    known = _runs.get(run)
    if known is None:
        return Computed(_PROCESS, None)
    results = known.compute(pickle.loads(batch), _cancelled())
    # As bytes, because Dask would estimate the size of every object of a list.
    return Computed(_PROCESS, None if results is None else pickle.dumps(results))


def halt(run: str) -> None:
    """Let batches end after the replicates in progress."""
    if run in _runs:
        _runs[run].halted = True


async def finish(run: str) -> None:
    """Forget a run, and end its worker processes."""
    known = _runs.pop(run, None)
    if known is not None:
        await asyncio.to_thread(known.end)


def _cancelled() -> Callable[[], bool]:
    """Return a function that says whether nobody waits any more for the task of this thread."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def cancelled() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state in ("cancelled", "resumed")

    return cancelled


def _localised(setup: Setup, folder: Path) -> Work:
    """Return the work with paths of this machine, after writing the plugins to a folder."""
    for name, content in setup.plugins.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    own = {folder / name: source for name, source in setup.sent.items()}
    for package in setup.packages:
        own |= package.located()
    return replace(
        setup.work,
        plugins=tuple(str(folder / entry) for entry in setup.plugins.entries),
        # With other versions, the code of packages may differ, and plugins were just written.
        code=() if setup.allow_mixed else tuple(own.items()),
        cwd=setup.cwd,
    )
