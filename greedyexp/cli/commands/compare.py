"""``greedyexp compare``: what differs between two runs, and whether beyond chance."""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from greedyexp.cli import completion, failures, options, text
from greedyexp.core import listing
from greedyexp.core.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd

    from greedyexp.report.compare import Comparison

# Lines of a table that are printed.
_MOST = 20
_RUN = click.Path(path_type=Path)

# Metadata of figures: without dates, the same runs give the same file.
_FIGURES: dict[str, dict[str, str | None]] = {
    ".png": {"Software": "greedyexp compare"},
    ".pdf": {"Creator": "greedyexp compare", "CreationDate": None},
    ".svg": {"Creator": "greedyexp compare", "Date": None},
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
@options.trust
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

    for option, file, suffixes in (("--figure", figure, _FIGURES), ("--csv", csv, [".csv"])):
        if file is not None:
            _refuse_file(f"{option} {file}", file, suffixes, {a.resolve(), b.resolve()})
    found = compare(a, b)
    contents = {}
    if csv is not None:
        contents["--csv", csv] = found.differences.to_csv(index=False).encode()
    if figure is not None:
        contents["--figure", figure] = _drawn(found, figure.suffix.lower())
    _write(contents)
    show(found)
    ctx.exit(failures.SOME_FAILED if found.differ else failures.DONE)


def _refuse_file(place: str, file: Path, suffixes: Collection[str], runs: set[Path]) -> None:
    """Raise ``ConfigError`` unless a file is of this kind and lies outside the runs."""
    if runs & {*file.resolve().parents}:
        raise ConfigError(
            "this file would be in the folder of a run, whose own files it could replace.",
            place=place,
            remedy="Write it elsewhere.",
        )
    if file.suffix.lower() not in suffixes:
        *others, last = suffixes
        kinds = " or ".join(filter(None, [", ".join(others), last]))
        raise ConfigError(f"the file must be a {kinds} file.", place=place, remedy="Rename it.")


def _write(contents: Mapping[tuple[str, Path], bytes]) -> None:
    """Write files by option and path; none of them replaces another file, which may be edited."""
    from greedyexp.core.files import replacing

    for (option, file), content in contents.items():
        if file.is_file() and file.read_bytes() != content:
            raise ConfigError(
                "this file exists and has other contents than this comparison.",
                place=f"{option} {file}",
                remedy="Move it away, or choose another name.",
            )
    for (_, file), content in contents.items():
        with replacing(file) as stream:
            stream.write(content)


def _drawn(found: Comparison, suffix: str) -> bytes:
    import matplotlib

    from greedyexp.figures._plot.style import use_style
    from greedyexp.report.draw import arrange

    picture, stream = found.figure(), io.BytesIO()
    with matplotlib.rc_context():
        use_style()
        arrange(picture)
        picture.savefig(stream, format=suffix[1:], metadata=_FIGURES[suffix])
    return stream.getvalue()


def show(found: Comparison) -> None:
    """Print what differs."""
    from greedyexp.stats.level import ALPHA, INTERVAL

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
        f"\n{listing.count(count, 'comparison')}, {pairing}: {len(beyond)} beyond chance"
        f" (Holm, {ALPHA:.0%})."
    )
    _print(beyond.drop(columns="p_value"))
    if found.paired:
        click.echo(f"\nchanged values: {len(found.changed)}")
        _print(found.changed)
    if not found.thresholds.empty:
        click.echo(f"\nthresholds at 50% success, with {INTERVAL}s:")
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
        click.echo(f"  {listing.more(len(table) - len(lines))}")


def _cell(value: Any) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
