"""Plain data with the place of every key."""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass
from pathlib import Path

from greedyexp.config.mistakes import Keys, Place, dotted


@dataclass
class Document:
    """Plain data (mappings, lists, scalars) and where each key and item of it was written.

    Parameters
    ----------
    data : object
        What the YAML says.
    places : dict of key path to Place
        Empty for data that were not read from a text.
    """

    data: object
    places: dict[Keys, Place]

    def place(self, keys: Keys = ()) -> Place:
        """Where the key path, or the nearest one above it, was written."""
        for end in range(len(keys), -1, -1):
            if keys[:end] in self.places:
                return self.places[keys[:end]]
        return Place(dotted(keys) or "experiment")

    def decided(self, keys: Keys = ()) -> Place:
        """Where a conflict among what stands below the key path was made.

        It is the last change of the command line there, or else where the path was written.
        """
        changes = [
            place
            for known, place in self.places.items()
            if known[: len(keys)] == keys and place.source.startswith("--")
        ]
        return changes[-1] if changes else self.place(keys)

    def get(self, keys: Keys):
        """What stands at a key path; None when nothing does."""
        value = self.data
        for key in keys:
            try:
                value = value[key]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def remove(self, keys: Keys) -> None:
        """Take a key out of its mapping, or an item out of its list, if it is there."""
        holder = self.get(keys[:-1])
        if isinstance(holder, dict):
            holder.pop(keys[-1], None)
            self.forget(keys)
        elif isinstance(holder, list) and keys[-1] in range(len(holder)):
            del holder[keys[-1]]
            self.forget(keys)

    def graft(self, keys: Keys, other: Document, origin: Keys = ()) -> None:
        """Put a copy of what ``other`` has at ``origin`` at ``keys``, mappings on the way made."""
        target = self.data
        for key, following in itertools.pairwise(keys):
            made = isinstance(target, dict) and isinstance(following, str)
            if made and not isinstance(target.get(key), dict):
                target[key] = {}
            target = target[key]
        target[keys[-1]] = copy.deepcopy(other.get(origin))
        self.adopt(keys, other, origin)

    def forget(self, keys: Keys) -> None:
        """Drop the places of everything at and below a key path."""
        for known in [known for known in self.places if known[: len(keys)] == keys]:
            del self.places[known]

    def adopt(self, keys: Keys, other: Document, origin: Keys = ()) -> None:
        """Take the places of ``other`` at and below ``origin`` for what is now at ``keys``."""
        own = other.place(origin)
        below = {
            known[len(origin) :]: place
            for known, place in other.places.items()
            if known[: len(origin)] == origin
        }
        self.forget(keys)
        self.places |= {(*keys, *known): place for known, place in below.items()}
        self.places[keys] = own


def from_mapping(mapping: dict) -> Document:
    """A Python mapping as plain data: tuples and arrays become lists, numpy scalars Python's."""
    return Document(_plain(mapping), {})


def _plain(value):
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value
