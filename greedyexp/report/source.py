"""Run folders: their tables, with the seconds of fits, and their configuration."""

from __future__ import annotations

import contextlib
import io
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_numeric_dtype

from greedyexp.core.errors import PluginError, StorageError
from greedyexp.core.plugins import load_plugins
from greedyexp.experiment.design import Design, read_design
from greedyexp.protocols.base import FIT_SECONDS, Status
from greedyexp.results.context import Context, context_of
from greedyexp.results.records import replicates
from greedyexp.runner.state import (
    CONFIG,
    RERUN_REMEDY,
    TIMINGS,
    State,
    find,
    folders,
    read_state,
    refuse_replaced,
    snapshot_of,
    table_of,
)

_PANDAS = tuple(int(number) for number in pd.__version__.split(".")[:2])
# Before pandas 3.1, the default parser may be wrong in the last digit.
_EXACT: dict[str, Any] = {"float_precision": "round_trip"} if _PANDAS < (3, 1) else {}
_STATUSES = {status.value for status in Status}


@dataclass(frozen=True)
class Source:
    """The contents of a run folder.

    Parameters
    ----------
    state : State
        Its files.
    design : Design
        The settings of the run, from ``config.yaml``.
    frame : DataFrame
        The tidy table, with the seconds of fits if the folder has them.
    context : Context
        Facts about the run for figures and tables.
    """

    state: State
    design: Design
    frame: pd.DataFrame
    context: Context

    @property
    def folder(self) -> Path:
        return self.state.folder


def run_folders(path: Path) -> list[Path]:
    """Return the run folders at or below a path, at any depth.

    Raises
    ------
    StorageError
        If there is none.
    """
    found = [folder for folder in folders(path) if table_of(folder)]
    if not found:
        raise StorageError(
            "there is no finished run here.", place=str(path), remedy="`greedyexp run` makes one."
        )
    return found


def read_source(folder: Path) -> Source:
    """Read a run folder and load its plugins. The journal is not needed.

    Raises
    ------
    StorageError
        If the table or the configuration is missing, unreadable or damaged, or if they belong
        to different runs.
    """
    before = snapshot_of(folder)
    state = read_state(folder)
    design = read_design(state.config_text, folder / CONFIG, folder.resolve().name)
    plugins = [find(folder, name) for name in design.plugins]
    try:
        load_plugins([path for path in plugins if path.is_file()])
    except PluginError:
        refuse_replaced(folder, before)
        raise
    # The plugins must belong to the same state.
    state.require_current()
    frame = read_frame(state.table, state.table_content)
    _refuse_damaged(frame, state.table)
    part = _part_of_run(state.manifest, frame)
    if part and frame.empty:
        raise StorageError(
            f"the table has {part} of the run.", place=str(state.table), remedy=RERUN_REMEDY
        )
    context = context_of(design, frame["algorithm"].unique(), part)
    return Source(state, design, _with_seconds(frame, state), context)


def read_frame(table: Path, content: bytes | None = None) -> pd.DataFrame:
    """Read a tidy table with full precision.

    Parameters
    ----------
    table : Path
        The CSV, compressed or not.
    content : bytes, optional
        Its decompressed contents, if known.

    Raises
    ------
    StorageError
        If the file cannot be read as a table.
    """
    try:
        return pd.read_csv(
            table if content is None else io.BytesIO(content),
            keep_default_na=False,
            na_values=[""],
            dtype=dict.fromkeys(("message", "status", "algorithm", "selected_features"), str),
            # A column may have numbers in one block of data and words in the next.
            low_memory=False,
            **_EXACT,
        )
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise StorageError(
            f"the table cannot be read ({str(error).rstrip('.')}).",
            place=str(table),
            remedy=RERUN_REMEDY,
        ) from None


def _refuse_damaged(frame: pd.DataFrame, table: Path) -> None:
    """Raise ``StorageError`` if a row lacks its replicate, its algorithm or a valid status."""
    for name in ("algorithm", "status", "replicate"):
        if name not in frame.columns:
            wrong = f"the table has no column '{name}'."
        elif frame[name].isna().any():
            wrong = f"column '{name}' of the table has empty cells."
        elif name == "replicate" and not frame.empty and not is_numeric_dtype(frame[name]):
            wrong = "column 'replicate' of the table is not a number in every row."
        elif name == "status" and not frame[name].isin(_STATUSES).all():
            unknown = frame.loc[~frame[name].isin(_STATUSES), name].iloc[0]
            wrong = f"the table has an unknown status '{unknown}'."
        else:
            continue
        raise StorageError(wrong, place=str(table), remedy=RERUN_REMEDY)


def _part_of_run(manifest: Mapping[str, Any], frame: pd.DataFrame) -> str:
    """Return ``3 of 12 replicates`` if the table has fewer than the manifest, else ``''``."""
    finished = 0
    # A run can be read without its manifest.
    with contextlib.suppress(ValueError, TypeError, KeyError):
        finished = int(manifest["replicates"]["done"])
    found = len(replicates(frame))
    return f"{found} of {finished} replicates" if found < finished else ""


def _with_seconds(frame: pd.DataFrame, state: State) -> pd.DataFrame:
    """Add the column ``fit_seconds`` from ``timings.csv``, if there is one.

    All rows of a replicate have the seconds of its fit; they are empty if it has none.

    Raises
    ------
    StorageError
        If the file cannot be read, or does not belong to this table.
    """
    if state.timings is None or frame.empty:
        return frame
    path, seconds_name = state.folder / TIMINGS, FIT_SECONDS.name
    timings = read_frame(path, state.timings)
    if seconds_name not in timings.columns:
        return frame
    keys = [name for name in timings.columns if name not in ("seconds", seconds_name)]
    if not {"replicate", "algorithm"} <= set(keys) <= set(frame.columns):
        raise _damaged_seconds(path, "its columns are not those of the table")
    seconds = pd.Series(float("nan"), index=frame.index)
    blocks: Any = [("", timings)]
    if "data" in timings.columns:
        blocks = timings.groupby("data", sort=False)
    for block, rows in blocks:
        # A fact of the data fills the cells of a parameter that only other blocks have.
        known = [name for name in keys if rows[name].notna().any()]
        if rows.duplicated(known).any():
            raise _damaged_seconds(path, "it has two rows of one replicate")
        here = frame[frame["data"] == block] if "data" in timings.columns else frame
        wanted = here[known].astype(object)
        measured = rows[[*known, seconds_name]].astype(dict.fromkeys(known, object))
        found = wanted.merge(measured, how="left", on=known)
        seconds[here.index] = found[seconds_name].to_numpy(dtype=float)
    return frame.assign(**{seconds_name: seconds})


def _damaged_seconds(path: Path, why: str) -> StorageError:
    return StorageError(
        f"the seconds cannot be joined to the table: {why}.", place=str(path), remedy=RERUN_REMEDY
    )
