"""The engine that sends batches to the workers of Dask and survives their deaths.

Every batch is given to one worker, as in a local pool. So this process knows which batches were in
progress when a worker died. A scheduler that chooses the workers would send a batch that kills its
worker to the next one.
"""

from __future__ import annotations

import itertools
import pickle
import sys
import time
from collections.abc import Callable, Generator
from concurrent.futures import CancelledError
from dataclasses import replace
from typing import Any

from distributed import KilledWorker
from distributed.comm import CommClosedError

import greedyexp
from greedyexp.core.errors import UserError
from greedyexp.protocols.base import Outcome, Status
from greedyexp.runner.code_version import plugin_sources
from greedyexp.runner.dask import remote
from greedyexp.runner.dask.clusters import Local, Scheduler, Started
from greedyexp.runner.dask.compatibility import Difference, clauses_of, own_versions
from greedyexp.runner.dask.connection import Connection, ConnectionLost, Done, Event, KnownWorkers
from greedyexp.runner.dask.work_queue import MOST_DEATHS, Assignment, State, Worker, WorkQueue
from greedyexp.runner.engine import Engine, Interruption
from greedyexp.runner.processes import GRACE, TICK, refuse_parts_of_the_session
from greedyexp.runner.work import Batch, Result, Work

# Seconds to wait for a scheduler at the start, and for one that was lost.
_CONNECT = 60.0
_PATIENCE = 300.0

# Seconds that the start waits for the answers of the workers that are there.
_ANSWERS = 60.0

# Errors of a task whose result could not be fetched, perhaps because the connection is about to be
# lost. The task itself did not fail.
_INTERRUPTED = (CancelledError, CommClosedError)

_KEPT = "Finished replicates are kept; the same command continues."


class DaskEngine(Engine):
    """Compute on the workers of a Dask cluster.

    Parameters
    ----------
    cluster : Local, Scheduler or Started
    allow_mixed : bool
        Accept workers with other versions than the main process.
    announce : bool
        Print the address of the dashboard and what the run waits for.
    """

    name = "dask"
    most_items = 10_000

    def __init__(
        self,
        cluster: Local | Scheduler | Started,
        *,
        allow_mixed: bool = False,
        announce: bool = True,
    ):
        self.cluster = cluster
        self.jobs = 0
        self.allow_mixed = allow_mixed
        self._announce = announce
        self._mixed: dict[str, list[Difference]] = {}

    @property
    def batch_seconds(self) -> float:
        """A second, and more with many workers: a scheduler starts some hundred tasks a second."""
        return min(max(1.0, self.jobs / 100), 10.0)

    def remarks(self) -> dict[str, Any]:
        """Return the cluster and, if there are any, the differences of its workers."""
        found: dict[str, Any] = {"cluster": self.cluster.name}
        if self._mixed:
            found["mixed_versions"] = [
                {"worker": address, **one._asdict()}
                for address, some in self._mixed.items()
                for one in some
            ]
        return found

    def results(
        self,
        work: Work,
        next_batch: Callable[[], Batch],
        *,
        expected: int,
        interruption: Interruption,
    ) -> Generator[list[Result], None, None]:
        refuse_parts_of_the_session(work)
        sources = plugin_sources(work.plugins)
        setup = remote.setup_of(work, sources, allow_mixed=self.allow_mixed)
        versions = own_versions(work)
        with self.cluster.opened() as arguments:
            dispatch = _Dispatch(self, setup, versions, WorkQueue(next_batch), arguments)
            try:
                yield from dispatch.run(interruption)
            finally:
                dispatch.end()

    def remember(self, address: str, found: list[Difference]) -> None:
        """Name the differences of a worker that computes in the manifest."""
        if found:
            self._mixed[address] = found

    def say(self, text: str) -> None:
        """Print a line on stderr, unless the run is quiet."""
        if self._announce:
            _warn(text)


class _Dispatch:
    """One run: its connection, its workers, and the tasks that were sent."""

    def __init__(
        self,
        engine: DaskEngine,
        setup: remote.Setup,
        versions: dict[str, str],
        queue: WorkQueue,
        arguments: dict[str, Any],
    ):
        self._engine, self._queue = engine, queue
        self._run = setup.run
        self._question = versions, pickle.dumps(setup)
        self._arguments = arguments
        self._connection: Connection | None = None
        self._tickets = itertools.count()
        self._holders: dict[int, Worker] = {}
        self._differences: dict[str, list[Difference]] = {}
        self._errors: dict[str, str] = {}
        self._connected: float | None = None
        self._working = False
        self._told_to_wait = False

    def run(self, interruption: Interruption) -> Generator[list[Result], None, None]:
        deadline = time.monotonic() + _CONNECT
        stop: float | None = None
        while True:
            if interruption.soon:
                if stop is None:
                    stop = time.monotonic() + 2 * GRACE
                    self._halt()
                if interruption.now or time.monotonic() > stop or not self._queue.busy:
                    return
            if (failure := self._engine.cluster.failure) is not None:
                raise failure
            if self._connection is None:
                self._connect(deadline)
                yield []
                continue
            if stop is None and self._ready():
                for worker, assignment in self._queue.give():
                    worker.assignments[self._send(worker, assignment)] = assignment
                if self._queue.finished:
                    return
            results: list[Result] = []
            for event in self._connection.events(TICK):
                results += self._after(event)
                if self._connection is None:
                    deadline = time.monotonic() + _PATIENCE
                    break
            yield results

    def end(self) -> None:
        """Let all workers forget the run, and close the connection."""
        if self._connection is not None:
            self._connection.close(remote.finish, self._run)
            self._connection = None

    def _halt(self) -> None:
        if self._connection is not None:
            self._connection.broadcast(remote.halt, self._run)

    def _connect(self, deadline: float) -> None:
        engine, name = self._engine, self._engine.cluster.name
        try:
            self._connection = Connection(self._arguments, f"greedyexp-{self._run[:8]}")
        except ValueError as error:
            raise UserError(
                f"this is not the address of a scheduler: {error}.", place=name
            ) from None
        except OSError as error:
            if time.monotonic() < deadline:
                return
            if self._connected is not None:
                raise UserError("the Dask scheduler was lost.", place=name, remedy=_KEPT) from None
            raise UserError(
                f"no Dask scheduler answers ({type(error).__name__}).",
                place=name,
                remedy="Check that it runs and that this machine can reach it.",
            ) from None
        if self._connected is None:
            engine.say(f"Dask: {name}; dashboard: {self._connection.dashboard}")
        else:
            engine.say("The Dask scheduler is back.")
        self._connected = time.monotonic()

    def _ready(self) -> bool:
        """Return True if batches may be sent, which waits for answers of the first workers.

        Raises
        ------
        UserError
            If a worker would compute other rows and no other computes.
        """
        queue = self._queue
        asked, accepted = queue.with_state(State.ASKED), queue.with_state(State.ACCEPTED)
        waited = time.monotonic() - (self._connected or 0.0)
        if not self._working:
            if (self._differences or self._errors) and not asked:
                raise self._refusal()
            if not queue.workers and waited > 2.0 and not self._told_to_wait:
                self._told_to_wait = True
                self._engine.say("Waiting for Dask workers.")
            self._working = bool(accepted) and (not asked or waited > _ANSWERS)
        elif queue.with_state(State.REFUSED) and not asked and not accepted:
            raise self._refusal()
        return self._working

    def _refusal(self) -> UserError:
        if self._differences:
            return _other_versions(self._differences)
        return _refused(*next(iter(self._errors.items())))

    def _send(self, worker: Worker, assignment: Assignment | None = None) -> int:
        """Send an assignment, or else the setup of the run; return the ticket of the task."""
        assert self._connection is not None
        ticket = next(self._tickets)
        self._holders[ticket] = worker
        if assignment is None:
            self._connection.submit(ticket, worker.address, remote.prepare, *self._question)
        else:
            batch = pickle.dumps(assignment.batch)
            self._connection.submit(ticket, worker.address, remote.compute, self._run, batch)
        return ticket

    def _after(self, event: Event) -> list[Result]:
        """Return the results that follow from an event."""
        if isinstance(event, KnownWorkers):
            return self._compare_workers(event.threads)
        if isinstance(event, ConnectionLost):
            self._wait_for_scheduler()
            return []
        worker = self._holders.pop(event.ticket, None)
        if worker is None:
            return []
        assert self._connection is not None
        self._connection.drop(event.ticket)
        assignment = worker.assignments.pop(event.ticket, None)
        if assignment is None:
            self._answered(worker, event)
            return []
        return self._computed(worker, assignment, event)

    def _compare_workers(self, threads: dict[str, int]) -> list[Result]:
        """Compare the workers with those that are known: some are new, some have died."""
        results: list[Result] = []
        for worker in list(self._queue.workers.values()):
            if worker.address not in threads:
                results += self._died(worker)
        for address, count in threads.items():
            if address not in self._queue.workers:
                worker = self._queue.workers[address] = Worker(address, count)
                self._send(worker)
        self._engine.jobs = max(self._engine.jobs, self._queue.threads)
        return results

    def _died(self, worker: Worker) -> list[Result]:
        self._forget_tickets(worker)
        lost = self._queue.remove_dead(worker)
        return [result for assignment in lost for result in _error_rows(assignment)]

    def _forget_tickets(self, worker: Worker) -> None:
        for ticket in [ticket for ticket, one in self._holders.items() if one is worker]:
            del self._holders[ticket]
            if self._connection is not None:
                self._connection.drop(ticket)

    def _wait_for_scheduler(self) -> None:
        _warn("Warning: the connection to the Dask scheduler is lost; waiting for it.")
        connection, self._connection = self._connection, None
        for worker in list(self._queue.workers.values()):
            self._queue.remove(worker)
        self._holders.clear()
        if connection is not None:
            connection.close(remote.finish, self._run)

    def _answered(self, worker: Worker, event: Done) -> None:
        """Accept or refuse a worker by its answer to the setup."""
        address = worker.address
        if isinstance(event.error, (*_INTERRUPTED, KilledWorker)):
            # It is asked again if it is still there.
            self._queue.remove(worker)
            return
        found: list[Difference] = []
        if event.error is None:
            worker.process, found, error = event.value
        else:
            error = f"{type(event.error).__name__}: {event.error}."
            if isinstance(event.error, (ImportError, AttributeError)):
                error += f" Install greedyexp {greedyexp.__version__} there, as here."
        if found and not self._engine.allow_mixed:
            self._differences[address] = found
            why = _other_versions({address: found})
        elif error:
            self._errors[address] = error
            why = _refused(address, error)
        else:
            worker.state = State.ACCEPTED
            self._engine.remember(address, found)
            return
        worker.state = State.REFUSED
        if self._working:
            _warn(f"Warning: no replicates go to {address}: {why}")

    def _computed(self, worker: Worker, assignment: Assignment, event: Done) -> list[Result]:
        """Return the results of an assignment, or arrange that it is computed again."""
        queue, error = self._queue, event.error
        if isinstance(error, _INTERRUPTED):
            queue.put_back(assignment)
        elif isinstance(error, KilledWorker):
            return [] if queue.retry(assignment) else _error_rows(assignment)
        elif isinstance(error, UserError):
            raise error
        elif error is not None:
            raise UserError(
                f"the Dask worker {worker.address} failed: {type(error).__name__}: {error}",
                remedy=_KEPT,
            )
        elif event.value.results is not None:
            results: list[Result] = pickle.loads(event.value.results)
            # A worker that was asked to stop, or dropped the run meanwhile, returns only a part.
            if rest := _remaining(assignment.batch, results):
                queue.put_back(replace(assignment, batch=rest))
            return results
        elif event.value.process == worker.process:
            # It has not heard of the run for long, and has forgotten it.
            queue.put_back(assignment)
            self._forget_tickets(worker)
            queue.remove(worker)
        else:
            worker.assignments = {event.ticket: assignment, **worker.assignments}
            return self._died(worker)
        return []


def _other_versions(found: dict[str, list[Difference]]) -> UserError:
    return UserError(
        f"Dask workers differ from the main process, so rows could differ: {clauses_of(found)}.",
        remedy="Install the same versions there, or use --allow-mixed.",
    )


def _refused(address: str, error: str) -> UserError:
    return UserError(f"the Dask worker {address} cannot compute: {error}")


def _remaining(batch: Batch, results: list[Result]) -> Batch:
    """Return the part of a batch that has no results."""
    if len(results) == sum(len(item.algorithms) for item in batch):
        return []
    done = {(one.point, one.replicate, one.algorithm) for one in results}
    left = [
        tuple(a for a in item.algorithms if (item.point, item.replicate, a) not in done)
        for item in batch
    ]
    return [replace(item, algorithms=some) for item, some in zip(batch, left, strict=True) if some]


def _error_rows(assignment: Assignment) -> list[Result]:
    """Return the error rows of a replicate that has killed its workers."""
    cause = "out of memory is the usual cause"
    message = f"{MOST_DEATHS} Dask workers died while computing it; {cause}"
    outcome = Outcome(Status.ERROR, message)
    return [
        Result(item.point, item.replicate, algorithm, outcome)
        for item in assignment.batch
        for algorithm in item.algorithms
    ]


def _warn(text: str) -> None:
    """Print a line on stderr, above a progress bar."""
    from tqdm import tqdm

    tqdm.write(text, file=sys.stderr)
