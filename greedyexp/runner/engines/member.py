"""One worker process as its pool sees it: what it is doing, since when, and what is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import replace

from greedyexp.core.errors import INTERRUPTS, PluginError, UserError, place
from greedyexp.protocols.base import Outcome, Status
from greedyexp.runner.engines.base import Batch, Result
from greedyexp.runner.messages import Kind, inherited, pair
from greedyexp.runner.work import Work

# Parallelism is over replicates: threads inside a worker would only fight for the cores, and
# the order of their sums could change the last digit.
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "NUMBA_NUM_THREADS",
    ),
    "1",
)


class Member:
    """A running worker and the batch it has.

    Parameters
    ----------
    work : Work
        Sent at once; the worker says ready when its parts are loaded.
    may_start_over : bool
        Whether it leaves its work to another process once it has compiled code.

    Attributes
    ----------
    ready : bool
        Whether it has loaded its parts.
    held_up : bool
        Whether numba is compiling or loading compiled code, time that counts against no limit.
    compiling : bool
        Whether it is compiling.
    spent : bool
        Whether it has filled the cache of compiled code and leaves its work to another.
    since : float
        When it last said something, by ``time.monotonic``.
    """

    def __init__(self, work: Work, *, may_start_over: bool):
        self.channel, end = pair()
        with end:
            self.process = _spawn(end)
        self.ready = False
        self.held_up = False
        self.compiling = False
        self.spent = False
        self.since = time.monotonic()
        self._batch: Batch = []
        self._item = 0
        self._algorithm = 0
        self._data: tuple[dict, float] | None = None
        self._told = False
        # One that is dead already cannot be told; the pool finds its channel closed.
        with suppress(OSError):
            self.channel.send((work, may_start_over))

    @property
    def busy(self) -> bool:
        return bool(self._batch)

    @property
    def idle(self) -> bool:
        return self.ready and not self._batch

    def give(self, batch: Batch) -> None:
        """Hand over a batch."""
        self._batch, self._item, self._algorithm, self._data = batch, 0, 0, None
        self.since = time.monotonic()
        self._told = False
        with suppress(OSError):
            self.channel.send(batch)
            self._told = True

    def receive(self) -> list[Result]:
        """The next message, waited for when there is none; a result when it brings one.

        Raises
        ------
        EOFError, OSError
            When the worker is gone and all it said has been read.
        UserError
            When it could not load its parts.
        """
        kind, *content = self.channel.recv()
        self.since = time.monotonic()
        if kind == Kind.RESULT:
            return [self._result(*content)]
        if kind == Kind.DATA:
            self._data = tuple(content)
        elif kind == Kind.HELD_UP:
            (self.held_up,) = content
            self.compiling = False
        elif kind == Kind.COMPILING:
            self.compiling = True
        elif kind == Kind.READY:
            self.ready = True
        elif kind == Kind.COMPILED:
            self.spent = True
        else:
            raise _refusal(*content)
        return []

    def abandon(self, outcome: Outcome) -> tuple[list[Result], Batch]:
        """Give up what is in progress.

        Returns
        -------
        list of Result
            ``outcome`` for the algorithm in progress; for all algorithms of the item when its data
            were being made.
        Batch
            What was not begun.
        """
        if not self._batch or not self._told:
            return [], self.rest()
        spent = time.monotonic() - self.since
        item = self._batch[self._item]
        number = len(item.algorithms) if self._data is None else self._algorithm + 1
        given_up = []
        while self._batch and self._batch[self._item] is item and self._algorithm < number:
            given_up.append(self._result(outcome, spent))
        return given_up, self.rest()

    def rest(self) -> Batch:
        """What of the batch has no result yet; the member then has nothing more to do."""
        if not self._batch:
            return []
        first, *others = self._batch[self._item :]
        left = first.algorithms[self._algorithm :]
        self._batch = []
        return [replace(first, algorithms=left), *others]

    def end(self, *, patience: float = 0.0) -> None:
        """Close the channel, at which an idle worker leaves, and kill it when it does not."""
        self.channel.close()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def cause_of_death(self) -> str:
        """How the process ended, as a clause."""
        code = self.process.wait()
        if code >= 0:
            return f"the worker process ended with exit code {code}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = "unknown"
        told = f"the worker was killed by signal {-code} ({name})"
        if name == "SIGKILL":
            return f"{told}; out of memory is the usual cause"
        return told

    def _result(self, outcome: Outcome, seconds: float) -> Result:
        """The result of what is in progress; moves on to what comes next."""
        item = self._batch[self._item]
        facts, data_seconds = self._data or ({}, 0.0)
        algorithm = item.algorithms[self._algorithm]
        self._algorithm += 1
        if self._algorithm == len(item.algorithms):
            self._item, self._algorithm, self._data = self._item + 1, 0, None
            if self._item == len(self._batch):
                self._batch = []
        return Result(item.point, item.replicate, algorithm, outcome, facts, seconds, data_seconds)


def crashed(member: Member) -> Outcome:
    """The outcome of what a worker was doing when it died."""
    return Outcome(Status.ERROR, member.cause_of_death())


def not_started(member: Member) -> UserError:
    """Why a run cannot go on when a worker dies before it is ready."""
    return PluginError(
        f"a worker could not start: {member.cause_of_death()} before it was ready.",
        remedy="What it printed above, if anything, says why; what is finished is kept.",
    )


def not_ready(work: Work, limit: float) -> UserError:
    """Why a run cannot go on when a worker does not become ready."""
    if work.plugins:
        files = ", ".join(place(file) for file in work.plugins)
        remedy = f"The import of a plugin may take too long ({files})."
    else:
        remedy = "The disk or the machine may be too slow; use fewer workers with --jobs."
    return PluginError(
        f"a worker process did not finish its imports within {limit:g} s.", remedy=remedy
    )


def _refusal(message: str, place: str | None, remedy: str | None) -> UserError:
    return PluginError(message, place=place, remedy=remedy)


def _spawn(end) -> subprocess.Popen:
    # Run by -c, with this process's import path set before anything is imported: a file named
    # numpy.py in the current folder must not shadow the library, and scripts that call
    # greedyexp.run() need no `if __name__ == "__main__"`.
    program = (
        f"import sys; sys.path[:] = {sys.path!r};"
        f" from greedyexp.runner.worker import main; main({end.fileno()}, {os.getpid()})"
    )
    # Sets of strings are walked in the same order in every worker.
    environment = {**os.environ, **ONE_THREAD, "PYTHONHASHSEED": "0"}
    try:
        with _signals_blocked():
            return subprocess.Popen(
                [sys.executable, "-c", program],
                stdin=subprocess.DEVNULL,
                # What an algorithm prints must not mix with the results of the command.
                stdout=2,
                env=environment,
                **inherited(end),
            )
    except OSError as error:
        raise UserError(
            f"a worker process cannot be started: {error.strerror}.",
            remedy="Use fewer workers with --jobs.",
        ) from error


@contextmanager
def _signals_blocked():
    """Let a child start with signals blocked, which would otherwise end it while it imports.

    Signals that arrive meanwhile are delivered to this process afterwards.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
