"""``greedyexp report``: a static HTML report of runs."""

from __future__ import annotations

from pathlib import Path

import click

from greedyexp.cli import completion, failures, options, text

_RUN = click.Path(path_type=Path)


@click.command("report", short_help="A folder of HTML pages: figures, claims, tables, rows.")
@click.argument("path", type=_RUN, default=Path("results"), shell_complete=completion.runs)
@click.option(
    "--out",
    type=_RUN,
    default=Path("report"),
    show_default=True,
    help="The folder to write. An earlier report there is replaced.",
)
@click.option(
    "--compare",
    "compared",
    type=_RUN,
    nargs=2,
    metavar="A B",
    multiple=True,
    help="Add a page that compares the run folders A and B. Repeatable.",
)
@click.option("--open", "opened", is_flag=True, help="Show the report in the browser.")
@click.option("--serve", is_flag=True, help="Serve the report on this machine until Ctrl-C.")
@options.shared
@click.pass_context
def command(
    ctx: click.Context,
    path: Path,
    out: Path,
    compared: tuple[tuple[Path, Path], ...],
    opened: bool,
    serve: bool,
) -> None:
    """Write HTML pages on the runs at or below PATH (default: results).

    The pages need no network and no server. Run folders are not changed, and nothing is computed
    again. Verdicts are those of claims.json if it belongs to the rows.

    Needs the extra `report`: pip install 'greedyexp[report]'.
    """
    from greedyexp.report.site.build import build

    made = build(path, out, compared=compared)
    code = failures.DONE
    for error in made.errors:
        code = max(code, failures.report(error, ctx))
    click.echo(f"{made.index}: {text.count(made.runs, 'run')}")
    if serve:
        from greedyexp.cli.serving import serve as serve_folder

        serve_folder(out, opened=opened)
    elif opened:
        click.launch(made.index.resolve().as_uri())
    ctx.exit(code)
