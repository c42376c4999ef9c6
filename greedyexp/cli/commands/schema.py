"""``greedyexp schema``: the JSON Schema of an experiment."""

from __future__ import annotations

from pathlib import Path

import click

from greedyexp.cli import options


@click.command("schema", short_help="JSON Schema of a config.")
@options.plugins
@options.shared
def command(plugin_files: tuple[Path, ...]) -> None:
    """Print the JSON Schema of a YAML experiment, for completion in editors."""
    import json

    from greedyexp import config as experiment
    from greedyexp.core.plugins import load_plugins

    load_plugins(plugin_files)
    click.echo(json.dumps(experiment.json_schema(), indent=2))
