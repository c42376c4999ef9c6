"""Progress of a run on stderr: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time

# Seconds until the first line and between later lines.
_FIRST = 2.0
_EVERY = 10.0

_OPEN = "{desc}: {n_fmt}/{total_fmt} requested so far [{elapsed}, {rate_fmt}{postfix}]"


class Bar:
    """A tqdm bar.

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
        from tqdm import tqdm

        self._failed = 0
        # `initial` excludes earlier runs from the rate and the time left. A closed terminal does
        # not end the run: tqdm ignores its errors.
        self._bar = tqdm(
            desc=title,
            total=total,
            initial=done,
            unit="fit",
            dynamic_ncols=True,
            bar_format=_OPEN if open_ended else None,
            disable=hidden,
        )

    def advance(self, done: int, failed: int) -> None:
        """Count finished replicates, of which ``failed`` have failed."""
        self._failed += failed
        if self._failed:
            self._bar.set_postfix(failed=self._failed, refresh=False)
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
        self._start = time.monotonic()
        self._next = self._start + _FIRST

    def advance(self, done: int, failed: int) -> None:
        self._computed += done
        self._failed += failed
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _EVERY
            self._print(now)

    def extend(self, total: int) -> None:
        self._total = total

    def close(self) -> None:
        if self._computed:
            self._print(time.monotonic())

    def _print(self, now: float) -> None:
        from tqdm import tqdm

        done = self._done + self._computed
        share = "requested so far" if self._open_ended else f"{done / self._total:.0%}"
        line = f"{self._title}: {done}/{self._total} ({share})"
        if self._failed:
            line += f", {self._failed} failed"
        left = self._total - done
        if left and self._computed and not self._open_ended:
            seconds = (now - self._start) / self._computed * left
            line += f", about {tqdm.format_interval(seconds)} left"
        # A closed stderr must not end a run.
        with contextlib.suppress(OSError):
            print(line, file=sys.stderr, flush=True)


def progress_of(
    wanted: bool, title: str, total: int, done: int, *, open_ended: bool = False
) -> Bar | Lines:
    """Return the progress display for stderr; without ``wanted`` it shows nothing."""
    wanted = wanted and sys.stderr is not None
    if wanted and not sys.stderr.isatty():
        return Lines(title, total, done, open_ended=open_ended)
    return Bar(title, total, done, open_ended=open_ended, hidden=not wanted)
