"""Signals and standard streams of the process."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from greedyexp.core.errors import UserError
from greedyexp.core.listing import CONTROL
from greedyexp.core.signals import INTERRUPTS, Interrupted, install, restore

USER_ERROR = 2
# 128 + SIGPIPE: the reader of the output, such as `head`, has ended.
_READER_GONE = 141
# Imports alone take up to 700 MB of addresses with one thread.
_LEAST_MEMORY = 1000 << 20


@contextmanager
def raising_signals(*, until_exit: bool) -> Iterator[None]:
    """Raise ``Interrupted`` on each signal that is not ignored.

    Parameters
    ----------
    until_exit : bool
        Afterwards, set the default handlers, because the process exits. If False, restore the
        previous handlers.
    """
    replaced = install(_raise)
    try:
        yield
    finally:
        # Nothing is left to do before the exit, so signals may end the process immediately.
        restore(dict.fromkeys(replaced, signal.SIG_DFL) if until_exit else replaced)


def _raise(signum: int, _frame: object) -> None:
    raise Interrupted(signum)


def report_interruption(error: KeyboardInterrupt, sentence: str = "Interrupted.") -> int:
    """Print a sentence, ignore further signals, and return the exit code."""
    signum = error.signum if isinstance(error, Interrupted) else signal.SIGINT
    if threading.current_thread() is threading.main_thread():
        for other in INTERRUPTS:
            if signal.getsignal(other) is _raise:
                signal.signal(other, signal.SIG_IGN)
    # The terminal may be gone.
    with suppress(OSError, ValueError):
        if sys.stderr is not None:
            print(sentence, file=sys.stderr, flush=True)
    return 128 + signum


def ended_by_signal(code: int) -> bool:
    """Return True if an exit code means that a signal ended the command."""
    return code - 128 in INTERRUPTS


def open_missing() -> None:
    """Open closed standard descriptors, whose numbers other files would otherwise get."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def require_memory() -> None:
    """Raise ``UserError`` under a limit of memory at which libraries hang or end the process."""
    with suppress(ImportError):
        # Windows has no such limits.
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if 0 <= limit < _LEAST_MEMORY:
            raise UserError(
                f"memory is limited to {limit >> 20} MB, in which numerical libraries may hang.",
                remedy=f"Allow {_LEAST_MEMORY >> 20} MB or more: `ulimit -v unlimited`.",
            )


# Verdicts in colour, and the start of a line of tqdm, which alone are no text of files.
_OWN = re.compile(r"((?:\x1b\[[0-9]{1,2}m)+[a-z]+\x1b\[0m|^\r(?!.*\n))")


class _Terminal:
    """A text stream that shows control characters, such as those in names, as escape sequences."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> int:
        if CONTROL.search(text):
            parts = _OWN.split(text)
            parts[::2] = [CONTROL.sub(_escaped, part) for part in parts[::2]]
            text = "".join(parts)
        if self._stream.closed:
            raise OSError(errno.EBADF, "it was closed")
        return self._stream.write(text)

    def close(self) -> None:
        """Keep the stream, which a plugin may try to close, open for later messages."""
        self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        # Bytes would not be seen here.
        if name == "buffer":
            raise AttributeError(name)
        return getattr(self._stream, name)


def _escaped(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode("ascii")


@contextmanager
def safe_output() -> Iterator[None]:
    """Escape characters that a stream cannot encode, and those that would control a terminal."""
    streams = sys.stdout, sys.stderr
    for stream in streams:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout, sys.stderr = (stream and _Terminal(stream) for stream in streams)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def is_output_error(error: OSError) -> bool:
    """Return True if an error was raised by printing."""
    if isinstance(error, BrokenPipeError):
        return True
    import click

    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_code is click.echo.__code__ for frame, _ in frames)


def lost(error: OSError) -> int:
    """Report that the output cannot be written, and return the exit code."""
    if isinstance(error, BrokenPipeError):
        return _READER_GONE
    with suppress(OSError):
        if sys.stderr is not None:
            print(f"Error: the output cannot be written: {error.strerror}.", file=sys.stderr)
            sys.stderr.flush()
    return USER_ERROR


def drop_unread() -> None:
    """Write the rest of the output; if that fails, drop it.

    Python would otherwise try again when it shuts down and print an error.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
