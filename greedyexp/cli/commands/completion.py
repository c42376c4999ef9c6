"""``greedyexp completion``: the script for completion in a shell."""

from __future__ import annotations

import click

from greedyexp.cli import options


@click.command("completion", short_help="Print the completion script for bash or zsh.")
@click.argument("shell", type=options.Choice(("bash", "zsh")))
@options.shared
def command(shell: str) -> None:
    """Print the script that completes greedyexp in SHELL.

    It completes commands, options, configs, parts, run folders, settings of --set, and columns of
    --only with their values. Add one line to your ~/.bashrc or, after compinit, to your ~/.zshrc:

    \b
      eval "$(greedyexp completion bash)"
      eval "$(greedyexp completion zsh)"
    """
    from greedyexp.cli.shells import SHELLS

    click.echo(SHELLS[shell].source_template, nl=False)
