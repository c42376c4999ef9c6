"""``greedyexp trust``: agree to run the plugins in run folders of others."""

from __future__ import annotations

from pathlib import Path

import click

from greedyexp.cli import completion, failures, options
from greedyexp.core import listing


@click.command("trust", short_help="Let the plugins in run folders of others run.")
@click.argument(
    "folders",
    nargs=-1,
    metavar="FOLDER...",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    shell_complete=completion.runs,
)
@click.option("--list", "shown", is_flag=True, help="Print all code that may run.")
@click.option("--remove", metavar="DIGEST", help="Forget code, by its digest in the list.")
@options.shared
@click.pass_context
def command(ctx: click.Context, folders: tuple[Path, ...], shown: bool, remove: str | None) -> None:
    """Print the plugins of the runs at or below each FOLDER, and let them run from now on.

    Look at the files first: they can do everything that you can do. Only exactly this code may
    run, wherever it is. Plugins that you have run from an experiment of your own are remembered
    already. Without this, `verify`, `plot` and `report` do all that needs no plugin.
    """
    from greedyexp.core import trust

    if sum((bool(folders), shown, remove is not None)) != 1:
        raise click.UsageError("Give folders, --list or --remove DIGEST.")
    if remove is not None:
        matching = [one for one in trust.remembered() if one.startswith(remove)]
        if len(matching) != 1 or not trust.forget(matching[0]):
            raise click.UsageError(f"There is no code '{remove}' in the list, or more than one.")
        return
    for entry in trust.remembered().values() if shown else ():
        words = (str(entry.get(name, "")) for name in ("digest", "since", "folder"))
        click.echo("  ".join(words))
    ctx.exit(failures.each(ctx, folders, _agree))


def _agree(path: Path) -> None:
    from greedyexp import runner
    from greedyexp.core import trust
    from greedyexp.runner.run_folder import RunFolder

    for folder in runner.folders_below(path):
        # A run under way or killed has its plugins apart from those of the last table.
        homes = filter(None, (RunFolder(folder).code, RunFolder(folder).unfinished))
        found = [(home, files) for home in homes if (files := trust.stored_code(home))]
        for home, files in found:
            for name, content in files.items():
                click.echo(f"{home / name}: {listing.count(len(content.splitlines()), 'line')}")
            trust.remember(files, folder)
            click.echo(f"{folder}: this code may run now ({trust.digest_of(files)}).")
        if not found:
            click.echo(f"{folder}: there is no code in this run folder.")
