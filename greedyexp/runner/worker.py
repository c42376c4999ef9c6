"""The program of a worker process: it receives batches and sends a message for each result."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
import warnings
from functools import partial
from multiprocessing import connection

from greedyexp.core.errors import UserError
from greedyexp.core.reading import require_nothing_refused
from greedyexp.core.signals import INTERRUPTS, restore
from greedyexp.runner.evaluator import Evaluator
from greedyexp.runner.work import DataMade, prepare
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
        # The engine has closed the channel or is dead.
        os._exit(0)


def _ignore_signals() -> None:
    """Ignore Ctrl-C, SIGTERM and SIGHUP, which a batch system sends to all processes of a job.

    The parent handles them.
    """
    before = {signum: signal.signal(signum, lambda *_: None) for signum in INTERRUPTS}
    if hasattr(os, "register_at_fork"):
        # Programs that a part starts would inherit SIG_IGN, and its forks this handler; neither
        # could then be stopped by terminate().
        os.register_at_fork(after_in_child=partial(restore, before))


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
    work = channel.recv()
    if work.cwd is not None and work.cwd.is_dir():
        os.chdir(work.cwd)
    try:
        evaluator = Evaluator(work)
        with work.only_counted_reads():
            prepare(work)
            if hasattr(os, "register_at_fork"):
                # A child that a part forks must not send messages for this worker.
                os.register_at_fork(after_in_child=channel.close)
            channel.send((Message.READY,))
            while True:
                for item in channel.recv():
                    for step in evaluator.evaluate(item):
                        require_nothing_refused()
                        kind = Message.DATA if isinstance(step, DataMade) else Message.RESULT
                        # The pickler of `send` would take several times as long.
                        channel.send_bytes(pickle.dumps((kind, step)))
    except UserError as error:
        channel.send((Message.FAILED, error.message, error.place, error.remedy))
