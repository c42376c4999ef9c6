"""``greedyexp plot``: redraw figures and tables from CSV files alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from greedyexp.cli import failures, options, summaries
from greedyexp.core.errors import ConfigError


@click.command("plot", short_help="Redraw figures and tables from CSV files.")
@options.runs
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write to OUT/<name>/<profile>/ instead of the run folders.",
)
@click.option(
    "--figure", "figures", metavar="NAME", multiple=True, help="Draw this figure. Repeatable."
)
@click.option(
    "--where",
    metavar="COLUMN=VALUE[,...]",
    multiple=True,
    help="The rows to show, such as 'kappa=0.3,algorithm=lasso'. Repeatable.",
)
@click.option("--row", metavar="VALUE", help="The row of panels to show, by the value at its left.")
@click.option(
    "--format",
    "formats",
    type=options.Choice(("svg", "pdf", "png")),
    multiple=True,
    help="Format of the files. Repeatable.  [default: png, pdf]",
)
@click.option(
    "--style",
    type=options.Choice(("paper", "slides")),
    help="Fonts and sizes for print or for projection.",
)
@click.option(
    "--width",
    metavar="LENGTH",
    help="Largest width, such as 3.3in, 84mm or 240pt; text keeps its size.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@options.trust
@options.shared
@click.pass_context
def command(ctx: click.Context, path: Path, out: Path | None, quiet: bool, **given: Any) -> None:
    """Redraw every figure and table of the runs at or below PATH (default: results).

    Figures are named by their files, such as comparison_2. Figures with other rows, styles, widths
    or formats are not written to the run folder: name another folder with --out. Figures and tables
    of seconds need timings.csv; without it they stay as they are.
    """
    from greedyexp import report
    from greedyexp.report.look import look_of
    from greedyexp.report.source import places_of

    look = look_of(**given)
    if look.changed and out is None:
        raise ConfigError(
            "figures with another look do not replace those of the run folder.",
            remedy="Name another folder, such as --out camera-ready.",
        )
    drawn: list[Path] = []
    folders = report.run_folders(path)
    places = dict(zip(folders, places_of(folders), strict=True))

    def draw(folder: Path) -> None:
        target = out and out / places[folder]
        drawn.extend(report.draw(folder, target, look=look, tell=summaries.note))
        summaries.warn_unchecked(folder)

    # All figures are drawn before anything is printed, since the output may be closed early.
    code = failures.each(ctx, folders, draw)
    for file in () if quiet else drawn:
        click.echo(file)
    ctx.exit(code)
