"""The engine that computes in worker processes on this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator
from multiprocessing.connection import wait

from greedyexp.core import registry
from greedyexp.core.errors import PluginError, place
from greedyexp.protocols.base import Outcome, Status
from greedyexp.runner.engine import Engine, Interruption
from greedyexp.runner.work import Batch, Result, Work
from greedyexp.runner.worker_handle import WorkerHandle

# Seconds between checks of time limits and interruptions.
TICK = 0.1

# Time limit in seconds for a worker to import the libraries, perhaps from a slow disk.
_START_LIMIT = 300.0

# Seconds that an interrupted run waits for replicates in progress.
GRACE = 2.0


class ProcessesEngine(Engine):
    """A pool of worker processes.

    A worker that exceeds the time limit is killed and replaced. If a worker dies, the replicate in
    progress becomes an ``error``.

    Parameters
    ----------
    jobs : int, at least 1
        Number of workers.
    """

    name = "processes"

    def __init__(self, jobs: int):
        self.jobs = jobs

    def results(
        self,
        work: Work,
        next_batch: Callable[[], Batch],
        *,
        expected: int,
        interruption: Interruption,
    ) -> Generator[list[Result], None, None]:
        refuse_parts_of_the_session(work)
        pool = Pool(work, min(self.jobs, expected))
        try:
            yield from pool.run(next_batch, interruption)
        finally:
            pool.end(at_once=interruption.now)


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def refuse_parts_of_the_session(work: Work) -> None:
    """Raise ``PluginError`` if a part was defined at a prompt or in a notebook."""
    wanted = [("protocol", work.protocol)]
    wanted += [("generator", name) for name in work.generators]
    wanted += [("algorithm", task.name) for task in work.algorithms]
    wanted += [("metric", name) for name in work.metrics]
    for kind, name in wanted:
        if registry.find(kind, name).function.__module__ == "__main__":
            raise PluginError(
                f"the {kind} '{name}' is defined in the running script or session, which worker"
                " processes cannot import.",
                remedy="Put it in a file and name the file under `plugins:`, or use the serial"
                " engine.",
            )


class Pool:
    """Worker processes on this machine, and the batches in progress.

    Parameters
    ----------
    work : Work
    jobs : int, at least 1
        Number of workers, which start with the first call of ``run``.
    """

    def __init__(self, work: Work, jobs: int):
        self._work = work
        self._jobs = jobs
        self._put_back: list[Batch] = []
        self._exhausted = False
        self._workers: list[WorkerHandle] = []

    def run(
        self, next_batch: Callable[[], Batch], interruption: Interruption
    ) -> Generator[list[Result], None, None]:
        """Yield results until there are no more batches; the workers stay for the next call.

        Like ``Engine.results``, it sometimes yields an empty list.
        """
        while len(self._workers) < self._jobs:
            self._workers.append(WorkerHandle(self._work))
        self._exhausted = False
        deadline = None
        while True:
            if interruption.soon:
                deadline = deadline or time.monotonic() + GRACE
                if interruption.now or time.monotonic() > deadline or not self._busy():
                    return
            else:
                self._dispatch(next_batch)
                if self._exhausted and not self._busy():
                    return
            yield self._collect() + self._overdue()

    def end(self, *, at_once: bool) -> None:
        """End the workers."""
        for worker in self._workers:
            worker.end(patience=0.0 if at_once or worker.busy or not worker.ready else 1.0)

    def _busy(self) -> bool:
        return any(worker.busy for worker in self._workers)

    def _dispatch(self, next_batch: Callable[[], Batch]) -> None:
        for worker in self._workers:
            if not worker.idle:
                continue
            batch = self._put_back.pop() if self._put_back else next_batch()
            if not batch:
                self._exhausted = True
                return
            worker.assign(batch)

    def _collect(self) -> list[Result]:
        """Wait for messages and read one from each worker that has sent any."""
        by_channel: dict[object, WorkerHandle] = {one.channel: one for one in self._workers}
        results: list[Result] = []
        for channel in wait([one.channel for one in self._workers], timeout=TICK):
            worker = by_channel[channel]
            try:
                results += worker.receive()
            except (EOFError, OSError):
                results += self._replace_dead(worker)
        return results

    def _replace_dead(self, worker: WorkerHandle) -> list[Result]:
        if not worker.ready:
            raise PluginError(
                f"a worker could not start: {worker.cause_of_death()} before it was ready.",
                remedy="Any output above may say why; finished replicates are kept.",
            )
        return self._replace(worker, Outcome(Status.ERROR, worker.cause_of_death()))

    def _overdue(self) -> list[Result]:
        """Kill workers that exceed their time limit and have sent no message."""
        now = time.monotonic()
        results: list[Result] = []
        for worker in list(self._workers):
            late = now - worker.since
            if not worker.ready:
                if late > _START_LIMIT:
                    raise _not_ready(self._work)
                continue
            limit = self._work.time_limit
            limited = limit is not None and late > limit and worker.busy
            if limited and not worker.channel.poll():
                message = f"longer than the time limit of {limit:g} s"
                results += self._replace(worker, Outcome(Status.TIMEOUT, message))
        return results

    def _replace(self, worker: WorkerHandle, outcome: Outcome) -> list[Result]:
        """End a worker and start another; return the results of the algorithm in progress."""
        worker.end()
        lost, rest = worker.abandon(outcome)
        if rest:
            self._put_back.append(rest)
            self._exhausted = False
        self._workers[self._workers.index(worker)] = WorkerHandle(self._work)
        return lost


def _not_ready(work: Work) -> PluginError:
    if work.plugins:
        files = ", ".join(place(file) for file in work.plugins)
        remedy = f"The import of a plugin may take too long ({files})."
    else:
        remedy = "The disk or the machine may be too slow; use fewer workers with --jobs."
    return PluginError(
        f"a worker process did not finish its imports within {_START_LIMIT:g} s.", remedy=remedy
    )
