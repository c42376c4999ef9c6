"""How far a run has come, on stderr: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time

from tqdm import tqdm

# Seconds until the first line and between later ones.
_FIRST = 2.0
_EVERY = 10.0

_OPEN = "{desc}: {n_fmt}/{total_fmt} as far as decided [{elapsed}, {rate_fmt}{postfix}]"

_COMPILING = "compiling kernels"


class Silent:
    """No progress at all.

    Parameters
    ----------
    title : str
    total, done : int
        Replicates in all and those an earlier run has finished.
    open_ended : bool
        Whether results may decide on more, so that nobody knows how much is left.
    """

    def __init__(self, title: str, total: int, done: int, *, open_ended: bool = False):
        pass

    def advance(self, done: int, failed: int, compiling: bool) -> None:
        """Take note of newly finished replicates, how many of them failed, and what holds it up."""

    def extend(self, total: int) -> None:
        """Take note that results decided on more replicates."""

    def close(self) -> None:
        """Say the last word."""


class Bar(Silent):
    """A tqdm bar with the time left."""

    def __init__(self, title: str, total: int, done: int, *, open_ended: bool = False):
        self._title = title
        self._failed = 0
        # `initial` keeps what an earlier run did out of the rate and so out of the time left.
        # Where the total may grow, a time left would be a guess.
        shown = {"bar_format": _OPEN} if open_ended else {}
        self._bar = tqdm(
            desc=title,
            total=total,
            initial=done,
            unit="fit",
            dynamic_ncols=True,
            file=_Unbroken(sys.stderr),
            **shown,
        )

    def advance(self, done: int, failed: int, compiling: bool) -> None:
        self._failed += failed
        if self._failed:
            self._bar.set_postfix(failed=self._failed, refresh=False)
        note = f", {_COMPILING}" if compiling else ""
        self._bar.set_description(self._title + note, refresh=False)
        self._bar.update(done)

    def extend(self, total: int) -> None:
        self._bar.total = total
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


class _Unbroken:
    """A stream that drops what cannot be written: a closed terminal must not end a run."""

    def __init__(self, stream):
        self._stream = stream

    def __getattr__(self, name: str):
        return getattr(self._stream, name)

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()


class Lines(Silent):
    """One line now and then, for logs and pipes."""

    def __init__(self, title: str, total: int, done: int, *, open_ended: bool = False):
        self._title, self._total, self._done = title, total, done
        self._open_ended = open_ended
        self._computed = 0
        self._failed = 0
        self._start = self._last = time.monotonic()
        self._next = self._start + _FIRST

    def advance(self, done: int, failed: int, compiling: bool) -> None:
        self._computed += done
        self._failed += failed
        now = time.monotonic()
        if compiling:
            # Kernels are compiled once, so this time says nothing about what is left.
            self._start += now - self._last
        self._last = now
        if now >= self._next:
            self._next = now + _EVERY
            self._say(now, f", {_COMPILING}" if compiling else "")

    def extend(self, total: int) -> None:
        self._total = total

    def close(self) -> None:
        if self._computed:
            self._say(time.monotonic())

    def _say(self, now: float, note: str = "") -> None:
        done = self._done + self._computed
        share = "as far as decided" if self._open_ended else f"{done / self._total:.0%}"
        line = f"{self._title}: {done}/{self._total} ({share}){note}"
        if self._failed:
            line += f", {self._failed} failed"
        left = self._total - done
        if left and self._computed and not self._open_ended:
            seconds = (now - self._start) / self._computed * left
            line += f", about {tqdm.format_interval(seconds)} left"
        # A closed stderr is no reason to stop computing.
        with contextlib.suppress(OSError):
            print(line, file=sys.stderr, flush=True)


def progress_of(
    wanted: bool | None, title: str, total: int, done: int, *, open_ended: bool = False
) -> Silent:
    """The progress that suits where stderr goes; ``wanted=False`` gives none."""
    if wanted is False or sys.stderr is None:
        kind: type[Silent] = Silent
    else:
        kind = Bar if sys.stderr.isatty() else Lines
    return kind(title, total, done, open_ended=open_ended)
