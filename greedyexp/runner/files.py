"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from greedyexp.core.errors import StorageError


@contextmanager
def replacing(target: Path) -> Iterator[BinaryIO]:
    """A stream whose content takes the place of ``target`` once everything is written.

    It is written beside the target and then renamed, so that a reader, or a run that is killed,
    finds the old file or the new one and never a part.

    Raises
    ------
    StorageError
        When it cannot be written; the old file is kept.
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
    """Replace a file's content, as UTF-8."""
    with replacing(target) as stream:
        stream.write(text.encode("utf-8"))


def make_folder(folder: Path) -> None:
    """Make a results folder and those above it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error


def unwritable(path: Path, error: OSError) -> StorageError:
    """A sentence for what the operating system said."""
    return StorageError(
        f"this cannot be written: {error.strerror or error}.",
        place=str(path),
        remedy="Look at free space and permissions, or choose another folder with --out. Finished"
        " replicates are kept and the same command goes on.",
    )
