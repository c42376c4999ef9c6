"""``greedyexp completion``: the script for completion in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from greedyexp.cli import options


@click.command("completion", short_help="Print the completion script for bash, zsh or fish.")
@click.argument("shell", type=options.Choice(("bash", "zsh", "fish")))
@options.shared
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script that completes greedyexp in SHELL.

    It completes commands, options and their choices, configs, parts, data sets and run folders. Add
    one line to your ~/.bashrc, to your ~/.zshrc after compinit, or to your
    ~/.config/fish/config.fish:

    \b
      eval "$(greedyexp completion bash)"
      eval "$(greedyexp completion zsh)"
      greedyexp completion fish | source
    """
    of_shell = get_completion_class(shell)
    assert of_shell is not None
    complete = of_shell(ctx.find_root().command, {}, "greedyexp", "_GREEDYEXP_COMPLETE")
    click.echo(complete.source())
