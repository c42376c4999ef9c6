"""What did not go well in a run, from its CSV."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Container
from pathlib import Path

from greedyexp.cli.text import count


def unchecked(folder: Path) -> list[str]:
    """A line for a run folder without a manifest; otherwise none."""
    from greedyexp.runner.state import MANIFEST, find

    if find(folder, MANIFEST).is_file():
        return []
    return [
        f"Note: {folder} has no {MANIFEST}, so it cannot be checked whether its files come from"
        " one run."
    ]


def problems(table: Path, labels: Container[str]) -> list[str]:
    """One line for each status other than ``ok``: how many rows, and the first message.

    Parameters
    ----------
    table : Path
        A run's CSV, compressed or not.
    labels : container of str
        Algorithms to look at; with ``--only`` the table holds others too.

    Returns
    -------
    list of str
        ``timeout: 3 rows, first: ...``, statuses in order of appearance.
    """
    numbers: dict[str, int] = {}
    first: dict[str, str] = {}
    opened = gzip.open if table.suffix == ".gz" else open
    with opened(table, "rt", encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            status = row["status"]
            if status != "ok" and row["algorithm"] in labels:
                numbers[status] = numbers.get(status, 0) + 1
                first.setdefault(status, f"{row['algorithm']}: {row['message']}".rstrip(": "))
    return [
        f"{status}: {count(number, 'row')}, first: {first[status]}"
        for status, number in numbers.items()
    ]
