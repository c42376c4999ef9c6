"""Error messages and exit codes."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterable
from typing import TypeVar

import click

from greedyexp.cli import process
from greedyexp.core.errors import UserError, lacks_memory

Item = TypeVar("Item")

DONE = 0
SOME_FAILED = 1
USER_ERROR = process.USER_ERROR
CLAIM_REFUTED = 4
# With --strict only.
CLAIM_INCONCLUSIVE = 5
# With --challenge only.
CLAIM_VACUOUS = 6
# EX_SOFTWARE of sysexits.h. The usual code of Python, 1, already means that replicates failed.
_INTERNAL_ERROR = 70


def report(
    error: Exception, ctx: click.Context | None = None, *, with_traceback: bool = False
) -> int:
    """Print an error as one sentence and return its exit code.

    Parameters
    ----------
    error : Exception
    ctx : click.Context, optional
        Context that contains the option ``--traceback``.
    with_traceback : bool
        Print the traceback first.

    Raises
    ------
    OSError
        If the output cannot be written.
    """
    if isinstance(error, OSError) and process.is_output_error(error):
        raise error
    shown = with_traceback or bool(ctx and ctx.obj and ctx.obj.get("traceback"))
    if shown:
        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    if sentence := _sentence(error):
        click.echo(f"Error: {sentence}", err=True)
        return USER_ERROR
    what = _one_line(f"{type(error).__name__}: {error}").rstrip(".: ")
    remedy = "please report it" if shown else "run again with --traceback and report it"
    click.echo(f"Internal error: {what}; {remedy}.", err=True)
    return _INTERNAL_ERROR


def each(ctx: click.Context, items: Iterable[Item], action: Callable[[Item], object]) -> int:
    """Apply an action to every item and report errors.

    Returns
    -------
    int
        The exit code.
    """
    code = DONE
    for item in items:
        try:
            action(item)
        except Exception as error:
            code = max(code, report(error, ctx))
    return code


def _sentence(error: Exception) -> str:
    """Return the message for an error that the user can fix; empty for an internal error."""
    if isinstance(error, UserError):
        return _one_line(error)
    if lacks_memory(error):
        return (
            "there is not enough memory. Close other programs or raise the limit; finished"
            " replicates are kept, and the same command continues."
        )
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    if isinstance(error, FileNotFoundError) and not _in_a_folder():
        return "the current folder no longer exists. Change to another one."
    if isinstance(error, RuntimeError) and str(error).startswith("Symlink loop from"):
        # Raised by `Path.resolve` before Python 3.13.
        return f"{_one_line(str(error))}. Name another path."
    return _unencodable(error) if isinstance(error, UnicodeEncodeError) else ""


def _in_a_folder() -> bool:
    """Return True if the current folder exists."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def _unencodable(error: UnicodeEncodeError) -> str:
    """Return a message if an argument or a file name is not valid in this locale, otherwise ''."""
    bad = error.object[error.start : error.end]
    # Python reads such bytes of arguments and file names as surrogates.
    undecoded = all("\udc80" <= character <= "\udcff" for character in bad)
    if not undecoded and error.encoding == "utf-8":
        return ""
    near = _one_line(error.object[max(0, error.start - 60) : error.end + 20])
    return (
        f"'{near}' is not valid text in the encoding {sys.getfilesystemencoding()} of this system."
        " Rename the file or change the argument, or set the locale LC_ALL=C.UTF-8."
    )


def _one_line(message: object) -> str:
    """Return a message without line breaks, which messages from libraries may contain."""
    return " ".join(str(message).split())
