"""The tables that a run writes."""

from __future__ import annotations

import csv
import gzip
import io
import shutil
from collections.abc import Callable
from pathlib import Path

from greedyexp.core.files import replacing
from greedyexp.runner.journal import Journal
from greedyexp.runner.plan import Plan
from greedyexp.runner.rows import Rows, Write

# Larger tables (in bytes) are compressed, since they are committed to repositories.
LARGE = 1_000_000


def write_tables(plan: Plan, journal: Journal, folder: Path) -> Path:
    """Write ``<name>.csv`` and ``timings.csv`` with every finished row of the plan.

    Values come from the journal and their order from the plan. The bytes therefore do not depend on
    how, when or in how many runs the rows were computed.

    Returns
    -------
    Path
        The table, ``.csv`` or, if it is large, ``.csv.gz``.

    Raises
    ------
    StorageError
        If the folder cannot be written; the old tables are kept.
    """
    rows = Rows(plan.experiment, plan.finished, journal)
    table = _store(folder / f"{plan.experiment.name}.csv", rows.write_table)
    _store(folder / "timings.csv", rows.write_timings)
    return table


def _store(target: Path, fill: Callable[[Write], None]) -> Path:
    """Write a table, and compress it if it is large."""
    packed = target.with_name(f"{target.name}.gz")
    with replacing(target) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=False)
        fill(csv.writer(text, lineterminator="\n").writerow)
        text.flush()
        size = stream.tell()
        text.detach()
    if size <= LARGE:
        return target
    with (
        target.open("rb") as source,
        replacing(packed) as stream,
        # Without time and file name in the header, equal tables give equal bytes.
        gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as compressed,
    ):
        shutil.copyfileobj(source, compressed)
    target.unlink()
    return packed
