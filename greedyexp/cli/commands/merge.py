"""``greedyexp merge``: one run folder from several."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from greedyexp.cli import completion, options, summaries
from greedyexp.cli.commands.run import conclude
from greedyexp.core import listing

if TYPE_CHECKING:
    from greedyexp.runner import Merged

# Incomplete shards that are named.
_MOST_SHARDS = 8


@click.command("merge", short_help="Merge run folders, such as shards, into one.")
@click.argument(
    "folders",
    nargs=-1,
    required=True,
    metavar="FOLDER...",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    shell_complete=completion.runs,
)
@click.option(
    "--into",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="The run folder to write. Its own replicates are kept.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors and failures.")
@options.trust
@options.shared
@click.pass_context
def command(ctx: click.Context, folders: tuple[Path, ...], into: Path, quiet: bool) -> None:
    """Merge the replicates of each FOLDER, and write the tables, figures and verdicts of one run.

    The folders must be runs of one experiment and profile, such as its shards. If two
    folders have different results of the same replicate, nothing is merged. The settings of figures
    are taken from the first FOLDER.
    """
    from greedyexp import runner

    say = (lambda *_: None) if quiet else click.echo
    done = runner.merge(folders, into)

    def summarise() -> None:
        for line in words(done):
            say(line)
        for line in summaries.problems(done.csv):
            click.echo(f"  {line}", err=True)

    ctx.exit(conclude(into, done, say, summarise, claims=done.claims, keep=True))


def words(done: Merged) -> list[str]:
    """Return the numbers of replicates, and which are missing."""
    lines = [
        f"{done.name} ({done.profile}): {done.done} of {done.total} done, {done.failed} failed;"
        f" {done.added} added from {listing.count(done.folders, 'folder')} in"
        f" {listing.duration(done.wall_seconds)}"
    ]
    if done.missing:
        which, remedy = "", "Run"
        if done.incomplete:
            which = f", in shards {listing.listed(done.incomplete, _MOST_SHARDS)}"
            remedy = "Run and merge these, or run"
        lines.append(
            f"  {done.missing} missing{which}. {remedy} the experiment without --shard, which"
            " computes only what is missing."
        )
    return lines
