"""Downloading a data set into the cache: whole and checked, or not at all."""

from __future__ import annotations

import tempfile
from pathlib import Path

from greedyexp.core.errors import DataError, StorageError
from greedyexp.datasets import archives, pins, places
from greedyexp.datasets.record import Dataset

# Seconds without a byte from the server.
TIMEOUT = 30


def fetch(dataset: Dataset, *, force: bool = False, progress: bool = False) -> Path:
    """The folder of a data set, downloaded unless a good copy is there.

    Parameters
    ----------
    dataset : Dataset
    force : bool
        Download to the cache even so.
    progress : bool
        Show a bar on stderr.

    Returns
    -------
    Path
        The user's own folder when GREEDYEXP_DATA names one that has the data set, else the one in
        the cache. What was in the cache before is replaced only by data that have been checked.

    Raises
    ------
    DataError
        When nothing that can be downloaded holds the published values, or the copy in the user's
        own folder does not.
    StorageError
        When the cache cannot be written to.
    """
    own, cached = places.own_folder(), places.cache() / dataset.folder
    if not force and own is not None and places.holds(own / dataset.folder, dataset):
        pins.texts(dataset, own / dataset.folder)
        return own / dataset.folder
    if force or not _good(dataset, cached):
        _renew(dataset, cached, progress)
    return cached


def _good(dataset: Dataset, folder: Path) -> bool:
    if not places.holds(folder, dataset):
        return False
    try:
        pins.texts(dataset, folder)
    except DataError:
        return False
    return True


def _renew(dataset: Dataset, target: Path, progress: bool) -> None:
    """Download beside the target, check, and only then move it there."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=target.parent) as draft:
            fresh = _download(dataset, Path(draft), progress)
            if target.exists():
                target.rename(Path(draft) / "replaced")
            fresh.rename(target)
    except OSError as error:
        raise StorageError(
            f"this cannot be written: {error.strerror or error}.",
            place=str(target),
            remedy="Look at free space and permissions, or keep the data set in a folder of your"
            f" own and name that in {places.VARIABLE}.",
        ) from error


def _download(dataset: Dataset, draft: Path, progress: bool) -> Path:
    """A checked copy from the first address that gives one."""
    failures = []
    for number, url in enumerate(dataset.urls):
        folder = draft / f"unpacked-{number}"
        folder.mkdir()
        try:
            _collect(url, [member.name for member in dataset.members], folder, progress)
            pins.texts(dataset, folder)
        except DataError as error:
            failures.append((url, error))
            continue
        return folder
    url, first = failures[0]
    # The place of what was unpacked is gone by the time anyone reads of it.
    inside = f"{Path(first.place).name}: " if first.place else ""
    raise DataError(
        f"the data set '{dataset.name}' cannot be downloaded: {inside}{first.message}",
        place=url,
        remedy=f"Try again later, or get the files of {dataset.page} in another way and name in"
        f" {places.VARIABLE} a folder that has them as {dataset.folder}/"
        f"{dataset.members[0].name}, ...",
    )


def _collect(url: str, names: list[str], folder: Path, progress: bool) -> None:
    """The named files, out of an archive or one by one from an address that ends in a slash."""
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
        archives.unpack(archive, names, folder)


def _retrieve(url: str, target: Path, progress: bool) -> None:
    # Imported here: everything but a download works without the weight of an HTTP client.
    import requests
    from pooch import HTTPDownloader

    try:
        HTTPDownloader(progressbar=progress, timeout=TIMEOUT)(url, str(target), None)
    except requests.HTTPError as error:
        answer = error.response
        raise DataError(
            f"the server answered {answer.status_code} {answer.reason}.".replace(" .", ".")
        ) from None
    except requests.ConnectionError:
        raise DataError("there is no connection to the server.") from None
    except requests.Timeout:
        raise DataError(f"the server was silent for {TIMEOUT} seconds.") from None
    except requests.RequestException as error:
        raise DataError(f"the transfer broke off ({type(error).__name__}).") from None
