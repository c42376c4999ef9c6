"""``greedyexp show``: origin, documentation and parameters of a part or config."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from greedyexp.cli import completion, options, text
from greedyexp.core import shipped

if TYPE_CHECKING:
    from greedyexp.core.part import Part
    from greedyexp.datasets.catalogue import Dataset

# A table replaces the section on parameters; the other sections are for callers in Python.
LEFT_OUT = ("Parameters", "Returns", "Raises")

_HEADING = re.compile(r"^(?P<title>\S.*)\n-{3,}$", re.MULTILINE)


@click.command("show", short_help="Show parameters and origin of a part.")
@click.argument("name", shell_complete=completion.parts)
@options.plugins
@options.shared
def command(name: str, plugin_files: tuple[Path, ...]) -> None:
    """Show the origin, documentation and parameters of NAME.

    NAME is a generator, algorithm, loss, protocol, metric, figure, table, data set or shipped
    config.
    """
    from greedyexp.core import registry
    from greedyexp.core.errors import ConfigError, did_you_mean
    from greedyexp.core.parts import KINDS
    from greedyexp.core.plugins import load_plugins
    from greedyexp.datasets import catalogue

    load_plugins(plugin_files)
    known: dict[str, dict[str, Any]] = {kind: registry.parts(kind) for kind in KINDS}
    configs, datasets = shipped.configs(), catalogue.known()
    found = [parts[name] for parts in known.values() if name in parts]
    if not found and name not in (*configs, *datasets):
        everything = [name for parts in known.values() for name in parts]
        raise ConfigError(
            f"there is no part or config named '{name}'.",
            remedy=did_you_mean(name, [*everything, *configs, *datasets]),
        )
    sections = [part_words(part) for part in found]
    if name in datasets:
        sections.append(_dataset_words(datasets[name]))
    if name in configs:
        sections.append(_config_words(name, configs[name]))
    click.echo("\n\n".join(sections))


def part_words(part: Part) -> str:
    """Return a part as text: kind, title, docstring, properties and table of parameters."""
    from greedyexp.experiment.wording import parameter_rows

    facts = [*part.properties(), ("file", inspect.getsourcefile(part.function) or "")]
    shown = [(name, words) for name, words in facts if words]
    width = text.terminal_width()
    blocks = [f"{part.kind} {part.name}: {part.title}", text.table(shown, width=width)]
    docstring = inspect.getdoc(part.function)
    if docstring:
        blocks.insert(1, text.fitted(without_sections(docstring), width))
    rows = parameter_rows(part)
    if rows:
        heading = ("parameter", "type", "default", "range", "description")
        blocks.append(text.table([heading, *rows], width=width))
    else:
        blocks.append("no parameters")
    return "\n\n".join(blocks)


def _dataset_words(dataset: Dataset) -> str:
    """Return a data set as text: origin, licence, and the command that downloads it."""
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


def _config_words(name: str, path: Path) -> str:
    """Return a shipped config as text: file, description, and the command that runs it."""
    said = shipped.description(path) or "no description"
    blocks = [f"config {name}: {path}", text.fitted(said, text.terminal_width())]
    return "\n\n".join([*blocks, f"Run it with: greedyexp run {name}"])


def without_sections(docstring: str) -> str:
    """Return a dedented numpydoc docstring without the sections of ``LEFT_OUT``."""
    headings = list(_HEADING.finditer(docstring))
    ends = [*(heading.start() for heading in headings), len(docstring)]
    kept = [docstring[: ends[0]]]
    for heading, end in zip(headings, ends[1:], strict=True):
        if heading["title"] not in LEFT_OUT:
            kept.append(docstring[heading.start() : end])
    return "\n\n".join(text for text in (part.strip() for part in kept) if text)
