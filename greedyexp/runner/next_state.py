"""The next state of a run folder, which atomically replaces the old one.

A run writes its new state to ``.unfinished/``. Renaming this folder to ``.finished/`` makes it the
state of the run folder; its files are then moved to their final places.
"""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from greedyexp.experiment.design import by_stem, entry_of
from greedyexp.runner.files import (
    file_digest,
    folder_lock,
    make_folder,
    parsed_settings,
    replacing,
    unwritable,
    write_text,
)
from greedyexp.runner.state import (
    CLAIMS,
    CONFIG,
    FINISHED,
    MANIFEST,
    PLUGINS,
    SWITCH,
    UNFINISHED,
    table_in,
)

# Files and folders derived from the table and the settings.
_DERIVED = (CLAIMS, "figures", "tables")

# Different from the settings of every output.
_NONE = object()


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
        with folder_lock(folder, name=SWITCH, wait=True):
            yield
    except OSError as error:
        raise unwritable(folder, error) from error


def _outdated(folder: Path, home: Path) -> list[Path]:
    """Return the derived files and folders of the old state that do not belong to the new one."""
    everything = [folder / name for name in _DERIVED]
    old, new = table_in(folder), table_in(home)
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
    outputs[folder / CLAIMS] = "claims"
    return [
        path for path, output in outputs.items() if before.get(output) != after.get(output, _NONE)
    ]


def _settings_by_output(text: str) -> dict[str, Any] | None:
    """Return the settings of each figure and table, of the claims, and under "" all others.

    None if the text is not a valid configuration, which a user may have edited.
    """
    settings = parsed_settings(text)
    if settings is None:
        return None
    found: dict[str, Any] = {"claims": settings.pop("claims", None)}
    try:
        for kind in ("figures", "tables"):
            entries = map(entry_of, settings.pop(kind, None) or ())
            found |= {f"{kind}/{stem}": entry for stem, entry in by_stem(entries).items()}
    except (AttributeError, TypeError, ValueError, StopIteration):
        return None
    return found | {"": settings}


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
