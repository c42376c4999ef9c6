"""``greedyexp data``: list, locate and download public data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from greedyexp.cli import completion, options, text
from greedyexp.cli.app import LazyGroup
from greedyexp.core import listing

if TYPE_CHECKING:
    from greedyexp.datasets.catalogue import Dataset


@click.group(
    "data",
    cls=LazyGroup,
    modules={name: f"{__name__}:{name}_" for name in ("list", "where", "fetch")},
    short_help="List, locate and download public data sets.",
)
@options.shared
def command() -> None:
    """List, locate and download public data sets.

    A data set is read from the folder in the environment variable GREEDYEXP_DATA if that folder
    contains it, otherwise from a cache in the home folder of the user. Each time a data set is
    read, its values are checked against the published values.
    """


@click.command("list", short_help="Data sets and their folders.")
@options.shared
def list_() -> None:
    """List the data sets: name, title, folder in use or "not fetched", size on disk."""
    from greedyexp.datasets import catalogue

    click.echo(text.table([_row(dataset) for dataset in catalogue.known().values()]))


def _row(dataset: Dataset) -> tuple[str, str, str, str]:
    from greedyexp.datasets import places

    folder = places.find(dataset)
    if folder is None:
        return dataset.name, dataset.title, "not fetched", ""
    size = sum(path.stat().st_size for path in places.files(dataset, folder))
    return dataset.name, dataset.title, str(folder), listing.size(size)


@click.command("where", short_help="Folder of a data set.")
@click.argument("name", shell_complete=completion.datasets)
@options.shared
def where_(name: str) -> None:
    """Print the folder that data set NAME is read from."""
    from greedyexp.datasets import catalogue, places

    click.echo(places.located(catalogue.find(name)))


@click.command("fetch", short_help="Download data sets.")
@click.argument(
    "names", nargs=-1, required=True, metavar="NAME...", shell_complete=completion.datasets
)
@click.option(
    "-f", "--force", is_flag=True, help="Download to the cache even if a valid copy exists."
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@options.shared
def fetch_(names: tuple[str, ...], force: bool, quiet: bool) -> None:
    """Download each data set NAME unless a valid copy exists, and print its folder."""
    from greedyexp.datasets import catalogue, fetching, places

    # Check all names first, so that a misspelt name is not reported only after a long download.
    for dataset in [catalogue.find(name) for name in names]:
        bar = not quiet and text.on_terminal()
        folder = fetching.fetch(dataset, force=force, progress=bar)
        if quiet:
            continue
        click.echo(folder)
        used = places.find(dataset)
        if used != folder:
            click.echo(f"{places.VARIABLE} takes precedence: {used} is read instead.", err=True)
