"""A click group that imports the module of a command when the command is used."""

from __future__ import annotations

import importlib
from typing import Any

import click

from greedyexp.core.errors import did_you_mean


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
        found: click.Command = getattr(importlib.import_module(module), attribute or "command")
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0]
        if name not in self.modules and not name.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"No such command '{name}'. {did_you_mean(name, self.modules)}")
        return super().resolve_command(ctx, args)
