"""Mistakes of an experiment file: gathered, then reported as one, in the order of lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from greedyexp.core.errors import ConfigError
from greedyexp.experiment.messages import Keys as Keys
from greedyexp.experiment.messages import dotted as dotted

# Most mistakes that are printed after the first.
_SHOWN = 3


class Place(NamedTuple):
    """Where a key or an item was written; ``line`` is None outside files."""

    source: str
    line: int | None = None

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}:{self.line}"


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
            With the mistake of the lowest line, the next ones, and how many more there are.
        """
        if not self.found:
            return
        ordered = sorted(self.found, key=lambda mistake: mistake[0].line or 0)
        place, message, remedy = ordered[0]
        others = ordered[1 : 1 + _SHOWN]
        if others:
            said = " ".join(f"{where}: {what}" for where, what, _ in others)
            more = len(ordered) - 1 - len(others)
            rest = f" There are {more} more." if more > 1 else " There is one more." if more else ""
            remedy = f"{remedy} Also: {said}{rest}".strip()
        raise ConfigError(message, place=str(place), remedy=remedy or None)
