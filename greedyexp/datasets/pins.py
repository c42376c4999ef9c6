"""Whether a file holds the published numbers, whatever its column padding, line ends, compression.

The pin of a member is the sha256 of its canonical text: the values as they are written, a single
space between two of a row, a line feed after each row. Padding, tabs, line ends, empty lines and
gzip change nothing; any other digit of any value does. Where a file says more than its values, as
``Member.values`` knows, only these count.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from pathlib import Path

from greedyexp.core.errors import DataError
from greedyexp.datasets import places
from greedyexp.datasets.record import Dataset, Member


def canonical(text: bytes) -> bytes:
    """The text with one space between values, a line feed after each row and no empty line."""
    rows = (b" ".join(line.split()) for line in text.splitlines())
    return b"".join(row + b"\n" for row in rows if row)


def read(path: Path, member: Member) -> bytes:
    """The canonical text of a member, checked against its pin.

    Raises
    ------
    DataError
        When the file cannot be read or its values are not the published ones.
    """
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
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
    """The checked canonical text of every member, from a folder that holds them all.

    Raises
    ------
    DataError
        As ``read``, with what to do about it.
    """
    try:
        return [
            read(path, member)
            for member, path in zip(dataset.members, places.files(dataset, folder), strict=True)
        ]
    except DataError as error:
        if folder == places.cache() / dataset.folder:
            error.remedy = f"Run `greedyexp data fetch {dataset.name}` to get it anew."
        else:
            error.remedy = f"Replace it, or unset {places.VARIABLE} to use the cache."
        raise
