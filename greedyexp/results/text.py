"""Texts of figures, tables and notes: columns, values, counts, failures, chosen rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from greedyexp.results.context import Context
from greedyexp.results.records import NOT_CERTIFIED, as_list, failed_rows
from greedyexp.results.words import values_text

if TYPE_CHECKING:
    import pandas as pd


def sized_text(size: int, context: Context) -> str:
    """Return a size as text, such as ``4 sensors``."""
    return f"{size} {context.counted if size != 1 else context.counted.removesuffix('s')}"


def where_text(where: Mapping[str, Any], words: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return a choice of rows as text, empty for none; ``words`` are those of ``values_text``."""
    return values_text({name: value for name, value in where.items() if name != "record"}, words)


def title_text(where: Mapping[str, Any], context: Context) -> str:
    """Return the title of a figure: the one in the configuration, or the rows it shows.

    Algorithms are in the legend. A column of which several values are chosen is in the panels.
    """
    chosen = {
        name: as_list(value)[0]
        for name, value in where.items()
        if name not in ("algorithm", "record") and len(as_list(value)) == 1
    }
    return context.title or where_text(chosen, context.words)


def group_text(values: Mapping[str, Any], context: Context) -> str:
    """Return an algorithm and the values of other columns as text."""
    others = {name: value for name, value in values.items() if name != "algorithm"}
    rest = values_text(others, context.words)
    if "algorithm" not in values:
        return rest
    name = context.titles.get(values["algorithm"], str(values["algorithm"]))
    if not rest:
        return name
    return f"{name}, {rest}" if "data" in values else f"{name} at {rest}"


def origin_text(context: Context) -> str:
    """Return paper and figure, experiment, profile, and which part of the run is shown."""
    source = f"{context.source} | " if context.source else ""
    part = f", only {context.part}" if context.part else ""
    return f"{source}{context.name}, profile {context.profile}{part}"


def sentences(notes: Iterable[str]) -> list[str]:
    """Return the notes that are not empty, each with a full stop."""
    return [note if note.endswith(".") else f"{note}." for note in notes if note]


def decided_text(context: Context) -> str:
    """Return a clause for numbers that neglect that results decided the number of trials."""
    return ", as if results had not decided the number of trials" if context.placed else ""


def count_text(counts: pd.Series[int]) -> str:
    """Return a count that may vary: ``5`` or ``3 to 5``."""
    fewest, most = counts.min(), counts.max()
    return f"{most}" if fewest == most else f"{fewest} to {most}"


def failures_text(frame: pd.DataFrame, treatment: str) -> str:
    """Return the percentages of replicates that failed and of those without a certificate.

    Percentages of zero are left out.

    Parameters
    ----------
    frame : DataFrame
        One row per replicate.
    treatment : str
        What happens to failed replicates, such as "left out".
    """
    failed = failed_rows(frame).mean()
    uncertified = (frame["status"] == NOT_CERTIFIED).mean()
    parts = [
        f"failed ({treatment}): {failed:.2%}" if failed else "",
        f"without certificate: {uncertified:.2%}" if uncertified else "",
    ]
    text = ", ".join(filter(None, parts))
    return f"Replicates {text}." if text else ""
