"""``greedyexp schema``: the JSON Schema of an experiment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from greedyexp.cli import options


@click.command("schema", short_help="Print the JSON Schema of a config, for editors.")
@options.plugins
@click.option(
    "--write",
    "target",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the schema to FILE instead; an earlier schema is replaced, no other file is.",
)
@options.shared
def command(plugin_files: tuple[Path, ...], target: Path | None) -> None:
    """Print the JSON Schema of a YAML experiment.

    Editors with a YAML language server, such as VS Code with the extension YAML, complete, explain
    and check the keys of a config with the schema that its first line names, relative to the
    config:

    \b
      # yaml-language-server: $schema=greedyexp.schema.json

    Shipped configs have this line and are in the same folder as the schema. `greedyexp new config
    NAME` writes both. For other configs, add the line and write the schema to the same folder:

    \b
      greedyexp schema --write greedyexp.schema.json

    With --plugin, the schema has the parts of plugins, too.
    """
    from greedyexp.config import json_schema
    from greedyexp.core.plugins import load_plugins

    load_plugins(plugin_files)
    schema = json_schema()
    text = json.dumps(schema, indent=1)
    if target is None:
        click.echo(text)
        return
    _replace_schema(target, text, schema["title"])
    click.echo(f"Wrote {target}.")
    click.echo("First line of a config in the same folder:")
    click.echo(f"# yaml-language-server: $schema={target.name}")


def _replace_schema(target: Path, text: str, title: str) -> None:
    """Write a schema; only a schema with the same title is replaced.

    Raises
    ------
    ConfigError
        If there is another file.
    """
    from greedyexp.core.errors import ConfigError

    if target.exists() and _title(target) != title:
        raise ConfigError(
            "the file already exists and is not a schema of experiments.",
            place=str(target),
            remedy="Choose another name.",
        )
    target.write_text(text + "\n", encoding="utf-8")


def _title(file: Path) -> Any:
    """Return the title of a schema; None if the file has none."""
    try:
        content = json.loads(file.read_bytes())
    except ValueError:
        return None
    return content.get("title") if isinstance(content, dict) else None
