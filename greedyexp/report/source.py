"""What a run folder holds for figures, tables and verdicts: its CSV and its configuration."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from pandas.api.types import is_numeric_dtype

from greedyexp.core.errors import PluginError, StorageError
from greedyexp.core.plugins import load_plugins
from greedyexp.experiment.design import Design, read_design
from greedyexp.protocols.outcome import Status
from greedyexp.report.folders import read_frame
from greedyexp.report.seconds import with_seconds
from greedyexp.results.context import Context, context_of
from greedyexp.results.records import replicates
from greedyexp.runner.state import (
    AGAIN,
    CONFIG,
    State,
    find,
    moment_of,
    read_state,
    refuse_replaced,
)

_ENDINGS = {status.value for status in Status}


@dataclass(frozen=True)
class Source:
    """A run folder, read.

    Parameters
    ----------
    state : State
        Its files as they were read.
    design : Design
        The settings of the run, from ``config.yaml``.
    frame : DataFrame
        The tidy table, with the seconds of fits where the folder has them.
    context : Context
        What figures and tables say of the run.
    """

    state: State
    design: Design
    frame: pd.DataFrame
    context: Context

    @property
    def folder(self) -> Path:
        return self.state.folder


def read_source(folder: Path) -> Source:
    """Read a run folder and load the plugins it names; the journal is not needed.

    Raises
    ------
    StorageError
        When the table or the configuration is missing, unreadable or damaged, or when they belong
        to different runs.
    """
    before = moment_of(folder)
    state = read_state(folder)
    design = read_design(state.config_text, folder / CONFIG, folder.resolve().name)
    table = state.table
    plugins = [find(folder, name) for name in design.plugins]
    try:
        load_plugins([path for path in plugins if path.is_file()])
    except PluginError:
        refuse_replaced(folder, before)
        raise
    # The plugins must be of the same state.
    state.require_current()
    frame = read_frame(table, state.table_content)
    _refuse_damaged_table(frame, table)
    part = _part_of_run(state.manifest, frame)
    if part and frame.empty:
        raise StorageError(f"the table has {part} of the run.", place=str(table), remedy=AGAIN)
    context = context_of(design, frame["algorithm"].unique(), part)
    return Source(state, design, with_seconds(frame, state), context)


def _part_of_run(manifest: dict, frame: pd.DataFrame) -> str:
    """``3 of 12 replicates`` of a table that has fewer than the manifest counts, else empty."""
    finished = 0
    # A run can be read without its manifest.
    with contextlib.suppress(ValueError, TypeError, KeyError):
        finished = int(manifest["replicates"]["done"])
    found = len(replicates(frame))
    return f"{found} of {finished} replicates" if found < finished else ""


def _refuse_damaged_table(frame: pd.DataFrame, table: Path) -> None:
    """Refuse a table that does not say of each row which replicate it is and how it ended."""
    for name in ("algorithm", "status", "replicate"):
        if name not in frame.columns:
            wrong = f"the table has no column '{name}'."
        elif frame[name].isna().any():
            wrong = f"column '{name}' of the table has empty cells."
        elif name == "replicate" and not frame.empty and not is_numeric_dtype(frame[name]):
            wrong = "column 'replicate' of the table is not a number in every row."
        elif name == "status" and not frame[name].isin(_ENDINGS).all():
            strange = frame.loc[~frame[name].isin(_ENDINGS), name].iloc[0]
            wrong = f"the table has a status '{strange}', which no replicate can have."
        else:
            continue
        raise StorageError(wrong, place=str(table), remedy=AGAIN)
