"""``greedyexp show``: everything a user needs to know of one part or config."""

from __future__ import annotations

from pathlib import Path

import click

from greedyexp.cli import options, text
from greedyexp.core import shipped


@click.command("show", short_help="Parameters and origin of a part.")
@click.argument("name")
@options.plugins
@options.shared
def command(name: str, plugin_files: tuple[Path, ...]) -> None:
    """Show what NAME is, where it comes from and which parameters it takes.

    NAME is a generator, algorithm, protocol, metric, figure, table, data set or shipped config.
    """
    from greedyexp.core import registry
    from greedyexp.core.errors import ConfigError, did_you_mean
    from greedyexp.core.parts import KINDS
    from greedyexp.core.plugins import load_plugins
    from greedyexp.datasets import catalogue

    load_plugins(plugin_files)
    known = {kind: registry.parts(kind) for kind in KINDS}
    configs, datasets = shipped.configs(), catalogue.known()
    found = [parts[name] for parts in known.values() if name in parts]
    if not found and name not in (*configs, *datasets):
        everything = [one for parts in (*known.values(), configs, datasets) for one in parts]
        raise ConfigError(
            f"there is no part or config named '{name}'.", remedy=did_you_mean(name, everything)
        )
    sections = [part_words(part) for part in found]
    if name in datasets:
        sections.append(dataset_words(datasets[name]))
    if name in configs:
        sections.append(config_words(name, configs[name]))
    click.echo("\n\n".join(sections))


def part_words(part) -> str:
    """A part as text: kind, title, docstring, facts and the table of its parameters."""
    import inspect

    from greedyexp.cli import docstrings, parameters

    facts = [*part.properties(), ("file", inspect.getsourcefile(part.function) or "")]
    shown = [(name, words) for name, words in facts if words]
    width = text.terminal_width()
    blocks = [f"{part.kind} {part.name}: {part.title}", text.table(shown, width=width)]
    docstring = inspect.getdoc(part.function)
    if docstring:
        blocks.insert(1, text.fitted(docstrings.for_users(docstring), width))
    rows = parameters.rows(part)
    if rows:
        heading = ("parameter", "type", "default", "range", "description")
        blocks.append(text.table([heading, *rows], width=width))
    else:
        blocks.append("no parameters")
    return "\n\n".join(blocks)


def dataset_words(dataset) -> str:
    """A data set as text: where it comes from, under which terms, how to get it."""
    facts = [
        ("page", dataset.page),
        ("licence", dataset.licence),
        ("cite", dataset.citation),
        ("files", ", ".join(member.name for member in dataset.members)),
    ]
    blocks = [
        f"data set {dataset.name}: {dataset.title}",
        text.table(facts, width=text.terminal_width()),
    ]
    return "\n\n".join([*blocks, f"Get it with: greedyexp data fetch {dataset.name}"])


def config_words(name: str, path: Path) -> str:
    """A shipped config as text: where it is, what it does, how to run it."""
    said = shipped.description(path) or "no description"
    blocks = [f"config {name}: {path}", text.fitted(said, text.terminal_width())]
    return "\n\n".join([*blocks, f"Run it with: greedyexp run {name}"])
