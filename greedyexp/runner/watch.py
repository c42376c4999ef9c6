"""A clock that leaves out what is no part of the work, such as compilation."""

from __future__ import annotations

import time


class Watch:
    """A clock, stopped by whoever knows when to.

    Attributes
    ----------
    stops : int
        How often it was stopped so far.
    """

    def __init__(self):
        self._depth = 0
        self._since = 0.0
        self._spent = 0.0
        self.stops = 0

    def clock(self) -> float:
        """Seconds since some moment, those while it was stopped left out."""
        return (self._since if self._depth else time.perf_counter()) - self._spent

    def stop(self) -> bool:
        """Stop it; whether it was going. Each stop needs a start of its own."""
        if self._depth == 0:
            self._since = time.perf_counter()
            self.stops += 1
        self._depth += 1
        return self._depth == 1

    def start(self) -> bool:
        """Undo a stop; whether it goes again."""
        self._depth -= 1
        if self._depth == 0:
            self._spent += time.perf_counter() - self._since
        return self._depth == 0
