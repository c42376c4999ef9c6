"""The place of a user's own data file: next to the experiment file or in the working directory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from greedyexp.core.errors import DataError

# The folder of the current experiment file; None if the experiment is not a file.
_FOLDER: ContextVar[Path | None] = ContextVar("folder of the experiment file", default=None)


@contextmanager
def relative_to(folder: Path | None) -> Iterator[None]:
    """Within the context, search this folder first for data files."""
    token = _FOLDER.set(folder)
    try:
        yield
    finally:
        _FOLDER.reset(token)


def locate(name: str) -> Path:
    """Return the path of a data file named by an experiment.

    Parameters
    ----------
    name : str
        Absolute or relative path. A relative path is searched in the folder of the experiment
        file, then in the working directory.

    Raises
    ------
    DataError
        If there is no such file; the message names the folders. If something else has this name.
    """
    path = Path(name).expanduser()
    folders = search_folders(_FOLDER.get())
    for file in (folder / path for folder in folders):
        if file.is_file():
            return file
        if file.exists():
            raise DataError("this is a folder, a pipe or a device, not a file.", place=str(file))
    searched = "" if path.is_absolute() else f" in {' or '.join(map(str, folders))}"
    raise DataError(f"there is no such data file{searched}.", place=name)


def stamp_of(path: Path) -> tuple[int, ...]:
    """Return numbers that an edit of a file changes, also one that sets its time back.

    Empty if there is no such file.
    """
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def stamped(name: str) -> tuple[str, tuple[int, ...]]:
    """Return the path of a data file and its stamp, as a key for caches.

    Raises
    ------
    DataError
        If the file is not found; see ``locate``.
    """
    path = locate(name)
    return str(path), stamp_of(path)


def search_folders(folder: Path | None) -> list[Path]:
    """Return the distinct folders in which a relative path of an experiment is searched."""
    return list(dict.fromkeys([*([folder] if folder else []), Path.cwd()]))
