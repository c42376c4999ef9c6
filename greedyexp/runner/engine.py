"""The interface of engines, which compute batches of replicates, and the serial engine.

An engine takes batches (``submit``) and gives results as they finish (``wait``). ``results_of``
drives any engine: it submits a batch whenever one would begin at once, so memory is bounded by the
batches in progress, and it decides what a signal does.
"""

from __future__ import annotations

import signal
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from itertools import chain
from typing import Any

from greedyexp.core import registry, signals
from greedyexp.core.errors import PluginError
from greedyexp.core.plugins import exit_refused
from greedyexp.core.reading import require_nothing_refused
from greedyexp.core.signals import Interrupted
from greedyexp.runner.evaluator import Evaluator
from greedyexp.runner.work import Batch, Result, Work, prepare

_WAITING = (
    "Interrupting: waiting for the replicates in progress; press Ctrl-C again to stop at once."
)

# Most seconds that `wait` waits, so that signals and time limits are noticed.
TICK = 0.1

Guard = Callable[[], AbstractContextManager[None]]


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
                # A print that the signal has interrupted lets no other print begin.
                with suppress(OSError, RuntimeError):
                    # The first line break ends the line of the progress bar and ^C.
                    print("\n" * sys.stderr.isatty() + _WAITING, file=sys.stderr, flush=True)
        # Outside ``abandonable``, an exception could interrupt the writing of a file.
        if self.now and self._abandonable:
            self._abandonable = False
            raise Interrupted(self.signum)


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
    grace : float
        Seconds that an interrupted run waits for replicates in progress.
    has_workers : bool
        True if other processes compute, which must import the parts.
    """

    name: str
    jobs: int
    has_workers = True
    most_items = 500
    grace = 2.0

    @property
    def batch_seconds(self) -> float:
        """Time that a batch should take."""
        return 0.3

    def remarks(self) -> dict[str, Any]:
        """Return what the manifest should say of this engine at the end of a run."""
        return {}

    @abstractmethod
    def start(self, work: Work, expected: int, guard: Guard) -> None:
        """Get ready to compute.

        Parameters
        ----------
        work : Work
        expected : int
            Number of results of a complete run.
        guard : callable
            Returns the context for parts that this process calls.

        Raises
        ------
        UserError
            If the work cannot be started.
        """

    @property
    @abstractmethod
    def free(self) -> bool:
        """True if a batch would begin at once."""

    @property
    @abstractmethod
    def busy(self) -> bool:
        """True if results of submitted batches are still to come."""

    @abstractmethod
    def submit(self, batch: Batch) -> None:
        """Compute a batch."""

    @abstractmethod
    def wait(self) -> list[Result]:
        """Return the results that have finished, in any order, after waiting a short time for one.

        Raises
        ------
        UserError
            If the work cannot be continued.
        """

    @abstractmethod
    def stop(self) -> None:
        """Give up batches that have not begun."""

    @abstractmethod
    def end(self) -> None:
        """Give up all batches, and end all workers."""


def results_of(
    engine: Engine,
    work: Work,
    next_batch: Callable[[], Batch],
    *,
    expected: int,
    interruption: Interruption,
) -> Generator[list[Result], None, None]:
    """Yield results as they arrive, in any order, and sometimes an empty list.

    Parameters
    ----------
    engine : Engine
    work : Work
    next_batch : callable
        Returns the next batch; empty if there are no more, or none before further results.
    expected : int
        Number of results of a complete run.
    interruption : Interruption

    Raises
    ------
    UserError
        If the work cannot be started or continued.
    """
    if engine.has_workers:
        _refuse_parts_of_the_session(work)
    try:
        engine.start(work, expected, interruption.abandonable)
        while not interruption.soon:
            batch: Batch | None = None
            while engine.free and (batch := next_batch()):
                engine.submit(batch)
            if batch == [] and not engine.busy:
                return
            results = engine.wait()
            # A part of this process may have caught the exception of a signal.
            yield results if engine.has_workers or not interruption.now else []
        engine.stop()
        deadline = time.monotonic() + engine.grace
        while engine.busy:
            # Even a run that stops at once keeps what has already arrived.
            yield engine.wait()
            if interruption.now or time.monotonic() > deadline:
                break
    except Interrupted:
        # Without a signal, the user has quit the debugger, which ends the run.
        if not interruption.soon:
            raise
    finally:
        engine.end()


def _refuse_parts_of_the_session(work: Work) -> None:
    """Raise ``PluginError`` if a part was defined at a prompt or in a notebook."""
    wanted = [("protocol", work.protocol)]
    wanted += [("generator", name) for name in work.generators]
    wanted += [("algorithm", task.name) for task in work.algorithms]
    wanted += [("metric", name) for name in work.metrics]
    for kind, name in wanted:
        if registry.find(kind, name).function.__module__ == "__main__":
            raise PluginError(
                f"the {kind} '{name}' is defined in the running script or session, which worker"
                " processes cannot import.",
                remedy="Put it in a file and name the file under `plugins:`, or use the serial"
                " engine.",
            )


class SerialEngine(Engine):
    """Compute in this process, for debuggers and tiny runs. A crash of a part ends the run.

    Time limits are not enforced, since a slow algorithm cannot be stopped.
    """

    name = "serial"
    jobs = 1
    has_workers = False
    busy = False

    def __init__(self) -> None:
        self._context = ExitStack()

    def start(self, work: Work, expected: int, guard: Guard) -> None:
        from threadpoolctl import threadpool_limits

        self._guard = guard
        self._context.enter_context(threadpool_limits(limits=1))
        self._context.enter_context(exit_refused(_exited))
        self._evaluator = Evaluator(work)
        self._context.enter_context(work.only_counted_reads())
        prepare(work)

    @property
    def free(self) -> bool:
        return not self.busy

    def submit(self, batch: Batch) -> None:
        self.busy = True
        self._steps = chain.from_iterable(self._evaluator.evaluate(i, self._guard) for i in batch)

    def wait(self) -> list[Result]:
        for step in self._steps:
            require_nothing_refused()
            if isinstance(step, Result):
                return [step]
        self.busy = False
        return []

    def stop(self) -> None:
        self.busy = False

    def end(self) -> None:
        self._context.close()


def _exited(status: int) -> BaseException:
    # Let the replicate fail, as it would if the call had ended a worker process.
    return RuntimeError(f"it called os._exit({status})")
