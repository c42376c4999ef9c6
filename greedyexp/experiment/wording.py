"""Parameters of parts in words: their types, ranges and descriptions."""

from __future__ import annotations

import json
from typing import Any

from greedyexp.core.part import Part

Schema = dict[str, Any]

_TYPES = {
    "integer": "int",
    "number": "float",
    "string": "str",
    "boolean": "bool",
    "array": "list",
    "object": "mapping",
    "null": "none",
}


def parameter_rows(part: Part) -> list[tuple[str, str, str, str, str]]:
    """Return name, type, default, range and description of every parameter."""
    schema = part.parameters.model_json_schema()
    definitions = schema.get("$defs", {})
    required = schema.get("required", [])
    return [
        (
            name,
            type_words(entry, definitions),
            "required" if name in required else _plain(entry.get("default")),
            range_words(entry, definitions),
            entry.get("description", ""),
        )
        for name, entry in schema.get("properties", {}).items()
    ]


def type_words(entry: Schema, definitions: Schema) -> str:
    """Return the type of a JSON Schema entry: ``float``, ``sign | gaussian``, ``list of int``."""
    entry = _resolved(entry, definitions)
    if "anyOf" in entry:
        # Alternatives that differ only in their range are one type.
        return " | ".join(dict.fromkeys(type_words(one, definitions) for one in entry["anyOf"]))
    if "enum" in entry:
        return " | ".join(_plain(value) for value in entry["enum"])
    if "const" in entry:
        return _plain(entry["const"])
    words = _TYPES.get(entry.get("type", ""), "any")
    if words == "list" and "items" in entry:
        return f"list of {type_words(entry['items'], definitions)}"
    return words


def range_words(entry: Schema, definitions: Schema) -> str:
    """Return the bounds of a JSON Schema entry: ``[0, 1)``, ``> 0``, ``length >= 1``, or ''."""
    entry = _resolved(entry, definitions)
    if "anyOf" in entry:
        alternatives = (range_words(one, definitions) for one in entry["anyOf"])
        return next((words for words in alternatives if words), "")
    low, above = entry.get("minimum"), entry.get("exclusiveMinimum")
    high, below = entry.get("maximum"), entry.get("exclusiveMaximum")
    left = f"({above:g}" if above is not None else f"[{low:g}" if low is not None else ""
    right = f"{below:g})" if below is not None else f"{high:g}]" if high is not None else ""
    if left and right:
        return f"{left}, {right}"
    if left:
        return f"> {above:g}" if above is not None else f">= {low:g}"
    if right:
        return f"< {below:g}" if below is not None else f"<= {high:g}"
    if "minItems" in entry:
        return f"length >= {entry['minItems']}"
    words = range_words(entry["items"], definitions) if "items" in entry else ""
    return f"each {words}" if words else ""


def _resolved(entry: Schema, definitions: Schema) -> Schema:
    reference = entry.get("$ref", "")
    return definitions.get(reference.removeprefix("#/$defs/"), entry) if reference else entry


def _plain(value: object) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value)
