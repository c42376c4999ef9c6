"""Where a user's own data file is: next to the experiment file, else in the working directory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from greedyexp.core.errors import DataError

# The folder of the experiment file in use; None when the experiment is not a file.
_BESIDE: ContextVar[Path | None] = ContextVar("folder of the experiment file", default=None)


@contextmanager
def relative_to(folder: Path | None) -> Iterator[None]:
    """Look for data files in this folder first, as long as the context lasts."""
    token = _BESIDE.set(folder)
    try:
        yield
    finally:
        _BESIDE.reset(token)


def locate(name: str) -> Path:
    """The data file that an experiment names.

    Parameters
    ----------
    name : str
        A path, absolute or relative. A relative one is looked for in the folder of the experiment
        file, then in the working directory.

    Raises
    ------
    DataError
        When there is no such file; the message names the folders.
    """
    path = Path(name).expanduser()
    folders = search_folders(_BESIDE.get())
    for folder in folders:
        if (folder / path).exists():
            return folder / path
    searched = "" if path.is_absolute() else f" in {' or '.join(map(str, folders))}"
    raise DataError(f"there is no such data file{searched}.", place=name)


def search_folders(beside: Path | None) -> list[Path]:
    """Folders that a relative path of an experiment may start from, each once."""
    return list(dict.fromkeys([*([beside] if beside else []), Path.cwd()]))
