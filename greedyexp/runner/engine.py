"""The interface of engines, which compute batches of replicates, and the serial engine."""

from __future__ import annotations

import os
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from threadpoolctl import threadpool_limits

from greedyexp.core import signals
from greedyexp.core.plugins import exit_refused
from greedyexp.core.signals import Interrupted
from greedyexp.runner.evaluator import DataMade, Evaluator, PausableClock
from greedyexp.runner.work import Batch, Item, Result, Work

_WAITING = (
    "Interrupting: waiting for the replicates in progress; press Ctrl-C again to stop at once."
)


class Interruption:
    """Records signals inside a ``with`` block, so that a run can finish cleanly.

    The first Ctrl-C asks the run to stop soon. A second one asks it to stop now, and so do SIGTERM
    and SIGHUP, whose senders do not wait. Ignored signals, such as SIGHUP under ``nohup``, stay
    ignored.

    Parameters
    ----------
    announce : bool
        Print a line on stderr at the first Ctrl-C.

    Attributes
    ----------
    signum : int or None
        The first signal.
    now : bool
        True if nothing should be waited for.
    """

    def __init__(self, *, announce: bool = True):
        self.signum: int | None = None
        self.now = False
        self._announce = announce
        self._abandonable = False
        self._replaced: dict[int, Any] = {}

    @property
    def soon(self) -> bool:
        """True if nothing new should be started."""
        return self.signum is not None

    @contextmanager
    def abandonable(self) -> Iterator[None]:
        """Let a signal raise ``Interrupted`` inside as soon as ``now`` is true.

        For code that computes in this process and cannot check ``now`` meanwhile. A part may catch
        the exception, so its result is valid only while ``now`` is false.
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
        # Elsewhere an exception could interrupt the writing of a file.
        if self.now and self._abandonable:
            self._abandonable = False
            raise Interrupted(self.signum)


def _write_line(line: str) -> None:
    """Write a line on stderr from a signal handler."""
    # The signal may have interrupted a print. The line break ends the line where a terminal shows
    # ^C and the progress bar. Without stderr there is nobody to read the line.
    with suppress(OSError, ValueError, AttributeError):
        head = "\n" if sys.stderr.isatty() else ""
        os.write(sys.stderr.fileno(), f"{head}{line}\n".encode("ascii"))


class Engine(ABC):
    """Computes batches.

    Attributes
    ----------
    name : str
    jobs : int
        Number of workers; both are written to the manifest.
    compiling : bool
        True while a worker compiles kernels (loading them from the cache does not count).
    """

    name: str
    jobs: int
    compiling = False

    @abstractmethod
    def results(
        self,
        work: Work,
        next_batch: Callable[[], Batch],
        *,
        expected: int,
        time_limit: float | None,
        interruption: Interruption,
    ) -> Generator[list[Result], None, None]:
        """Yield results in any order as they arrive, and an empty list now and then.

        Parameters
        ----------
        work : Work
        next_batch : callable
            Returns the next batch, empty if there are no more. Called only when a worker is free,
            so memory is bounded by the batches in progress.
        expected : int
            Number of results if nothing stops the run.
        time_limit : float, optional
            Seconds for one algorithm, or for making one data set. Slower ones are stopped and get
            the status ``timeout``.
        interruption : Interruption

        Raises
        ------
        UserError
            If the work cannot be started at all.
        """


class SerialEngine(Engine):
    """Computes in this process: for debuggers and tiny runs. A crash of a part ends the run.

    It cannot stop a slow algorithm, so time limits are not enforced. Nor can it hand over to a new
    process after it has compiled kernels: the last digits of such a run may differ from those of
    later runs, which load the kernels from the cache.
    """

    name = "serial"
    jobs = 1

    def results(
        self,
        work: Work,
        next_batch: Callable[[], Batch],
        *,
        expected: int,
        time_limit: float | None,
        interruption: Interruption,
    ) -> Generator[list[Result], None, None]:
        clock = PausableClock()
        with threadpool_limits(limits=1), clock.pause_for_numba(), exit_refused(_exit_error):
            evaluator = Evaluator(work, clock)
            while not interruption.soon and (batch := next_batch()):
                for item in batch:
                    if interruption.soon:
                        break
                    yield _results_of(evaluator, item, interruption)


def _exit_error(status: int) -> BaseException:
    # In a worker process, it ends the worker and costs no more than the replicate either.
    return RuntimeError(f"it called os._exit({status})")


def _results_of(evaluator: Evaluator, item: Item, interruption: Interruption) -> list[Result]:
    """Return results of the algorithms that were evaluated before an interruption."""
    results: list[Result] = []
    data = DataMade({}, 0.0)
    try:
        for step in evaluator.evaluate(item, interruption.abandonable):
            if isinstance(step, DataMade):
                data = step
            elif not interruption.now:
                algorithm = item.algorithms[len(results)]
                place = item.point, item.replicate, algorithm
                results.append(Result(*place, step.outcome, data.facts, step.seconds, data.seconds))
            if interruption.soon:
                break
    except Interrupted:
        # Without a signal it comes from the debugger, which ends the run.
        if not interruption.soon:
            raise
    return results
