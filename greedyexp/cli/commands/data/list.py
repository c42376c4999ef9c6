"""``greedyexp data list``: every data set and where it would be read from."""

from __future__ import annotations

import click

from greedyexp.cli import options, text


@click.command("list", short_help="Data sets and where they are.")
@options.shared
def command() -> None:
    """List the data sets: name, title, folder in use or "not fetched", size on disk."""
    from greedyexp.datasets import catalogue

    click.echo(text.table([_row(dataset) for dataset in catalogue.known().values()]))


def _row(dataset) -> tuple[str, str, str, str]:
    from greedyexp.datasets import places

    folder = places.find(dataset)
    if folder is None:
        return dataset.name, dataset.title, "not fetched", ""
    size = sum(path.stat().st_size for path in places.files(dataset, folder))
    return dataset.name, dataset.title, str(folder), text.size(size)
