"""Names that a shell completes: configs, parts, data sets and run folders.

A shell asks at every press of the key, so nothing here imports parts or numpy: the names of parts
are read from the JSON Schema that lies beside the shipped configs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from greedyexp.core import shipped
from greedyexp.datasets import catalogue

Items = list[CompletionItem]

_KINDS = ("generator", "algorithm", "protocol", "figure", "table")


def configs(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Names of shipped configs, and files."""
    # In bash, a request for files removes the words before it.
    return [CompletionItem(incomplete, type="file"), *_matching(shipped.configs(), incomplete)]


def parts(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Names of parts, data sets and configs."""
    schema = json.loads(shipped.schema().read_bytes())
    definitions = (key.split(".") for key in schema["$defs"])
    names = [key[1] for key in definitions if len(key) == 2 and key[0] in _KINDS]
    names += [metric["const"] for metric in schema["properties"]["metrics"]["items"]["anyOf"]]
    # The schema has no definitions of losses. The file of a loss has its name.
    losses = sorted((Path(__file__).parents[1] / "losses").glob("*.py"))
    names += [file.stem for file in losses if "\n@loss(" in file.read_text(encoding="utf-8")]
    return _matching(dict.fromkeys([*names, *catalogue.known(), *shipped.configs()]), incomplete)


def datasets(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Names of data sets."""
    return _matching(catalogue.known(), incomplete)


def runs(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Run folders below ``results``, and other folders."""
    folders = [file.parent.as_posix() for file in sorted(Path("results").glob("*/*/manifest.json"))]
    return [CompletionItem(incomplete, type="dir"), *_matching(folders, incomplete)]


def _matching(names: Iterable[str], incomplete: str) -> Items:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
