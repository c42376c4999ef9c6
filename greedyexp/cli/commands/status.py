"""``greedyexp status``: how far runs have come."""

from __future__ import annotations

from pathlib import Path

import click

from greedyexp.cli import options, text

HEADING = ("run", "done", "failed", "missing", "spent", "left", "size", "failures")


@click.command("status", short_help="Done, failed and missing replicates.")
@click.argument("path", type=click.Path(path_type=Path), default=Path("results"))
@options.shared
def command(path: Path) -> None:
    """Show done, failed and missing replicates of the runs at or below PATH (default: results)."""
    from greedyexp import runner
    from greedyexp.errors import StorageError

    folders = folders_below(path)
    if not folders:
        raise StorageError(
            "there is no run here.", place=str(path), remedy="`greedyexp run` makes one."
        )
    rows = [row(runner.status(folder)) for folder in folders]
    click.echo(text.table([HEADING, *rows], right=range(1, 7)))


def folders_below(path: Path) -> list[Path]:
    """Folders of runs, those that were interrupted before their first table included."""
    return sorted(
        config.parent
        for config in path.rglob("config.yaml")
        if any((config.parent / name).exists() for name in ("journal.sqlite", "manifest.json"))
        or any(config.parent.glob("*.csv*"))
    )


def row(state) -> tuple[str, ...]:
    """One run as cells of the table."""
    failed = sum(state.failed.values())
    left = "" if state.missing and state.seconds_left is None else text.duration(state.seconds_left)
    return (
        f"{state.name}/{state.profile}",
        str(state.done),
        str(failed),
        str(state.missing),
        text.duration(state.seconds_spent),
        left,
        text.size(state.bytes_on_disk),
        ", ".join(f"{name} {number}" for name, number in state.failed.items()),
    )
