"""Download data sets to the cache; only complete and verified data are stored."""

from __future__ import annotations

import io
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from greedyexp.core.errors import DataError, StorageError
from greedyexp.datasets import places
from greedyexp.datasets.catalogue import Dataset

# Seconds to wait for data from the server.
TIMEOUT = 30

# Bytes that are written at once.
_CHUNK = 2**16

_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz")


def fetch(dataset: Dataset, *, force: bool = False, progress: bool = False) -> Path:
    """Return the folder of a data set; download it unless there is an intact copy.

    Parameters
    ----------
    dataset : Dataset
    force : bool
        Download to the cache even if there is an intact copy.
    progress : bool
        Show a progress bar on stderr.

    Returns
    -------
    Path
        The user's own folder if GREEDYEXP_DATA names a folder with the data set, otherwise the
        folder in the cache. Data in the cache are only replaced by checked data.

    Raises
    ------
    DataError
        If no download has the published values, or the copy in the user's own folder differs from
        them.
    StorageError
        If the cache cannot be written to.
    """
    own, cached = places.own_folder(), places.cache() / dataset.folder
    if not force and own is not None and places.holds(own / dataset.folder, dataset):
        places.texts(dataset, own / dataset.folder)
        return own / dataset.folder
    if force or not _is_intact(dataset, cached):
        _renew(dataset, cached, progress)
    return cached


def _is_intact(dataset: Dataset, folder: Path) -> bool:
    try:
        places.texts(dataset, folder)
    except DataError:
        return False
    return True


def _renew(dataset: Dataset, target: Path, progress: bool) -> None:
    """Download to a temporary folder, check the data and then move them to the target."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=target.parent) as draft:
            fresh = _download(dataset, Path(draft), progress)
            try:
                if target.exists():
                    target.rename(Path(draft) / "replaced")
                fresh.rename(target)
            except OSError:
                # Another process may have fetched the data set meanwhile.
                if not _is_intact(dataset, target):
                    raise
    except OSError as error:
        raise StorageError(
            f"the data set cannot be written: {error.strerror or error}.",
            place=str(target),
            remedy="Check free space and permissions, or keep the data set in your own folder and"
            f" name that folder in {places.VARIABLE}.",
        ) from error


def _download(dataset: Dataset, draft: Path, progress: bool) -> Path:
    """Return a checked copy from the first address that has one."""
    failures = []
    for number, url in enumerate(dataset.urls):
        folder = draft / f"unpacked-{number}"
        folder.mkdir()
        try:
            _collect(url, [member.name for member in dataset.members], folder, progress)
            places.texts(dataset, folder)
        except DataError as error:
            failures.append((url, error))
            continue
        return folder
    url, first = failures[0]
    # The unpacked file no longer exists when the message is read, so only its name is given.
    inside = f"{Path(first.place).name}: " if first.place else ""
    raise DataError(
        f"the data set '{dataset.name}' cannot be downloaded: {inside}{first.message}",
        place=url,
        remedy=f"Try again later, or get the files from {dataset.page} in another way and set"
        f" {places.VARIABLE} to a folder that contains {dataset.folder}/"
        f"{dataset.members[0].name}, ...",
    )


def _collect(url: str, names: list[str], folder: Path, progress: bool) -> None:
    """Get the named files from an archive, or one by one if the address ends in a slash."""
    if url.endswith("/"):
        for name in names:
            try:
                _retrieve(url + name, folder / name, progress)
            except DataError as error:
                error.place = name
                raise
    else:
        archive = folder.with_suffix(".archive")
        _retrieve(url, archive, progress)
        unpack(archive, names, folder)


def _retrieve(url: str, target: Path, progress: bool) -> None:
    # Imported here: only downloads need an HTTP client, which is slow to import.
    import requests
    from tqdm import tqdm

    try:
        with requests.get(url, timeout=TIMEOUT, stream=True) as answered:
            answered.raise_for_status()
            size = int(answered.headers.get("content-length", 0)) or None
            bar = tqdm(total=size, unit="B", unit_scale=True, ncols=79, disable=not progress)
            with bar, target.open("wb") as file:
                for piece in answered.iter_content(_CHUNK):
                    file.write(piece)
                    bar.update(len(piece))
    except requests.HTTPError as error:
        answer = error.response
        raise DataError(
            f"the server answered {answer.status_code} {answer.reason}.".replace(" .", ".")
        ) from None
    except requests.ConnectionError:
        raise DataError("there is no connection to the server.") from None
    except requests.Timeout:
        raise DataError(f"the server did not answer for {TIMEOUT} seconds.") from None
    except requests.RequestException as error:
        raise DataError(f"the download was interrupted ({type(error).__name__}).") from None


def unpack(archive: Path, names: Iterable[str], folder: Path) -> None:
    """Write the named files of an archive to a folder, wherever they are in the archive.

    Archives inside the archive are searched too. Only the last part of a stored path is used, so
    no file can be written outside the folder.

    Raises
    ------
    DataError
        If this is not a zip or tar archive, if it is damaged, or if a file is missing.
    OSError
        If the folder cannot be written to.
    """
    missing = set(names)
    for name, content in _files(archive.read_bytes()):
        if name in missing:
            (folder / name).write_bytes(content)
            missing.remove(name)
    if missing:
        raise DataError(f"the archive has no file '{min(missing)}'.")


def _files(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield base name and content of every file, including files in inner archives."""
    for name, inner in _entries(content):
        if name.lower().endswith(_ARCHIVES):
            yield from _files(inner)
        else:
            yield name, inner


def _entries(content: bytes) -> Iterator[tuple[str, bytes]]:
    try:
        if content.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                for entry in archive.infolist():
                    if not entry.is_dir():
                        yield PurePosixPath(entry.filename).name, archive.read(entry)
        else:
            with tarfile.open(fileobj=io.BytesIO(content)) as opened:
                for member in opened:
                    if member.isfile() and (file := opened.extractfile(member)) is not None:
                        yield PurePosixPath(member.name).name, file.read()
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError):
        raise DataError("the download is not a complete zip or tar archive.") from None
