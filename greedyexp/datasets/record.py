"""What is known of a public data set before a byte of it is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Member:
    """One text table of a data set.

    Parameters
    ----------
    name : str
        File name, in the archive and in the folder; the folder may hold it with ``.gz`` added.
    sha256 : str
        Of its canonical text (``pins.canonical``), in hexadecimal digits.
    shape : pair of int
        Rows and columns.
    values : callable, optional
        The part of its text that is data, ``bytes -> bytes``, for a file that says more than its
        values; the pin is of what this gives. It must take any bytes, those of a damaged file
        too.
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
        What a user calls it.
    title : str
        What it is, in a few words.
    page : str
        Address of the page that describes it.
    licence : str
        What its distributor says about use.
    citation : str
        What to cite.
    urls : tuple of str
        Archives that hold every member, or folders of them, which end in a slash; the preferred
        one first.
    folder : str
        Where it lies in a folder of data sets.
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
