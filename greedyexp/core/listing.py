"""Lists in sentences, shortened if they are long."""

from __future__ import annotations

from collections.abc import Sequence


def listed(items: Sequence[object], most: int, separator: str = ", ") -> str:
    """Return the first items of a list and the number of others: ``a, b and 3 more``.

    Parameters
    ----------
    items : sequence
    most : int, at least 1
        Number of items to name.
    separator : str
    """
    named = separator.join(map(str, items[:most]))
    return " ".join(filter(None, (named, more(len(items) - most))))


def more(left: int) -> str:
    """Return ``and 3 more`` if 3 items are left out, and an empty text if none are."""
    return f"and {left} more" if left > 0 else ""
