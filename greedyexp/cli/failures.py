"""How errors become one sentence on stderr and an exit code."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from typing import TypeVar

import click

from greedyexp.cli import streams
from greedyexp.errors import UserError

Item = TypeVar("Item")

DONE = 0
SOME_FAILED = 1
USER_ERROR = streams.USER_ERROR
CLAIM_REFUTED = 4
# With --strict only.
CLAIM_INCONCLUSIVE = 5
# EX_SOFTWARE of sysexits.h: 1 must keep meaning that replicates failed.
INTERNAL_ERROR = 70


def tell(error: Exception, ctx: click.Context | None = None, *, with_traceback=False) -> int:
    """Print an error as one sentence.

    Parameters
    ----------
    error : Exception
        What was raised.
    ctx : click.Context, optional
        Where to look up whether ``--traceback`` was given.
    with_traceback : bool
        Print the traceback first.

    Returns
    -------
    int
        The exit code the error stands for.

    Raises
    ------
    OSError
        When the output cannot be written, which is then all there is to say.
    """
    if isinstance(error, OSError) and streams.is_output_error(error):
        raise error
    shown = with_traceback or bool(ctx and ctx.obj and ctx.obj.get("traceback"))
    if shown:
        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    if isinstance(error, UserError):
        click.echo(f"Error: {_one_line(error)}", err=True)
        return error.exit_code
    if isinstance(error, OSError) and error.filename is not None:
        click.echo(f"Error: {error.filename}: {error.strerror}.", err=True)
        return USER_ERROR
    what = _one_line(f"{type(error).__name__}: {error}").rstrip(".: ")
    remedy = "please report it" if shown else "run again with --traceback and report it"
    click.echo(f"Internal error: {what}; {remedy}.", err=True)
    return INTERNAL_ERROR


def tell_last(error: Exception, ctx: click.Context | None = None, **how) -> int:
    """As ``tell``, and where the output cannot be written, say that."""
    try:
        return tell(error, ctx, **how)
    except OSError as trouble:
        return streams.lost(trouble)


def each(ctx: click.Context, items: Iterable[Item], action: Callable[[Item], object]) -> int:
    """Do something with every item; an error is printed, and the next item follows.

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
            code = max(code, tell(error, ctx))
    return code


def _one_line(message: object) -> str:
    """The message without line breaks, which those of other libraries may hold."""
    return " ".join(str(message).split())
