"""``greedyexp list``: names of parts, data sets and shipped configs."""

from __future__ import annotations

from pathlib import Path

import click

from greedyexp.cli import options, text
from greedyexp.core import shipped

KINDS = (
    *("generators", "algorithms", "losses", "protocols", "metrics", "figures", "tables"),
    *("datasets", "configs"),
)


@click.command("list", short_help="List parts and configs.")
@click.argument("kind", type=options.Choice(KINDS), required=False, metavar="[KIND]")
@options.plugins
@options.shared
def command(kind: str | None, plugin_files: tuple[Path, ...]) -> None:
    """List the parts, data sets or configs of one KIND, or of all kinds."""
    from greedyexp.core.plugins import load_plugins

    load_plugins(plugin_files)
    if kind is not None:
        _echo(_rows(kind))
        return
    for index, one in enumerate(KINDS):
        if index:
            click.echo()
        click.secho(one, bold=True)
        _echo(_rows(one), indent="  ")


def _rows(kind: str) -> list[tuple[str, ...]]:
    """Return name, title and summary of each part, data set or config."""
    if kind == "configs":
        return [
            (name, shipped.description(path).partition("\n")[0])
            for name, path in shipped.configs().items()
        ]
    if kind == "datasets":
        from greedyexp.datasets import catalogue

        return [(name, record.title, record.page) for name, record in catalogue.known().items()]
    from greedyexp.core.registry import parts

    if kind == "losses":
        losses = parts("loss").items()
        return [(name, part.title, part.form, part.summary) for name, part in losses]
    # A part without a title has its name as the title.
    return [
        (name, part.title if part.title != name else "", part.summary)
        for name, part in parts(kind.removesuffix("s")).items()
    ]


def _echo(rows: list[tuple[str, ...]], *, indent: str = "") -> None:
    if rows:
        click.echo(text.table(rows, indent=indent, width=text.terminal_width()))
