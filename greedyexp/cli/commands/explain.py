"""``greedyexp explain``: what a run would compute, and why."""

from __future__ import annotations

from pathlib import Path

import click

from greedyexp.cli import failures, options, plan


@click.command("explain", short_help="Say what a run would compute again, and why.")
@options.runs
@click.option(
    "-j",
    "--jobs",
    type=options.Whole(min=1),
    help="Worker processes, for the estimate of the time (default: cores).",
)
@click.option("--retry-failed", is_flag=True, help="Count failed replicates as missing.")
@options.trust
@options.shared
@click.pass_context
def command(ctx: click.Context, path: Path, jobs: int | None, retry_failed: bool) -> None:
    """Say what a new run of each run folder at or below PATH (default: results)
    would compute, and why.

    The settings are those of the folder; `greedyexp run CONFIG --dry-run` uses those of CONFIG.
    Nothing is computed or written.
    """
    from greedyexp import runner

    folders = runner.folders_below(path)
    how = runner.RunOptions(jobs=jobs, retry_failed=retry_failed)

    def explain(folder: Path) -> None:
        click.echo(plan.explained(folder, runner.explain_folder(folder, how)))

    ctx.exit(failures.each(ctx, folders, explain))
