"""The connection to a Dask scheduler: batches go out, and answers come back in one queue."""

from __future__ import annotations

import asyncio
import logging
import pickle
import queue
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from distributed import Client

from greedyexp.core.errors import UserError
from greedyexp.runner.dask import remote
from greedyexp.runner.dask.compatibility import Comparison, refusal
from greedyexp.runner.work import Batch

# Seconds to wait for the scheduler.
_CONNECT = 60.0

# Seconds without an answer after which the scheduler counts as lost. A busy one may need many.
_SILENCE = 60.0

# Seconds between looks at the number of threads.
_PERIOD = 0.5

# Seconds to wait until all workers have said why they refuse the run.
_REASONS = 10.0

# Errors of a worker without greedyexp, or with one of other classes.
_NO_IMPORT = (ImportError, AttributeError)

# Seconds that the end of a run waits for a scheduler or a worker that does not answer.
_CLOSE_LIMIT = 5.0


class Connection:
    """A client of a scheduler. It has a thread, because a scheduler may never answer.

    Parameters
    ----------
    arguments : dict
        Arguments of ``distributed.Client``.
    name : str
        Name of the cluster for messages.
    setup : Setup
    announce : bool
        Print the address of the dashboard and what the run waits for.

    Attributes
    ----------
    answers : queue
        For each batch its number, and what the worker has returned or an exception. After an error
        of the connection None and the error.
    threads : int
        Number of threads of all workers.
    """

    def __init__(
        self, arguments: dict[str, Any], name: str, setup: remote.Setup, *, announce: bool
    ):
        self.answers: queue.SimpleQueue[tuple[int | None, Any]] = queue.SimpleQueue()
        self.threads = 0
        self._name, self._setup, self._announce = name, setup, announce
        self._question = pickle.dumps(setup)
        self._client: Any = None
        self._task: Any = None
        self._reasons: asyncio.Future[Any] | None = None
        # The engine reports a lost connection; this logger would report it, too.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        ready = threading.Event()
        self._thread = threading.Thread(
            target=asyncio.run, args=(self._serve(arguments, ready),), daemon=True
        )
        self._thread.start()
        ready.wait()

    def submit(self, number: int, batch: Batch) -> None:
        """Let a worker compute a batch."""
        self._call(lambda: asyncio.ensure_future(self._compute(number, batch)))

    def halt(self, seconds: float) -> None:
        """Let all workers end their batches within this time."""
        self._call(lambda: asyncio.ensure_future(self._finish(seconds)))

    def close(self) -> None:
        """Give up all batches, and let all workers forget the run."""
        self._call(self._task.cancel)
        self._thread.join(3 * _CLOSE_LIMIT)

    def _call(self, function: Callable[[], object]) -> None:
        # The loop has ended if the connection was lost.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function)

    async def _serve(self, arguments: dict[str, Any], ready: threading.Event) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        ready.set()
        try:
            await self._connect(arguments)
            await self._watch()
        except asyncio.CancelledError:
            with suppress(Exception):
                await asyncio.wait_for(self._finish(0.0), _CLOSE_LIMIT)
        except Exception as error:
            self.answers.put((None, error))
        finally:
            if self._client is not None:
                with suppress(Exception):
                    await self._client.close(timeout=_CLOSE_LIMIT)

    async def _connect(self, arguments: dict[str, Any]) -> None:
        try:
            self._client = Client(
                **arguments, timeout=_CONNECT, set_as_default=False, asynchronous=True
            )
            # The limit of Dask covers only the time until a connection is accepted.
            await asyncio.wait_for(self._client, _CONNECT)
        except Exception as error:
            raise UserError(
                f"no Dask scheduler answers ({_described(error)}).",
                place=self._name,
                remedy="Check that it runs and that this machine can reach it.",
            ) from None
        if self._announce:
            _say(f"Dask: {self._name}; dashboard: {self._client.dashboard_link}")

    async def _watch(self) -> None:
        announced, since = not self._announce, time.monotonic()
        while self._client.status == "running":
            try:
                # A suspended scheduler keeps its connections and never answers.
                threads = await asyncio.wait_for(self._client.scheduler.ncores(), _SILENCE)
                self.threads = sum(threads.values())
                await asyncio.sleep(_PERIOD)
            except Exception as error:
                raise self.lost(_described(error)) from None
            if not announced and not self.threads and time.monotonic() > since + 2.0:
                announced = True
                _say("Waiting for Dask workers.")
        raise self.lost("it has closed the connection")

    def lost(self, reason: str) -> UserError:
        """Return the error of a run whose scheduler was lost."""
        return UserError(
            f"the Dask scheduler was lost ({reason}).",
            place=self._name,
            remedy="Finished replicates are kept; the same command continues.",
        )

    async def _compute(self, number: int, batch: Batch) -> None:
        try:
            call = pickle.dumps(remote.Call(remote.compute, (self._question, pickle.dumps(batch))))
            key = f"greedyexp-{self._setup.run[:8]}-{number}"
            answer = await self._client.submit(pickle.loads, call, key=key, pure=False)
        except Exception as error:
            answer = error
        if isinstance(answer, _NO_IMPORT):
            answer = await self._refusal({}) or answer
        elif isinstance(answer, remote.Computed) and any(answer.comparison):
            answer = await self._refusal({answer.worker: answer.comparison})
        self.answers.put((number, answer))

    async def _refusal(self, first: dict[str, Any]) -> UserError | None:
        """Ask all workers why they refuse the run, since all should be mended at once."""
        if self._reasons is None:
            call = pickle.dumps(remote.Call(remote.comparison_of, (self._setup,)))
            self._reasons = asyncio.ensure_future(
                asyncio.wait_for(self._client.run(pickle.loads, call, on_error="return"), _REASONS)
            )
        reasons = dict(first)
        with suppress(Exception):
            for address, answer in (await asyncio.shield(self._reasons)).items():
                if isinstance(answer, (Comparison, *_NO_IMPORT)):
                    reasons.setdefault(address, answer)
        return refusal(reasons)

    async def _finish(self, seconds: float) -> None:
        if self._client is not None and self._client.status == "running":
            with suppress(Exception):
                await self._client.run(remote.finish, self._setup.run, seconds, on_error="ignore")


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")


def _say(text: str) -> None:
    """Print a line on stderr, above a progress bar."""
    from tqdm import tqdm

    tqdm.write(text, file=sys.stderr)
