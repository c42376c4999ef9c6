"""Lists, values and numbers with units in sentences, shortened if they are long."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Control characters other than tabs and line ends, and those that reorder a text.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def shortened(text: str, most: int = 200) -> str:
    """Return a text, or the beginning of one of more than ``most`` characters."""
    return text if len(text) <= most else f"{text[: most - 4]} ..."


def listed(items: Sequence[object], most: int, separator: str = ", ") -> str:
    """Return the first items of a list, each shortened, and the number of others.

    Such as ``a, b and 3 more``.

    Parameters
    ----------
    items : sequence
    most : int, at least 1
        Number of items to name.
    separator : str
    """
    named = separator.join(shortened(str(item)) for item in items[:most])
    return " ".join(filter(None, (named, more(len(items) - most))))


def more(left: int) -> str:
    """Return ``and 3 more`` if 3 items are left out, and an empty text if none are."""
    return f"and {left} more" if left > 0 else ""


def duration(seconds: float) -> str:
    """Return a duration such as ``0.4 s``, ``3 min 05 s`` or ``2 h 10 min``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def size(n_bytes: int) -> str:
    """Return a size such as ``12 B``, ``3.4 kB`` or ``5.0 MB``."""
    if n_bytes < 1000:
        return f"{n_bytes} B"
    for unit, scale in (("kB", 1e3), ("MB", 1e6)):
        if n_bytes < 1000 * scale:
            return f"{n_bytes / scale:.1f} {unit}"
    return f"{n_bytes / 1e9:.1f} GB"


def count(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 trial``, ``4 trials``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
