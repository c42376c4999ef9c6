"""A clock that leaves out what is no part of the work, such as compilation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Watch:
    """A clock, stopped by whoever knows when to.

    Parameters
    ----------
    told : callable, optional
        Called with False when the clock stops and with True when it goes on.

    Attributes
    ----------
    stops : int
        How often it was stopped so far.
    """

    def __init__(self, told: Callable[[bool], object] = lambda going: None):
        self._told = told
        self._depth = 0
        self._since = 0.0
        self._spent = 0.0
        self.stops = 0

    def clock(self) -> float:
        """Seconds since some moment, those while it was stopped left out."""
        return (self._since if self._depth else time.perf_counter()) - self._spent

    def stop(self) -> None:
        """Stop it. Each stop needs a start of its own."""
        if self._depth == 0:
            self._since = time.perf_counter()
            self.stops += 1
            self._told(False)
        self._depth += 1

    def start(self) -> None:
        """Undo a stop."""
        self._depth -= 1
        if self._depth == 0:
            self._spent += time.perf_counter() - self._since
            self._told(True)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Leave out what happens inside."""
        self.stop()
        try:
            yield
        finally:
            self.start()
