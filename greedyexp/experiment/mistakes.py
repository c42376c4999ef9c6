"""Mistakes of an experiment file: gathered, then reported as one, the first by line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from greedyexp.errors import ConfigError

Keys = tuple[str | int, ...]


class Place(NamedTuple):
    """Where a key or an item was written; ``line`` is None outside files."""

    source: str
    line: int | None = None

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}:{self.line}"


def dotted(keys: Keys) -> str:
    """``("data", "sweep", "p", 0)`` as ``data.sweep.p[0]``."""
    text = ""
    for key in keys:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else str(key)
    return text


@dataclass
class Mistakes:
    """Sentences about what is wrong, each with its place.

    Parameters
    ----------
    found : list of (Place, message, remedy)
        In the order they were noticed.
    """

    found: list[tuple[Place, str, str]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.found)

    def add(self, place: Place, message: str, remedy: str = "") -> None:
        """Note one mistake; the same one twice counts once."""
        if (place, message, remedy) not in self.found:
            self.found.append((place, message, remedy))

    def stop_if_any(self) -> None:
        """Report what was found.

        Raises
        ------
        ConfigError
            With the mistake of the lowest line, and how many more there are.
        """
        if not self.found:
            return
        place, message, remedy = min(self.found, key=lambda mistake: mistake[0].line or 0)
        others = len(self.found) - 1
        if others:
            count = "one more mistake" if others == 1 else f"{others} more mistakes"
            remedy = f"{remedy} ({count}.)".strip()
        raise ConfigError(message, place=str(place), remedy=remedy or None)
