"""The engine that computes in worker processes on this machine."""

from __future__ import annotations

import time
from multiprocessing.connection import wait

from greedyexp.core.errors import PluginError
from greedyexp.protocols.base import Outcome, Status
from greedyexp.runner.engine import TICK, Engine, Guard
from greedyexp.runner.work import Batch, Result, Work
from greedyexp.runner.worker_handle import WorkerHandle

# Seconds in which the messages of quick replicates gather. To read each at once would take this
# process longer than some replicates take.
_GATHER = 0.005


class ProcessesEngine(Engine):
    """Worker processes with at most one batch each.

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
        self._waiting: list[Batch] = []
        self._workers: list[WorkerHandle] = []

    def start(self, work: Work, expected: int, guard: Guard) -> None:
        self._work = work
        for _ in range(min(self.jobs, expected)):
            self._workers.append(WorkerHandle(work))

    @property
    def free(self) -> bool:
        return len(self._waiting) < sum(worker.idle for worker in self._workers)

    @property
    def busy(self) -> bool:
        return bool(self._waiting) or any(worker.busy for worker in self._workers)

    def submit(self, batch: Batch) -> None:
        self._waiting.append(batch)

    def wait(self) -> list[Result]:
        for worker in self._workers:
            if self._waiting and worker.idle:
                worker.assign(self._waiting.pop())
        if wait([worker.channel for worker in self._workers], timeout=TICK):
            time.sleep(_GATHER)
        results: list[Result] = []
        for number, worker in enumerate(self._workers):
            try:
                results += worker.receive()
                outcome = self._overdue(worker)
            except (EOFError, OSError):
                outcome = _death(worker)
            if outcome is not None:
                lost, rest = worker.abandon(outcome)
                results += lost
                if rest:
                    self._waiting.append(rest)
                self._workers[number] = WorkerHandle(self._work)
        return results

    def stop(self) -> None:
        self._waiting.clear()

    def end(self) -> None:
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def _overdue(self, worker: WorkerHandle) -> Outcome | None:
        """Return the outcome of an algorithm that exceeds its time limit; otherwise None."""
        late, limit = time.monotonic() - worker.since, self._work.time_limit
        if worker.busy and limit is not None and late > limit:
            return Outcome(Status.TIMEOUT, f"longer than the time limit of {limit:g} s")
        return None


def _death(worker: WorkerHandle) -> Outcome:
    if not worker.ready:
        raise PluginError(
            f"a worker could not start: {worker.cause_of_death()} before it was ready.",
            remedy="Any output above may say why; finished replicates are kept.",
        )
    return Outcome(Status.ERROR, worker.cause_of_death())
