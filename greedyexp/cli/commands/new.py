"""``greedyexp new``: write a commented template that runs."""

from __future__ import annotations

import keyword
import re
from pathlib import Path

import click

from greedyexp.cli import options

TEMPLATES = Path(__file__).resolve().parents[1] / "templates"

# Entries of a YAML experiment that use a new part.
USE = {
    "algorithm": "`- {name}` under `algorithms:`",
    "generator": "`generator: {name}` under `data:`",
    "metric": "`{name}` under `metrics:`",
    "figure": "`- {name}: {{x: COLUMN, y: COLUMN}}` under `figures:`",
}


@click.command("new", short_help="Write a template that runs.")
@click.argument("kind", type=options.Choice(("config", *USE)))
@click.argument("name")
@click.option("-f", "--force", is_flag=True, help="Overwrite an existing file.")
@options.shared
def command(kind: str, name: str, force: bool) -> None:
    """Write a commented template of a config, an algorithm, a generator, a metric or a figure.

    The file is NAME.yaml or NAME.py in the current folder.
    """
    check_name(kind, name)
    suffix = ".yaml" if kind == "config" else ".py"
    target = Path(name + suffix)
    template = TEMPLATES / f"{kind}{suffix}.txt"
    write(target, template.read_text(encoding="utf-8").replace("NAME", name), force=force)
    click.echo(f"Wrote {target}.")
    if kind == "config":
        click.echo(f"Next: greedyexp run {target} --profile smoke")
    else:
        entry = USE[kind].format(name=name)
        click.echo(f"In a YAML experiment in the same folder: `plugins: [{target}]` and {entry}.")
        click.echo(f"Next: greedyexp show {name} --plugin {target}")


def check_name(kind: str, name: str) -> None:
    """Raise ``ConfigError`` if a config or a part cannot have this name."""
    from greedyexp.core.errors import ConfigError

    if kind == "config":
        if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
            raise ConfigError(
                f"'{name}' cannot name a config.", remedy="Use letters, digits, '_' and '-'."
            )
        return
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise ConfigError(
            f"'{name}' cannot name a Python function.",
            remedy="Use lower-case letters, digits and '_', starting with a letter.",
        )
    from greedyexp.core.registry import parts

    if name in parts(kind):
        raise ConfigError(f"the {kind} '{name}' already exists.", remedy="Choose another name.")


def write(target: Path, content: str, *, force: bool) -> None:
    """Write a file; overwrite an existing one only with ``force``."""
    from greedyexp.core.errors import ConfigError

    try:
        with target.open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(content)
    except FileExistsError:
        raise ConfigError(
            "the file already exists.",
            place=str(target),
            remedy="Choose another name, or overwrite it with --force.",
        ) from None
