"""Locks on a results folder: one writer at a time."""

from __future__ import annotations

import os
from pathlib import Path

from greedyexp.core.errors import StorageError

NAME = ".lock"

if os.name == "nt":
    import msvcrt

    # A lock on Windows also forbids reading, so it covers one byte far behind the holder's name.
    _FAR = 1 << 30

    def _lock(descriptor: int, wait: bool) -> None:
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int, wait: bool) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


class FolderLock:
    """Held while a run writes to a folder; the operating system frees it when the process dies.

    Use it as a context manager.

    Parameters
    ----------
    folder : Path
    name : str
        File of the lock.
    wait : bool
        Wait until another process releases it. For locks that are held briefly.

    Raises
    ------
    StorageError
        When another process holds it and ``wait`` is false; the message names the process. Also
        when the folder cannot be written or its file system has no locks.
    """

    def __init__(self, folder: Path, *, name: str = NAME, wait: bool = False):
        self._path = folder / name
        self._wait = wait
        self._descriptor: int | None = None

    def __enter__(self) -> FolderLock:
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StorageError(
                f"the results folder cannot be written: {error.strerror}.",
                place=str(self._path.parent),
                remedy="Choose another with --out, or change its permissions.",
            ) from error
        try:
            _lock(descriptor, self._wait)
            os.ftruncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.write(descriptor, f"{os.getpid()}\n".encode("ascii"))
        except OSError as error:
            os.close(descriptor)
            raise self._refusal(error) from error
        self._descriptor = descriptor
        return self

    def __exit__(self, *_) -> None:
        # The file stays: removing it would let two later runs lock two different files.
        os.close(self._descriptor)
        self._descriptor = None

    def _refusal(self, error: OSError) -> StorageError:
        if isinstance(error, (BlockingIOError, PermissionError)):
            return StorageError(
                f"another run (process {self._holder()}) is writing to this folder.",
                place=str(self._path.parent),
                remedy="Wait for it to end, or choose another folder with --out.",
            )
        return StorageError(
            f"the folder cannot be locked: {error.strerror}.",
            place=str(self._path.parent),
            remedy="Look at free space, or choose a folder on a local disk with --out.",
        )

    def _holder(self) -> str:
        try:
            return self._path.read_text(encoding="ascii").strip() or "unknown"
        except (OSError, ValueError):
            return "unknown"
