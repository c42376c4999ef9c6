"""The state of a run folder: which files belong together, and how a new state replaces the old.

A run writes its new state to ``.unfinished/``, next to the old one. One rename, to ``.finished/``,
makes it the state of the folder; its files are then moved to their places. A reader takes a file
from ``.finished/`` when it is there, so it sees the old state or the new one whenever the run dies.
The manifest holds digests of the settings and the tables, which show when files of two runs were
put into one folder by hand.
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
from typing import TypeVar

from greedyexp.core.errors import StorageError
from greedyexp.runner.digests import content_digest, file_digest, settings_digest
from greedyexp.runner.files import make_folder, replacing, unwritable, write_text
from greedyexp.runner.lock import FolderLock

CONFIG = "config.yaml"
MANIFEST = "manifest.json"
TIMINGS = "timings.csv"
PLUGINS = "plugins"

UNFINISHED = ".unfinished"
FINISHED = ".finished"

# What is made from the table and the settings, and can be made again.
DERIVED = ("claims.json", "figures", "tables")

AGAIN = "Run the experiment again; finished replicates are not recomputed."

# Seconds for which a reader that finds files of two states tries again: a run may be replacing
# one state with the other.
_PATIENCE = 1.0
_PAUSE = 0.05
_ATTEMPTS = 5

# Held for the moment in which a state is replaced or something derived from it is written.
_SWITCH = ".switch"


Result = TypeVar("Result")


class Replaced(StorageError):
    """A run has replaced the state of the folder while something was made from the old one."""


class _Mixture(StorageError):
    """The folder holds files of different runs."""


@dataclass(frozen=True)
class State:
    """The files of one state of a run folder, read.

    Parameters
    ----------
    folder : Path
    config_text : str
        ``config.yaml``.
    table : Path
        Path of the table, for messages.
    table_content : bytes
        The table, decompressed.
    timings : bytes or None
        ``timings.csv``, decompressed; None when the folder has none.
    manifest_content : bytes or None
        ``manifest.json``, which is new with every state; None when there is none.
    """

    folder: Path
    config_text: str
    table: Path
    table_content: bytes
    timings: bytes | None
    manifest_content: bytes | None

    @cached_property
    def manifest(self) -> dict:
        """The manifest; empty when there is none or it cannot be read."""
        try:
            content = json.loads(self.manifest_content or b"{}")
        except ValueError:
            return {}
        return content if isinstance(content, dict) else {}

    def require_current(self) -> None:
        """Refuse to go on when a run has replaced the state since it was read.

        Raises
        ------
        Replaced
        """
        if _bytes_of(find(self.folder, MANIFEST)) != self.manifest_content:
            raise _replaced(self.folder)

    @cached_property
    def digests(self) -> dict[str, str]:
        """Digests of the settings and the table, which identify the state."""
        return {
            "settings": settings_digest(self.config_text),
            "table": content_digest(self.table_content),
        }


def read_state(folder: Path) -> State:
    """Read files of a run folder that belong together.

    Raises
    ------
    StorageError
        When the configuration or the table is missing or unreadable, or when they do not belong
        to the run that the manifest describes.
    """
    deadline = time.monotonic() + _PATIENCE
    while True:
        before = _bytes_of(find(folder, MANIFEST))
        try:
            state = _read(folder)
            _refuse_mixture(state)
            return state
        except StorageError as error:
            moving = (folder / FINISHED).exists()
            changed = moving or _bytes_of(find(folder, MANIFEST)) != before
            # A file may be moved between the moment it is found and the moment it is read.
            vanished = isinstance(error.__cause__, FileNotFoundError)
            transient = changed or vanished or isinstance(error, Replaced | _Mixture)
            if not transient or time.monotonic() > deadline:
                raise
        time.sleep(_PAUSE)


def moment_of(folder: Path) -> tuple:
    """What differs while a run replaces the state of a folder, and afterwards."""
    hidden = [(folder / name).exists() for name in (UNFINISHED, FINISHED)]
    return _bytes_of(find(folder, MANIFEST)), *hidden


def refuse_replaced(folder: Path, before: tuple) -> None:
    """Refuse to go on when a run replaces the state, or has since the moment ``before``.

    Raises
    ------
    Replaced
    """
    if (folder / FINISHED).exists() or moment_of(folder) != before:
        raise _replaced(folder)


def _replaced(folder: Path) -> Replaced:
    return Replaced(
        "a run has replaced these results in the meantime.",
        place=str(folder),
        remedy="Run the command again.",
    )


def find(folder: Path, name: str) -> Path:
    """Where a file of the folder's state is, or would be."""
    moving = folder / FINISHED / name
    return moving if moving.exists() else folder / name


def table_of(folder: Path) -> Path | None:
    """The CSV of a run folder, compressed or not; None when it has none."""
    return _table_in(folder / FINISHED) or _table_in(folder)


def folders(path: Path) -> list[Path]:
    """Run folders at any level at or below a path, sorted; their runs may be unfinished."""
    found = set()
    # A run may remove a folder while this looks at it, which os.walk ignores.
    for place, _, files in os.walk(path):
        if CONFIG in files:
            one = Path(place)
            found.add(one.parent if one.name in (UNFINISHED, FINISHED) else one)
    return sorted(found)


def digests_of(folder: Path) -> dict[str, str]:
    """Digests of the settings and tables in a folder, for its manifest."""
    digests = {"settings": settings_digest((folder / CONFIG).read_text(encoding="utf-8"))}
    for path in folder.glob("*.csv*"):
        key = "timings" if path.name.startswith(TIMINGS) else "table"
        digests[key] = file_digest(path)
    return digests


class NextState:
    """The state that a run is about to give its folder; the run holds the folder's lock.

    Parameters
    ----------
    folder : Path
        The results folder.

    Attributes
    ----------
    home : Path
        Where its files are written until ``commit``.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self.home = folder / UNFINISHED

    def begin(self, config_text: str, plugins: dict[str, bytes]) -> None:
        """Complete a replacement that a killed run began, then start with the settings.

        Parameters
        ----------
        config_text : str
        plugins : dict of str to bytes
            Sources by their path below ``plugins/``.

        Raises
        ------
        StorageError
            When the folder cannot be written.
        """
        try:
            with FolderLock(self._folder, name=_SWITCH, wait=True):
                _move_in(self._folder)
            shutil.rmtree(self.home, ignore_errors=True)
        except OSError as error:
            raise unwritable(self._folder, error) from error
        make_folder(self.home)
        for name, source in plugins.items():
            make_folder((self.home / PLUGINS / name).parent)
            with replacing(self.home / PLUGINS / name) as stream:
                stream.write(source)
        write_text(self.home / CONFIG, config_text)

    def commit(self) -> None:
        """Make this the state of the folder.

        Figures, tables and verdicts of a different state are removed.

        Raises
        ------
        StorageError
            When the folder cannot be written; it has one of the two states then.
        """
        try:
            with FolderLock(self._folder, name=_SWITCH, wait=True):
                if self._differs():
                    for name in DERIVED:
                        _remove(self._folder / name)
                self.home.rename(self._folder / FINISHED)
                _move_in(self._folder)
        except OSError as error:
            raise unwritable(self._folder, error) from error

    def _differs(self) -> bool:
        """Whether settings, claims, figures or rows differ from those of the present state."""
        old, new = _table_in(self._folder), _table_in(self.home)
        config = self._folder / CONFIG
        if old is None or new is None or not config.is_file():
            return True
        same_text = config.read_bytes() == (self.home / CONFIG).read_bytes()
        try:
            return not same_text or file_digest(old) != file_digest(new)
        except (OSError, EOFError, zlib.error):
            # The old table is damaged: nothing made from it belongs to the new one.
            return True


def retried(action: Callable[[], Result]) -> Result:
    """Call ``action``, and call it again if a run replaces the state of the folder meanwhile.

    Raises
    ------
    Replaced
        When the state is replaced during each attempt.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return action()
        except Replaced:
            time.sleep(_PAUSE)
    return action()


@contextmanager
def unchanged(state: State) -> Iterator[None]:
    """Hold the folder in its state while something derived from it is written there.

    Raises
    ------
    Replaced
        When a run has replaced the state since it was read.
    """
    with FolderLock(state.folder, name=_SWITCH, wait=True):
        state.require_current()
        yield


def _read(folder: Path) -> State:
    manifest = _bytes_of(find(folder, MANIFEST))
    config = find(folder, CONFIG)
    try:
        config_text = config.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(
            f"not a readable configuration ({_reason(error)}).", place=str(folder / CONFIG)
        ) from error
    table = table_of(folder)
    if table is None:
        raise StorageError("there is no table to read.", place=str(folder))
    # Either form may be in either place: the one that is being moved in counts.
    homes = (folder / FINISHED, folder)
    timings = [home / name for home in homes for name in (TIMINGS, f"{TIMINGS}.gz")]
    seconds = next((_readable(path) for path in timings if path.is_file()), None)
    state = State(folder, config_text, table, _readable(table), seconds, manifest)
    state.require_current()
    return state


def _refuse_mixture(state: State) -> None:
    """Refuse files of different runs; a manifest without digests says nothing of this."""
    expected = state.manifest.get("digests")
    if not isinstance(expected, dict):
        return
    found = {
        CONFIG: ("settings", state.digests["settings"]),
        state.table.name: ("table", state.digests["table"]),
    }
    if state.timings is not None:
        found[TIMINGS] = ("timings", content_digest(state.timings))
    # A configuration that cannot be parsed is refused by those who need it, with the reason.
    foreign = [
        name for name, (key, digest) in found.items() if digest and expected.get(key) != digest
    ]
    if foreign:
        others = [name for name in found if name not in foreign]
        belong = f"{' and '.join(others)} belong to it; " if others else ""
        verb = "comes" if len(foreign) == 1 else "come"
        raise _Mixture(
            f"the files are not those of the run that {MANIFEST} describes: {belong}"
            f"{' and '.join(foreign)} {verb} from another run or an editor.",
            place=str(state.folder),
            remedy="Restore the files of one run, or run the experiment again.",
        )


def _table_in(folder: Path) -> Path | None:
    tables = [path for path in folder.glob("*.csv*") if path.suffix in (".csv", ".gz")]
    return next((path for path in sorted(tables) if not path.name.startswith("timings.")), None)


def _readable(path: Path) -> bytes:
    try:
        return _content(path)
    except (OSError, EOFError, zlib.error) as error:
        raise StorageError(
            f"the table cannot be read ({_reason(error)}).", place=str(path), remedy=AGAIN
        ) from error


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error).partition("\n")[0]).rstrip(".")


def _content(path: Path) -> bytes:
    content = path.read_bytes()
    return gzip.decompress(content) if path.suffix == ".gz" else content


def _bytes_of(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _move_in(folder: Path) -> None:
    """Move the files of a committed state to their places."""
    home = folder / FINISHED
    if not home.is_dir():
        return
    # The manifest comes last: it says what the other files must be.
    for path in sorted(home.iterdir(), key=lambda path: path.name == MANIFEST):
        target = folder / path.name
        if path.is_dir():
            _remove(target)
        # An earlier run may have left the table in the other form, compressed or not.
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
