"""``greedyexp report``: a static HTML report of runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from greedyexp.cli import failures, options, text
from greedyexp.core import listing

if TYPE_CHECKING:
    from greedyexp.report.site.build import Report

_RUN = click.Path(path_type=Path)


@click.command("report", short_help="Write HTML pages: figures, claims, tables, rows.")
@options.runs
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
@options.trust
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

    The pages need no network and no server. Run folders are not changed, and no replicate is
    computed again. Claims are judged again from table and settings.

    Needs the extra `report`: pip install 'greedyexp[report]'.
    """
    from greedyexp.report.site.build import build

    made = build(path, out, compared=compared, progress=text.on_terminal())
    code = failures.DONE
    for error in made.errors:
        code = max(code, failures.report(error, ctx))
    click.echo(f"{made.index}: {listing.count(made.runs, 'run')}")
    if serve:
        _serve(made, opened)
    elif opened:
        click.launch(made.index.resolve().as_uri())
    ctx.exit(code)


def _serve(report: Report, opened: bool) -> None:
    """Serve a report at a free port of this machine until Ctrl-C, and show it if asked."""
    from greedyexp.report.site.serve import server_of

    with server_of(report.index.parent, report.files) as server:
        address = f"http://127.0.0.1:{server.server_port}/"
        click.echo(f"{address} (Ctrl-C ends it)")
        if opened:
            click.launch(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo()
