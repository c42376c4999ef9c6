"""``greedyexp plot``: redraw figures and tables from CSV files alone."""

from __future__ import annotations

from pathlib import Path

import click

from greedyexp.cli import failures, options


@click.command("plot", short_help="Redraw figures and tables from CSV files.")
@click.argument("path", type=click.Path(path_type=Path), default=Path("results"))
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@options.shared
@click.pass_context
def command(ctx: click.Context, path: Path, quiet: bool) -> None:
    """Redraw every figure and table of the runs at or below PATH (default: results)."""
    from greedyexp import report

    drawn: list[Path] = []
    # All are drawn before anything is printed: output that is closed early costs no file.
    code = failures.each(
        ctx, report.run_folders(path), lambda folder: drawn.extend(report.draw(folder))
    )
    for file in () if quiet else drawn:
        click.echo(file)
    ctx.exit(code)
