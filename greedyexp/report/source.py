"""Run folders: their tables, with the seconds of fits, and their configuration."""

from __future__ import annotations

import difflib
import io
import zlib
from collections.abc import Container, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from greedyexp.core.errors import StorageError
from greedyexp.core.packages import exact_numbers
from greedyexp.core.plugins import load_plugins
from greedyexp.experiment.design import Design, read_design
from greedyexp.protocols.base import FIT_SECONDS, Status
from greedyexp.results.context import Context, context_of
from greedyexp.results.records import replicates
from greedyexp.runner.shards import SHARD_FOLDER
from greedyexp.runner.state import (
    CONFIG,
    JOURNAL,
    MANIFEST,
    RERUN_REMEDY,
    TIMINGS,
    UNFINISHED,
    RunState,
    find,
    folders,
    read_state,
    retry_if_replaced,
    table_of,
)

if TYPE_CHECKING:
    import pandas as pd

# Run folders that an error names.
_MOST_NAMED = 4
_NOT_JOINED = "the seconds cannot be joined to the table"
_STATUSES = {status.value for status in Status}


@dataclass(frozen=True)
class Source:
    """The contents of a run folder.

    Parameters
    ----------
    state : State
        The files of the run.
    design : Design
        The settings of the run, from ``config.yaml``.
    frame : DataFrame
        The tidy table, with the seconds of fits if the folder has them.
    context : Context
        Facts about the run for figures and tables.
    """

    state: RunState
    design: Design
    frame: pd.DataFrame
    context: Context

    @property
    def folder(self) -> Path:
        return self.state.folder


def run_folders(path: Path) -> list[Path]:
    """Return the run folders at or below a path, at any depth; shards only at the path itself.

    Raises
    ------
    StorageError
        If there is no run folder.
    """
    finished = [
        folder for folder in folders(path) if table_of(folder) or find(folder, MANIFEST).is_file()
    ]
    found = [one for one in finished if one == path or not SHARD_FOLDER.search(one.name)]
    if not found:
        raise StorageError(
            f"there is no finished run here{', only shards' if finished else ''}.",
            place=str(path),
            remedy=f"Create one with `greedyexp {'merge' if finished else 'run'}`.",
        )
    return found


@dataclass(frozen=True)
class Opened:
    """The files and settings of a run folder, before the table is parsed."""

    state: RunState
    design: Design


def open_folder(folder: Path) -> Opened:
    """Read the files and the settings of a run folder.

    Call it inside ``retry_if_replaced``.

    Raises
    ------
    StorageError
        If the table or the configuration is missing or unreadable, or if they belong to different
        runs.
    """
    state = read_state(folder)
    return Opened(state, read_design(state.config_text, folder / CONFIG, _profile(state)))


def _profile(state: RunState) -> str:
    """Return the profile of a run, with the changed settings that the name of its folder has.

    The folder of merged runs may have any name.
    """
    name, known = state.folder.resolve().name, state.manifest.get("profile")
    return name if known is None or name.startswith(f"{known}+") else str(known)


def read_source(folder: Path) -> Source:
    """Return the contents of a run folder; see ``open_folder`` and ``source_of``."""
    return source_of(open_folder(folder))


def read_run(folder: Path) -> Source:
    """Return the contents of a run folder that a user has named; see ``read_source``.

    Raises
    ------
    StorageError
        Also if the path is not a run folder; the error names those that may be meant.
    """
    if not find(folder, CONFIG).is_file() and not find(folder, MANIFEST).is_file():
        raise _no_run(folder)
    return retry_if_replaced(folder, lambda: read_source(folder))


def require_rows(source: Source) -> None:
    """Raise ``StorageError`` if no replicate of a run is finished."""
    if source.frame.empty:
        raise StorageError(
            "the table of this run has no rows.",
            place=str(source.folder),
            remedy="Run the experiment, or merge its shards.",
        )


def _no_run(path: Path) -> StorageError:
    """Return the error for a path that is not a run folder, with those that may be meant."""
    if (path / JOURNAL).is_file() or (path / UNFINISHED).is_dir():
        return StorageError(
            "the run of this folder has no table yet.", place=str(path), remedy=RERUN_REMEDY
        )
    if path.is_file():
        runs = [path.parent] if find(path.parent, CONFIG).is_file() else []
        message = "this is a file, not the folder of a run."
    elif path.is_dir():
        # Deeper levels are not searched: they may be a whole disk.
        below = [*path.glob(f"*/{CONFIG}"), *path.glob(f"*/*/{CONFIG}")]
        found = {one.parent for one in below if one.parent.name != UNFINISHED}
        runs, message = sorted(found), "this is not the folder of a run."
    else:
        siblings = path.parent.iterdir() if path.parent.is_dir() else ()
        near = difflib.get_close_matches(path.name, [one.name for one in siblings], n=1)
        runs, message = [path.with_name(name) for name in near], "there is no such folder."
    names = list(map(str, runs[:_MOST_NAMED]))
    if len(runs) > _MOST_NAMED:
        names.append(f"one of {len(runs) - _MOST_NAMED} others below it")
    named = " or ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
    remedy = f"Open {named}." if named else "Name a folder that `greedyexp run` has made."
    return StorageError(message, place=str(path), remedy=remedy)


def source_of(opened: Opened) -> Source:
    """Load the plugins of a run folder and parse its table. The journal is not needed.

    Raises
    ------
    StorageError
        If the table is damaged, or does not belong to the configuration.
    """
    state, design = opened.state, opened.design
    load_own_plugins(opened)
    # The plugins must belong to the same state.
    state.require_current()
    frame = read_frame(state.table, state.table_content)
    _refuse_unidentified(frame, state.table)
    part = _part_of_run(state, frame)
    if part and frame.empty:
        raise _damaged(state.table, f"the table has {part} of the run.")
    context = context_of(design, frame["algorithm"].unique(), part)
    return Source(state, design, _with_seconds(frame, state), context)


def load_own_plugins(opened: Opened | Source) -> None:
    """Load the plugins in a run folder, which replace parts of the same names."""
    plugins = [find(opened.state.folder, name) for name in opened.design.plugins]
    load_plugins([path for path in plugins if path.is_file()])


def read_frame(table: Path, content: bytes | None = None) -> pd.DataFrame:
    """Read a tidy table with full precision.

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
        return pd.read_csv(
            table if content is None else io.BytesIO(content),
            keep_default_na=False,
            na_values=[""],
            dtype=dict.fromkeys(("message", "status", "algorithm", "selected_features"), str),
            # A column may have numbers in one block of data and words in the next.
            low_memory=False,
            **exact_numbers(),
        )
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise _damaged(table, f"the table cannot be read ({str(error).rstrip('.')}).") from None


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
            raise _damaged(table, f"the table has no column '{name}'.")
        if name in numeric and not frame.empty and not is_numeric_dtype(frame[name]):
            raise _damaged(table, f"column '{name}' of the table is not a number in every row.")
        if name in binary and not frame[name].dropna().isin((0, 1)).all():
            raise _damaged(table, f"column '{name}' of the table is not 0 or 1 in every row.")


def _refuse_unidentified(frame: pd.DataFrame, table: Path) -> None:
    """Raise ``StorageError`` if a row lacks its replicate, its algorithm or a valid status."""
    names = ("algorithm", "status", "replicate")
    refuse_damaged(frame, table, names, numeric=("replicate",))
    for name in names:
        if frame[name].isna().any():
            raise _damaged(table, f"column '{name}' of the table has empty cells.")
    unknown = frame.loc[~frame["status"].isin(_STATUSES), "status"]
    if not unknown.empty:
        raise _damaged(table, f"the table has an unknown status '{unknown.iloc[0]}'.")


def _damaged(table: Path, wrong: str) -> StorageError:
    return StorageError(wrong, place=str(table), remedy=RERUN_REMEDY)


def _part_of_run(state: RunState, frame: pd.DataFrame) -> str:
    """Return ``3 of 12 replicates`` if the table has fewer than the manifest, else ``''``."""
    finished = int(state.manifest["replicates"]["done"]) if state.manifest else 0
    found = len(replicates(frame))
    return f"{found} of {finished} replicates" if found < finished else ""


def _with_seconds(frame: pd.DataFrame, state: RunState) -> pd.DataFrame:
    """Add the column ``fit_seconds`` from ``timings.csv``, if there is one.

    All rows of a replicate have the seconds of its fit. The cells are empty if the fit has none.

    Raises
    ------
    StorageError
        If the file cannot be read, or does not belong to this table.
    """
    import pandas as pd

    if state.timings is None or frame.empty:
        return frame
    path, seconds_name = state.folder / TIMINGS, FIT_SECONDS.name
    timings = read_frame(path, state.timings)
    if seconds_name not in timings.columns:
        return frame
    keys = [name for name in timings.columns if name not in ("seconds", seconds_name)]
    if not {"replicate", "algorithm"} <= set(keys) <= set(frame.columns):
        raise _damaged(path, f"{_NOT_JOINED}: its columns are not those of the table.")
    seconds = pd.Series(float("nan"), index=frame.index)
    blocks: Any = [("", timings)]
    if "data" in timings.columns:
        blocks = timings.groupby("data", sort=False)
    for block, rows in blocks:
        # A fact of the data fills the cells of a parameter that only other blocks have.
        known = [name for name in keys if rows[name].notna().any()]
        if rows.duplicated(known).any():
            raise _damaged(path, f"{_NOT_JOINED}: it has two rows of one replicate.")
        here = frame[frame["data"] == block] if "data" in timings.columns else frame
        wanted = here[known].astype(object)
        measured = rows[[*known, seconds_name]].astype(dict.fromkeys(known, object))
        found = wanted.merge(measured, how="left", on=known)
        seconds[here.index] = found[seconds_name].to_numpy(dtype=float)
    return frame.assign(**{seconds_name: seconds})
