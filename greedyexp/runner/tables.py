"""Reading the tables of a run, with full precision."""

from __future__ import annotations

import io
import zlib
from collections.abc import Container, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from greedyexp.core.errors import StorageError
from greedyexp.core.packages import exact_numbers
from greedyexp.protocols.base import FIT_SECONDS
from greedyexp.runner.state import RERUN_REMEDY

if TYPE_CHECKING:
    import pandas as pd

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
    import pandas as pd

    try:
        frame: pd.DataFrame = pd.read_csv(
            table if content is None else io.BytesIO(content),
            keep_default_na=False,
            na_values=[""],
            dtype=dict.fromkeys(("message", "status", "algorithm", "selected_features"), str),
            # A column may have numbers in one block of data and words in the next.
            low_memory=False,
            **exact_numbers(),
        )
        return frame
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise damaged(table, f"the table cannot be read ({str(error).rstrip('.')}).") from None


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
    import pandas as pd

    seconds_name = FIT_SECONDS.name
    if frame.empty:
        return frame
    timings = read_frame(path, content)
    if seconds_name not in timings.columns:
        return frame
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
