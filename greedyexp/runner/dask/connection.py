"""The connection to a Dask scheduler: tasks go out, and events come back in one queue."""

from __future__ import annotations

import asyncio
import logging
import pickle
import queue
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from distributed import Client, Future

# Seconds between looks at the list of workers.
_PERIOD = 0.5

# Seconds without an answer after which the scheduler counts as lost. A busy one may need many.
_SILENCE = 60.0

# Seconds that one attempt to connect may take; between attempts Ctrl-C is noticed.
_ATTEMPT = 5.0

# Seconds that the end of a run waits for a scheduler or a worker that does not answer.
_CLOSE_LIMIT = 5.0


class KnownWorkers(NamedTuple):
    """The Dask workers that the scheduler knows: numbers of threads by address."""

    threads: dict[str, int]


class Done(NamedTuple):
    """A task has ended.

    Parameters
    ----------
    ticket : int
        The number under which it was submitted.
    value : object
        What it returned; None after an error.
    error : BaseException or None
        ``CancelledError`` if the scheduler has lost the task.
    """

    ticket: int
    value: Any
    error: BaseException | None


class ConnectionLost(NamedTuple):
    """The connection is closed, or the scheduler does not answer any more."""


Event = KnownWorkers | Done | ConnectionLost


class _Call:
    """A call that happens when its pickle is loaded.

    A worker that cannot import the function of a task loses its connection to the scheduler. This
    import fails in the task, and so it is reported.
    """

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]):
        self._call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self._call


class _Client(Client):
    """A client that gives up when a connection is accepted and nothing is ever answered.

    The scheduler may be suspended, or another program may listen at its address. The limit of Dask
    covers only the time until the connection is accepted.
    """

    def start(self, **how: Any) -> None:
        try:
            super().start(**how, callback_timeout=2 * _ATTEMPT)
        except (TimeoutError, asyncio.TimeoutError):
            with suppress(Exception):
                self.close(timeout=_CLOSE_LIMIT)
            raise TimeoutError("the connection was accepted, but nothing was answered") from None


class Connection:
    """A connection to a scheduler. When it is lost, a new one is needed.

    Parameters
    ----------
    arguments : dict
        Arguments of ``distributed.Client``.
    name : str
        Prefix of the keys of tasks.

    Raises
    ------
    OSError
        If no scheduler answers within a few seconds.
    ValueError
        If the address is invalid.
    """

    def __init__(self, arguments: dict[str, Any], name: str):
        # The engine reports a lost connection once; this logger would report it again.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        self._client = _Client(**arguments, timeout=_ATTEMPT, set_as_default=False)
        self._name = name
        self._futures: dict[int, Future] = {}
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._closing = False
        self._client.loop.add_callback(self._watch)

    @property
    def dashboard(self) -> str:
        """Address of the dashboard."""
        return str(self._client.dashboard_link)

    def submit(
        self, ticket: int, worker: str, function: Callable[..., Any], *arguments: Any
    ) -> None:
        """Let a worker call a function; ``Done`` reports the end.

        Parameters
        ----------
        ticket : int
            A number that was not used before.
        worker : str
            Address. The task waits if this worker is gone.
        """
        future = self._client.submit(
            pickle.loads,
            pickle.dumps(_Call(function, arguments)),
            key=f"{self._name}-{ticket}",
            workers=[worker],
            allow_other_workers=False,
            pure=False,
            retries=0,
        )
        self._futures[ticket] = future
        self._client.loop.add_callback(self._follow, ticket, future)

    def drop(self, ticket: int) -> None:
        """Give up a task; ``Done`` may still arrive."""
        future = self._futures.pop(ticket, None)
        if future is not None:
            future.release()

    def events(self, timeout: float) -> Iterator[Event]:
        """Yield the events that have arrived, after waiting for the first."""
        with suppress(queue.Empty):
            yield self._events.get(timeout=timeout)
            while True:
                yield self._events.get_nowait()

    def broadcast(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function in the event loop of all workers, without waiting for an answer."""
        self._client.loop.add_callback(self._call_all, function, *arguments)

    def close(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Give up all tasks, call a function on all workers, and close the connection."""
        self._closing = True
        for ticket in list(self._futures):
            self.drop(ticket)
        if self._client.status == "running":
            with suppress(Exception):
                self._client.sync(
                    self._call_all, function, *arguments, callback_timeout=_CLOSE_LIMIT
                )
        with suppress(Exception):
            self._client.close(timeout=_CLOSE_LIMIT)

    async def _call_all(self, function: Callable[..., Any], *arguments: Any) -> None:
        with suppress(Exception):
            await self._client.run(function, *arguments, on_error="ignore")

    async def _watch(self) -> None:
        while not self._closing:
            try:
                # A suspended scheduler keeps its connections and never answers.
                threads = await asyncio.wait_for(self._client.scheduler.ncores(), _SILENCE)
                running = self._client.status == "running"
            except Exception:
                running = False
            if not running:
                self._events.put(ConnectionLost())
                return
            self._events.put(KnownWorkers(dict(threads)))
            await asyncio.sleep(_PERIOD)

    async def _follow(self, ticket: int, future: Future) -> None:
        try:
            done = Done(ticket, await future, None)
        except (asyncio.CancelledError, Exception) as error:
            done = Done(ticket, None, error)
        if not self._closing:
            self._events.put(done)
