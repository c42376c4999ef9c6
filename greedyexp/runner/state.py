"""The state of a run folder, as its readers see it.

A reader prefers files in ``.finished/``, so it sees either the old state or the new one whenever a
run is killed (``next_state``). The manifest contains digests of the settings and the tables, which
reveal files of different runs.
"""

from __future__ import annotations

import gzip
import json
import os
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from greedyexp.core.errors import StorageError, UserError
from greedyexp.runner.files import (
    content_digest,
    file_digest,
    folder_lock,
    reason,
    settings_digest,
)

CONFIG = "config.yaml"
MANIFEST = "manifest.json"
CLAIMS = "claims.json"
TIMINGS = "timings.csv"
PLUGINS = "plugins"
JOURNAL = "journal.sqlite"

UNFINISHED = ".unfinished"
FINISHED = ".finished"

RERUN_REMEDY = "Run the experiment again; finished replicates are not recomputed."

# A reader that finds files of two states retries for this many seconds, since a run may be
# replacing one state with the other.
_PATIENCE = 1.0
_PAUSE = 0.05
_ATTEMPTS = 5

# Lock file, held briefly while a state is replaced or a file derived from it is written.
SWITCH = ".switch"


Result = TypeVar("Result")


class Replaced(StorageError):
    """A run has replaced the state of the folder while the old one was in use."""


class _MixedRuns(StorageError):
    """The folder contains files of different runs."""


@dataclass(frozen=True)
class RunState:
    """The content of one state of a run folder.

    Parameters
    ----------
    folder : Path
    config_text : str
        ``config.yaml``.
    table : Path
        Path of the table, for error messages.
    table_content : bytes
        The table, decompressed.
    timings : bytes or None
        ``timings.csv``, decompressed; None if there is none.
    manifest : dict
        ``manifest.json``, which differs for every state; empty if there is none.
    """

    folder: Path
    config_text: str
    table: Path
    table_content: bytes
    timings: bytes | None
    manifest: dict[str, Any]

    def require_current(self) -> None:
        """Raise ``Replaced`` if a run has replaced the state since it was read."""
        if read_manifest(self.folder) != self.manifest:
            raise Replaced(
                "another run has replaced these results in the meantime.",
                place=str(self.folder),
                remedy="Run the command again.",
            )

    @cached_property
    def digests(self) -> dict[str, str]:
        """Digests of the settings and the table."""
        return {
            "settings": settings_digest(self.config_text),
            "table": content_digest(self.table_content),
        }


def read_state(folder: Path) -> RunState:
    """Read files of a run folder that belong together. Call it inside ``retry_if_replaced``.

    Raises
    ------
    StorageError
        If a file is missing or unreadable, or does not belong to the run that the manifest
        describes.
    """
    manifest = read_manifest(folder)
    config_text = read_config(find(folder, CONFIG))
    table = table_of(folder)
    if table is None:
        raise StorageError("there is no table to read.", place=str(folder), remedy=RERUN_REMEDY)
    # Either folder may hold the table, compressed or not; .finished/ takes precedence.
    homes = (folder / FINISHED, folder)
    timings = [home / name for home in homes for name in (TIMINGS, f"{TIMINGS}.gz")]
    seconds = next((_readable(path) for path in timings if path.is_file()), None)
    state = RunState(folder, config_text, table, _readable(table), seconds, manifest)
    state.require_current()
    _refuse_mixed_runs(state)
    return state


def read_config(path: Path) -> str:
    """Return the text of a ``config.yaml``.

    Raises
    ------
    StorageError
        If the file is missing or cannot be read as text.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(
            f"not a readable configuration ({reason(error)}).",
            place=str(path),
            remedy="Restore the file, or run the experiment again.",
        ) from error


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a run folder; empty if there is none.

    Raises
    ------
    StorageError
        If the file cannot be read or is not the manifest of a run.
    """
    path = find(folder, MANIFEST)
    try:
        content = json.loads(path.read_bytes())
        int(content["replicates"]["done"])
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        why = reason(error)
    except RecursionError:
        why = "it is nested too deeply"
    except (KeyError, TypeError):
        why = "it lacks the number of finished replicates"
    else:
        return dict(content)
    raise StorageError(
        f"the manifest cannot be read ({why}).", place=str(path), remedy=RERUN_REMEDY
    )


def retry_if_replaced(folder: Path, action: Callable[[], Result]) -> Result:
    """Call ``action``; if it fails while a run replaces the state of the folder, call it again.

    Raises
    ------
    UserError
        The error of the last attempt, if the state has not changed since or is replaced repeatedly.
    """
    attempts, deadline = 0, time.monotonic() + _PATIENCE
    while True:
        attempts, before = attempts + 1, _snapshot(folder)
        try:
            return action()
        except UserError as error:
            replaced = isinstance(error, (Replaced, _MixedRuns)) or _snapshot(folder) != before
            transient = replaced or (folder / FINISHED).exists()
            if not transient or (attempts >= _ATTEMPTS and time.monotonic() > deadline):
                raise
        time.sleep(_PAUSE)


def _snapshot(folder: Path) -> tuple[object, ...]:
    """Return values that change when a run replaces the state of a folder."""
    try:
        manifest = find(folder, MANIFEST).read_bytes()
    except OSError:
        manifest = None
    return manifest, *((folder / name).exists() for name in (UNFINISHED, FINISHED))


@contextmanager
def unchanged(state: RunState) -> Iterator[None]:
    """Keep the state of the folder unchanged while a file derived from it is written there.

    Raises
    ------
    Replaced
        If a run has replaced the state since it was read.
    """
    with folder_lock(state.folder, name=SWITCH, wait=True):
        state.require_current()
        yield


def find(folder: Path, name: str) -> Path:
    """Return the path of a file of the current state, whether it exists or not."""
    moving = folder / FINISHED / name
    return moving if moving.exists() else folder / name


def table_of(folder: Path) -> Path | None:
    """Return the table of a run folder, compressed or not; None if there is none."""
    return table_in(folder / FINISHED) or table_in(folder)


def folders(path: Path) -> list[Path]:
    """Return all run folders at or below a path, sorted; their runs may be unfinished."""
    found = set()
    # os.walk ignores folders that a run removes meanwhile.
    for place, _, files in os.walk(path):
        if CONFIG in files:
            one = Path(place)
            found.add(one.parent if one.name in (UNFINISHED, FINISHED) else one)
    return sorted(found)


def digests_of(folder: Path) -> dict[str, str]:
    """Return digests of the settings and tables in a folder, for its manifest."""
    digests = {"settings": settings_digest((folder / CONFIG).read_text(encoding="utf-8"))}
    for path in folder.glob("*.csv*"):
        key = "timings" if path.name.startswith(TIMINGS) else "table"
        digests[key] = file_digest(path)
    return digests


def _refuse_mixed_runs(state: RunState) -> None:
    """Raise ``_MixedRuns`` if the digests in the manifest, if any, do not match the files."""
    expected = state.manifest.get("digests")
    if not isinstance(expected, dict):
        return
    found = {
        CONFIG: ("settings", state.digests["settings"]),
        state.table.name: ("table", state.digests["table"]),
    }
    if state.timings is not None:
        found[TIMINGS] = ("timings", content_digest(state.timings))
    # An unparsable configuration has no digest; the code that uses it reports the reason.
    foreign = [
        name for name, (key, digest) in found.items() if digest and expected.get(key) != digest
    ]
    if foreign:
        raise _MixedRuns(
            "files of another run, or changed by an editor, do not belong to the run that"
            f" {MANIFEST} describes: {', '.join(foreign)}.",
            place=str(state.folder),
            remedy="Restore the files of one run, or run the experiment again.",
        )


def table_in(folder: Path) -> Path | None:
    """Return the table directly in a folder, compressed or not; None if there is none."""
    tables = [path for path in folder.glob("*.csv*") if path.suffix in (".csv", ".gz")]
    return next((path for path in sorted(tables) if not path.name.startswith("timings.")), None)


def _readable(path: Path) -> bytes:
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError, zlib.error) as error:
        raise StorageError(
            f"the table cannot be read ({reason(error)}).", place=str(path), remedy=RERUN_REMEDY
        ) from error
