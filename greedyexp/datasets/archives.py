"""Files out of zip and tar archives, also when one lies in the other."""

from __future__ import annotations

import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from greedyexp.core.errors import DataError

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz")


def unpack(archive: Path, names: Iterable[str], folder: Path) -> None:
    """Write the named files of an archive to a folder, wherever in it they lie.

    Archives inside the archive are looked into. Only the last part of a stored path counts, so
    that no file can be written outside the folder.

    Raises
    ------
    DataError
        When this is no zip or tar archive, when it is damaged, or when a file is not in it.
    OSError
        When the folder cannot be written to.
    """
    missing = set(names)
    for name, content in _files(archive.read_bytes()):
        if name in missing:
            (folder / name).write_bytes(content)
            missing.remove(name)
    if missing:
        raise DataError(f"the archive holds no file '{min(missing)}'.")


def _files(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Base name and content of every file, those of archives inside included."""
    for name, inner in _entries(content):
        if name.lower().endswith(ARCHIVES):
            yield from _files(inner)
        else:
            yield name, inner


def _entries(content: bytes) -> Iterator[tuple[str, bytes]]:
    try:
        if content.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(content)) as opened:
                for entry in opened.infolist():
                    if not entry.is_dir():
                        yield PurePosixPath(entry.filename).name, opened.read(entry)
        else:
            with tarfile.open(fileobj=io.BytesIO(content)) as opened:
                for entry in opened:
                    if entry.isfile():
                        yield PurePosixPath(entry.name).name, opened.extractfile(entry).read()
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError):
        raise DataError("what came is not a whole zip or tar archive.") from None
