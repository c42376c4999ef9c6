"""Limits of stored files, which may come from somebody else."""

from __future__ import annotations

import gzip
import io
import json
import math
import zlib
from pathlib import Path
from typing import IO, Any, cast

# What to do if a file of a run was changed.
RESTORE = "Restore the file, or run the experiment again."

# A table of ten million rows is smaller.
MOST_BYTES = 4 << 30
# Tables of runs shrink to a thirtieth.
_MOST_SHRUNK = 100
_MOST_UNPACKED = 512 << 20
_MOST_JSON = 256 << 20
_MOST_LEVELS = 100
_PIECE = 1 << 20


class OversizedError(ValueError):
    """There is more to read than is allowed."""


def read_bounded(stream: IO[bytes], most: int = MOST_BYTES) -> bytes:
    """Return what a stream has left.

    Raises
    ------
    OversizedError
        If that is more than ``most`` bytes.
    """
    content = io.BytesIO()
    while piece := stream.read(_PIECE):
        if content.tell() + len(piece) > most:
            raise OversizedError(f"it has more than {most >> 20} MB")
        content.write(piece)
    return content.getvalue()


def read_stored(path: Path) -> bytes:
    """Return the content of a file.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is larger than any file of a run.
    """
    with path.open("rb") as stream:
        return read_bounded(stream)


def unzipped(content: bytes) -> bytes:
    """Return the content of a .gz file.

    Raises
    ------
    ValueError
        If it is damaged, or grows as no table does.
    """
    most = max(_MOST_UNPACKED, _MOST_SHRUNK * len(content))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            return read_bounded(cast(IO[bytes], stream), min(most, MOST_BYTES))
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(str(error).rstrip(".")) from None


def load_json(content: bytes | str, *, any_names: bool = False) -> Any:
    """Return the data of a JSON text.

    Parameters
    ----------
    any_names : bool
        Whether texts may be names of files with bytes that are no characters.

    Raises
    ------
    ValueError
        If it is not JSON, or is too large or too deep, or has numbers or characters that other
        programs cannot read.
    """
    if len(content) > _MOST_JSON:
        raise ValueError(f"it has more than {_MOST_JSON >> 20} MB")
    try:
        value = json.loads(content, parse_float=_finite, parse_constant=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    level = [value]
    for _ in range(_MOST_LEVELS):
        level = [item for parent in level for item in _items(parent)]
        if not level:
            break
    else:
        raise ValueError("it is nested too deeply")
    # Half of a pair of surrogates is no character, and cannot be printed or written.
    errors = "surrogateescape" if any_names else "strict"
    json.dumps(value, ensure_ascii=False).encode(errors=errors)
    return value


def _items(value: Any) -> Any:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a finite number")
    return number
