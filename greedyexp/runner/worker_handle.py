"""A worker process as seen by the engine, and the messages that it sends.

The engine sends the work and then batches. The worker sends ``READY`` once, and then, for each
item, one ``DATA`` and, in order, one ``RESULT`` per algorithm. It sends ``FAILED`` if the run
cannot continue, and exits. So the engine knows which algorithm is in progress when a worker dies.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import deque
from contextlib import suppress
from dataclasses import replace
from enum import IntEnum
from multiprocessing import connection
from typing import Any

from greedyexp.core.errors import PluginError, UserError
from greedyexp.core.reading import THREADS
from greedyexp.protocols.base import Outcome
from greedyexp.runner.work import Batch, DataMade, Item, Result, Work

_ONE_THREAD = dict.fromkeys(THREADS, "1")


class Message(IntEnum):
    """The first element of every tuple that a worker sends."""

    READY = 0
    FAILED = 1
    DATA = 2
    RESULT = 3


class WorkerHandle:
    """A running worker process and its current batch.

    Parameters
    ----------
    work : Work
        The work to send. The worker is ready when it has loaded the parts.

    Attributes
    ----------
    ready : bool
        True after the worker has loaded the parts.
    since : float
        Time of its last message, by ``time.monotonic``.
    """

    def __init__(self, work: Work):
        self.channel, end = connection.Pipe(duplex=True)
        with end:
            self._process = _spawn(end)
        self.ready = False
        self.since = time.monotonic()
        # The items without results, and the data of the first of them.
        self._batch: deque[Item] = deque()
        self._data: DataMade | None = None
        self._received = False
        # If the process is already dead, the engine will find its channel closed.
        with suppress(OSError):
            self.channel.send(work)

    @property
    def busy(self) -> bool:
        return bool(self._batch)

    @property
    def idle(self) -> bool:
        return self.ready and not self._batch

    def assign(self, batch: Batch) -> None:
        """Send a batch."""
        self._batch, self._data = deque(batch), None
        self.since = time.monotonic()
        self._received = False
        with suppress(OSError):
            self.channel.send(batch)
            self._received = True

    def receive(self) -> list[Result]:
        """Read all messages that have arrived, and return their results.

        Raises
        ------
        EOFError, OSError
            If the worker is dead and all its messages have been read.
        UserError
            If the run cannot continue.
        """
        results: list[Result] = []
        while self.channel.poll():
            try:
                kind, *content = self.channel.recv()
            except (EOFError, OSError):
                if results:
                    return results
                raise
            self.since = time.monotonic()
            if kind == Message.RESULT:
                self._advance(1)
                results += content
            elif kind == Message.DATA:
                (self._data,) = content
            elif kind == Message.READY:
                self.ready = True
            else:
                message, where, remedy = content
                raise PluginError(message, place=where, remedy=remedy)
        return results

    def abandon(self, outcome: Outcome) -> tuple[list[Result], Batch]:
        """End the worker and give up the algorithm in progress.

        Returns
        -------
        list of Result
            ``outcome`` for this algorithm, or for all algorithms of the item if its data were still
            being generated.
        Batch
            The part of the batch that has not begun.
        """
        self.end()
        if not self._batch or not self._received:
            return [], list(self._batch)
        spent = time.monotonic() - self.since
        item = self._batch[0]
        data = self._data or DataMade({}, 0.0)
        given_up = item.algorithms if self._data is None else item.algorithms[:1]
        self._advance(len(given_up))
        results = [
            Result(item.point, item.replicate, algorithm, outcome, data.facts, spent, data.seconds)
            for algorithm in given_up
        ]
        return results, list(self._batch)

    def end(self) -> None:
        """Kill the worker and the programs that its parts have started."""
        self.channel.close()
        if sys.platform == "win32":
            self._process.kill()
        else:
            # The group may outlive the worker.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def cause_of_death(self) -> str:
        """Return how the process ended, as a clause."""
        code = self._process.wait()
        if code >= 0:
            return f"the worker process ended with exit code {code}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = "unknown"
        cause = f"the worker was killed by signal {-code} ({name})"
        return f"{cause}; out of memory is the usual cause" if name == "SIGKILL" else cause

    def _advance(self, count: int) -> None:
        """Drop this many algorithms of the first item."""
        item = self._batch.popleft()
        if left := item.algorithms[count:]:
            self._batch.appendleft(replace(item, algorithms=left))
        else:
            self._data = None


def _spawn(end: connection.Connection) -> subprocess.Popen[bytes]:
    # Setting the import path first prevents a file named numpy.py in the current folder from
    # shadowing the library. With -c, a script that calls greedyexp.run() is not imported again, so
    # it needs no `if __name__ == "__main__"`. With -u, nothing that a part prints is lost when the
    # worker is killed.
    program = (
        f"import sys; sys.path[:] = {sys.path!r};"
        f" from greedyexp.runner.worker import main; main({end.fileno()}, {os.getpid()})"
    )
    # The fixed hash seed gives sets of strings the same order in every worker.
    environment = {**os.environ, **_ONE_THREAD, "PYTHONHASHSEED": "0"}
    try:
        return subprocess.Popen(
            [sys.executable, "-u", "-c", program],
            stdin=subprocess.DEVNULL,
            # Output of an algorithm must not mix with the results of the command.
            stdout=2,
            env=environment,
            # Programs that parts start are in the group of the worker, and signals of the terminal
            # do not reach it.
            start_new_session=True,
            **_inherit(end),
        )
    except OSError as error:
        raise UserError(
            f"a worker process cannot be started: {error.strerror}.",
            remedy="Use fewer workers with --jobs.",
        ) from error


def _inherit(end: connection.Connection) -> dict[str, Any]:
    """Return arguments of ``subprocess.Popen`` that let a child inherit one end of a channel."""
    if sys.platform == "win32":
        os.set_handle_inheritable(end.fileno(), True)
        information = subprocess.STARTUPINFO(lpAttributeList={"handle_list": [end.fileno()]})
        return {"startupinfo": information}
    return {"pass_fds": (end.fileno(),)}
