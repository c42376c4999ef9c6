"""What is known of a public data set before a byte of it is read."""

from __future__ import annotations

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
    """

    name: str
    sha256: str
    shape: tuple[int, int]


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
        Archives that hold every member, the preferred one first.
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
