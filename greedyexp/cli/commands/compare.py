"""``greedyexp compare``: what differs between two runs, and whether beyond chance."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from greedyexp.cli import completion, failures, options, text
from greedyexp.core.errors import ConfigError
from greedyexp.core.listing import more

if TYPE_CHECKING:
    import pandas as pd

    from greedyexp.report.compare import Comparison

# Lines of a table that are printed.
_MOST = 20
_RUN = click.Path(path_type=Path)

# Metadata of figures: without dates, the same runs give the same file.
_FIGURES: dict[str, dict[str, None]] = {
    ".png": {},
    ".pdf": {"CreationDate": None},
    ".svg": {"Date": None},
}


@click.command("compare", short_help="Compare two runs, and say what differs beyond chance.")
@click.argument("a", type=_RUN, shell_complete=completion.runs)
@click.argument("b", type=_RUN, shell_complete=completion.runs)
@click.option(
    "--figure",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draw the means of B against those of A to this PNG, PDF or SVG file.",
)
@click.option(
    "--csv",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write all comparisons to this CSV file.",
)
@options.shared
@click.pass_context
def command(ctx: click.Context, a: Path, b: Path, figure: Path | None, csv: Path | None) -> None:
    """Compare the run folders A and B: settings, versions, rows, thresholds and verdicts.

    Rows of the same data are paired. Differences are tested at each point, for each algorithm and
    number, and p-values are corrected by Holm's method for all of them. Paired values that are not
    equal are listed as changed, even if their mean difference could be due to chance.

    Exits with 0 if no difference is beyond chance, and with 1 if one is.
    """
    from greedyexp.report.compare import compare

    if figure is not None and figure.suffix.lower() not in _FIGURES:
        raise ConfigError(
            "a figure is a .png, .pdf or .svg file.",
            place=f"--figure {figure}",
            remedy="Rename it.",
        )
    for option, file in (("--figure", figure), ("--csv", csv)):
        if file is not None and {a.resolve(), b.resolve()} & {*file.resolve().parents}:
            raise ConfigError(
                "this file would be in the folder of a run, whose own files it could replace.",
                place=f"{option} {file}",
                remedy="Write it elsewhere.",
            )
    if csv is not None:
        _refuse_other_table(csv)
    found = compare(a, b)
    if csv is not None:
        from greedyexp.runner.files import write_text

        write_text(csv, found.differences.to_csv(index=False))
    if figure is not None:
        _save(found, figure)
    show(found)
    ctx.exit(failures.SOME_FAILED if found.differ else failures.DONE)


def _refuse_other_table(file: Path) -> None:
    """Raise ``ConfigError`` unless a file can hold comparisons and would replace nothing else."""
    place = f"--csv {file}"
    if file.suffix.lower() != ".csv":
        raise ConfigError("a table is a .csv file.", place=place, remedy="Rename it.")
    if file.is_file():
        with file.open(encoding="utf-8", errors="replace") as stream:
            header = stream.readline()
        if "mean_a,mean_b" not in header:
            raise ConfigError(
                "the file already exists and is not a table of comparisons.",
                place=place,
                remedy="Choose another name.",
            )


def _save(found: Comparison, file: Path) -> None:
    import matplotlib

    from greedyexp.figures._plot.style import use_style
    from greedyexp.report.draw import arrange
    from greedyexp.runner.files import replacing

    picture = found.figure()
    suffix = file.suffix.lower()
    with replacing(file) as stream, matplotlib.rc_context():
        use_style()
        arrange(picture)
        picture.savefig(stream, format=suffix[1:], metadata=_FIGURES[suffix])


def show(found: Comparison) -> None:
    """Print what differs."""
    from greedyexp.stats.multiplicity import ALPHA

    a, b = found.folders
    click.echo(f"a: {a}\nb: {b}")
    for heading, lines in (
        ("settings that differ", found.settings),
        ("versions that differ", found.versions),
        ("notes", found.notes),
    ):
        if lines:
            click.echo(f"\n{heading}:")
            for line in lines:
                click.echo(f"  {line}")
    pairing = "paired" if found.paired else "not paired"
    count, beyond = len(found.differences), found.beyond_chance
    click.echo(
        f"\n{text.count(count, 'comparison')}, {pairing}: {len(beyond)} beyond chance"
        f" (Holm, {ALPHA:.0%})."
    )
    _print(beyond.drop(columns="p_value"))
    if found.paired:
        click.echo(f"\nchanged values: {len(found.changed)}")
        _print(found.changed)
    if not found.thresholds.empty:
        click.echo("\nthresholds at 50% success, with 95% intervals:")
        _print(found.thresholds, most=None)
    changed = found.verdicts[found.verdicts["a"] != found.verdicts["b"]]
    if len(found.verdicts):
        click.echo(f"\nverdicts that differ: {len(changed)} of {len(found.verdicts)}")
        _print(changed, most=None)


def _print(table: pd.DataFrame, most: int | None = _MOST) -> None:
    if table.empty:
        return
    lines = table.head(most) if most else table
    rows = [tuple(map(str, table.columns))]
    rows += [tuple(map(_cell, row)) for row in lines.itertuples(index=False, name=None)]
    click.echo(text.table(rows, indent="  "))
    if len(table) > len(lines):
        click.echo(f"  {more(len(table) - len(lines))}")


def _cell(value: Any) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
