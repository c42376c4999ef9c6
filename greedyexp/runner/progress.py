"""Progress of a run: a bar in a notebook or, on stderr, on a terminal; plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from importlib import import_module

# Seconds until the first line and between later lines.
_FIRST = 2.0
_EVERY = 10.0

# The time left is estimated once this many replicates have finished at the present pace.
_FEWEST = 10

_UNKNOWN_LEFT = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"
_OPEN = "{desc}: {n_fmt}/{total_fmt} requested so far [{elapsed}, {rate_fmt}{postfix}]"


class Progress:
    """The replicates of a run that are finished, and their pace since its workers were ready.

    Nothing is shown; ``Bar`` and ``Lines`` show them.

    Parameters
    ----------
    title : str
    total, done : int
        Number of all replicates, and of those finished by earlier runs.
    open_ended : bool
        True if the total may grow, so the time left is unknown.
    """

    def __init__(self, title: str, total: int, done: int, *, open_ended: bool = False):
        self._title, self._total, self._earlier = title, total, done
        self._open_ended = open_ended
        self._computed = self._failed = self._before = 0
        self._since: float | None = None

    def advance(self, done: int, failed: int) -> None:
        """Count finished replicates and, among them, those that failed."""
        self._computed += done
        self._failed += failed
        if self._since is None and done:
            # These include the start of the workers, which says nothing of the others.
            self._since, self._before = time.monotonic(), self._computed
        self._show(done)

    def extend(self, total: int) -> None:
        """Set the total number of replicates after the results have led to more."""
        self._total = total

    def close(self) -> None:
        """Show the final state."""

    def _show(self, done: int) -> None:
        """Show that so many more replicates are finished."""

    def _seconds_left(self) -> float | None:
        """Return the time of the remaining replicates; None if it cannot be known yet."""
        paced = self._computed - self._before
        if self._since is None or paced < _FEWEST or self._open_ended:
            return None
        left = self._total - self._earlier - self._computed
        return (time.monotonic() - self._since) / paced * left


class Bar(Progress):
    """A tqdm bar; in a notebook it is a widget if ipywidgets is installed."""

    def __init__(self, title: str, total: int, done: int, *, open_ended: bool = False):
        super().__init__(title, total, done, open_ended=open_ended)
        # The import of `tqdm.auto` takes long, so terminals do without.
        tqdm = import_module("tqdm.auto" if in_notebook() else "tqdm").tqdm
        # `initial` excludes earlier runs from the rate and the time left. A closed terminal does
        # not end the run: tqdm ignores its errors.
        self._bar = tqdm(
            desc=title,
            total=total,
            initial=done,
            unit="fit",
            dynamic_ncols=True,
            bar_format=_OPEN if open_ended else _UNKNOWN_LEFT,
        )

    def _show(self, done: int) -> None:
        if self._failed:
            self._bar.set_postfix(failed=self._failed, refresh=False)
        if self._seconds_left() is not None:
            # The default format of tqdm includes the time left.
            self._bar.bar_format = None
        self._bar.update(done)

    def extend(self, total: int) -> None:
        self._total = self._bar.total = total
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


class Lines(Progress):
    """Lines that are printed every few seconds, for logs and pipes."""

    def __init__(self, title: str, total: int, done: int, *, open_ended: bool = False):
        super().__init__(title, total, done, open_ended=open_ended)
        self._next = time.monotonic() + _FIRST

    def _show(self, done: int) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _EVERY
            self._print()

    def close(self) -> None:
        if self._computed:
            self._print()

    def _print(self) -> None:
        from tqdm import tqdm

        done = self._earlier + self._computed
        share = "requested so far" if self._open_ended else f"{done / self._total:.0%}"
        line = f"{self._title}: {done}/{self._total} ({share})"
        if self._failed:
            line += f", {self._failed} failed"
        if seconds := self._seconds_left():
            line += f", about {tqdm.format_interval(seconds)} left"
        announce(line)


def in_notebook() -> bool:
    """Return True in the kernel of a notebook, whose stderr is no terminal but shows bars."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and "IPKernelApp" in shell.config


def announce(line: str) -> None:
    """Print a line about a run: on stderr, or among the output of a notebook."""
    # A closed stderr must not end a run.
    with contextlib.suppress(OSError):
        print(line, file=sys.stdout if in_notebook() else sys.stderr, flush=True)


def progress_of(
    wanted: bool, title: str, total: int, done: int, *, open_ended: bool = False
) -> Progress:
    """Return the progress display; without ``wanted`` it shows nothing."""
    kind = Progress
    if wanted and sys.stderr is not None:
        kind = Bar if sys.stderr.isatty() or in_notebook() else Lines
    return kind(title, total, done, open_ended=open_ended)
