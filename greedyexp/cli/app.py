"""The ``greedyexp`` command with its subcommands, and the exit codes of errors."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from greedyexp import __version__
from greedyexp.cli import failures, process
from greedyexp.cli.options import shared
from greedyexp.core.errors import did_you_mean

COMMANDS = (
    *("run", "merge", "plot", "verify", "status", "explain", "replay", "compare"),
    *("report", "trust", "list", "show", "check", "schema", "new", "data", "completion"),
)

_EXIT_CODES = """\b
Exit codes:
  0    done
  1    some replicates failed (their rows are kept); a value differs (replay);
       two runs differ beyond chance (compare)
  2    bad config, data or usage
  4    a claim was refuted (verify)
  5    a claim is inconclusive (verify --strict)
  6    a supported claim cannot fail (verify --challenge)
  70   internal error
  130  interrupted by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP (finished replicates
       are kept; the same command continues)
  141  output was closed early, for example by `| head`
"""


class LazyGroup(click.Group):
    """A group of commands whose modules are imported on first use.

    Parameters
    ----------
    modules : dict of str to str
        Module of each command, in the order of the help text. The attribute ``command`` of the
        module is the command, unless another name follows after a colon.
    """

    def __init__(self, *args: Any, modules: dict[str, str] | None = None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.modules = modules or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.modules)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.modules:
            return None
        module, _, attribute = self.modules[name].partition(":")
        return getattr(importlib.import_module(module), attribute or "command")

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0]
        if name not in self.modules and not name.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"No such command '{name}'. {did_you_mean(name, self.modules)}")
        return super().resolve_command(ctx, args)


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
    """Parse the command line, run the command, and return its exit code.

    Raises
    ------
    KeyboardInterrupt
        After a signal.
    """
    given, settings = list(sys.argv[1:] if args is None else args), {"traceback": False}
    # No command opens a window, so a missing display or backend does not matter.
    os.environ["MPLBACKEND"] = "agg"
    if "_GREEDYEXP_COMPLETE" in os.environ:
        # A shell asks for completions. The answers are bytes, which its script reads.
        greedyexp.main(given, prog_name="greedyexp")
    with process.safe_output():
        try:
            process.require_memory()
            # Click's ``main`` would exit with 1 after Ctrl-C or if the output is closed.
            with greedyexp.make_context("greedyexp", given, obj=settings) as ctx:
                greedyexp.invoke(ctx)
        except click.exceptions.Exit as ended:
            return ended.exit_code
        except Exception as error:
            try:
                if not isinstance(error, click.ClickException):
                    return failures.report(error, with_traceback=settings["traceback"])
                error.show()
            except OSError as trouble:
                return process.lost(trouble)
            return error.exit_code
        return failures.DONE
