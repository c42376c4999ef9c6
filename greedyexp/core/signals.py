"""Signals that ask a process to stop: Ctrl-C, SIGTERM of batch systems, SIGHUP of terminals."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Mapping
from typing import Any

INTERRUPTS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class Interrupted(KeyboardInterrupt):
    """A signal asked this process to stop.

    A ``KeyboardInterrupt`` that a part raises is not of this class.

    Parameters
    ----------
    signum : int
        Number of the signal.
    """

    def __init__(self, signum: int):
        super().__init__(f"stopped by {signal.Signals(signum).name}")
        self.signum = signum


def install(handler: Callable[[int, Any], None]) -> dict[int, Any]:
    """Install a handler for ``INTERRUPTS`` and return the handlers that it replaces.

    Signals that are ignored, such as SIGHUP under ``nohup``, stay ignored. Outside the main thread,
    where Python delivers no signals, nothing changes.
    """
    replaced: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for signum in INTERRUPTS:
            # None is a handler that was not set from Python and cannot be restored.
            if signal.getsignal(signum) not in (signal.SIG_IGN, None):
                replaced[signum] = signal.signal(signum, handler)
    return replaced


def restore(handlers: Mapping[int, Any]) -> None:
    """Install the handlers that ``install`` returned."""
    for signum, handler in handlers.items():
        signal.signal(signum, handler)
