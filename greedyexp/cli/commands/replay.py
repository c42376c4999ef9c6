"""``greedyexp replay``: compute one row of a run again and compare it with the table."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from greedyexp.cli import completion, failures, options, text
from greedyexp.core import listing

if TYPE_CHECKING:
    import pandas as pd

    from greedyexp.report.replay import Replay

# Values of several rows that are listed.
_MOST = 20
# Verdicts, and how their number is printed.
_COUNTED = (
    ("equal", "equal"),
    ("equal up to rounding", "equal up to rounding"),
    ("differs", "different"),
)


@click.command("replay", short_help="Compute one row again and compare it with the table.")
@click.argument("run", type=click.Path(path_type=Path), shell_complete=completion.runs)
@click.option(
    "--where",
    metavar="COLUMN=VALUE[,...]",
    multiple=True,
    help="The row, such as 'theta=1,replicate=7,algorithm=lasso'. Repeatable.",
)
@click.option("--pdb", is_flag=True, help="Stop in the debugger if a part fails.")
@options.trust
@options.shared
@click.pass_context
def command(ctx: click.Context, run: Path, where: tuple[str, ...], pdb: bool) -> None:
    """Compute one replicate of RUN again and compare each value with the CSV.

    RUN is a run folder, or a figure (PNG or PDF) of a run. The file of a figure stores the name,
    seed and commit of its run; without --where, these are printed. The Python that computes the row
    is printed, too. Nothing is written.

    Texts and successes must be equal. Numbers are equal up to rounding if they differ by at most
    1e-6 of the larger, or by at most 1e-12. Exits with 1 if a value differs.
    """
    from greedyexp.report import figure_notes
    from greedyexp.report.replay import replay

    folder = run
    if figure_notes.is_figure(run):
        folder = figure_notes.run_of(run)
        note = figure_notes.read_note(run)
        for name, value in note.items():
            said = str(value)
            if name == "command":
                # The file names the run without the folder that it is in.
                said = said.replace(f"{note['name']}/{note['profile']}", quote(str(folder)), 1)
            click.echo(f"{name:8} {said}")
        click.echo(f"{'folder':8} {folder}")
        if not where:
            ctx.exit(failures.DONE)
    done = replay(folder, ",".join(where), pdb=pdb, traceback=ctx.obj["traceback"])
    show(done)
    ctx.exit(failures.DONE if done.same else failures.SOME_FAILED)


def show(done: Replay) -> None:
    """Print the comparison and the code."""
    for line in done.changes:
        click.echo(f"note: {line}")
    values = done.values
    # All values of a single row; of many, those that are not equal, the largest difference first.
    listed = values
    if values["row"].nunique() > 1:
        listed = values[values["verdict"] != "equal"].copy()
        differs = (listed["verdict"] == "differs").astype(int)
        order = listed.assign(differs=differs).sort_values(
            ["differs", "difference"], ascending=False, kind="stable"
        )
        listed = order.head(_MOST)
    rows = [("row", "column", "stored", "computed", "")]
    for one in listed.to_dict("records"):
        verdict = one["verdict"]
        if one["difference"] > 0:
            verdict += f" (relative difference {one['difference']:.2g})"
        rows.append((str(one["row"]), one["column"], one["stored"], one["computed"], verdict))
    if len(rows) > 1:
        click.echo(text.table(rows, right=(0,)))
    if done.message[0] != done.message[1]:
        click.echo(f"message in the table: {done.message[0] or 'none'}")
        click.echo(f"message now: {done.message[1] or 'none'}")
    click.echo(f"{_counted(values)}.\n\n{done.code}")


def _counted(values: pd.DataFrame) -> str:
    """Return how many values there are with each verdict."""
    counts = values["verdict"].value_counts()
    said = ", ".join(f"{counts.get(name, 0)} {words}" for name, words in _COUNTED)
    return f"{listing.count(len(values), 'value')}: {said}"
