"""Finding run folders and reading their tables."""

from __future__ import annotations

import io
import zlib
from pathlib import Path

import pandas as pd

from greedyexp.core.errors import StorageError
from greedyexp.runner.state import AGAIN, folders, table_of

_PANDAS = tuple(int(number) for number in pd.__version__.split(".")[:2])
# Before pandas 3.1 the default parser may be off in the last digit; from then on it never is.
_EXACT = {"float_precision": "round_trip"} if _PANDAS < (3, 1) else {}


def run_folders(path: Path) -> list[Path]:
    """Folders of runs at any level at or below a path: those with a config and a table.

    Raises
    ------
    StorageError
        When there is none.
    """
    found = [folder for folder in folders(path) if table_of(folder)]
    if not found:
        raise StorageError(
            "there is no finished run here.", place=str(path), remedy="`greedyexp run` makes one."
        )
    return found


def read_frame(table: Path, content: bytes | None = None) -> pd.DataFrame:
    """The tidy table with full precision.

    Parameters
    ----------
    table : Path
        The CSV, compressed or not.
    content : bytes, optional
        What it holds, decompressed, when that has been read already.

    Raises
    ------
    StorageError
        When the file cannot be read as a table.
    """
    try:
        return pd.read_csv(
            table if content is None else io.BytesIO(content),
            keep_default_na=False,
            na_values=[""],
            dtype=dict.fromkeys(("message", "status", "algorithm", "selected_features"), str),
            # A column read in pieces may be numbers in one block of data and words in the next.
            low_memory=False,
            **_EXACT,
        )
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise StorageError(
            f"the table cannot be read ({str(error).rstrip('.')}).",
            place=str(table),
            remedy=AGAIN,
        ) from None
