"""A clock that stands still while numba compiles, or loads compiled code from its cache."""

from __future__ import annotations

import time

from numba.core import event

# Covers loading compiled code from the cache as well as compiling it.
EVENT = "numba:compiler_lock"


class CompilationClock(event.Listener):
    """Listens to numba and keeps the time; it must be registered for ``EVENT``."""

    def __init__(self):
        self._depth = 0
        self._since = 0.0
        self._spent = 0.0

    def clock(self) -> float:
        """Seconds since some moment, compilation left out."""
        return (self._since if self._depth else time.perf_counter()) - self._spent

    def on_start(self, event: event.Event) -> None:
        if self._depth == 0:
            self._since = time.perf_counter()
            self.began()
        self._depth += 1

    def on_end(self, event: event.Event) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._spent += time.perf_counter() - self._since
            self.ended()

    def began(self) -> None:
        """Called when compilation begins."""

    def ended(self) -> None:
        """Called when it is over."""
