"""The engine that submits batches to a Dask scheduler.

Dask chooses the worker of a batch, and another one if it dies. A batch whose workers have died too
often for Dask is divided into single replicates. Each of these is submitted when nothing else is in
progress, so a replicate that kills its worker is found, and no other is blamed.
"""

from __future__ import annotations

import itertools
import pickle
import queue
from concurrent.futures import CancelledError
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

from distributed import KilledWorker
from distributed.comm import CommClosedError

from greedyexp.core.errors import UserError
from greedyexp.protocols.base import Outcome, Status
from greedyexp.runner.code_version import plugin_sources
from greedyexp.runner.dask import remote
from greedyexp.runner.dask.clusters import Cluster
from greedyexp.runner.dask.compatibility import own_versions
from greedyexp.runner.dask.connection import Connection
from greedyexp.runner.engine import TICK, Engine, Guard
from greedyexp.runner.work import Batch, Result, Work

# Batches for each thread of the workers: one in progress, and one to start next.
_BATCHES_PER_THREAD = 2


class DaskEngine(Engine):
    """Compute on the workers of a Dask cluster.

    Parameters
    ----------
    cluster : Cluster
    announce : bool
        Print the address of the dashboard and what the run waits for.
    """

    name = "dask"
    most_items = 10_000
    grace = 4.0

    def __init__(self, cluster: Cluster, *, announce: bool = True):
        self.cluster = cluster
        self.jobs = 0
        self._announce = announce
        self._context = ExitStack()
        self._numbers = itertools.count()
        self._batches: dict[int, Batch] = {}
        # Single replicates that may have killed their workers.
        self._suspects: list[Batch] = []
        self._stopped = False

    @property
    def batch_seconds(self) -> float:
        """A second, and more with many workers: a scheduler starts some hundred tasks a second."""
        return min(max(1.0, self.jobs / 100), 10.0)

    def remarks(self) -> dict[str, Any]:
        """Return the cluster."""
        return {"cluster": self.cluster.name}

    def start(self, work: Work, expected: int, guard: Guard) -> None:
        sources = plugin_sources(work.plugins)
        setup = remote.setup_of(work, sources, versions=own_versions(work))
        arguments = self._context.enter_context(self.cluster.opened())
        self._connection = Connection(arguments, self.cluster.name, setup, announce=self._announce)
        self._context.callback(self._connection.close)

    @property
    def free(self) -> bool:
        return len(self._batches) < _BATCHES_PER_THREAD * self._connection.threads

    @property
    def busy(self) -> bool:
        return bool(self._batches or self._suspects)

    def submit(self, batch: Batch) -> None:
        number = next(self._numbers)
        self._batches[number] = batch
        self._connection.submit(number, batch)

    def wait(self) -> list[Result]:
        self.jobs = max(self.jobs, self._connection.threads)
        if self._suspects and not self._batches and self._connection.threads:
            self.submit(self._suspects.pop())
        results: list[Result] = []
        with suppress(queue.Empty):
            number, answer = self._connection.answers.get(timeout=TICK)
            while True:
                if number is None:
                    raise answer
                results += self._after(self._batches.pop(number), answer)
                number, answer = self._connection.answers.get_nowait()
        return results

    def stop(self) -> None:
        self._stopped = True
        self._suspects.clear()
        self._connection.halt(self.grace / 2)

    def end(self) -> None:
        self._context.close()

    def _after(self, batch: Batch, answer: Any) -> list[Result]:
        """Return the results that follow from the answer to a batch."""
        if isinstance(answer, remote.Computed):
            results: list[Result] = pickle.loads(answer.results)  # noqa: S301 - own workers
            # A task that Dask has moved, or a run that was stopped, returns a part.
            self._again(_remaining(batch, results))
            return results
        if isinstance(answer, KilledWorker):
            if len(batch) == 1 and len(batch[0].algorithms) == 1 and not self._batches:
                return [_killed(batch)]
            self._suspects += [
                [replace(item, algorithms=(algorithm,))]
                for item in batch
                for algorithm in item.algorithms
            ]
        elif isinstance(answer, CommClosedError):
            # The result could not be fetched.
            self._again(batch)
        elif isinstance(answer, CancelledError):
            raise self._connection.lost("it gave up a batch")
        elif isinstance(answer, UserError):
            raise answer
        else:
            raise UserError(
                f"a Dask worker cannot compute: {type(answer).__name__}: {answer}.",
                place=self.cluster.name,
            )
        return []

    def _again(self, batch: Batch) -> None:
        if batch and not self._stopped:
            self.submit(batch)


def _remaining(batch: Batch, results: list[Result]) -> Batch:
    """Return the part of a batch that has no results."""
    if len(results) == sum(len(item.algorithms) for item in batch):
        return []
    done = {(result.point, result.replicate, result.algorithm) for result in results}
    left = [
        tuple(a for a in item.algorithms if (item.point, item.replicate, a) not in done)
        for item in batch
    ]
    return [replace(item, algorithms=some) for item, some in zip(batch, left, strict=True) if some]


def _killed(batch: Batch) -> Result:
    message = "the Dask workers died that computed it; out of memory is the usual cause"
    (item,) = batch
    outcome = Outcome(Status.ERROR, message)
    return Result(item.point, item.replicate, item.algorithms[0], outcome)
