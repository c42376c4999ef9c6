"""``greedyexp status``: progress of runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from greedyexp.cli import failures, options, summaries, text
from greedyexp.core.listing import duration, size

if TYPE_CHECKING:
    from greedyexp.runner import FolderStatus

HEADING = ("run", "done", "failed", "missing", "spent", "left", "size", "failures")


@click.command("status", short_help="Count done, failed and missing replicates.")
@options.runs
@options.trust
@options.shared
@click.pass_context
def command(ctx: click.Context, path: Path) -> None:
    """Show done, failed and missing replicates of the runs at or below PATH (default: results)."""
    from greedyexp import runner

    folders = runner.folders_below(path)
    states: list[FolderStatus] = []
    # One damaged folder must not hide the others.
    code = failures.each(ctx, folders, lambda folder: states.append(runner.status(folder)))
    click.echo(text.table([HEADING, *map(row, states)], right=range(1, 7)))
    for state in states:
        if state.unfinished:
            click.echo(f"{state.name}/{state.profile}: {summaries.NOT_FINISHED}")
    ctx.exit(code)


def row(state: FolderStatus) -> tuple[str, ...]:
    """Return the cells of one run."""
    failed = sum(state.failed.values())
    left = "" if state.missing and state.seconds_left is None else duration(state.seconds_left)
    return (
        f"{state.name}/{state.profile}",
        str(state.done),
        str(failed),
        str(state.missing),
        duration(state.seconds_spent),
        left,
        size(state.bytes_on_disk),
        ", ".join(f"{name} {number}" for name, number in state.failed.items()),
    )
