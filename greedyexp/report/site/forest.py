"""The tests of a claim as a forest plot: estimates, intervals and boundaries on one scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from greedyexp.claims.report import group_words, number_words
from greedyexp.stats.level import percent

# Size of the drawing of one test, in pixels.
WIDTH, HEIGHT = 220, 20
_MARGIN = 8
# Intervals may stretch the scale to this many times the range of estimates and boundaries.
_STRETCH = 3.0


@dataclass(frozen=True)
class Scale:
    """A linear scale for the tests that are drawn below each other.

    Parameters
    ----------
    low, high : float
        Its ends.
    """

    low: float
    high: float

    def at(self, value: float) -> float:
        """Return the place of a value in pixels; values beyond the ends are at the edges."""
        share = (value - self.low) / (self.high - self.low)
        return round(_MARGIN + (WIDTH - 2 * _MARGIN) * min(max(share, 0.0), 1.0), 1)

    def beyond(self, value: float) -> bool:
        """Return True if a value is not on the scale."""
        return not self.low <= value <= self.high


def scale_of(tests: Sequence[Mapping[str, Any]]) -> Scale | None:
    """Return a scale for tests as ``claims.json`` records them; None if they have no numbers."""
    inner = [one[name] for one in tests for name in ("estimate", "boundary")]
    inner = [value for value in inner if value is not None]
    if not inner:
        return None
    low, high = min(inner), max(inner)
    ends = [one[name] for one in tests for name in ("low", "high") if one[name] is not None]
    spread = high - low
    if spread > 0:
        ends = [min(max(end, low - _STRETCH * spread), high + _STRETCH * spread) for end in ends]
    low, high = min([low, *ends]), max([high, *ends])
    if low == high:
        low, high = low - 1.0, high + 1.0
    return Scale(low, high)


def rows(tests: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what the page shows of each test: words, and places of its drawing.

    Tests with the same text are on one scale.
    """
    scales = {
        text: scale_of([one for one in tests if one["test"] == text])
        for text in dict.fromkeys(one["test"] for one in tests)
    }
    return [_row(one, scales[one["test"]]) for one in tests]


def _row(test: Mapping[str, Any], scale: Scale | None) -> dict[str, Any]:
    odd = test["not_finite"]
    numbers = {
        name: float(odd[name]) if name in odd else test[name]
        for name in ("estimate", "low", "high", "boundary")
    }
    row: dict[str, Any] = {
        "group": group_words(test["group"]) or "all rows",
        "test": test["test"],
        "verdict": test["verdict"],
        "estimate": "" if numbers["estimate"] is None else number_words(numbers["estimate"]),
        "boundary": "" if numbers["boundary"] is None else number_words(numbers["boundary"]),
        "interval": _interval(numbers["low"], numbers["high"]),
        "confidence": "" if test["confidence"] is None else percent(test["confidence"]),
        "trials": test["trials"],
        "failed": test["failed"],
        "runs": test.get("runs"),
        "unconverged": test["unconverged"],
        "look": test.get("look") if test["verdict"] != "inconclusive" else None,
        "needed": test["needed_trials"],
        "reason": _reason(test),
        "sort": numbers["estimate"],
        "drawing": None,
    }
    if scale is not None and test["estimate"] is not None:
        low = -math.inf if numbers["low"] is None else numbers["low"]
        high = math.inf if numbers["high"] is None else numbers["high"]
        row["drawing"] = {
            "estimate": scale.at(numbers["estimate"]),
            "low": scale.at(low),
            "high": scale.at(high),
            "boundary": None if test["boundary"] is None else scale.at(test["boundary"]),
            "left": scale.beyond(low),
            "right": scale.beyond(high),
            "ends": [number_words(scale.low), number_words(scale.high)],
        }
    return row


def _interval(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return ""
    ends = (
        "no limit" if end is None or math.isinf(end) else number_words(end) for end in (low, high)
    )
    return f"[{', '.join(ends)}]"


def _reason(test: Mapping[str, Any]) -> str:
    """Return why a test is open, without its numbers."""
    if test["verdict"] != "inconclusive":
        return ""
    said = str(test["sentence"])
    return said.partition(": inconclusive. ")[2] if ": inconclusive." in said else said
