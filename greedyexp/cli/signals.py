"""Ctrl-C, SIGTERM and SIGHUP outside the computing of a run: one sentence and an exit code."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from greedyexp.core.signals import INTERRUPTS, Interrupted


@contextmanager
def raising(*, for_good: bool) -> Iterator[None]:
    """Let signals raise ``Interrupted``, except those that are ignored, as under ``nohup``.

    Parameters
    ----------
    for_good : bool
        Whether the process ends afterwards. Otherwise the handlers from before are given back.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        for signum in INTERRUPTS:
            if signal.getsignal(signum) not in (signal.SIG_IGN, None):
                before[signum] = signal.signal(signum, _raise)
    try:
        yield
    finally:
        for signum, handler in before.items():
            # Nothing is left to do: a signal may end the process, without a traceback.
            signal.signal(signum, signal.SIG_DFL if for_good else handler)


def answer(error: KeyboardInterrupt, sentence: str = "Interrupted.") -> int:
    """Print a sentence, ignore further signals, and return the exit code."""
    signum = error.signum if isinstance(error, Interrupted) else signal.SIGINT
    if threading.current_thread() is threading.main_thread():
        for other in INTERRUPTS:
            if signal.getsignal(other) is _raise:
                signal.signal(other, signal.SIG_IGN)
    # The terminal may be what has gone.
    with suppress(OSError, ValueError):
        if sys.stderr is not None:
            print(sentence, file=sys.stderr, flush=True)
    return 128 + signum


def ended(code: int) -> bool:
    """Whether an exit code says that a signal ended the command."""
    return code - 128 in INTERRUPTS


def _raise(signum: int, _frame) -> None:
    raise Interrupted(signum)
