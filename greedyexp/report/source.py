"""What a run folder holds for figures, tables and verdicts: its CSV and its configuration."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import yaml
from pandas.api.types import is_numeric_dtype

from greedyexp.core import registry
from greedyexp.core.errors import PluginError, StorageError
from greedyexp.core.plugins import load_plugins
from greedyexp.protocols.outcome import Status
from greedyexp.report.folders import read_frame
from greedyexp.report.outline import refuse_damaged
from greedyexp.report.seconds import with_seconds
from greedyexp.results.context import Context
from greedyexp.results.entries import entries, entry_of
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
    config : dict
        ``config.yaml``, parsed.
    frame : DataFrame
        The tidy table, with the seconds of fits where the folder has them.
    context : Context
        What figures and tables say of the run.
    """

    state: State
    config: dict
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
    config = _parsed(state.config_text, folder / CONFIG)
    table = state.table
    plugins = [find(folder, name) for name in config.get("plugins", [])]
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
    context = _context(folder, config, frame, part)
    return Source(state, config, with_seconds(frame, state), context)


def _part_of_run(manifest: dict, frame: pd.DataFrame) -> str:
    """``3 of 12 replicates`` of a table that has fewer than the manifest counts, else empty."""
    finished = 0
    # A run can be read without its manifest.
    with contextlib.suppress(ValueError, TypeError, KeyError):
        finished = int(manifest["replicates"]["done"])
    found = len(replicates(frame))
    return f"{found} of {finished} replicates" if found < finished else ""


def _parsed(text: str, path: Path) -> dict:
    try:
        config = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        raise StorageError(f"not a readable configuration ({reason}).", place=str(path)) from None
    if not isinstance(config, dict) or "name" not in config:
        raise StorageError("this is not the configuration of a run.", place=str(path))
    refuse_damaged(config, str(path))
    return config


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


def _context(folder: Path, config: dict, frame: pd.DataFrame, part: str) -> Context:
    known = registry.parts("algorithm")
    named = {params.get("label", name): name for name, params in entries(config, "algorithms")}
    labels = dict.fromkeys([*named, *frame["algorithm"].unique()])
    entry_by_label = {label: entry_of(label, named) for label in labels}
    algorithms, titles = {}, {}
    for entry, name in named.items():
        titled = known[name].title if name in known and entry == name else entry
        for label in [label for label in labels if entry_by_label[label] == entry]:
            algorithms[label] = name
            titles[label] = titled + label[len(entry) :]
    paper = config.get("paper") or {}
    trials = config["trials"]
    adaptive = isinstance(trials, dict)
    return Context(
        name=config["name"],
        profile=folder.resolve().name,
        trials=trials["max"] if adaptive else trials,
        source=", ".join(str(paper[k]) for k in ("key", "figure") if paper.get(k)),
        algorithms=algorithms,
        titles=titles,
        adaptive=adaptive,
        words=_swept_words(config),
        part=part,
    )


def _swept_words(config: dict) -> dict[str, list[str]]:
    """The words of each sweep, of data and of algorithms, in the order of the file."""
    data = config.get("data") or {}
    swept = [*(data if isinstance(data, list) else [data])]
    swept += [params for _, params in entries(config, "algorithms")]
    words: dict[str, list[str]] = {}
    for params in swept:
        for name, values in (params.get("sweep") or {}).items():
            listed = values if isinstance(values, list) else []
            words.setdefault(name, []).extend(v for v in listed if isinstance(v, str))
    return words
