"""Joining the seconds of fits, which are in a file of their own, to the rows of the table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from greedyexp.core.errors import StorageError
from greedyexp.protocols.measured import FIT_SECONDS
from greedyexp.report.folders import read_frame
from greedyexp.runner.state import AGAIN, TIMINGS, State

_NAME = FIT_SECONDS.name
_MEASURED = ("seconds", _NAME)


def with_seconds(frame: pd.DataFrame, state: State) -> pd.DataFrame:
    """The tidy table with the column ``fit_seconds``, where ``timings.csv`` has it.

    Every row of a replicate is given the seconds of its fit; a replicate without stays empty.

    Parameters
    ----------
    frame : DataFrame
        As the CSV of the folder has it.
    state : State
        The files of the run; ``timings.csv`` may be missing.

    Raises
    ------
    StorageError
        When the file is there and cannot be read, or is not of this table.
    """
    if state.timings is None or frame.empty:
        return frame
    path = state.folder / TIMINGS
    timings = read_frame(path, state.timings)
    if _NAME not in timings.columns:
        return frame
    keys = [name for name in timings.columns if name not in _MEASURED]
    if not {"replicate", "algorithm"} <= set(keys) <= set(frame.columns):
        raise _damaged(path, "its columns are not those of the table")
    seconds = pd.Series(float("nan"), index=frame.index)
    for rows in _blocks(timings):
        # A fact of the data fills the cells of a parameter that only other blocks have.
        told = [name for name in keys if rows[name].notna().any()]
        if rows.duplicated(told).any():
            raise _damaged(path, "it has two rows of one replicate")
        here = _block_like(frame, rows)
        found = (
            here[told]
            .astype(object)
            .merge(rows[[*told, _NAME]].astype(dict.fromkeys(told, object)), how="left", on=told)
        )
        seconds[here.index] = found[_NAME].to_numpy(dtype=float)
    return frame.assign(**{_NAME: seconds})


def _blocks(timings: pd.DataFrame) -> list[pd.DataFrame]:
    """The rows of each block of data."""
    if "data" not in timings.columns:
        return [timings]
    return [rows for _, rows in timings.groupby("data", sort=False)]


def _block_like(frame: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["data"] == rows["data"].iloc[0]] if "data" in rows.columns else frame


def _damaged(path: Path, why: str) -> StorageError:
    return StorageError(
        f"the seconds cannot be joined to the table: {why}.", place=str(path), remedy=AGAIN
    )
