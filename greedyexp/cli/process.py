"""Signals and standard streams of the process."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from greedyexp.core.signals import INTERRUPTS, Interrupted, install, restore

USER_ERROR = 2
# 128 + SIGPIPE: the reader of the output, such as `head`, has ended.
_READER_GONE = 141


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


def escape_unknown_characters() -> None:
    """Write characters that a stream cannot encode as escape sequences."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


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
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
