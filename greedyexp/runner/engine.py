"""The base class of engines, which compute batches of replicates, and the serial engine."""

from __future__ import annotations

import os
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from greedyexp.core import signals
from greedyexp.core.plugins import exit_refused
from greedyexp.core.signals import Interrupted
from greedyexp.runner.evaluator import Evaluator
from greedyexp.runner.work import Batch, Item, Result, Work, prepare

_WAITING = (
    "Interrupting: waiting for the replicates in progress; press Ctrl-C again to stop at once."
)


class Interruption:
    """Record signals inside a ``with`` block instead of stopping, so that a run can finish cleanly.

    After the first Ctrl-C, the run waits for replicates in progress. After a second Ctrl-C, or
    after SIGTERM or SIGHUP, whose senders do not wait, it stops at once. Ignored signals, such as
    SIGHUP under ``nohup``, stay ignored.

    Parameters
    ----------
    announce : bool
        Print a line on stderr at the first Ctrl-C.

    Attributes
    ----------
    signum : int or None
        The first signal.
    now : bool
        True if the run should stop without waiting for replicates in progress.
    """

    def __init__(self, *, announce: bool = True):
        self.signum: int | None = None
        self.now = False
        self._announce = announce
        self._abandonable = False
        self._replaced: dict[int, Any] = {}

    @property
    def soon(self) -> bool:
        """True if no further replicates should be started."""
        return self.signum is not None

    @contextmanager
    def abandonable(self) -> Iterator[None]:
        """Return a context in which a signal that sets ``now`` raises ``Interrupted``.

        It is meant for code that computes in this process and cannot check ``now``. A part may
        catch the exception, so its result is valid only while ``now`` is false.
        """
        self._abandonable = True
        try:
            yield
        finally:
            self._abandonable = False

    def __enter__(self) -> Interruption:
        self._replaced = signals.install(self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        signals.restore(self._replaced)

    def _handle(self, signum: int, _frame: object) -> None:
        self.now = self.now or self.soon or signum != signal.SIGINT
        if self.signum is None:
            self.signum = signum
            if self._announce and not self.now:
                _write_line(_WAITING)
        # Outside ``abandonable``, an exception could interrupt the writing of a file.
        if self.now and self._abandonable:
            self._abandonable = False
            raise Interrupted(self.signum)


def _write_line(line: str) -> None:
    """Write a line on stderr from a signal handler."""
    # print() would fail if the signal has interrupted another print(). The first line break ends
    # the line of the progress bar and ^C. Without stderr the message is dropped.
    with suppress(OSError, ValueError, AttributeError):
        head = "\n" if sys.stderr.isatty() else ""
        os.write(sys.stderr.fileno(), f"{head}{line}\n".encode("ascii"))


class Engine(ABC):
    """Compute batches of replicates.

    Attributes
    ----------
    name : str
        Name for the manifest.
    jobs : int
        Number of workers, for the manifest.
    most_items : int
        Maximum number of items in a batch.
    """

    name: str
    jobs: int
    most_items = 500

    @property
    def batch_seconds(self) -> float:
        """Time that a batch should take."""
        return 0.3

    def remarks(self) -> dict[str, Any]:
        """Return what the manifest should say of this engine at the end of a run."""
        return {}

    @abstractmethod
    def results(
        self,
        work: Work,
        next_batch: Callable[[], Batch],
        *,
        expected: int,
        interruption: Interruption,
    ) -> Generator[list[Result], None, None]:
        """Yield results as they arrive, in any order, and sometimes an empty list.

        Parameters
        ----------
        work : Work
        next_batch : callable
            Returns the next batch, empty if there are no more. It is called only when a worker is
            free, which bounds memory by the batches in progress.
        expected : int
            Number of results of a complete run.
        interruption : Interruption

        Raises
        ------
        UserError
            If the work cannot be started.
        """


class SerialEngine(Engine):
    """Compute in this process, for debuggers and tiny runs. A crash of a part ends the run.

    Time limits are not enforced, since a slow algorithm cannot be stopped.
    """

    name = "serial"
    jobs = 1

    def results(
        self,
        work: Work,
        next_batch: Callable[[], Batch],
        *,
        expected: int,
        interruption: Interruption,
    ) -> Generator[list[Result], None, None]:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(limits=1), exit_refused(_exited):
            evaluator = Evaluator(work)
            prepare(work)
            while not interruption.soon and (batch := next_batch()):
                for item in batch:
                    if interruption.soon:
                        break
                    yield _results_of(evaluator, item, interruption)


def _exited(status: int) -> BaseException:
    # Let the replicate fail, as it would if the call had ended a worker process.
    return RuntimeError(f"it called os._exit({status})")


def _results_of(evaluator: Evaluator, item: Item, interruption: Interruption) -> list[Result]:
    """Return the results of an item; after an interruption, only those that are complete."""
    results: list[Result] = []
    try:
        for step in evaluator.evaluate(item, interruption.abandonable):
            if isinstance(step, Result) and not interruption.now:
                results.append(step)
            if interruption.soon:
                break
    except Interrupted:
        # Without a signal, the user has quit the debugger, which ends the run.
        if not interruption.soon:
            raise
    return results
