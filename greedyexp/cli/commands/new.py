"""``greedyexp new``: write a commented template that runs."""

from __future__ import annotations

import builtins
import importlib.util
import keyword
import re
import sys
from contextlib import suppress
from pathlib import Path

import click

from greedyexp.cli import options
from greedyexp.core import shipped
from greedyexp.core.errors import ConfigError

_TEMPLATES = Path(__file__).resolve().parents[1] / "templates"

# Names that the templates use for something else.
_TAKEN = ("algorithm", "conftest", "figure", "generator", "metric", "np", "pd", "plt")

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
@click.option("-f", "--force", is_flag=True, help="Overwrite existing files.")
@options.shared
def command(kind: str, name: str, force: bool) -> None:
    """Write a commented template of a config, an algorithm, a generator, a metric or a figure.

    The file is NAME.yaml or NAME.py in the current folder. An algorithm comes with a test,
    test_NAME.py. The first line of a config names the JSON Schema for editors,
    greedyexp.schema.json, which is written to the same folder unless it already exists.
    """
    _check_name(kind, name)
    target = Path(f"{name}.yaml" if kind == "config" else f"{name}.py")
    files = {target: template(target.suffix, kind, name)}
    if kind == "algorithm":
        files[Path(f"test_{name}.py")] = template(".py", "test_algorithm", name)
    write(files, force=force)
    for file in files:
        click.echo(f"Wrote {file}.")
    if kind == "config":
        # An existing schema may have the parts of plugins.
        with suppress(FileExistsError), Path(shipped.SCHEMA).open("x", encoding="utf-8") as stream:
            stream.write(shipped.schema().read_text(encoding="utf-8"))
            click.echo(f"Wrote {shipped.SCHEMA}, by which editors complete and check the config.")
        click.echo(f"Next: greedyexp run {target} --profile smoke")
        return
    entry = USE[kind].format(name=name)
    click.echo(f"In a YAML experiment in the same folder: `plugins: [{target}]` and {entry}.")
    if kind == "algorithm":
        click.echo(f"Its test: pytest test_{name}.py")
    click.echo(f"Next: greedyexp show {name} --plugin {target}")


def _check_name(kind: str, name: str) -> None:
    """Raise ``ConfigError`` if a config or a part cannot have this name."""
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
    if name in _TAKEN or name.startswith("test_") or hasattr(builtins, name) or _hides(name):
        raise ConfigError(
            f"'{name}' has another meaning in Python or pytest.", remedy="Choose another name."
        )
    from greedyexp.core.registry import parts

    if name in parts(kind):
        raise ConfigError(f"the {kind} '{name}' already exists.", remedy="Choose another name.")


def _hides(name: str) -> bool:
    """Return True if a file of this name in the current folder would hide a module elsewhere."""
    if name in sys.stdlib_module_names:
        return True
    found = importlib.util.find_spec(name)
    origin = found.origin if found else None
    return origin is not None and Path(origin).parent != Path.cwd()


def template(suffix: str, kind: str, name: str) -> str:
    """Return the template of a kind of file for a name."""
    text = (_TEMPLATES / f"{kind}{suffix}.txt").read_text(encoding="utf-8")
    return text.replace("NAME", name)


def write(files: dict[Path, str], *, force: bool) -> None:
    """Write files; overwrite existing ones only with ``force``, and otherwise write none."""
    taken = [file for file in files if file.exists() or file.is_symlink()]
    if taken and not force:
        raise ConfigError(
            "the file already exists.",
            place=str(taken[0]),
            remedy="Choose another name, or overwrite it with --force.",
        )
    for file, content in files.items():
        file.write_text(content, encoding="utf-8")
