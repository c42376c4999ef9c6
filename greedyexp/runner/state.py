"""The state of a run folder, and how a new state atomically replaces the old one.

A run writes its new state to ``.unfinished/``. Renaming this folder to ``.finished/`` makes it the
state of the run folder; its files are then moved to their final places. A reader prefers files in
``.finished/``, so it sees either the old state or the new one whenever the run is killed. The
manifest contains digests of the settings and the tables, which reveal files of different runs.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
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
    make_folder,
    parsed_settings,
    reason,
    replacing,
    settings_digest,
    unwritable,
    write_text,
)

CONFIG = "config.yaml"
MANIFEST = "manifest.json"
TIMINGS = "timings.csv"
PLUGINS = "plugins"
JOURNAL = "journal.sqlite"

UNFINISHED = ".unfinished"
FINISHED = ".finished"

# Files and folders derived from the table and the settings.
_DERIVED = ("claims.json", "figures", "tables")

RERUN_REMEDY = "Run the experiment again; finished replicates are not recomputed."

# A reader that finds files of two states retries for this many seconds, since a run may be
# replacing one state with the other.
_PATIENCE = 1.0
_PAUSE = 0.05
_ATTEMPTS = 5

# Different from the settings of every output.
_NONE = object()

# Lock file, held briefly while a state is replaced or a file derived from it is written.
_SWITCH = ".switch"


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
    with folder_lock(state.folder, name=_SWITCH, wait=True):
        state.require_current()
        yield


def find(folder: Path, name: str) -> Path:
    """Return the path of a file of the current state, whether it exists or not."""
    moving = folder / FINISHED / name
    return moving if moving.exists() else folder / name


def table_of(folder: Path) -> Path | None:
    """Return the table of a run folder, compressed or not; None if there is none."""
    return _table_in(folder / FINISHED) or _table_in(folder)


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


@contextmanager
def next_state(folder: Path, config_text: str, plugins: dict[str, bytes]) -> Iterator[Path]:
    """Write the next state of a folder inside a ``with`` block, which must hold the folder's lock.

    A replacement that a killed run has begun is completed first. At the end of the block the new
    state replaces the old one, and derived files that do not belong to the new state are removed.
    After an exception the old state remains.

    Parameters
    ----------
    folder : Path
        The results folder.
    config_text : str
    plugins : dict of str to bytes
        Sources by their path below ``plugins/``.

    Yields
    ------
    Path
        The folder for the files of the new state; it has the settings and the plugins.

    Raises
    ------
    StorageError
        If the folder cannot be written. It then has either the old or the new state.
    """
    home = folder / UNFINISHED
    with _switching(folder):
        _move_in(folder)
    shutil.rmtree(home, ignore_errors=True)
    make_folder(home)
    for name, source in plugins.items():
        make_folder((home / PLUGINS / name).parent)
        with replacing(home / PLUGINS / name) as stream:
            stream.write(source)
    write_text(home / CONFIG, config_text)
    yield home
    with _switching(folder):
        for path in _outdated(folder, home):
            _remove(path)
        home.rename(folder / FINISHED)
        _move_in(folder)


@contextmanager
def _switching(folder: Path) -> Iterator[None]:
    """Hold the lock for the replacement of a state."""
    try:
        with folder_lock(folder, name=_SWITCH, wait=True):
            yield
    except OSError as error:
        raise unwritable(folder, error) from error


def _outdated(folder: Path, home: Path) -> list[Path]:
    """Return the derived files and folders of the old state that do not belong to the new one."""
    everything = [folder / name for name in _DERIVED]
    old, new = _table_in(folder), _table_in(home)
    if old is None or new is None:
        return everything
    try:
        texts = [(one / CONFIG).read_text(encoding="utf-8") for one in (folder, home)]
        if file_digest(old) != file_digest(new):
            return everything
    except (OSError, EOFError, ValueError, zlib.error):
        # The old state is damaged.
        return everything
    if texts[0] == texts[1]:
        return []
    before, after = map(_settings_by_output, texts)
    if before is None or after is None or before[""] != after[""]:
        return everything
    files = [path for name in _DERIVED for path in (folder / name).glob("*")]
    outputs = {path: f"{path.parent.name}/{path.stem}" for path in files}
    outputs[folder / "claims.json"] = "claims"
    return [
        path for path, output in outputs.items() if before.get(output) != after.get(output, _NONE)
    ]


def _settings_by_output(text: str) -> dict[str, Any] | None:
    """Return the settings of each figure and table, of the claims, and under "" all others.

    None if the text is not a valid configuration, which a user may have edited.
    """
    from greedyexp.experiment.design import by_stem

    settings = parsed_settings(text)
    if settings is None:
        return None
    found: dict[str, Any] = {"claims": settings.pop("claims", None)}
    try:
        for kind in ("figures", "tables"):
            entries = [
                (item, None) if isinstance(item, str) else next(iter(item.items()))
                for item in settings.pop(kind, None) or ()
            ]
            found |= {f"{kind}/{stem}": entry for stem, entry in by_stem(entries).items()}
    except (AttributeError, TypeError, ValueError, StopIteration):
        return None
    return found | {"": settings}


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


def _table_in(folder: Path) -> Path | None:
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


def _move_in(folder: Path) -> None:
    """Move the files of a committed state to their final places."""
    home = folder / FINISHED
    if not home.is_dir():
        return
    # The manifest comes last, since it has the digests of the other files.
    for path in sorted(home.iterdir(), key=lambda path: path.name == MANIFEST):
        target = folder / path.name
        if path.is_dir():
            _remove(target)
        # The table of an earlier run may be compressed if this one is not, or vice versa.
        if path.suffix == ".csv":
            _remove(target.with_name(f"{target.name}.gz"))
        elif path.suffix == ".gz":
            _remove(target.with_suffix(""))
        path.replace(target)
    home.rmdir()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
