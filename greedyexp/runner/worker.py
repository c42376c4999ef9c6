"""The program of a worker process: it receives batches and sends a message for each result."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import warnings
from functools import partial
from multiprocessing import connection
from typing import Any

from numba.core import event
from numba.core.caching import NullCache

from greedyexp.core.errors import UserError
from greedyexp.core.signals import INTERRUPTS, restore
from greedyexp.runner.evaluator import Evaluator, PausableClock
from greedyexp.runner.work import DataMade, Item
from greedyexp.runner.worker_handle import Message

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
    _ignore_signals()
    _die_with(parent)
    # Overflows show in the status of a replicate; warnings would disturb the progress bar.
    warnings.simplefilter("ignore", RuntimeWarning)
    try:
        _serve(_attach(handle))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        # The pool has closed the channel or is dead.
        sys.stdout.flush()
        os._exit(0)


def _ignore_signals() -> None:
    """Ignore Ctrl-C, SIGTERM and SIGHUP, which reach all processes of a terminal.

    The parent handles them. It starts this process with these signals blocked.
    """
    before = {signum: signal.signal(signum, lambda *_: None) for signum in INTERRUPTS}
    if hasattr(os, "register_at_fork"):
        # Programs that a part starts would inherit SIG_IGN, and its forks this handler; neither
        # could then be stopped by terminate().
        os.register_at_fork(after_in_child=partial(restore, before))
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTS)


def _attach(handle: int) -> connection.Connection:
    """Return the inherited end of the channel."""
    if sys.platform == "win32":
        return connection.PipeConnection(handle)
    return connection.Connection(handle)


def _die_with(parent: int) -> None:
    """Ask Linux to kill this process when its parent dies.

    On other systems this process ends because the channel is closed.
    """
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.name == "posix" and os.getppid() != parent:
        os._exit(0)


def _serve(channel: connection.Connection) -> None:
    """Receive the work, report that this process is ready, then evaluate batches."""
    work, may_hand_over = channel.recv()
    clock = PausableClock(lambda running: channel.send((Message.PAUSED, not running)))
    compilation = _Compilation(channel)
    try:
        evaluator = Evaluator(work, clock)
        if hasattr(os, "register_at_fork"):
            # A child that a part forks must not send messages for this worker.
            os.register_at_fork(after_in_child=channel.close)
        with clock.pause_for_numba(), event.install_listener("numba:compile", compilation):
            channel.send((Message.READY,))
            while all(
                _finished(channel, evaluator, item, compilation if may_hand_over else None)
                for item in channel.recv()
            ):
                pass
        channel.send((Message.COMPILED,))
    except UserError as error:
        channel.send((Message.FAILED, error.message, error.place, error.remedy))


def _finished(
    channel: connection.Connection,
    evaluator: Evaluator,
    item: Item,
    compilation: _Compilation | None,
) -> bool:
    """Evaluate an item and send its results; return False if code was compiled meanwhile.

    Code from the cache is linked in another order and may round a last digit differently. A row
    must not depend on the state of the cache, so a process that has compiled code does not send its
    result.
    """
    for step in evaluator.evaluate(item):
        if isinstance(step, DataMade):
            channel.send((Message.DATA, step))
        elif compilation is not None and compilation.cached:
            return False
        else:
            channel.send((Message.RESULT, step))
    return True


class _Compilation(event.Listener):
    """Report compilation by numba to the pool.

    Attributes
    ----------
    cached : bool
        True after compiled code has been stored in the cache.
    """

    def __init__(self, channel: connection.Connection):
        self.cached = False
        self._channel = channel

    def on_start(self, event: Any) -> None:
        self._channel.send((Message.COMPILING,))

    def on_end(self, event: Any) -> None:
        # Functions without a cache are compiled in every process, always with the same result.
        self.cached |= not isinstance(event.data["dispatcher"]._cache, NullCache)
