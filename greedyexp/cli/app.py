"""The ``greedyexp`` command with its subcommands, and the exit codes of errors."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence

import click

from greedyexp import __version__
from greedyexp.cli import failures, process
from greedyexp.cli.lazy import LazyGroup
from greedyexp.cli.options import shared

COMMANDS = (
    *("run", "merge", "plot", "verify", "status", "explain", "replay", "compare"),
    *("report", "list", "show", "check", "schema", "new", "data", "completion"),
)
# The environment variable by which shells ask for completions.
VARIABLE = "_GREEDYEXP_COMPLETE"

_EXIT_CODES = """\b
Exit codes:
  0    done
  1    some replicates failed (their rows are kept); a value differs (replay);
       two runs differ beyond chance (compare)
  2    bad config, data or usage
  4    a claim was refuted (verify)
  5    a claim is inconclusive (verify --strict)
  70   internal error
  130  interrupted by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP (finished replicates
       are kept; the same command continues)
  141  output was closed early, for example by `| head`
"""


@click.group(
    cls=LazyGroup,
    modules={name: f"greedyexp.cli.commands.{name}" for name in COMMANDS},
    epilog=_EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="greedyexp")
@shared
def greedyexp() -> None:
    """A laboratory for greedy sparse optimisation: one command runs a YAML experiment, writes
    tidy CSV and draws the figure."""


def answer(args: Sequence[str] | None = None) -> int:
    """Parse the command line, run the command, and return its exit code."""
    settings = {"traceback": False}
    if VARIABLE in os.environ:
        # Registers how the questions of shells are answered.
        importlib.import_module("greedyexp.cli.shells")
    process.escape_unknown_characters()
    # No command opens a window, so a missing display or backend does not matter.
    os.environ["MPLBACKEND"] = "agg"
    try:
        code = greedyexp.main(args, prog_name="greedyexp", standalone_mode=False, obj=settings)
    except click.ClickException as error:
        try:
            error.show()
        except OSError as trouble:
            return process.lost(trouble)
        return error.exit_code
    except Exception as error:
        return failures.report_or_lose(error, with_traceback=settings["traceback"])
    return code or 0
