"""Cells of a table beside those that are computed now."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from greedyexp.core import registry
from greedyexp.core.errors import StorageError
from greedyexp.experiment.model import Experiment, Point
from greedyexp.runner.manifest import changed_files, provenance, version_changes
from greedyexp.runner.rows import cell
from greedyexp.runner.run_contents import Run
from greedyexp.runner.tables import damaged
from greedyexp.runner.work import Result

# Two numbers are equal up to rounding if they differ by at most this part of the larger one, or by
# at most ``ZERO``: what is left of terms that cancel, such as a gap of 1e-17, has no correct digit.
RELATIVE = 1e-6
ZERO = 1e-12

EQUAL, ROUNDING, DIFFERS = "equal", "equal up to rounding", "differs"


def stored_cells(source: Run, rows: Iterable[int]) -> dict[int, dict[str, str]]:
    """Return the cells of some rows of the table as texts, by the number of the row."""
    text = source.table_content.decode("utf-8")
    wanted = set(rows)
    lines = csv.DictReader(io.StringIO(text, newline=""))
    try:
        if "message" not in (lines.fieldnames or ()):
            raise damaged(source.table, "the table has no column 'message'.")
        return {index: line for index, line in enumerate(lines) if index in wanted}
    except csv.Error as error:
        raise damaged(source.table, f"the table cannot be read ({error}).") from None


def place_of(experiment: Experiment, cells: Mapping[str, str], folder: Path) -> tuple[int, int]:
    """Return the indices of the point and of the algorithm of a row.

    Raises
    ------
    StorageError
        If the settings of the run have no such point or algorithm.
    """
    # A table of an earlier version lacks the parameters that were added since.
    points = (
        index
        for index, point in enumerate(experiment.points)
        if all(cell(value) == cells[name] for name, value in point.cells.items() if name in cells)
    )
    labels = [spec.label for spec in experiment.algorithms]
    point = next(points, None)
    if point is None or cells["algorithm"] not in labels:
        what = "data" if point is None else "algorithm"
        raise StorageError(
            f"the settings of the run, as this version reads them, lack the {what} of the row.",
            place=str(folder),
            remedy="Use the version in manifest.json, or run the experiment again.",
        )
    return point, labels.index(cells["algorithm"])


def narrowed(experiment: Experiment, point: int, algorithm: int) -> Experiment:
    """Return the experiment with one of its points and one of its algorithms."""
    return replace(
        experiment,
        points=[experiment.points[point]],
        algorithms=[experiment.algorithms[algorithm]],
    )


def computed_rows(
    experiment: Experiment, stored: Mapping[int, Mapping[str, str]], result: Result
) -> pd.DataFrame:
    """Return the computed rows of a replicate, as many as there are stored rows."""
    columns = list(next(iter(stored.values())))
    parameters = {*experiment.points[0].cells, *experiment.algorithms[0].swept}
    facts = [name for name in columns[: columns.index("replicate")] if name not in parameters]
    shared = {name: result.facts.get(name) for name in facts}
    shared["status"] = result.outcome.status.value
    measured = columns[columns.index("message") + 1 :]
    # A failure has one row, without measurements.
    found = [*result.outcome.rows, *({} for _ in stored)][: len(stored)]
    lines = [shared | {name: row.get(name) for name in measured} for row in found]
    return pd.DataFrame(lines, index=pd.Index(stored, name="row"), dtype=object)


def compared(
    experiment: Experiment,
    stored: Mapping[int, Mapping[str, str]],
    rows: pd.DataFrame,
    result: Result,
) -> pd.DataFrame:
    """Compare rows with those of the table, and the number of all rows of the replicate."""
    kinds = {one.name: one.kind for one in experiment.design.measured}
    lines: list[tuple[Any, ...]] = []
    table: dict[int, dict[str, Any]] = rows.to_dict("index")  # type: ignore[assignment]
    for index, row in table.items():
        for name, value in row.items():
            old, new = stored[index][name], cell(value)
            if old or new:
                lines.append((index, name, old, new, *compare_cells(old, new, kinds.get(name))))
    counts = str(len(stored)), str(max(len(result.outcome.rows), 1))
    if counts[0] != counts[1]:
        lines.append((rows.index[0], "number of rows", *counts, *compare_cells(*counts)))
    names = ["row", "column", "stored", "computed", "difference", "verdict"]
    return pd.DataFrame(lines, columns=names)


def compare_cells(stored: str, computed: str, kind: str | None = None) -> tuple[float, str]:
    """Compare two cells of a CSV.

    Texts, successes and keys must be equal. Numbers may differ by rounding: by at most 1e-6 of the
    larger one, or by at most 1e-12. So counts below a million must be equal. Larger ones, such as
    the number of steps to an accuracy of 1e-8, can depend on the rounding of a processor.

    Parameters
    ----------
    stored, computed : str
    kind : str, optional
        Kind of the column, see ``protocols.base.Measured``.

    Returns
    -------
    difference : float
        |stored - computed| relative to the larger; 0 for equal cells, and nan if others are not
        both finite numbers.
    verdict : {"equal", "equal up to rounding", "differs"}
    """
    if stored == computed:
        return 0.0, EQUAL
    try:
        one, other = float(stored), float(computed)
    except ValueError:
        return math.nan, DIFFERS
    if not (math.isfinite(one) and math.isfinite(other)):
        return math.nan, DIFFERS
    size = max(abs(one), abs(other))
    difference = abs(one - other) / size if size else 0.0
    close = kind not in ("success", "key", "text") and bool(close_numbers(one, other))
    return difference, ROUNDING if close else DIFFERS


def close_numbers(one: Any, other: Any) -> Any:
    """Return whether two finite numbers, or those of two arrays, are equal up to rounding."""
    # The gap of infinite numbers is not known, and 0 / 0 is decided by ``ZERO``.
    with np.errstate(invalid="ignore", over="ignore"):
        gap, size = np.abs(np.subtract(one, other)), np.maximum(np.abs(one), np.abs(other))
        return (gap <= ZERO) | (gap / size <= RELATIVE)


def changes_since(source: Run, experiment: Experiment, points: Iterable[Point]) -> list[str]:
    """Return the versions, and the data files of points, that are not those of the run."""
    from greedyexp.runner.fingerprint import InputFiles

    manifest = source.manifest
    if not manifest:
        return ["the run has no manifest.json, so its versions are not known"]
    files = InputFiles()
    for point in points:
        reads = registry.find("generator", point.generator).reads
        for name in reads(**point.params) if reads else ():
            files.hash(name)
    return [
        *version_changes(manifest, provenance(source.folder, experiment)),
        *(
            f"data file {name} has changed since the run"
            for name in changed_files(manifest, files.checksums())
        ),
    ]
