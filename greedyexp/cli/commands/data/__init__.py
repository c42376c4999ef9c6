"""``greedyexp data``: public data sets, where they are and how to get them."""

from __future__ import annotations

import click

from greedyexp.cli import options
from greedyexp.cli.lazy import LazyGroup

COMMANDS = {
    "list": "greedyexp.cli.commands.data.list",
    "where": "greedyexp.cli.commands.data.where",
    "fetch": "greedyexp.cli.commands.data.fetch",
}


@click.group("data", cls=LazyGroup, modules=COMMANDS, short_help="Public data sets.")
@options.shared
def command() -> None:
    """List public data sets, say where they are, download them.

    A data set is read from the folder that the environment variable GREEDYEXP_DATA names, when it
    is there, else from a cache in the user's home. Every read checks that the values are the
    published ones.
    """
