"""Candidates for completion in a shell: configs, parts, settings, columns, run folders.

A shell asks at every press of the key, so nothing here imports parts or numpy. What is known of
parts comes from the JSON Schema that lies beside the shipped configs, and what is known of an
experiment from its YAML file as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from greedyexp.core import shipped
from greedyexp.core.yaml_text import load_yaml

Items = list[CompletionItem]

# What can be typed without quotes in all shells.
_PLAIN = re.compile(r"[\w.+-]+")
_KINDS = ("generator", "algorithm", "protocol", "figure", "table")
# The first names of decorators in the source of a plugin, which is not imported.
_DECORATED = re.compile(r"^@(?:\w+\.)?\w+\(\s*[\"'](\w+)[\"']", re.MULTILINE)


def configs(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Names of shipped configs, YAML files and folders."""
    return [*_matching(list(shipped.configs()), incomplete), *_paths(incomplete, (".yaml", ".yml"))]


def parts(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Names of parts, also those of plugins, of data sets and of configs."""
    found = {name: one.get("description", "") for name, one in _parts().items()}
    for file in ctx.params.get("plugin_files") or ():
        found |= dict.fromkeys(_DECORATED.findall(_text(Path(file))), "")
    return _matching(found | _datasets() | dict.fromkeys(shipped.configs(), ""), incomplete)


def datasets(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Names of data sets."""
    return _matching(_datasets(), incomplete)


def runs(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Run folders below ``results``, and all folders."""
    found = [file.parent.as_posix() for file in sorted(Path("results").glob("*/*/manifest.json"))]
    return [*_matching(found, incomplete), *_paths(incomplete, ())]


def settings(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """``KEY=VALUE`` for --set: one level of a dotted key at a time, then the values of a choice."""
    changeable = _schema()["$defs"]["profile"]["properties"]
    known = {key: one for key, one in _schema()["properties"].items() if key in changeable}
    for experiment in _experiments(ctx):
        known |= _settable(experiment)
    key, equals, value = incomplete.partition("=")
    if equals:
        words = _choices(known.get(key, {}))
        return [CompletionItem(f"{key}={word}") for word in words if word.startswith(value)]
    found: dict[str, str] = {}
    for name, schema in known.items():
        if name.startswith(key):
            head, dot, _ = name[len(key) :].partition(".")
            whole = key + head + (dot or "=")
            found[whole] = "" if dot else _resolved(schema).get("description", "")
    return _matching(found, key)


def columns(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """``COLUMN=VALUE`` for --only: columns of the experiment, then the values they have there."""
    found: dict[str, list[Any]] = {"algorithm": []}
    for experiment in _experiments(ctx):
        found["algorithm"] += [label for _, label in _entries(experiment, "algorithms")]
        for block in _blocks(experiment):
            for name, values in _swept(block):
                found.setdefault("data" if name == "label" else name, []).extend(values)
    column, equals, value = incomplete.partition("=")
    if not equals:
        return _matching([f"{name}=" for name in found], column)
    *before, last = value.split(",")
    head = ",".join([f"{column}={before[0]}", *before[1:], ""]) if before else f"{column}="
    words = dict.fromkeys(json.dumps(one).strip('"') for one in found.get(column, ()))
    free = [word for word in words if _PLAIN.fullmatch(word) and word not in before]
    return _matching([head + word for word in free], head + last)


def _matching(names: Iterable[str], incomplete: str) -> Items:
    """Return the names that begin as typed; the values of a mapping are their descriptions."""
    said = names if isinstance(names, dict) else {}
    return [
        CompletionItem(name, help=said.get(name) or None)
        for name in names
        if name.startswith(incomplete)
    ]


def _paths(incomplete: str, suffixes: tuple[str, ...]) -> Items:
    """Return the folders, each with a slash, and files of these kinds that begin as typed."""
    typed, slash, start = incomplete.rpartition("/")
    folder = Path(typed + slash).expanduser()
    try:
        inside = sorted(folder.iterdir())
    except (OSError, RuntimeError):
        return []
    found = []
    for path in inside:
        hidden = path.name.startswith(".") and not start.startswith(".")
        if path.name.startswith(start) and not hidden:
            if path.is_dir():
                found.append(CompletionItem(f"{typed}{slash}{path.name}/"))
            elif path.suffix in suffixes:
                found.append(CompletionItem(f"{typed}{slash}{path.name}"))
    return found


@cache
def _schema() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(shipped.schema().read_bytes())
    return found


def _parts() -> dict[str, dict[str, Any]]:
    """Return the schema of each part by its name."""
    found = {}
    for key, one in _schema()["$defs"].items():
        kind, _, name = key.partition(".")
        if kind in _KINDS and "." not in name:
            found[name] = one
    return found | {
        one["const"]: one for one in _schema()["properties"]["metrics"]["items"]["anyOf"]
    }


def _datasets() -> dict[str, str]:
    from greedyexp.datasets import catalogue

    return {name: record.title for name, record in catalogue.known().items()}


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _experiments(ctx: click.Context) -> Iterator[dict[str, Any]]:
    """Yield the contents of the configs on the command line; those that cannot be read are skipped.

    While an option lacks its value, click has not yet assigned the arguments.
    """
    import yaml

    known = shipped.configs()
    for source in (*(ctx.params.get("configs") or ()), *ctx.args):
        file = Path(source)
        if not file.is_file():
            file = known.get(source.removesuffix(".yaml"), file)
        try:
            content = load_yaml(_text(file))
        except yaml.YAMLError:
            continue
        if isinstance(content, dict):
            yield content


def _settable(experiment: dict[str, Any]) -> dict[str, Any]:
    """Return the schemas of the settings of the parts of an experiment, by dotted keys."""
    found: dict[str, Any] = {}
    blocks = list(_blocks(experiment))
    for index, block in enumerate(blocks):
        prefix = f"data.{index}" if isinstance(experiment["data"], list) else "data"
        found |= _parameters("generator", block.get("generator"), prefix)
    for name, _ in _entries({"protocol": [experiment.get("protocol")]}, "protocol"):
        found |= _parameters("protocol", name, "protocol")
    for section in ("algorithms", "figures"):
        for name, label in _entries(experiment, section):
            if _PLAIN.fullmatch(label):
                found |= _parameters(section[:-1], name, f"{section}.{label}")
    return found


def _parameters(kind: str, name: Any, prefix: str) -> dict[str, Any]:
    """Return the schemas of the parameters of a part, by dotted keys."""
    definition = _schema()["$defs"].get(f"{kind}.{name}", {})
    known = definition.get("properties", {})
    return {f"{prefix}.{key}": one for key, one in known.items() if key not in ("sweep", "label")}


def _entries(experiment: dict[str, Any], section: str) -> Iterator[tuple[str, str]]:
    """Yield name and label of each entry of a section."""
    listed = experiment.get(section)
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, str):
            yield entry, entry
        elif isinstance(entry, dict) and entry:
            name, given = next(iter(entry.items()))
            label = given.get("label") if isinstance(given, dict) else None
            yield str(name), str(label or name)


def _blocks(experiment: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the blocks of the data."""
    data = experiment.get("data")
    for block in data if isinstance(data, list) else [data]:
        if isinstance(block, dict):
            yield block


def _swept(block: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Yield each column of a block with its values; none for a range."""
    for name, value in block.items():
        if name == "sweep" and isinstance(value, dict):
            zipped = value.get("zip")
            for group in (value, *(zipped if isinstance(zipped, list) else [zipped])):
                for column, values in group.items() if isinstance(group, dict) else ():
                    if column != "zip":
                        yield column, values if isinstance(values, list) else []
        elif name != "generator":
            yield name, [value]


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema, or what its reference points to."""
    if "$ref" not in schema:
        return schema
    target: dict[str, Any] = _schema()
    for key in schema["$ref"].removeprefix("#/").split("/"):
        target = target[key]
    return _resolved(target)


def _choices(schema: dict[str, Any]) -> list[str]:
    """Return the words and truth values that a schema allows."""
    schema = _resolved(schema)
    if schema.get("type") == "boolean":
        return ["true", "false"]
    words = [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else ())]
    found = [word for word in words if isinstance(word, str)]
    for one in schema.get("anyOf", ()):
        found += _choices(one)
    return found
