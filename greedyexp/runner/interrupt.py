"""Ctrl-C during a run: the first asks to stop, the second does not ask."""

from __future__ import annotations

import signal
import threading

from greedyexp.runner.engines.base import Halt


class Interruption(Halt):
    """Counts Ctrl-C while it is entered; the third one raises ``KeyboardInterrupt`` as usual.

    Outside the main thread, where Python delivers no signals, it changes nothing.
    """

    def __init__(self) -> None:
        self._count = 0
        self._before = None

    @property
    def soon(self) -> bool:
        return self._count > 0

    @property
    def now(self) -> bool:
        return self._count > 1

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._heard)
        return self

    def __exit__(self, *_) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None

    def _heard(self, *_) -> None:
        self._count += 1
        if self._count > 2:
            raise KeyboardInterrupt
