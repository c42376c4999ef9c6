"""Where data sets are on disk, and whether their files have the published contents.

A data set is in the folder named by GREEDYEXP_DATA or in the user's cache. The hash of a member is
the sha256 of its canonical text: the values as they are written, one space between two values of a
row and a line feed after each row. Padding, tabs, line ends, empty lines and gzip make no
difference, but a change of any digit does. If a file has more text than its values,
``Member.values`` extracts the values.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from greedyexp.core.errors import DataError
from greedyexp.core.stored import read_stored, unzipped
from greedyexp.datasets.catalogue import Dataset, Member
from greedyexp.datasets.own import stamp_of

VARIABLE = "GREEDYEXP_DATA"


def cache() -> Path:
    """The folder of downloaded data sets; it need not exist."""
    from platformdirs import user_cache_path

    return user_cache_path("greedyexp") / "data"


def own_folder() -> Path | None:
    """The folder named by GREEDYEXP_DATA; None if the variable is not set."""
    named = os.environ.get(VARIABLE, "")
    return Path(named).expanduser() if named else None


def find(dataset: Dataset) -> Path | None:
    """Return the folder that has all files of a data set, preferably the user's own, or None."""
    roots = [root for root in (own_folder(), cache()) if root is not None]
    folders = [root / dataset.folder for root in roots]
    return next((folder for folder in folders if holds(folder, dataset)), None)


def located(dataset: Dataset) -> Path:
    """Return the folder that has all files of a data set, preferably the user's own.

    Raises
    ------
    DataError
        If there is no such folder; the message names the searched folders and the missing files.
    """
    folder = find(dataset)
    if folder is not None:
        return folder
    own, cached = own_folder(), cache() / dataset.folder
    problem = f"not in the cache, {cached}"
    if own is not None:
        problem = f"neither in {own / dataset.folder} ({VARIABLE}) nor in {cached} (the cache)"
    raise DataError(
        f"the data set '{dataset.name}' is {problem}{_lacking(dataset)}.",
        remedy=f"Run `greedyexp data fetch {dataset.name}`, or set {VARIABLE} to a folder that"
        f" contains {dataset.folder}/{dataset.members[0].name}, ...",
    )


def _lacking(dataset: Dataset) -> str:
    """Missing files of incomplete folders, and a folder in GREEDYEXP_DATA that does not exist."""
    own, message = own_folder(), ""
    if own is not None and not own.is_dir():
        message += f"; {own} {'is not a folder' if own.exists() else 'does not exist'}"
    for root in filter(None, (own, cache())):
        folder = root / dataset.folder
        missing = [m.name for m in dataset.members if not _file(folder, m.name).is_file()]
        if len(missing) < len(dataset.members):
            message += f"; {folder} lacks {', '.join(missing)}"
    return message


def files(dataset: Dataset, folder: Path) -> list[Path]:
    """Return the paths of the files of a data set in a folder."""
    return [_file(folder, member.name) for member in dataset.members]


def holds(folder: Path, dataset: Dataset) -> bool:
    """Return True if the folder has all files of a data set, compressed or not."""
    return all(path.is_file() for path in files(dataset, folder))


def _file(folder: Path, name: str) -> Path:
    plain = folder / name
    return plain if plain.is_file() else folder / f"{name}.gz"


def canonical(text: bytes) -> bytes:
    """Return the text with one space between values, a line feed per row and no empty lines."""
    rows = (b" ".join(line.split()) for line in text.splitlines())
    return b"".join(row + b"\n" for row in rows if row)


def read(path: Path, member: Member) -> bytes:
    """Return the canonical text of a member after checking its hash.

    Raises
    ------
    DataError
        If the file cannot be read or its values are not the published ones.
    """
    try:
        content = read_stored(path)
        content = unzipped(content) if path.suffix == ".gz" else content
    except ValueError as error:
        raise DataError(f"this is not a readable .gz file ({error}).", place=str(path)) from None
    except OSError as error:
        raise DataError(f"the data cannot be read: {error.strerror}.", place=str(path)) from None
    text = canonical(member.values(content) if member.values else content)
    if hashlib.sha256(text).hexdigest() != member.sha256:
        raise DataError(
            "the values in this file are not those of the published data set.", place=str(path)
        )
    return text


def texts(dataset: Dataset, folder: Path) -> list[bytes]:
    """Return the checked canonical texts of all members in a folder.

    Raises
    ------
    DataError
        As in ``read``, with a remedy.
    """
    try:
        return [
            read(path, member)
            for member, path in zip(dataset.members, files(dataset, folder), strict=True)
        ]
    except DataError as error:
        if folder == cache() / dataset.folder:
            error.remedy = f"Run `greedyexp data fetch {dataset.name}` to download it again."
        else:
            error.remedy = f"Replace it, or unset {VARIABLE} to use the cache."
        raise


def paths(dataset: Dataset) -> list[str]:
    """Return the paths of the files of a data set, in the user's own folder or in the cache.

    Raises
    ------
    DataError
        If the data set is not found; see ``located``.
    """
    return [str(path) for path in files(dataset, located(dataset))]


def stamped(dataset: Dataset) -> tuple[Path, tuple[tuple[int, ...], ...]]:
    """Return the folder of a data set and the stamps of its files, a key for caches.

    Raises
    ------
    DataError
        If the data set is not found; see ``located``.
    """
    folder = located(dataset)
    return folder, tuple(stamp_of(path) for path in files(dataset, folder))


def freeze(*arrays: Any) -> None:
    """Make arrays read-only, since all callers of a process share them."""
    for array in arrays:
        array.flags.writeable = False
