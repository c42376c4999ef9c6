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


class Pace:
    """The pace of a run since its workers were ready."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._finished = 0

    def advance(self, done: int) -> None:
        """Count finished replicates.

        The first results include the start of the workers, which says nothing of the others.
        """
        if self._since is not None:
            self._finished += done
        elif done:
            self._since = time.monotonic()

    def seconds_left(self, left: int) -> float | None:
        """Return the time of the remaining replicates; None if it cannot be known yet."""
        if self._since is None or self._finished < _FEWEST:
            return None
        return (time.monotonic() - self._since) / self._finished * left


class Bar:
    """A tqdm bar; in a notebook it is a widget if ipywidgets is installed.

    Parameters
    ----------
    title : str
    total, done : int
        Number of all replicates, and of those finished by earlier runs.
    open_ended : bool
        True if the total may grow, so the time left is unknown.
    hidden : bool
        Show nothing.
    """

    def __init__(
        self, title: str, total: int, done: int, *, open_ended: bool = False, hidden: bool = False
    ):
        # The import of `tqdm.auto` takes long, so terminals do without.
        tqdm = import_module("tqdm.auto" if in_notebook() else "tqdm").tqdm

        self._failed = 0
        self._open_ended = open_ended
        self._pace = Pace()
        # `initial` excludes earlier runs from the rate and the time left. A closed terminal does
        # not end the run: tqdm ignores its errors.
        self._bar = tqdm(
            desc=title,
            total=total,
            initial=done,
            unit="fit",
            dynamic_ncols=True,
            bar_format=_OPEN if open_ended else _UNKNOWN_LEFT,
            disable=hidden,
        )

    def advance(self, done: int, failed: int) -> None:
        """Count finished replicates, of which ``failed`` have failed."""
        self._failed += failed
        if self._failed:
            self._bar.set_postfix(failed=self._failed, refresh=False)
        self._pace.advance(done)
        if self._pace.seconds_left(1) is not None and not self._open_ended:
            # The default format of tqdm includes the time left.
            self._bar.bar_format = None
        self._bar.update(done)

    def extend(self, total: int) -> None:
        """Set the total number of replicates after the results have led to more."""
        self._bar.total = total
        self._bar.refresh()

    def close(self) -> None:
        """Show the final state."""
        self._bar.close()


class Lines:
    """Print a line every few seconds, for logs and pipes; the interface is that of ``Bar``."""

    def __init__(self, title: str, total: int, done: int, *, open_ended: bool = False):
        self._title, self._total, self._done = title, total, done
        self._open_ended = open_ended
        self._computed = 0
        self._failed = 0
        self._pace = Pace()
        self._next = time.monotonic() + _FIRST

    def advance(self, done: int, failed: int) -> None:
        self._computed += done
        self._failed += failed
        self._pace.advance(done)
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _EVERY
            self._print()

    def extend(self, total: int) -> None:
        self._total = total

    def close(self) -> None:
        if self._computed:
            self._print()

    def _print(self) -> None:
        from tqdm import tqdm

        done = self._done + self._computed
        share = "requested so far" if self._open_ended else f"{done / self._total:.0%}"
        line = f"{self._title}: {done}/{self._total} ({share})"
        if self._failed:
            line += f", {self._failed} failed"
        left = self._total - done
        seconds = self._pace.seconds_left(left)
        if left and seconds is not None and not self._open_ended:
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
) -> Bar | Lines:
    """Return the progress display; without ``wanted`` it shows nothing."""
    wanted = wanted and sys.stderr is not None
    if wanted and not (sys.stderr.isatty() or in_notebook()):
        return Lines(title, total, done, open_ended=open_ended)
    return Bar(title, total, done, open_ended=open_ended, hidden=not wanted)
