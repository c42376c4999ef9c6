"""A worker process: batches in, results out, one message as each finishes."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import warnings
from functools import partial
from multiprocessing.connection import Connection

from numba.core import event
from numba.core.caching import NullCache

from greedyexp.core.errors import INTERRUPTS, PluginError, UserError
from greedyexp.runner.compiling import EVENT, CompilationListener
from greedyexp.runner.engines.base import Item
from greedyexp.runner.messages import Kind, attach
from greedyexp.runner.watch import Watch
from greedyexp.runner.work import PART_ERRORS, Bench, facts

_PR_SET_PDEATHSIG = 1


def main(handle: int, parent: int) -> None:
    """Serve batches until the channel closes.

    Parameters
    ----------
    handle : int
        File descriptor (handle on Windows) of the channel.
    parent : int
        Process that started this one.
    """
    _leave_signals_to_the_parent()
    die_with(parent)
    # Overflow and the like show in a replicate's status; printed they would garble the progress.
    warnings.simplefilter("ignore", RuntimeWarning)
    channel = attach(handle)
    try:
        serve(channel)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        # The pool has closed the channel, or is gone: nobody reads what would come.
        sys.stdout.flush()
        os._exit(0)


def _leave_signals_to_the_parent() -> None:
    """Do nothing on Ctrl-C, SIGTERM and SIGHUP, which reach every process of a terminal or a job.

    The parent decides what they mean. It starts this process with them blocked.
    """
    before = {signum: signal.signal(signum, lambda *_: None) for signum in INTERRUPTS}
    if hasattr(os, "register_at_fork"):
        # SIG_IGN would pass to programs that a part starts, and this handler to its forks; neither
        # could then be ended by terminate().
        os.register_at_fork(after_in_child=lambda: _handle(before))
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTS)


def _handle(handlers: dict) -> None:
    for signum, handler in handlers.items():
        signal.signal(signum, handler)


def die_with(parent: int) -> None:
    """Ask Linux to kill this process when its parent dies; elsewhere the closed channel tells."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.name == "posix" and os.getppid() != parent:
        os._exit(0)


def serve(channel: Connection) -> None:
    """Receive the work, say ready, then run batches."""
    work, may_start_over = channel.recv()
    watch = Watch(lambda going: channel.send((Kind.HELD_UP, not going)))
    fresh = FreshCode(channel)
    try:
        bench = Bench(work, watch)
        _prepare(channel, watch, fresh)
        answer = partial(run_item, channel, bench, watch, fresh, may_start_over)
        while all(map(answer, channel.recv())):
            pass
        channel.send((Kind.COMPILED,))
    except UserError as error:
        channel.send((Kind.FAILED, error.message, error.place, error.remedy))


def _prepare(channel: Connection, watch: Watch, fresh: FreshCode) -> None:
    """Watch what numba does, and say ready."""
    if hasattr(os, "register_at_fork"):
        # A child that a part forks and lets return must not speak for this worker.
        os.register_at_fork(after_in_child=channel.close)
    event.register(EVENT, CompilationListener(watch))
    event.register("numba:compile", fresh)
    channel.send((Kind.READY,))


def run_item(
    channel: Connection,
    bench: Bench,
    watch: Watch,
    fresh: FreshCode,
    may_start_over: bool,
    item: Item,
) -> bool:
    """Make one data set, run its algorithms, send a message after each.

    Returns
    -------
    bool
        False when code was compiled on the way. The same code loaded from the cache may round a
        last digit differently (it is linked in another order), and a row must not depend on
        whether its process found the cache filled: what was computed is not sent.

    Raises
    ------
    PluginError
        When a part broke its contract, which ends the run.
    """
    start = watch.clock()
    try:
        problem = bench.problem(item.generator, item.params, item.replicate)
        known = facts(problem)
    except PluginError:
        raise
    except PART_ERRORS as error:
        failure = bench.no_data(error)
        for _ in item.algorithms:
            channel.send((Kind.RESULT, failure, 0.0))
        return True
    channel.send((Kind.DATA, known, (watch.clock() - start) / len(item.algorithms)))
    for algorithm in item.algorithms:
        start = watch.clock()
        outcome = bench.outcome(problem, item.generator, item.params, item.replicate, algorithm)
        if fresh.found and may_start_over:
            return False
        channel.send((Kind.RESULT, outcome, watch.clock() - start))
    return True


class FreshCode(event.Listener):
    """Reports compilation by numba to the pool, and notes whether its cache keeps the code.

    Attributes
    ----------
    found : bool
    """

    def __init__(self, channel: Connection):
        self.found = False
        self._channel = channel

    def on_start(self, event: event.Event) -> None:
        self._channel.send((Kind.COMPILING,))

    def on_end(self, event: event.Event) -> None:
        # A function that is not cached is compiled in every process, and so alike in all.
        self.found |= not isinstance(event.data["dispatcher"]._cache, NullCache)
