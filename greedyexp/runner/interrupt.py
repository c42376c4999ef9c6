"""Signals during a run: the first Ctrl-C asks it to stop, a second one stops it at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from greedyexp.core.errors import INTERRUPTS, Interrupted
from greedyexp.runner.engines.base import Halt

_WAITING = (
    "Interrupting: waiting for the replicates in progress; press Ctrl-C again to stop at once."
)


class Interruption(Halt):
    """Records signals inside a ``with`` block, so that a run can finish cleanly.

    The first Ctrl-C asks the run to stop. A second one stops it at once, and so does SIGTERM or
    SIGHUP, whose senders do not wait. Signals that were ignored before, such as SIGHUP under
    ``nohup``, stay ignored. Outside the main thread, where Python delivers no signals, nothing
    changes.

    Parameters
    ----------
    announce : bool
        Whether to print a line on stderr at the first Ctrl-C.

    Attributes
    ----------
    signum : int or None
        The first signal.
    """

    def __init__(self, *, announce: bool = True):
        self.signum: int | None = None
        self._announce = announce
        self._now = False
        self._abandonable = False
        self._before: dict[int, object] = {}

    @property
    def soon(self) -> bool:
        return self.signum is not None

    @property
    def now(self) -> bool:
        return self._now

    @contextmanager
    def abandonable(self) -> Iterator[None]:
        self._abandonable = True
        try:
            yield
        finally:
            self._abandonable = False

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            for signum in INTERRUPTS:
                # None is a handler that was not set from Python and cannot be restored.
                if signal.getsignal(signum) not in (signal.SIG_IGN, None):
                    self._before[signum] = signal.signal(signum, self._heard)
        return self

    def __exit__(self, *_) -> None:
        while self._before:
            signal.signal(*self._before.popitem())

    def _heard(self, signum: int, _frame) -> None:
        self._now = self._now or self.soon or signum != signal.SIGINT
        if not self.soon:
            self.signum = signum
            if self._announce and not self._now:
                _tell(_WAITING)
        # Elsewhere an exception could come in the middle of writing a file.
        if self._now and self._abandonable:
            self._abandonable = False
            raise Interrupted(self.signum)


def deliver(signum: int) -> None:
    """Deliver the signal that ended a run to the handlers of this process.

    Raises
    ------
    KeyboardInterrupt
        For Ctrl-C, and when the handler of another signal returns.
    """
    if signum != signal.SIGINT:
        signal.raise_signal(signum)
    raise Interrupted(signum)


def _tell(line: str) -> None:
    """Print a line on stderr from a signal handler."""
    # Not by print, which may be what the signal has interrupted. The new line leaves the one where
    # a terminal shows ^C and the bar. Without a stderr nobody is waiting for the line.
    with suppress(OSError, ValueError, AttributeError):
        head = "\n" if sys.stderr.isatty() else ""
        os.write(sys.stderr.fileno(), f"{head}{line}\n".encode("ascii"))
