"""A worker process as seen by the pool, and the messages that it sends.

The pool sends the work and then batches. The worker sends ``READY`` once, and then, for each item,
one ``DATA`` and, in order, one ``RESULT`` per algorithm. It sends ``FAILED`` if the run cannot
continue, and exits.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from enum import IntEnum
from multiprocessing import connection
from typing import Any

from greedyexp.core.errors import PluginError, UserError
from greedyexp.core.signals import INTERRUPTS
from greedyexp.protocols.base import Outcome
from greedyexp.runner.work import Batch, DataMade, Result, Work

# Replicates are computed in parallel. Threads inside a worker would only compete for the cores, and
# the order of their sums could change the last digit.
_ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
    ),
    "1",
)


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
            self.process = _spawn(end)
        self.ready = False
        self.since = time.monotonic()
        # The items without results, and the data of the first of them.
        self._batch: Batch = []
        self._data: DataMade | None = None
        self._received = False
        # If the process is already dead, the pool will find its channel closed.
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
        self._batch, self._data = batch, None
        self.since = time.monotonic()
        self._received = False
        with suppress(OSError):
            self.channel.send(batch)
            self._received = True

    def receive(self) -> list[Result]:
        """Wait for the next message and return its result, if it has one.

        Raises
        ------
        EOFError, OSError
            If the worker is dead and all its messages have been read.
        UserError
            If the run cannot continue.
        """
        kind, *content = self.channel.recv()
        self.since = time.monotonic()
        if kind == Message.RESULT:
            self._advance(1)
            return list(content)
        if kind == Message.DATA:
            (self._data,) = content
        elif kind == Message.READY:
            self.ready = True
        else:
            message, where, remedy = content
            raise PluginError(message, place=where, remedy=remedy)
        return []

    def abandon(self, outcome: Outcome) -> tuple[list[Result], Batch]:
        """Give up the algorithm in progress, after the worker has ended.

        Returns
        -------
        list of Result
            ``outcome`` for this algorithm, or for all algorithms of the item if its data were still
            being generated.
        Batch
            The part of the batch that has not begun.
        """
        if not self._batch or not self._received:
            return [], self._batch
        spent = time.monotonic() - self.since
        item = self._batch[0]
        data = self._data or DataMade({}, 0.0)
        given_up = item.algorithms if self._data is None else item.algorithms[:1]
        self._advance(len(given_up))
        results = [
            Result(item.point, item.replicate, algorithm, outcome, data.facts, spent, data.seconds)
            for algorithm in given_up
        ]
        return results, self._batch

    def end(self, *, patience: float = 0.0) -> None:
        """Close the channel, and kill the worker if it does not exit within ``patience`` s."""
        self.channel.close()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def cause_of_death(self) -> str:
        """Return how the process ended, as a clause."""
        code = self.process.wait()
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
        first, *others = self._batch
        left = first.algorithms[count:]
        if left:
            self._batch = [replace(first, algorithms=left), *others]
        else:
            self._batch, self._data = others, None


def _spawn(end: connection.Connection) -> subprocess.Popen[bytes]:
    # Setting the import path first prevents a file named numpy.py in the current folder from
    # shadowing the library. With -c, a script that calls greedyexp.run() is not imported again, so
    # it needs no `if __name__ == "__main__"`.
    program = (
        f"import sys; sys.path[:] = {sys.path!r};"
        f" from greedyexp.runner.worker import main; main({end.fileno()}, {os.getpid()})"
    )
    # The fixed hash seed gives sets of strings the same order in every worker.
    environment = {**os.environ, **_ONE_THREAD, "PYTHONHASHSEED": "0"}
    try:
        with _signals_blocked():
            return subprocess.Popen(
                [sys.executable, "-c", program],
                stdin=subprocess.DEVNULL,
                # Output of an algorithm must not mix with the results of the command.
                stdout=2,
                env=environment,
                **_inherit(end),
            )
    except OSError as error:
        raise UserError(
            f"a worker process cannot be started: {error.strerror}.",
            remedy="Use fewer workers with --jobs.",
        ) from error


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block signals in this process and in a child that starts meanwhile.

    Otherwise the signals could kill the child during its imports. This process receives them
    afterwards.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _inherit(end: connection.Connection) -> dict[str, Any]:
    """Return arguments of ``subprocess.Popen`` that let a child inherit one end of a channel."""
    if sys.platform == "win32":
        os.set_handle_inheritable(end.fileno(), True)
        information = subprocess.STARTUPINFO(lpAttributeList={"handle_list": [end.fileno()]})
        return {"startupinfo": information}
    return {"pass_fds": (end.fileno(),)}
