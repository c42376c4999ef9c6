"""Columns and their values in words, for labels, titles and legends."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from greedyexp.results.described import described

# Values that are not words, by column.
_LEVELS = {
    ("values", "sign"): "±1",
    ("values", "gaussian"): "N(0, 1)",
    ("reference", "l1_ball"): "best in the l1 ball",
    ("reference", "truth"): "true coefficients",
    ("reference", "support"): "best on the true support",
}
# Columns whose values need no name in front.
_SELF_EXPLAINING = ("data", "dataset", "theorem")
# A number of this many characters, such as 0.6667, is a fraction up to rounding.
_ROUNDED, _ROUNDING = 6, 5e-5
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def short_name(column: str) -> str:
    """Return a column's letter, or its name with spaces."""
    return described(column).short


def axis_label(column: str, counted: str = "features") -> str:
    """Return the label of an axis for a column.

    Parameters
    ----------
    column : str
    counted : str
        What sizes count; see ``Context``.
    """
    if column == "size" and counted != "features":
        return f"number of {counted}"
    return described(column).label


def metric_title(column: str) -> str:
    """Return the title of a metric, or the name of another column in words."""
    return described(column).title


def told_apart(texts: Mapping[str, str], beside: Iterable[str] = ()) -> dict[str, str]:
    """Return a different text for each name: the given one, or else the name itself.

    Parameters
    ----------
    texts : mapping of str to str
        Some may look equal, such as those of ``my_method`` and ``my method``; blanks at the ends do
        not show, and several look like one.
    beside : iterable of str
        Other texts at the same place.
    """
    others, found = set(beside), dict(texts)
    while True:
        seen = Counter(map(_without_blanks, (*found.values(), *others)))
        alike = [
            name for name, text in found.items() if seen[_without_blanks(text)] > 1 and text != name
        ]
        if not alike:
            return {name: f"'{text}'" if text in others else text for name, text in found.items()}
        found |= {name: name for name in alike}


def _without_blanks(text: str) -> str:
    """Return a text without blanks that do not show in print."""
    return " ".join(text.split())


def number_text(value: Any) -> str:
    """Format the value of a column; fractions get four significant digits."""
    if not isinstance(value, float):
        return str(value)
    # A column of whole numbers is one of floats if one of them is missing.
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e5 else f"{value:.4g}"


def values_text(values: Mapping[Any, Any], words: Mapping[str, Sequence[str]] | None = None) -> str:
    """Join ``column = number`` and ``column: word`` by commas.

    Parameters
    ----------
    values : mapping of str or None to a value
        Entries with column None or value nan are left out.
    words : mapping of str to sequence of str, optional
        All words of some columns, which must look different.
    """
    return ", ".join(
        _named_text(column, value, (words or {}).get(column, ()))
        for column, value in values.items()
        if column is not None and not (isinstance(value, float) and math.isnan(value))
    )


def _named_text(column: str, value: Any, words: Sequence[str]) -> str:
    if not isinstance(value, (str, list)):
        return f"{short_name(column)} = {level_text(column, value)}"
    text = level_text(column, value, words)
    return text if column in _SELF_EXPLAINING else f"{short_name(column)}: {text}"


def level_text(column: str, value: Any, words: Sequence[str] = ()) -> str:
    """Return the value of a parameter in words; 0.6667 is read as the fraction that is meant.

    A text differs from those of the other ``words``.
    """
    if isinstance(value, list):
        return ", ".join(level_text(column, one, words) for one in value)
    if isinstance(value, str):
        texts = {word: _LEVELS.get((column, word), word.replace("_", " ")) for word in words}
        own = _LEVELS.get((column, value), value.replace("_", " "))
        return told_apart({**texts, value: own})[value]
    text = number_text(value)
    if isinstance(value, float) and len(text) >= _ROUNDED and "e" not in text:
        fraction = Fraction(value).limit_denominator(9)
        if abs(fraction - Fraction(value)) <= _ROUNDING and fraction.denominator in (3, 6, 7, 9):
            return str(fraction)
    if "e" in text and isinstance(value, float):
        factor, power = text.split("e")
        times = "" if factor == "1" else f"{factor}·"
        return f"{times}10{str(int(power)).translate(_RAISED)}"
    return text
