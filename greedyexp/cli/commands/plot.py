"""``greedyexp plot``: redraw figures and tables from CSV files alone."""

from __future__ import annotations

from pathlib import Path

import click

from greedyexp.cli import completion, failures, options, summaries


@click.command("plot", short_help="Redraw figures and tables from CSV files.")
@click.argument(
    "path",
    type=click.Path(path_type=Path),
    default=Path("results"),
    shell_complete=completion.runs,
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write to OUT/<name>/<profile>/ instead of the run folders.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@options.shared
@click.pass_context
def command(ctx: click.Context, path: Path, out: Path | None, quiet: bool) -> None:
    """Redraw every figure and table of the runs at or below PATH (default: results)."""
    from greedyexp import report

    drawn: list[Path] = []

    def draw(folder: Path) -> None:
        place = folder.resolve()
        drawn.extend(report.draw(folder, out and out / place.parent.name / place.name))
        summaries.warn_unchecked(folder)

    # All figures are drawn before anything is printed, since the output may be closed early.
    code = failures.each(ctx, report.run_folders(path), draw)
    for file in () if quiet else drawn:
        click.echo(file)
    ctx.exit(code)
