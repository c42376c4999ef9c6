"""Stopping a watch while numba compiles, or loads compiled code from its cache."""

from __future__ import annotations

from numba.core import event

from greedyexp.runner.watch import Watch

# Covers loading compiled code from the cache as well as compiling it.
EVENT = "numba:compiler_lock"


class CompilationListener(event.Listener):
    """Stops a watch; it must be registered for ``EVENT``."""

    def __init__(self, watch: Watch):
        self.watch = watch

    def on_start(self, event: event.Event) -> None:
        self.watch.stop()

    def on_end(self, event: event.Event) -> None:
        self.watch.start()
