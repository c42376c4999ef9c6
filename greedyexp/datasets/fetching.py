"""Download data sets to the cache; only complete and verified data are stored."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Container, Iterable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, cast

from greedyexp.core.errors import DataError, StorageError
from greedyexp.core.stored import OversizedError, read_bounded
from greedyexp.datasets import places
from greedyexp.datasets.catalogue import Dataset

# Seconds to wait for data from the server.
TIMEOUT = 30

# Bytes that are written at once.
_CHUNK = 2**16

# The largest data set has 8 MB.
_MOST_BYTES = 256 << 20
_MOST_ARCHIVES = 100
_LENGTH = re.compile("[1-9][0-9]{0,17}")

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
                # Files of the user in the same folder stay.
                for path in [fresh, *sorted(fresh.rglob("*"))]:
                    place = target / path.relative_to(fresh)
                    if path.is_dir():
                        place.mkdir(exist_ok=True)
                    else:
                        path.replace(place)
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
    from urllib3.exceptions import HTTPError

    try:
        with requests.get(url, timeout=TIMEOUT, stream=True) as answered:
            answered.raise_for_status()
            size = answered.headers.get("content-length", "")
            # A server may send anything here, which only the bar shows.
            total = int(size) if _LENGTH.fullmatch(size) else None
            left = _MOST_BYTES
            bar = tqdm(total=total, unit="B", unit_scale=True, ncols=79, disable=not progress)
            with bar, target.open("wb") as file:
                for piece in answered.iter_content(_CHUNK):
                    left -= len(piece)
                    if left < 0:
                        raise DataError(
                            f"the server sent more than {_MOST_BYTES >> 20} MB, which no data set"
                            " has."
                        )
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
    # An address to which the server redirects may be malformed.
    except (requests.RequestException, HTTPError, ValueError) as error:
        raise DataError(f"the download was interrupted ({type(error).__name__}).") from None


def unpack(archive: Path, names: Iterable[str], folder: Path) -> None:
    """Write the named files of an archive to a folder, wherever they are in the archive.

    Archives inside the archive are searched too. Only the last part of a stored path is used, so
    no file can be written outside the folder. Other files are not unpacked.

    Raises
    ------
    DataError
        If this is not a zip or tar archive, if it is damaged or unpacks to more than any data set,
        or if a file is missing.
    OSError
        If the folder cannot be written to.
    """
    missing = set(names)
    with archive.open("rb") as stream:
        for name, content in _files(stream, missing, _Allowance()):
            (folder / name).write_bytes(content)
            missing.remove(name)
    if missing:
        raise DataError(f"the archive has no file '{min(missing)}'.")


class _Allowance:
    """What may still be unpacked from one download, with the archives inside it."""

    def __init__(self) -> None:
        self.bytes = _MOST_BYTES
        self.archives = _MOST_ARCHIVES

    def read(self, stream: IO[bytes]) -> bytes:
        """Return the content of a file in an archive."""
        try:
            content = read_bounded(stream, self.bytes)
        except OversizedError:
            raise ValueError(f"it unpacks to more than {_MOST_BYTES >> 20} MB") from None
        self.bytes -= len(content)
        return content


def _files(
    stream: IO[bytes], wanted: Container[str], allowed: _Allowance
) -> Iterator[tuple[str, bytes]]:
    """Yield base name and content of the wanted files, also of those in inner archives."""
    waiting = [stream]
    while waiting:
        allowed.archives -= 1
        try:
            if allowed.archives < 0:
                raise ValueError(f"there are more than {_MOST_ARCHIVES} archives in it")
            for name, opened in _entries(waiting.pop(), allowed):
                if name in wanted:
                    yield name, allowed.read(opened())
                elif name.lower().endswith(_ARCHIVES):
                    waiting.append(io.BytesIO(allowed.read(opened())))
        # The readers of archives raise errors of many types for what they do not know.
        except Exception as error:
            reason = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
            raise DataError(
                f"the download is not a complete zip or tar archive ({reason})."
            ) from None


def _entries(
    stream: IO[bytes], allowed: _Allowance
) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """Yield base name of every file in an archive, and what opens the file."""
    start = stream.read(2)
    stream.seek(0)
    if start == b"PK":
        with zipfile.ZipFile(stream) as archive:
            for entry in archive.infolist():
                if not entry.is_dir():
                    yield PurePosixPath(entry.filename).name, partial(archive.open, entry.filename)
        return
    if start == b"\x1f\x8b":
        # Not left to tarfile, which reads some headers as a whole, whatever their size.
        stream = io.BytesIO(allowed.read(cast(IO[bytes], gzip.GzipFile(fileobj=stream))))
    with tarfile.open(fileobj=stream, mode="r:") as unpacked:
        for member in unpacked:
            if member.isfile():
                yield PurePosixPath(member.name).name, partial(_extracted, unpacked, member)


def _extracted(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    file = archive.extractfile(member)
    assert file is not None
    return file
