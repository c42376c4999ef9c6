"""``greedyexp data where``: the folder that a data set is read from."""

from __future__ import annotations

import click

from greedyexp.cli import options


@click.command("where", short_help="Folder of a data set.")
@click.argument("name")
@options.shared
def command(name: str) -> None:
    """Print the folder that data set NAME is read from."""
    from greedyexp.datasets import catalogue, places

    click.echo(places.located(catalogue.find(name)))
