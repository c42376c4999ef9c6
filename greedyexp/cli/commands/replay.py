"""``greedyexp replay``: compute one row of a run again and compare it with the table."""

from __future__ import annotations

import math
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from greedyexp.cli import completion, failures, options, text
from greedyexp.core.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd

    from greedyexp.report.replay import Replay
    from greedyexp.report.replay_share import ReplayedShare

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
@click.option(
    "--share",
    type=float,
    metavar="SHARE",
    help="Instead of one row, this share of all replicates, such as 0.01.",
)
@click.option("--pdb", is_flag=True, help="Stop in the debugger if a part fails.")
@options.shared
@click.pass_context
def command(
    ctx: click.Context, run: Path, where: tuple[str, ...], share: float | None, pdb: bool
) -> None:
    """Compute one replicate of RUN again and compare each value with the CSV.

    RUN is a run folder, or a figure (PNG or PDF) of a run. The file of a figure stores the name,
    seed and commit of its run; without --where, these are printed. The Python that computes the row
    is printed, too. Nothing is written.

    Texts, whole numbers and successes must be equal. Other numbers are equal up to rounding if they
    differ by at most 1e-6 of the larger, or by at most 1e-12. Exits with 1 if a value differs.

    With --share, replicates of all runs at or below RUN are drawn at random and computed again,
    for example on another machine.
    """
    if share is not None:
        if where or pdb:
            other = "--where" if where else "--pdb"
            raise click.UsageError(f"--share and {other} cannot be used together.")
        if not 0 < share <= 1:
            raise ConfigError(
                "the share must be more than 0 and at most 1.",
                place=f"--share {share:g}",
                remedy="For example: --share 0.01.",
            )
        ctx.exit(_replay_shares(ctx, run, share))
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
    return f"{text.count(len(values), 'value')}: {said}"


def _replay_shares(ctx: click.Context, path: Path, share: float) -> int:
    """Compute a share of the replicates of each run again, and return the exit code."""
    from greedyexp import report
    from greedyexp.report.replay_share import replay_share

    done: list[ReplayedShare] = []

    def again(folder: Path) -> None:
        one = replay_share(folder, share, traceback=ctx.obj["traceback"])
        done.append(one)
        click.echo(_summary(one))
        for change in one.changes:
            click.echo(f"  note: {change}")
        values = one.values
        differing = values[values["verdict"] == "differs"]
        for value in differing.head(_MOST).to_dict("records"):
            where = f"row {value['row']}, {value['column']}"
            click.echo(f"  {where}: {value['stored']} in the table, {value['computed']} now")

    code = failures.each(ctx, report.run_folders(path), again)
    differ = any(not one.same for one in done)
    return code or (failures.SOME_FAILED if differ else failures.DONE)


def _summary(one: ReplayedShare) -> str:
    said = f"{one.folder}: {one.replicates} of {text.count(one.of, 'replicate')}"
    said += f"; {_counted(one.values)}"
    if one.digits < math.inf:
        said += f"; rounded values agree in at least {one.digits:.1f} digits"
    return said
