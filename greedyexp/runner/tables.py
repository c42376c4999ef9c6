"""Reading the tables of a run, with full precision and checked against its settings."""

from __future__ import annotations

import io
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from greedyexp.core.errors import StorageError
from greedyexp.core.files import reason
from greedyexp.core.packages import exact_numbers
from greedyexp.core.run_files import TIMINGS
from greedyexp.core.stored import read_stored, unzipped
from greedyexp.experiment.design import Design
from greedyexp.experiment.messages import show
from greedyexp.experiment.sweep import values_of_sweep
from greedyexp.protocols.base import FIT_SECONDS, LARGEST, Status
from greedyexp.results.context import Context, context_of
from greedyexp.results.records import replicates
from greedyexp.runner.rows import cell
from greedyexp.runner.run_folder import RERUN_REMEDY

# A run has tens of columns.
_MOST_COLUMNS = 2_000
_STATUSES = {status.value for status in Status}
_NOT_JOINED = "the seconds cannot be joined to the table"


def read_frame(table: Path, content: bytes | None = None) -> pd.DataFrame:
    """Read a table of a run.

    Parameters
    ----------
    table : Path
        The CSV, compressed or not.
    content : bytes, optional
        Decompressed contents of the file, if known.

    Raises
    ------
    StorageError
        If the file cannot be read as a table.
    """
    try:
        if content is None:
            content = read_stored(table)
            content = unzipped(content) if table.suffix == ".gz" else content
        if content.partition(b"\n")[0].count(b",") >= _MOST_COLUMNS:
            raise ValueError(f"it has more than {_MOST_COLUMNS} columns")
        if b"\0" in content:
            raise ValueError("it contains bytes of zero, which are no text")
        frame: pd.DataFrame = pd.read_csv(
            io.BytesIO(content),
            keep_default_na=False,
            na_values=[""],
            dtype=dict.fromkeys(("message", "status", "algorithm", "selected_features"), str),
            # A column may have numbers in one block of data and words in the next.
            low_memory=False,
            **exact_numbers(),
        )
        if not isinstance(frame.index, pd.RangeIndex):
            raise ValueError("its rows have more cells than its header")
        return frame
    except (OSError, ValueError) as error:
        raise damaged(table, f"the table cannot be read ({reason(error)}).") from None


def refuse_damaged(
    frame: pd.DataFrame,
    table: Path,
    required: Iterable[str],
    numeric: Container[str],
    binary: Container[str] = (),
) -> None:
    """Raise ``StorageError`` if a required column is missing or has impossible values.

    Parameters
    ----------
    frame : DataFrame
    table : Path
        File of the table, for the message.
    required : iterable of str
    numeric : container of str
        The required columns that must be numeric.
    binary : container of str
        Those of them with zeros and ones only.
    """
    from pandas.api.types import is_numeric_dtype

    for name in required:
        if name not in frame.columns:
            raise damaged(table, f"the table has no column '{name}'.")
        if name in numeric and not frame.empty and not is_numeric_dtype(frame[name]):
            raise damaged(table, f"column '{name}' of the table is not a number in every row.")
        if name in binary and not frame[name].dropna().isin((0, 1)).all():
            raise damaged(table, f"column '{name}' of the table is not 0 or 1 in every row.")


def refuse_immense(frame: pd.DataFrame, table: Path) -> None:
    """Raise ``StorageError`` if a measured value is infinite, or sums of its square may overflow.

    Protocols write no infinite value.
    """
    measured = frame.iloc[:, list(frame.columns).index("status") :].select_dtypes("number")
    for name, column in measured.items():
        immense = column[column.abs() > LARGEST]
        if len(immense):
            raise StorageError(
                f"column '{name}' of the table has the value {immense.iloc[0]:g}, and no statistics"
                f" are made of values beyond {LARGEST:g}.",
                place=str(table),
                remedy=RERUN_REMEDY,
            )


def with_seconds(frame: pd.DataFrame, path: Path, content: bytes) -> pd.DataFrame:
    """Return a table with the column ``fit_seconds`` of ``timings.csv``, if that has one.

    All rows of a replicate have the seconds of its fit. The cells are empty if the fit has none.

    Parameters
    ----------
    frame : DataFrame
        The tidy table.
    path : Path
        File of the timings, for messages.
    content : bytes
        Its contents.

    Raises
    ------
    StorageError
        If the file cannot be read, or does not belong to this table.
    """
    seconds_name = FIT_SECONDS.name
    if frame.empty:
        return frame
    timings = read_frame(path, content)
    if seconds_name not in timings.columns:
        return frame
    refuse_damaged(timings, path, (seconds_name,), numeric=(seconds_name,))
    keys = [name for name in timings.columns if name not in ("seconds", seconds_name)]
    if not {"replicate", "algorithm"} <= set(keys) <= set(frame.columns):
        raise damaged(path, f"{_NOT_JOINED}: its columns are not those of the table.")
    seconds = pd.Series(float("nan"), index=frame.index)
    blocks: Any = [("", timings)]
    if "data" in timings.columns:
        blocks = timings.groupby("data", sort=False)
    for block, rows in blocks:
        # A fact of the data fills the cells of a parameter that only other blocks have.
        known = [name for name in keys if rows[name].notna().any()]
        if rows.duplicated(known).any():
            raise damaged(path, f"{_NOT_JOINED}: it has two rows of one replicate.")
        here = frame[frame["data"] == block] if "data" in timings.columns else frame
        wanted = here[known].astype(object)
        measured = rows[[*known, seconds_name]].astype(dict.fromkeys(known, object))
        found = wanted.merge(measured, how="left", on=known)
        seconds[here.index] = found[seconds_name].to_numpy(dtype=float)
    joined: pd.DataFrame = frame.assign(**{seconds_name: seconds})
    return joined


def damaged(table: Path, wrong: str) -> StorageError:
    """Return the error for a table with a fault."""
    return StorageError(wrong, place=str(table), remedy=RERUN_REMEDY)


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
