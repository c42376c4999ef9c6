"""The rows of a run, checked against its settings, and what figures must know of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from greedyexp.core.run_files import TIMINGS
from greedyexp.experiment.design import Design
from greedyexp.experiment.messages import show
from greedyexp.experiment.sweep import values_of_sweep
from greedyexp.protocols.base import Status
from greedyexp.results.context import Context, context_of
from greedyexp.results.records import replicates
from greedyexp.runner.rows import cell
from greedyexp.runner.tables import (
    damaged,
    read_frame,
    refuse_damaged,
    refuse_immense,
    with_seconds,
)

if TYPE_CHECKING:
    import pandas as pd

    from greedyexp.core.errors import StorageError

_STATUSES = {status.value for status in Status}


def rows_of(
    table: Path, content: bytes, timings: bytes | None, design: Design, finished: int
) -> tuple[pd.DataFrame, Context]:
    """Parse the table of a run, after its plugins are loaded.

    Parameters
    ----------
    table : Path
    content : bytes
        Of the table.
    timings : bytes, optional
        Contents of the table of seconds.
    design : Design
    finished : int
        Number of replicates that the run has done, or 0 if it is not known.

    Returns
    -------
    DataFrame
        The tidy table, with the seconds of fits if the folder has them.
    Context
        Facts about the run for figures and tables.

    Raises
    ------
    StorageError
        If the table is damaged, or does not belong to the configuration.
    """
    frame = read_frame(table, content)
    _refuse_unidentified(frame, table)
    each = replicates(frame)
    _refuse_foreign(each, table, design)
    part = f"{len(each)} of {finished} replicates" if len(each) < finished else ""
    if part and frame.empty:
        raise damaged(table, f"the table has {part} of the run.")
    context = context_of(design, frame["algorithm"].unique(), part)
    if timings is not None:
        frame = with_seconds(frame, table.parent / TIMINGS, timings)
    refuse_immense(frame, table)
    return frame, context


def _refuse_unidentified(frame: pd.DataFrame, table: Path) -> None:
    """Raise ``StorageError`` if a row lacks its replicate, its algorithm or a valid status."""
    names = ("algorithm", "status", "replicate")
    refuse_damaged(frame, table, names, numeric=("replicate",))
    for name in names:
        if frame[name].isna().any():
            raise damaged(table, f"column '{name}' of the table has empty cells.")
    unknown = frame.loc[~frame["status"].isin(_STATUSES), "status"]
    if not unknown.empty:
        raise damaged(table, f"the table has an unknown status {show(unknown.iloc[0])}.")


def _refuse_foreign(frame: pd.DataFrame, table: Path, design: Design) -> None:
    """Raise ``StorageError`` if a replicate has a label or parameter that is not in the settings.

    Figures and claims group rows by these columns, so their cost is bounded by the settings.
    """
    labels = frame["algorithm"].unique()
    # A plugin that is missing may write its values in other ways.
    swept = tuple(f"{entry.label} (" for entry in design.entries if entry.axes)
    named = {*design.variants, *(entry.label for entry in design.entries)}
    unknown = [label for label in labels if label not in named]
    others = [label for label in unknown if not label.startswith(swept)]
    sweeps = [values_of_sweep(entry.settings.get("sweep")) for entry in design.entries]
    if others or (unknown and len(labels) > sum(max(len(steps), 1) for steps in sweeps)):
        raise _foreign(table, "algorithm", [*others, *unknown][0])
    entries = frame["algorithm"].map({label: design.variant(label).entry for label in labels})
    for (column, label, name), values in design.given.items():
        if not {column or name, name} <= {*frame.columns}:
            continue
        rows = frame[name]
        if column:
            rows = rows[(entries if column == "algorithm" else frame[column]) == label]
        found, known = rows.dropna().unique().tolist(), {_plain(value) for value in values}
        # Lists may be written in other ways.
        if len(found) > len(values) or not any(isinstance(one, (list, dict)) for one in values):
            for value in found:
                if _plain(value) not in known:
                    raise _foreign(table, name, value)


def _plain(value: object) -> str:
    """Return the text of a value; numbers up to rounding."""
    try:
        return f"{float(value):.9g}"  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return cell(value)


def _foreign(table: Path, column: str, value: object) -> StorageError:
    return damaged(
        table, f"column '{column}' of the table has {show(value)}, which the settings do not have."
    )
