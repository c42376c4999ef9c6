"""Files of folders that others may have made: links, atomic writes and locks.

greedyexp opens, writes and removes files below such folders with these functions alone. They follow
no link there.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from greedyexp.core.errors import StorageError
from greedyexp.core.run_files import LOCK
from greedyexp.core.stored import read_bounded

# No link is followed, a pipe is not waited for, and Windows changes no line ends.
_OPENING = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
# The content of a lock file.
_HOLDER = re.compile(rb"\d*\n?")

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
def _entered(path: Path, root: Path, *, make: bool = False) -> Iterator[tuple[str, int | None]]:
    """Yield the name of a file and a handle of its folder; no link below ``root`` is followed.

    Without handles of folders, as on Windows, yield the whole path and None.

    Parameters
    ----------
    path : Path
        Below ``root``.
    root : Path
        May itself be a link.
    make : bool
        Create missing folders in between.
    """
    refuse_link(path, root)
    *names, last = path.relative_to(root).parts
    if os.open not in os.supports_dir_fd:
        if make:
            path.parent.mkdir(parents=True, exist_ok=True)
        yield str(path), None
        return
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in names:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=handle)
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield last, handle
    finally:
        os.close(handle)


def refuse_link(path: Path, root: Path) -> None:
    """Raise ``StorageError`` if a path, or a folder between it and ``root``, is a symbolic link.

    Results are sent to others. A link in them could lead to any file of the reader. A pipe or a
    device is refused too: reading it could wait for ever.
    """
    place = root
    for name in path.relative_to(root).parts:
        place = place / name
        try:
            mode = place.lstat().st_mode
        except OSError:
            return
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            link = stat.S_ISLNK(mode)
            raise StorageError(
                f"this is {'a symbolic link' if link else 'no file'}, which greedyexp does not open"
                " in its folders.",
                place=str(place),
                remedy="Replace it by what it leads to, or remove it." if link else "Remove it.",
            )


def read_bytes(path: Path, root: Path) -> bytes:
    """Return the content of a file below a folder, without following links there.

    Raises
    ------
    OSError
        If there is no such file, or it cannot be read.
    ValueError
        If it is larger than any file of a run.
    StorageError
        If a link is in the way.
    """
    with _entered(path, root) as (name, handle):
        descriptor = os.open(name, os.O_RDONLY | _OPENING, dir_fd=handle)
    with open(descriptor, "rb") as stream:
        return read_bounded(stream)


@contextmanager
def replacing(target: Path, root: Path | None = None) -> Iterator[BinaryIO]:
    """Yield a stream whose content replaces ``target`` once everything is written.

    The content goes to a temporary file, which is then renamed. A reader therefore finds the old
    file or the new one, never a part of it, even if the run is killed. What a killed run has left
    is removed by the next one that writes this file.

    Parameters
    ----------
    target : Path
    root : Path, optional
        A folder above, below which no link is followed and missing folders are created; by default
        the folder of the file.

    Raises
    ------
    StorageError
        If the file cannot be written; the old one is kept.
    """
    try:
        with _entered(target, root or target.parent, make=True) as (name, handle):
            _remove_abandoned(target.name, target.parent, handle)
            draft = name.removesuffix(target.name) + _draft_name(target.name)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | _OPENING
            descriptor = os.open(draft, flags, 0o666, dir_fd=handle)
            try:
                with open(descriptor, "wb") as stream:
                    # The lock tells others that the file is in use. Some file systems have none.
                    with suppress(OSError):
                        _lock(descriptor, wait=False)
                    yield stream
                    stream.flush()
                    os.fsync(descriptor)
                os.replace(draft, name, src_dir_fd=handle, dst_dir_fd=handle)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(draft, dir_fd=handle)
                raise
    except OSError as error:
        raise unwritable(target, error) from error


def _draft_name(name: str, token: str = "") -> str:
    """Return the name of a temporary file, which nobody can foresee and no other file has."""
    token = token or secrets.token_hex(8)
    seal = hashlib.sha256(os.fsencode(f"greedyexp {name} {token}")).hexdigest()[:8]
    return f".{name}.{token}.{seal}.tmp"


def _remove_abandoned(name: str, folder: Path, handle: int | None) -> None:
    """Remove temporary files for a file of this name whose process has died."""
    for found in os.listdir(folder if handle is None else handle):
        token = found.removeprefix(f".{name}.").partition(".")[0]
        if not token or found != _draft_name(name, token):
            continue
        draft = found if handle is not None else str(folder / found)
        with suppress(OSError):
            descriptor = os.open(draft, os.O_RDWR | _OPENING, dir_fd=handle)
            try:
                _lock(descriptor, wait=False)
            finally:
                os.close(descriptor)
            os.unlink(draft, dir_fd=handle)


def remove_file(path: Path, root: Path) -> None:
    """Remove a file below a folder, without following links, and its folders if now empty."""
    with _entered(path, root) as (name, handle):
        os.unlink(name, dir_fd=handle)
    for folder in path.relative_to(root).parents[:-1]:
        with suppress(OSError), _entered(root / folder, root) as (name, handle):
            os.rmdir(name, dir_fd=handle)


def move_file(path: Path, target: Path, root: Path) -> None:
    """Move a file from one place below a folder to another, without following links."""
    with _entered(path, root) as source, _entered(target, root, make=True) as place:
        os.replace(source[0], place[0], src_dir_fd=source[1], dst_dir_fd=place[1])


def write_text(target: Path, text: str, root: Path | None = None) -> None:
    """Replace the content of a file, in UTF-8; see ``replacing``."""
    with replacing(target, root) as stream:
        stream.write(text.encode("utf-8"))


def in_the_way(path: Path) -> StorageError:
    """Return the error for a file of the user where greedyexp must write one."""
    return StorageError(
        "greedyexp did not write this file, or it has been changed since, and needs its place.",
        place=str(path),
        remedy="Move it away.",
    )


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


@contextmanager
def folder_lock(folder: Path, *, name: str = LOCK, wait: bool = False) -> Iterator[None]:
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
        with _entered(path, folder) as (within, handle):
            flags = os.O_RDWR | os.O_CREAT | _OPENING
            descriptor = os.open(within, flags, 0o644, dir_fd=handle)
    except OSError as error:
        raise unwritable(folder, error) from error
    try:
        try:
            _lock(descriptor, wait)
            _refuse_other_file(path, descriptor)
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()}\n".encode("ascii"))
        except OSError as error:
            raise _not_locked(path, error) from error
        yield
    finally:
        # The file is kept: if it were removed, two later runs could lock two different files.
        os.close(descriptor)


def _refuse_other_file(path: Path, descriptor: int) -> None:
    """Raise ``StorageError`` if a file is no lock, or has a second name elsewhere."""
    about = os.fstat(descriptor)
    regular = stat.S_ISREG(about.st_mode) and about.st_nlink <= 1
    if not (regular and _HOLDER.fullmatch(os.read(descriptor, 100))):
        raise in_the_way(path)


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
