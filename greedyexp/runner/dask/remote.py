"""The function that Dask workers run.

Each thread of a Dask worker has a worker process of its own, by the engine ``processes``. So a part
that crashes or exceeds its time limit costs this process and not the Dask worker, and results are
the same.
"""

from __future__ import annotations

import asyncio
import math
import os
import pickle
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from greedyexp.runner.code_version import PluginSources, SourceFile
from greedyexp.runner.dask.compatibility import (
    Comparison,
    Package,
    data_error,
    differences,
    packages_of,
)
from greedyexp.runner.processes import ProcessesEngine
from greedyexp.runner.work import Batch, Result, Work

# After this many seconds without a batch, a run is forgotten and its worker processes end. The
# client may have been killed.
_IDLE_LIMIT = 60.0


@dataclass(frozen=True)
class Setup:
    """What a Dask worker must know of a run.

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
    versions : dict of str to str
        Versions on the client that rows depend on.
    cwd : Path
        Working directory on the client.
    """

    run: str
    work: Work
    plugins: PluginSources
    sent: dict[str, SourceFile]
    packages: list[Package]
    versions: dict[str, str]
    cwd: Path


def setup_of(work: Work, plugins: PluginSources, *, versions: dict[str, str]) -> Setup:
    """Return the setup of a new run, on the client."""
    sent: dict[Path, str] = {}
    files = [Path(os.path.realpath(plugin)) for plugin in work.plugins]
    for plugin, entry in zip(files, plugins.entries, strict=True):
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
        packages=packages_of(pair for pair in work.code if pair[0] not in sent),
        versions=versions,
        cwd=Path.cwd(),
    )


class Call:
    """A call that happens when its pickle is loaded.

    A worker that cannot import the function of a task loses its connection to the scheduler. This
    import fails in the task, and so it is reported.
    """

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]):
        self._call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self._call


class Computed(NamedTuple):
    """The answer of a Dask worker to a batch.

    Parameters
    ----------
    worker : str
        Its address.
    comparison : Comparison
        With the main process.
    results : bytes
        Pickled list of results: Dask would estimate the size of every object of a list. Some are
        missing if the worker refuses the run, or was asked to stop.
    """

    worker: str
    comparison: Comparison
    results: bytes


class _Run:
    """A run on this Dask worker.

    Attributes
    ----------
    busy : int
        Number of batches in progress.
    deadline : float
        Time when batches end unfinished, by ``time.monotonic``.
    timer : Timer or None
        Forgets the run if no batch comes.
    """

    def __init__(self) -> None:
        self.busy, self.deadline = 0, math.inf
        self.timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._comparison: Comparison | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        # Linux kills a process when the thread that has started it ends, so each thread has one.
        self._engines: dict[int, ProcessesEngine] = {}

    def compare(self, setup: Setup) -> Comparison:
        """Compare this worker with the main process, and write the plugins to a folder.

        Only the first call does this; meanwhile the others wait.
        """
        with self._lock:
            if self._comparison is None:
                comparison = comparison_of(setup)
                if not any(comparison):
                    self._folder = tempfile.TemporaryDirectory(prefix="greedyexp-")
                    self._work = _localised(setup, Path(self._folder.name))
                self._comparison = comparison
            return self._comparison

    def compute(self, batch: Batch, cancelled: Callable[[], bool]) -> list[Result]:
        """Compute a batch in the process of this thread; a part of it after the deadline."""
        thread = threading.get_ident()
        results: list[Result] = []
        if self._late():
            return results
        engine = self._engines.pop(thread, None)
        try:
            if engine is None:
                engine = ProcessesEngine(1)
                engine.start(self._work, 1, nullcontext)
            engine.submit(batch)
            while engine.busy and not self._late() and not cancelled():
                results += engine.wait()
        finally:
            with self._lock:
                if engine is not None and (engine.busy or self._late()):
                    engine.end()
                elif engine is not None:
                    self._engines[thread] = engine
        return results

    def _late(self) -> bool:
        return time.monotonic() >= self.deadline

    def end(self) -> None:
        """End the processes that are not busy, and soon the others; remove the plugins."""
        self.deadline = 0.0
        with self._lock:
            while self._engines:
                self._engines.popitem()[1].end()
            if self._folder is not None:
                self._folder.cleanup()


def comparison_of(setup: Setup) -> Comparison:
    """Compare this worker with the main process."""
    found = differences(setup.versions)
    for package in setup.packages:
        found += package.differences()
    return Comparison(found, data_error(setup.work, setup.cwd))


_runs: dict[str, _Run] = {}
# For ``_runs`` and ``busy``; nothing that takes time happens under it.
_lock = threading.Lock()


@contextmanager
def _entered(name: str) -> Iterator[_Run]:
    """Return a context with a run, which is forgotten some time after the last such context."""
    with _lock:
        run = _runs.setdefault(name, _Run())
        run.busy += 1
        if run.timer is not None:
            run.timer.cancel()
    try:
        yield run
    finally:
        with _lock:
            run.busy -= 1
            if not run.busy:
                run.timer = threading.Timer(_IDLE_LIMIT, _leave, (name, run))
                run.timer.daemon = True
                run.timer.start()


def _leave(name: str, run: _Run) -> None:
    with _lock:
        if run.busy:
            return
        if _runs.get(name) is run:
            del _runs[name]
    run.end()


def compute(setup: bytes, batch: bytes) -> Computed:
    """Compute a batch, unless this worker would compute other rows.

    Parameters
    ----------
    setup, batch : bytes
        A pickled ``Setup`` and a pickled list of items.
    """
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def cancelled() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state in ("cancelled", "resumed")

    asked: Setup = pickle.loads(setup)  # noqa: S301 - own main process
    results: list[Result] = []
    with _entered(asked.run) as run:
        comparison = run.compare(asked)
        if not any(comparison):
            results = run.compute(pickle.loads(batch), cancelled)  # noqa: S301 - own main process
    return Computed(worker.address, comparison, pickle.dumps(results))


async def finish(name: str, seconds: float) -> None:
    """Let the batches of a run end within this time; begin no others if it is zero."""
    if (run := _runs.get(name)) is None:
        return
    run.deadline = time.monotonic() + seconds
    if not seconds:
        await asyncio.to_thread(run.end)


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
        code=tuple(own.items()),
        cwd=setup.cwd,
    )
