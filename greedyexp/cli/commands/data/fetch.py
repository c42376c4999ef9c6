"""``greedyexp data fetch``: download data sets and check them."""

from __future__ import annotations

import sys

import click

from greedyexp.cli import options


@click.command("fetch", short_help="Download data sets.")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("-f", "--force", is_flag=True, help="Download to the cache even if it is there.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@options.shared
def command(names: tuple[str, ...], force: bool, quiet: bool) -> None:
    """Download each data set NAME unless a good copy is there, check it, print its folder."""
    from greedyexp.datasets import catalogue, fetching, places

    # All names first: a misspelt one should not come out after a long download.
    for dataset in [catalogue.find(name) for name in names]:
        bar = not quiet and sys.stderr.isatty()
        folder = fetching.fetch(dataset, force=force, progress=bar)
        if quiet:
            continue
        click.echo(folder)
        used = places.find(dataset)
        if used != folder:
            click.echo(f"{places.VARIABLE} goes before it: {used} is what is read.", err=True)
