"""YAML as documents in which every key and item has a place, and cursors that collect errors."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from greedyexp.core.errors import ConfigError
from greedyexp.core.yaml_text import load_with_lines
from greedyexp.experiment.messages import Keys, dotted

# Maximum number of diagnostics that are printed after the first.
_SHOWN = 19


class Place(NamedTuple):
    """Place where a key or an item was written; ``line`` is None outside files."""

    source: str
    line: int | None = None

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}:{self.line}"


@dataclass
class Diagnostics:
    """The errors of an experiment file, reported together in the order of their lines.

    Parameters
    ----------
    found : list of (Place, message, remedy)
        The errors, in the order in which they were found.
    outer : Diagnostics, optional
        Gets every error, too.
    """

    found: list[tuple[Place, str, str]] = field(default_factory=list)
    outer: Diagnostics | None = None

    def add(self, place: Place, message: str, remedy: str = "") -> None:
        """Add an error unless it was added before."""
        if (place, message, remedy) not in self.found:
            self.found.append((place, message, remedy))
        if self.outer is not None:
            self.outer.add(place, message, remedy)

    def stop_if_any(self) -> None:
        """Raise the errors that were found, if any.

        Raises
        ------
        ConfigError
            The error with the lowest line number. Its remedy lists the next errors and counts the
            others.
        """
        if not self.found:
            return
        ordered = sorted(self.found, key=lambda found: found[0].line or 0)
        place, message, remedy = ordered[0]
        others = ordered[1 : 1 + _SHOWN]
        if others:
            texts = " ".join(f"{where}: {text}" for where, text, _ in others)
            more = len(ordered) - 1 - len(others)
            rest = f" There are {more} more." if more > 1 else " There is one more." if more else ""
            remedy = f"{remedy} Also: {texts}{rest}".strip()
        raise ConfigError(message, place=str(place), remedy=remedy or None)


@dataclass
class Document:
    """Plain data (mappings, lists, scalars) with the place of each key and item.

    Parameters
    ----------
    data : object
        Contents of the YAML text.
    places : dict of key path to Place
        Empty for data that were not read from YAML.
    """

    data: Any
    places: dict[Keys, Place] = field(default_factory=dict)

    def place(self, keys: Keys = ()) -> Place:
        """Return the place of a key path, or of the nearest one above it."""
        for end in range(len(keys), -1, -1):
            if keys[:end] in self.places:
                return self.places[keys[:end]]
        return Place(dotted(keys) or "experiment")

    def last_change(self, keys: Keys = ()) -> Place:
        """Return the place of the last change by the command line below a key path.

        Without such a change, return the place of the key path.
        """
        places = self._below(keys).values()
        changes = [place for place in places if place.source.startswith("--")]
        return changes[-1] if changes else self.place(keys)

    def get(self, keys: Keys) -> Any:
        """Return the value at a key path; None if there is none."""
        value = self.data
        for key in keys:
            try:
                value = value[key]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def remove(self, keys: Keys) -> None:
        """Remove a key from its mapping, or an item from its list, if it is there."""
        above, last = keys[:-1], keys[-1]
        holder = self.get(above)
        if isinstance(holder, dict) and last in holder:
            del holder[last]
            self._forget(keys)
        elif isinstance(holder, list) and isinstance(last, int) and last < len(holder):
            del holder[last]
            self._forget(keys)
            # The places of later items move up with them.
            for index in range(last, len(holder)):
                moved = self._below((*above, index + 1))
                self._forget((*above, index + 1))
                self.places |= {(*above, index, *known): place for known, place in moved.items()}

    def graft(self, keys: Keys, other: Document, origin: Keys = ()) -> None:
        """Copy the value of ``other`` at ``origin`` to ``keys``.

        Missing mappings on the way are created; a bare name becomes a mapping with that name.
        """
        target = self.data
        for key, following in itertools.pairwise(keys):
            value = target.get(key) if isinstance(target, dict) else target[key]
            if isinstance(following, str) and not isinstance(value, dict):
                target[key] = {}
            target = target[key]
        target[keys[-1]] = copy.deepcopy(other.get(origin))
        own = other.place(origin)
        below = other._below(origin)
        self._forget(keys)
        self.places |= {(*keys, *known): place for known, place in below.items()}
        self.places[keys] = own

    def _below(self, keys: Keys) -> dict[Keys, Place]:
        """Return the places of a key path and of all paths below it, relative to it."""
        size = len(keys)
        return {known[size:]: at for known, at in self.places.items() if known[:size] == keys}

    def _forget(self, keys: Keys) -> None:
        for known in self._below(keys):
            self.places.pop((*keys, *known))


@dataclass(frozen=True)
class Node:
    """A cursor on a value of a document that reports errors with the place of the value.

    Parameters
    ----------
    doc : Document
    keys : key path
    diagnostics : Diagnostics
        Collects the errors of this node and of all nodes below it.
    """

    doc: Document
    keys: Keys = ()
    diagnostics: Diagnostics = field(default_factory=Diagnostics)

    def at(self, *keys: str | int) -> Node:
        """Return the node below this one at a key path."""
        return Node(self.doc, (*self.keys, *keys), self.diagnostics)

    @property
    def value(self) -> Any:
        """The value; None if there is none."""
        return self.doc.get(self.keys)

    @property
    def place(self) -> Place:
        """The place of the value, or of the nearest one above it."""
        return self.doc.place(self.keys)

    @property
    def items(self) -> Iterator[Node]:
        """The nodes of the items of a list; none of any other value."""
        value = self.value
        return (self.at(index) for index in range(len(value) if isinstance(value, list) else 0))

    def scope(self) -> Node:
        """Return this node with diagnostics of its own, which pass every error on.

        They tell whether this part of a document is wrong. The whole document cannot tell: it has
        an error only once, although an alias may put it into several parts.
        """
        return Node(self.doc, self.keys, Diagnostics(outer=self.diagnostics))

    @property
    def wrong(self) -> bool:
        """True if an error was reported in this scope."""
        return bool(self.diagnostics.found)

    def add(self, message: str, remedy: str | None = "") -> None:
        """Report an error at this node."""
        self.diagnostics.add(self.place, message, remedy or "")

    def add_all(self, found: Iterable[tuple[Keys, str, str]]) -> None:
        """Report errors, each with the keys from this node, the message and the remedy."""
        for keys, message, remedy in found:
            self.at(*keys).add(message, remedy)


def read_file(path: str | Path) -> Document:
    """Read a YAML file.

    Raises
    ------
    ConfigError
        If the file cannot be read, is not UTF-8 or is not YAML.
    """
    place = str(path)
    try:
        raw = Path(path).read_bytes()
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
        As ``load_with_lines``.
    """
    data, places = load_with_lines(text, source, lines=lines)
    return Document(data, {keys: Place(source, line) for keys, line in places.items()})


def document_of(mapping: dict[Any, Any]) -> Document:
    """Return a mapping as plain data, with lists for arrays and tuples, and no NumPy scalars."""
    return Document(_plain(mapping))


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value
