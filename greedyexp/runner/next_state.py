"""The next state of a run folder, which atomically replaces the old one.

A run writes its new state to ``.next/``, and its manifest under another name. Renaming the manifest
makes it the state of the run folder; its files are then moved to their final places.
"""

from __future__ import annotations

import os
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from greedyexp.core.errors import PluginError, StorageError
from greedyexp.core.files import (
    in_the_way,
    move_file,
    read_bytes,
    remove_file,
    replacing,
    unwritable,
    write_text,
)
from greedyexp.core.listing import listed
from greedyexp.core.run_files import (
    CLAIMS,
    COMPLETE,
    CONFIG,
    DRAFT,
    FINISHED,
    MANIFEST,
    NEXT,
    OUTPUTS,
    PLUGINS,
    TIMINGS,
    UNFINISHED,
)
from greedyexp.experiment.design import by_stem, entry_of
from greedyexp.runner.code_version import plugin_sources
from greedyexp.runner.digests import content_digest, file_digest, parsed_settings
from greedyexp.runner.own_files import OwnFiles, note_left_alone
from greedyexp.runner.run_folder import RunFolder, table_in, timings_in

# What a state that is being written may have, besides temporary files.
_COPIED = ".copied"
_WRITTEN = re.compile(
    rf"{re.escape(CONFIG)}|{re.escape(MANIFEST)}|{PLUGINS}|{re.escape(_COPIED)}"
    r"|[A-Za-z0-9_-]+\.csv(\.gz)?|\..*\.tmp"
)

# Different from the settings of every output.
_NONE = object()


def refuse_other_files(folder: Path, name: str) -> None:
    """Raise ``StorageError`` if a run would replace files that no run has written.

    Call it before the journal is created, by which a folder is known as that of a run.

    Parameters
    ----------
    folder : Path
    name : str
        Name of the experiment, and of its table.
    """
    tables = [f"{name}.csv", f"{name}.csv.gz"]
    names = [CONFIG, MANIFEST, CLAIMS, OUTPUTS, TIMINGS, f"{TIMINGS}.gz", *tables]
    with suppress(StorageError):
        home = RunFolder(folder)
        if home.has_journal or home.manifest():
            former = home.table
            names = [] if former is None or former.name in tables else tables
    for path in (folder / one for one in names):
        if os.path.lexists(path):
            raise in_the_way(path)


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
        If the folder cannot be written, or a file of the user or a link is in the place of one that
        the run writes. The folder then has either the old or the new state.
    """
    home = folder / NEXT
    RunFolder(folder).refuse_links()
    with _switching(folder):
        _move_in(folder)
        for name in (NEXT, UNFINISHED, FINISHED):
            _discard(folder / name)
    copies = {f"{PLUGINS}/{name}": content_digest(source) for name, source in plugins.items()}
    RunFolder(folder).outputs((), copies).require_own(PLUGINS, copies)
    try:
        home.mkdir()
    except OSError as error:
        raise unwritable(home, error) from error
    for name, source in plugins.items():
        with replacing(home / PLUGINS / name, home) as stream:
            stream.write(source)
    write_text(home / CONFIG, config_text)
    yield home
    with _switching(folder):
        outputs, outdated = _outputs(folder, home, copies)
        outputs.require_own(PLUGINS, copies)
        outputs.remove(outdated)
        note_left_alone(outputs.left_alone)
        with suppress(OSError):
            remove_file(folder / COMPLETE, folder)
        outputs.begin(PLUGINS, "", copies)
        move_file(home / DRAFT, home / MANIFEST, folder)
        _move_in(folder)


@contextmanager
def _switching(folder: Path) -> Iterator[None]:
    """Hold the lock for the replacement of a state."""
    try:
        with RunFolder(folder).state_lock():
            yield
    except OSError as error:
        raise unwritable(folder, error) from error


def _discard(home: Path) -> None:
    """Remove a state that is not committed, or what is left of one that was moved."""
    if not home.exists():
        return
    try:
        _refuse_other_files(home)
        shutil.rmtree(home)
    except OSError as error:
        raise unwritable(home, error) from error


def _refuse_other_files(home: Path) -> None:
    """Raise ``StorageError`` if a folder of an unfinished state has files that no run writes."""
    names = (path.name for path in home.iterdir())
    if others := [name for name in names if not _WRITTEN.fullmatch(name)]:
        raise StorageError(
            f"a run would remove this folder, which has other files: {listed(others, 5)}.",
            place=str(home),
            remedy="Move them elsewhere.",
        )


def _outputs(folder: Path, home: Path, copies: Iterable[str]) -> tuple[OwnFiles, list[str]]:
    """Return the outputs of the old state, and which of them do not belong to the new one."""
    before, after = (_settings_by_output(place) for place in (folder, home))
    kept = before[""] == after[""] and _rows(folder) == _rows(home)
    former = (before[""] or {}).get("plugins") or ()
    plugins = {*copies, *_copies(folder, former)}
    outputs = RunFolder(folder).outputs({*before, *after} - {""}, plugins)
    current = {
        name for name, settings in before.items() if kept and settings == after.get(name, _NONE)
    }
    return outputs, [name for name in outputs.names if name not in {PLUGINS, *current}]


def _copies(folder: Path, names: Iterable[Any]) -> Iterator[str]:
    """Yield the plugins of a run folder and the files that they import there."""
    for name in names:
        path = PurePosixPath(name) if isinstance(name, str) else PurePosixPath()
        if path.parts[:1] == (PLUGINS,) and ".." not in path.parts:
            with suppress(PluginError):
                for found in plugin_sources([str(folder / path)]).files:
                    yield (path.parent / found).as_posix()


def _rows(folder: Path) -> str:
    """Return the digest of the table in a folder; empty if there is none that can be read."""
    table = table_in(folder)
    try:
        return file_digest(table) if table else ""
    except (OSError, EOFError, zlib.error):
        return ""


def _settings_by_output(folder: Path) -> dict[str, Any]:
    """Return the settings of each figure and table, of the claims, and under "" all others.

    Only the last, which is then None, if the file is missing or invalid: a user may edit it.
    """
    try:
        settings = parsed_settings(read_bytes(folder / CONFIG, folder).decode("utf-8")) or {}
        found: dict[str, Any] = {CLAIMS: settings.pop("claims", None)}
        for kind in ("figures", "tables"):
            entries = map(entry_of, settings.pop(kind, None) or ())
            found |= {f"{kind}/{stem}": entry for stem, entry in by_stem(entries).items()}
    except (OSError, AttributeError, TypeError, ValueError, StopIteration):
        return {"": None}
    return found | {"": settings}


def _move_in(folder: Path) -> None:
    """Move the files of a committed state to their final places."""
    home = RunFolder(folder).committed
    if home is None:
        return
    copies = home / PLUGINS
    for source in [path for path in copies.rglob("*") if path.is_file()]:
        with replacing(folder / source.relative_to(home), folder) as stream:
            stream.write(source.read_bytes())
    if copies.is_dir():
        # At once: a plugin must not be found here if a module that it imports is not.
        copies.rename(home / _COPIED)
    RunFolder(folder).outputs(()).finish(PLUGINS)
    table = table_in(home)
    files = [path for path in home.iterdir() if path.is_file() and _WRITTEN.fullmatch(path.name)]
    # The manifest comes last, since it has the digests of the other files.
    for path in sorted(files, key=lambda path: path.name == MANIFEST):
        target = folder / path.name
        # The former table may be compressed if this one is not, or have another name.
        former = table_in(folder) if path == table else None
        if path.name.startswith(TIMINGS):
            former = timings_in(folder)
        if former not in (None, target):
            remove_file(former, folder)
        move_file(path, target, folder)
    _discard(home)
