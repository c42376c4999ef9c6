"""YAML text as documents with places.

The dialect is that of YAML 1.2: ``1e-4`` is a number, and ``yes``, ``on``, ``12:30`` and ``010``
are texts, unlike the YAML 1.1 of PyYAML.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from greedyexp.config.document import Document, Place
from greedyexp.core.errors import ConfigError
from greedyexp.core.yaml_text import safe_loader
from greedyexp.experiment.messages import Keys

_MAX_NODES = 100_000
_MAX_DIGITS = 300
_TAG = "tag:yaml.org,2002:"
_TAB = "a tab where spaces should be"
_SAFE_LOADER: Any = safe_loader()


class _Loader(_SAFE_LOADER):
    """PyYAML's safe loader with the scalar rules of YAML 1.2."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 (PyYAML's own class attribute)


_WHOLE = r"(?:0|[1-9][0-9]*(?:_[0-9]+)*)"
# Tag -> pattern of the scalars, and the characters with which they may start.
_SCALARS = {
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "merge": (r"<<", "<"),
    "int": (rf"[-+]?{_WHOLE}", "-+0123456789"),
    "float": (
        rf"[-+]?(?:{_WHOLE}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+.0123456789",
    ),
}
for _kind, (_pattern, _first) in _SCALARS.items():
    _Loader.add_implicit_resolver(_TAG + _kind, re.compile(rf"^(?:{_pattern})$"), list(_first))


def read_file(path: str | Path) -> Document:
    """Read a YAML file.

    Raises
    ------
    ConfigError
        If the file cannot be read, is not UTF-8 or is not YAML.
    """
    path = Path(path)
    place = str(path)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"the file cannot be read: {(error.strerror or str(error)).lower()}.", place=place
        ) from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            "the file is not UTF-8 text.", place=f"{place}:{line}", remedy="Save it as UTF-8."
        ) from None
    return read_text(text, place)


def read_text(text: str, source: str, *, lines: bool = True) -> Document:
    """Read YAML from a string.

    Parameters
    ----------
    text : str
        One YAML document.
    source : str
        Name of the text in errors.
    lines : bool
        False for a value on a command line, which has no line numbers.

    Raises
    ------
    ConfigError
        If the text is not YAML, repeats a key, or has an alias inside the value that it refers to.
    """
    forbidden = yaml.reader.Reader.NON_PRINTABLE.search(text)
    # Fails for surrogates, which represent bytes that are not text; the CLI explains the error.
    text.encode("utf-8")
    if forbidden:
        line = text.count("\n", 0, forbidden.start()) + 1
        raise ConfigError(
            f"the text contains the character U+{ord(forbidden.group()):04X}, which YAML does not"
            " allow.",
            place=str(Place(source, line if lines else None)),
            remedy="Remove it.",
        )
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        builder = _Builder(loader, source, lines)
        data = None if root is None else builder.build(root, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context
        if mark and _tab_before(text, mark):
            problem = _TAB
        raise _not_yaml(problem, source, mark.line + 1 if mark and lines else None) from None
    except yaml.YAMLError as error:
        raise _not_yaml(str(error).partition("\n")[0], source, None) from None
    except RecursionError:
        raise ConfigError("the YAML is nested too deeply.", place=source) from None
    finally:
        loader.dispose()
    builder.places[()] = Place(source, 1 if lines else None)
    return Document(data, builder.places)


class _Builder:
    """Converts composed nodes to plain data and records the line of every key and item."""

    def __init__(self, loader: _Loader, source: str, lines: bool):
        self.loader = loader
        self.source = source
        self.lines = lines
        self.places: dict[Keys, Place] = {}
        self.open: set[int] = set()
        self.nodes = 0

    def place(self, node: yaml.Node) -> Place:
        return Place(self.source, node.start_mark.line + 1 if self.lines else None)

    def error(self, message: str, node: yaml.Node, remedy: str | None = None) -> ConfigError:
        return ConfigError(message, place=str(self.place(node)), remedy=remedy)

    def build(self, node: yaml.Node, keys: Keys) -> Any:
        self.nodes += 1
        if self.nodes > _MAX_NODES:
            raise self.error(f"the YAML contains more than {_MAX_NODES} values.", node)
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node)
        if id(node) in self.open:
            raise self.error("an alias refers to a value that contains it.", node)
        self.open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return self.sequence(node, keys)
            assert isinstance(node, yaml.MappingNode)
            return self.mapping(node, keys)
        finally:
            self.open.discard(id(node))

    def sequence(self, node: yaml.SequenceNode, keys: Keys) -> list[Any]:
        items = []
        for index, item in enumerate(node.value):
            path = (*keys, index)
            self.places[path] = self.place(item)
            items.append(self.build(item, path))
        return items

    def mapping(self, node: yaml.MappingNode, keys: Keys) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _TAG + "merge":
                values.update(self.merged(value_node, keys))
        own: dict[str, yaml.Node] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _TAG + "merge":
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                raise self.error("a key must be a word.", key_node)
            key = key_node.value
            if key in own:
                first = f" (first in line {self.place(own[key]).line})" if self.lines else ""
                raise self.error(
                    f"the key '{key}' is given twice{first}.", key_node, "Remove one of them."
                )
            own[key] = key_node
            path = (*keys, key)
            self.places[path] = self.place(key_node)
            # The keys of the mapping itself come after the keys that are merged into it.
            values.pop(key, None)
            values[key] = self.build(value_node, path)
        return values

    def merged(self, node: yaml.Node, keys: Keys) -> dict[str, Any]:
        """Return the keys that ``<<: *alias`` adds; in a list the first one wins."""
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        result: dict[str, Any] = {}
        for source in reversed(sources):
            value = self.build(source, keys)
            if not isinstance(value, dict):
                raise self.error("'<<' takes a mapping or a list of mappings.", source)
            result.update(value)
        return result

    def scalar(self, node: yaml.ScalarNode) -> Any:
        kind, text = node.tag.removeprefix(_TAG), node.value
        if kind == "null":
            return None
        if kind == "str":
            return text
        if kind == "bool":
            return text.lower() == "true"
        if kind not in ("int", "float"):
            raise self.error(f"the tag '{node.tag}' is not supported.", node)
        digits = text.replace("_", "").lower()
        try:
            if kind == "float":
                return float(digits.replace(".inf", "inf").replace(".nan", "nan"))
            if len(digits) <= _MAX_DIGITS:
                return int(digits)
        except ValueError:
            pass
        raise self.error(f"'{text[:40]}' cannot be read as a number.", node)


def _not_yaml(problem: str | None, source: str, line: int | None) -> ConfigError:
    place = str(Place(source, line))
    if problem == "but found another document":
        return ConfigError(
            "another document begins here.", place=place, remedy="Keep one experiment in each file."
        )
    hint = "Indent with spaces." if problem == _TAB else None
    return ConfigError(f"this is not valid YAML: {problem}.", place=place, remedy=hint)


def _tab_before(text: str, mark: yaml.Mark) -> bool:
    lines = text.split("\n")
    return mark.line < len(lines) and "\t" in lines[mark.line][: mark.column + 1]
