"""``greedyexp status``: progress of runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from greedyexp.cli import completion, failures, options, summaries, text

if TYPE_CHECKING:
    from greedyexp.runner import FolderStatus

HEADING = ("run", "done", "failed", "missing", "spent", "left", "size", "failures")


@click.command("status", short_help="Count done, failed and missing replicates.")
@click.argument(
    "path",
    type=click.Path(path_type=Path),
    default=Path("results"),
    shell_complete=completion.runs,
)
@options.shared
@click.pass_context
def command(ctx: click.Context, path: Path) -> None:
    """Show done, failed and missing replicates of the runs at or below PATH (default: results)."""
    from greedyexp import runner

    folders = runner.folders_below(path)
    read: list[Path] = []
    states: list[FolderStatus] = []

    def look_at(folder: Path) -> None:
        states.append(runner.status(folder))
        read.append(folder)

    # One damaged folder must not hide the others.
    code = failures.each(ctx, folders, look_at)
    click.echo(text.table([HEADING, *map(row, states)], right=range(1, 7)))
    for folder, state in zip(read, states, strict=True):
        for line in summaries.looks(folder):
            click.echo(f"{state.name}/{state.profile}: {line}")
        if state.unfinished:
            click.echo(f"{state.name}/{state.profile}: {summaries.NOT_FINISHED}")
    ctx.exit(code)


def row(state: FolderStatus) -> tuple[str, ...]:
    """Return the cells of one run."""
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
