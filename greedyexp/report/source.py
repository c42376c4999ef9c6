"""Run folders: their tables, with the seconds of fits, and their configuration."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from greedyexp.core.errors import StorageError
from greedyexp.core.plugins import load_plugins
from greedyexp.experiment.design import Design, read_design
from greedyexp.protocols.base import Status
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
from greedyexp.runner.tables import damaged, read_frame, refuse_damaged, with_seconds

if TYPE_CHECKING:
    import pandas as pd

# Run folders that an error names.
_MOST_NAMED = 4
_STATUSES = {status.value for status in Status}


@dataclass(frozen=True)
class Source:
    """The contents of a run folder.

    Parameters
    ----------
    state : RunState
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
        raise damaged(state.table, f"the table has {part} of the run.")
    context = context_of(design, frame["algorithm"].unique(), part)
    if state.timings is not None:
        frame = with_seconds(frame, state.folder / TIMINGS, state.timings)
    return Source(state, design, frame, context)


def load_own_plugins(opened: Opened | Source) -> None:
    """Load the plugins in a run folder, which replace parts of the same names."""
    plugins = [find(opened.state.folder, name) for name in opened.design.plugins]
    load_plugins([path for path in plugins if path.is_file()])


def _refuse_unidentified(frame: pd.DataFrame, table: Path) -> None:
    """Raise ``StorageError`` if a row lacks its replicate, its algorithm or a valid status."""
    names = ("algorithm", "status", "replicate")
    refuse_damaged(frame, table, names, numeric=("replicate",))
    for name in names:
        if frame[name].isna().any():
            raise damaged(table, f"column '{name}' of the table has empty cells.")
    unknown = frame.loc[~frame["status"].isin(_STATUSES), "status"]
    if not unknown.empty:
        raise damaged(table, f"the table has an unknown status '{unknown.iloc[0]}'.")


def _part_of_run(state: RunState, frame: pd.DataFrame) -> str:
    """Return ``3 of 12 replicates`` if the table has fewer than the manifest, else ``''``."""
    finished = int(state.manifest["replicates"]["done"]) if state.manifest else 0
    found = len(replicates(frame))
    return f"{found} of {finished} replicates" if found < finished else ""
