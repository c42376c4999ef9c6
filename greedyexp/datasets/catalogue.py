"""The records of public data sets, and the list of all data sets."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass

from greedyexp import datasets
from greedyexp.core.errors import DataError, did_you_mean


@dataclass(frozen=True)
class Member:
    """One text table of a data set.

    Parameters
    ----------
    name : str
        File name in the archive and in the folder; in the folder it may end in ``.gz``.
    sha256 : str
        Hash of its canonical text (``places.canonical``), in hexadecimal digits.
    shape : pair of int
        Rows and columns.
    values : callable, optional
        Extracts the data of a file with additional text, ``bytes -> bytes``; the hash is that of
        the data. It must accept any bytes, including those of a damaged file.
    """

    name: str
    sha256: str
    shape: tuple[int, int]
    values: Callable[[bytes], bytes] | None = None


@dataclass(frozen=True)
class Dataset:
    """A public data set.

    Parameters
    ----------
    name : str
        Name on the command line.
    title : str
        Short description.
    page : str
        Address of the page that describes the data set.
    licence : str
        Terms of use stated by the distributor.
    citation : str
        Publications to cite.
    urls : tuple of str
        Archives that contain all members, or addresses of folders, which end in a slash; the
        preferred one first.
    folder : str
        Name of the folder of the data set.
    members : tuple of Member
    """

    name: str
    title: str
    page: str
    licence: str
    citation: str
    urls: tuple[str, ...]
    folder: str
    members: tuple[Member, ...]


def known() -> dict[str, Dataset]:
    """All data sets by name, sorted."""
    found = {}
    for module in pkgutil.iter_modules(datasets.__path__):
        record = getattr(
            importlib.import_module(f"{datasets.__name__}.{module.name}"), "DATASET", None
        )
        if record is not None:
            found[record.name] = record
    return dict(sorted(found.items()))


def find(name: str) -> Dataset:
    """Return the data set with this name.

    Raises
    ------
    DataError
        If the data set is unknown; the message suggests the nearest name.
    """
    records = known()
    if name not in records:
        raise DataError(f"there is no data set named '{name}'.", remedy=did_you_mean(name, records))
    return records[name]
