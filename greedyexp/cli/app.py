"""The ``greedyexp`` command: its subcommands, and how every error becomes an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from greedyexp import __version__
from greedyexp.cli import failures
from greedyexp.cli.lazy import LazyGroup
from greedyexp.cli.options import shared

COMMANDS = {
    "run": "greedyexp.cli.commands.run",
    "plot": "greedyexp.cli.commands.plot",
    "verify": "greedyexp.cli.commands.verify",
    "status": "greedyexp.cli.commands.status",
    "list": "greedyexp.cli.commands.list",
    "show": "greedyexp.cli.commands.show",
    "check": "greedyexp.cli.commands.check",
    "schema": "greedyexp.cli.commands.schema",
    "new": "greedyexp.cli.commands.new",
    "data": "greedyexp.cli.commands.data",
}

EXIT_CODES = """\b
Exit codes:
  0    done
  1    some replicates failed (their rows are kept)
  2    bad config, data or usage
  4    a claim was refuted (verify)
  5    a claim is inconclusive (verify --strict)
  70   internal error
  130  interrupted (everything finished is kept; the same command goes on)
  141  the reader of the output has left
"""


@click.group(
    cls=LazyGroup,
    modules=COMMANDS,
    epilog=EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="greedyexp")
@shared
def greedyexp() -> None:
    """A laboratory for greedy sparse optimisation: one command runs a YAML experiment, writes
    tidy CSV and draws the figure."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    args : sequence of str, optional
        Arguments without the program name; ``sys.argv`` when not given.

    Returns
    -------
    int
        0 done, 1 some replicates failed, 2 user error, 4 a claim refuted, 5 inconclusive, 70
        internal error, 130 interrupted, 141 the reader of the output has left.
    """
    try:
        code = _answer(args)
    except BrokenPipeError:
        code = failures.READER_GONE
    if code == failures.READER_GONE:
        _drop_unread()
    return code


def _answer(args: Sequence[str] | None) -> int:
    settings = {"traceback": False}
    for stream in (sys.stdout, sys.stderr):
        # A terminal without some character shows its code; that is no reason to stop.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    # No command shows a window, so that a display or backend that is missing must not matter.
    os.environ["MPLBACKEND"] = "agg"
    try:
        code = greedyexp.main(args, prog_name="greedyexp", standalone_mode=False, obj=settings)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return failures.INTERRUPTED
    except Exception as error:
        return failures.tell(error, with_traceback=settings["traceback"])
    return code or 0


def _drop_unread() -> None:
    """Send what nobody reads nowhere, or Python would try once more at its exit and complain."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
