"""Atomic writes, digests and locks for the files of a run folder."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import yaml

import greedyexp
from greedyexp.core.errors import StorageError
from greedyexp.core.yaml_text import load_yaml

_LOCK = ".lock"

# The settings that determine rows. The others only affect figures, claims and descriptions.
ROW_SETTINGS = ("seed", "trials", "protocol", "data", "algorithms", "metrics")

# Libraries whose versions determine rows.
NUMERICAL_LIBRARIES = ("numpy", "scipy", "clarabel")
# Libraries whose versions every manifest records.
LIBRARIES = (*NUMERICAL_LIBRARIES, "pandas", "pydantic", "matplotlib")
_SOURCES = (".py", ".cpp", ".hpp")

if sys.platform == "win32":
    import msvcrt

    # A lock on Windows also prevents reading, so it covers one byte far beyond the content.
    _FAR = 1 << 30

    def _lock(descriptor: int, wait: bool) -> None:
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        os.lseek(descriptor, 0, os.SEEK_SET)
else:
    import fcntl

    def _lock(descriptor: int, wait: bool) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def replacing(target: Path) -> Iterator[BinaryIO]:
    """Yield a stream whose content replaces ``target`` once everything is written.

    The content goes to a temporary file, which is then renamed. A reader therefore finds the old
    file or the new one, never a part of it, even if the run is killed.

    Raises
    ------
    StorageError
        If the file cannot be written; the old one is kept.
    """
    draft = target.with_name(f".{target.name}.tmp")
    try:
        try:
            with draft.open("wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(target, error) from error


def write_text(target: Path, text: str) -> None:
    """Replace the content of a file, in UTF-8."""
    with replacing(target) as stream:
        stream.write(text.encode("utf-8"))


def make_folder(folder: Path) -> None:
    """Create a folder and its parents."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error


def unwritable(path: Path, error: OSError) -> StorageError:
    """Return the error for a file or folder that cannot be written."""
    return StorageError(
        f"this cannot be written: {reason(error)}.",
        place=str(path),
        remedy="Check free space and permissions, or write to another folder.",
    )


def reason(error: Exception) -> str:
    """Return the message of the operating system, or else the first line of the error."""
    return (getattr(error, "strerror", None) or str(error).partition("\n")[0]).rstrip(".")


def settings_digest(config_text: str) -> str:
    """Return the SHA-256 of the settings that determine rows; '' if the text is not a YAML mapping.

    Users may edit figures, tables and claims in the ``config.yaml`` of a run folder.
    """
    config = parsed_settings(config_text)
    if config is None:
        return ""
    kept = {key: config.get(key) for key in ROW_SETTINGS}
    try:
        text = json.dumps(kept, sort_keys=True, default=str)
    except (TypeError, ValueError):
        # Mixed key types or a mapping that contains itself; no run writes such settings.
        text = repr(kept)
    return hashlib.sha256(text.encode()).hexdigest()


def parsed_settings(text: str) -> dict[str, Any] | None:
    """Return the settings in a ``config.yaml``; None if it is not a YAML mapping."""
    try:
        config = load_yaml(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return config if isinstance(config, dict) else None


def content_digest(content: bytes) -> str:
    """Return the SHA-256 of a decompressed table, the same for all line endings."""
    return _digest(io.BytesIO(content))


def file_digest(path: Path) -> str:
    """Return ``content_digest`` of a file without reading all of it into memory."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
        return _digest(stream)


def _digest(stream: BinaryIO | gzip.GzipFile) -> str:
    digest = hashlib.sha256()
    for line in stream:
        digest.update(line[:-2] + b"\n" if line.endswith(b"\r\n") else line)
    return digest.hexdigest()


@contextmanager
def folder_lock(folder: Path, *, name: str = _LOCK, wait: bool = False) -> Iterator[None]:
    """Hold a lock inside a ``with`` block, while a run writes to a folder.

    The operating system releases it when the process dies.

    Parameters
    ----------
    folder : Path
    name : str
        Name of the lock file.
    wait : bool
        Wait until another process releases the lock, for locks that are held only briefly.

    Raises
    ------
    StorageError
        If another process holds the lock and ``wait`` is false (the message names the process), the
        folder cannot be written, or its file system has no locks.
    """
    path = folder / name
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise unwritable(folder, error) from error
    try:
        try:
            _lock(descriptor, wait)
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()}\n".encode("ascii"))
        except OSError as error:
            raise _not_locked(path, error) from error
        yield
    finally:
        # The file is kept: if it were removed, two later runs could lock two different files.
        os.close(descriptor)


def _not_locked(path: Path, error: OSError) -> StorageError:
    if not isinstance(error, (BlockingIOError, PermissionError)):
        return StorageError(
            f"the folder cannot be locked: {error.strerror}.",
            place=str(path.parent),
            remedy="Check free space, or write to a folder on a local disk.",
        )
    try:
        holder = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        holder = ""
    return StorageError(
        f"another run (process {holder or 'unknown'}) is writing to this folder.",
        place=str(path.parent),
        remedy="Wait for it to end, or write to another folder.",
    )


@cache
def package_digest() -> str:
    """Return a digest of the code of greedyexp."""
    return sources_digest(Path(greedyexp.__file__).parent)


def sources_digest(folder: Path) -> str:
    """Return a digest of all Python and C++ files below a folder."""
    found = {
        os.path.relpath(path, folder): path
        for place, _, files in os.walk(folder)
        for path in (os.path.join(place, name) for name in files if name.endswith(_SOURCES))
    }
    total = hashlib.sha256()
    for name in sorted(found):
        with open(found[name], "rb") as stream:
            total.update(f"{name} {hashlib.sha256(stream.read()).hexdigest()}\n".encode())
    return total.hexdigest()
