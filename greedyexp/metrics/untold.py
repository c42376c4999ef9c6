"""What to say where an algorithm does not tell what a metric asks for."""

from __future__ import annotations

from greedyexp.core.errors import DataError


class NotTold(DataError):
    """The path does not tell what the metric measures; no other metric is wrong for it."""
