"""YAML text as plain data, with the line of every key and item.

The dialect is that of YAML 1.2: ``1e-4`` is a number, and ``yes``, ``on``, ``12:30`` and ``010``
are texts, unlike the YAML 1.1 of PyYAML. Size and depth are limited, since a text may come from
somebody else: ten lines of nested aliases can repeat more values than fit into memory.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from greedyexp.core.errors import ConfigError

Keys = tuple[str | int, ...]

# An alias counts as many values as the part of the file that it repeats.
_MAX_NODES = 100_000
_MAX_CHARACTERS = 10_000_000
_MAX_DEPTH = 100
_MAX_DIGITS = 300
_TAG = "tag:yaml.org,2002:"
_TEXT = f"{_TAG}str"
_TAB = "a tab where spaces should be"
# The compiled parser, unless PyYAML was built without libyaml.
_SAFE_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_SAFE_LOADER):
    """PyYAML's safe loader with the scalar rules of YAML 1.2."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 (PyYAML's own class attribute)


class _Dumper(yaml.SafeDumper):
    """PyYAML's safe dumper, which quotes each text that YAML 1.1 or 1.2 takes for a number."""


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
    for _user in (_Loader, _Dumper):
        _user.add_implicit_resolver(_TAG + _kind, re.compile(rf"^(?:{_pattern})$"), list(_first))


def dump_yaml(value: Any, **style: Any) -> str:
    """Return plain data as YAML, which ``load_yaml`` reads back as the same data."""
    return str(yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, **style))


def load_yaml(text: str) -> Any:
    """Return the data of a YAML text; see ``load_with_lines``."""
    return load_with_lines(text, "")[0]


def load_with_lines(
    text: str, source: str, *, lines: bool = True
) -> tuple[Any, dict[Keys, int | None]]:
    """Return the data of a YAML text, and the line of each key and item.

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
        If the text is not YAML, repeats a key, has an alias inside the value that it refers to, or
        is too large or too deep.
    """
    forbidden = yaml.reader.Reader.NON_PRINTABLE.search(text)
    # Fails for surrogates, which represent bytes that are not text; the CLI explains the error.
    text.encode("utf-8")
    if forbidden:
        line = text.count("\n", 0, forbidden.start()) + 1
        raise ConfigError(
            f"the text contains the character U+{ord(forbidden.group()):04X}, which YAML does not"
            " allow.",
            place=_place(source, line if lines else None),
            remedy="Remove it.",
        )
    if len(text) > _MAX_CHARACTERS:
        raise ConfigError(
            f"the YAML contains more than {_MAX_CHARACTERS} characters.", place=source or None
        )
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        builder = _Builder(source, lines)
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
        raise ConfigError("the YAML is nested too deeply.", place=source or None) from None
    finally:
        loader.dispose()
    # A value on a command line has no lines.
    return data, {(): 1, **builder.lines} if lines else dict.fromkeys([(), *builder.lines])


class _Builder:
    """Converts composed nodes to plain data and records the line of every key and item."""

    def __init__(self, source: str, numbered: bool):
        self.source = source
        self.numbered = numbered
        self.lines: dict[Keys, int] = {}
        self.open: set[int] = set()
        self.nodes = 0
        self.characters = 0

    def line(self, node: yaml.Node) -> int | None:
        return node.start_mark.line + 1 if self.numbered else None

    def error(self, message: str, node: yaml.Node, remedy: str | None = None) -> ConfigError:
        return ConfigError(message, place=_place(self.source, self.line(node)), remedy=remedy)

    def build(self, node: yaml.Node, keys: Keys) -> Any:
        self.nodes += 1
        if self.nodes > _MAX_NODES:
            raise self.error(f"the YAML contains more than {_MAX_NODES} values.", node)
        if isinstance(node, yaml.ScalarNode):
            self.characters += len(node.value)
            if self.characters > _MAX_CHARACTERS:
                raise self.error(f"the YAML contains more than {_MAX_CHARACTERS} characters.", node)
            return node.value if node.tag == _TEXT else self.scalar(node)
        if id(node) in self.open:
            raise self.error("an alias refers to a value that contains it.", node)
        if len(self.open) >= _MAX_DEPTH:
            raise self.error(f"the YAML is nested more than {_MAX_DEPTH} levels deep.", node)
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
            self.lines[path] = item.start_mark.line + 1
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
            self.characters += len(key)
            if key in own:
                first = f" (first in line {self.line(own[key])})" if self.numbered else ""
                raise self.error(
                    f"the key '{key}' is given twice{first}.", key_node, "Remove one of them."
                )
            own[key] = key_node
            path = (*keys, key)
            self.lines[path] = key_node.start_mark.line + 1
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


def _place(source: str, line: int | None) -> str | None:
    """Return ``source:line``, or the one of them that is known."""
    if not source:
        return None if line is None else f"line {line}"
    return source if line is None else f"{source}:{line}"


def _not_yaml(problem: str | None, source: str, line: int | None) -> ConfigError:
    place = _place(source, line)
    if problem == "but found another document":
        return ConfigError(
            "another document begins here.", place=place, remedy="Keep one experiment in each file."
        )
    hint = "Indent with spaces." if problem == _TAB else None
    return ConfigError(f"this is not valid YAML: {problem}.", place=place, remedy=hint)


def _tab_before(text: str, mark: yaml.Mark) -> bool:
    lines = text.split("\n")
    return mark.line < len(lines) and "\t" in lines[mark.line][: mark.column + 1]
