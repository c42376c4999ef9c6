"""Standard output and standard error that are closed, full or cannot show a character."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress

USER_ERROR = 2
# 128 + SIGPIPE: the program that read the output, such as `head`, has ended.
READER_GONE = 141


def open_missing() -> None:
    """Open the standard descriptors that are closed, whose numbers the next files would get."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def escape_unknown_characters() -> None:
    """Show a character that a stream cannot encode as its code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def is_output_error(error: OSError) -> bool:
    """Whether printing raised an error."""
    if isinstance(error, BrokenPipeError):
        return True
    import click

    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_code is click.echo.__code__ for frame, _ in frames)


def lost(error: OSError) -> int:
    """Say that the output cannot be written, and return the exit code."""
    if isinstance(error, BrokenPipeError):
        return READER_GONE
    with suppress(OSError):
        if sys.stderr is not None:
            print(f"Error: the output cannot be written: {error.strerror}.", file=sys.stderr)
            sys.stderr.flush()
    return USER_ERROR


def drop_unread() -> None:
    """Write what is left of the output; if that fails, drop it.

    Python would try once more when it shuts down, and complain.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
