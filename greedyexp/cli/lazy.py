"""A click group that imports a command's module when that command is named."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager

import click

from greedyexp.cli import failures, signals
from greedyexp.core.errors import did_you_mean


class LazyGroup(click.Group):
    """A group whose commands live in modules imported on first use.

    Parameters
    ----------
    modules : dict of str to str
        Module of each command, in the order of the help text. A module's command is its
        attribute ``command``.
    """

    def __init__(self, *args, modules: dict[str, str] | None = None, **kwargs):
        super().__init__(*args, **kwargs)
        self.modules = modules or {}

    def make_context(self, *args, **kwargs) -> click.Context:
        with _exit_code_of_its_own():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context):
        with _exit_code_of_its_own(ctx):
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.modules)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.modules:
            return None
        return importlib.import_module(self.modules[name]).command

    def resolve_command(self, ctx: click.Context, args: list[str]):
        name = args[0]
        if name not in self.modules and not name.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"No such command '{name}'. {did_you_mean(name, self.modules)}")
        return super().resolve_command(ctx, args)


@contextmanager
def _exit_code_of_its_own(ctx: click.Context | None = None) -> Iterator[None]:
    """Give an exit code to the errors that click takes for Ctrl-C or ends with 1."""
    try:
        yield
    except KeyboardInterrupt as error:
        code = signals.answer(error)
    except (OSError, EOFError) as error:
        code = failures.tell_last(error, ctx)
    else:
        return
    raise click.exceptions.Exit(code)
