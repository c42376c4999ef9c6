"""Finding run folders and reading their tables."""

from __future__ import annotations

import zlib
from pathlib import Path

import pandas as pd

from greedyexp.errors import StorageError

_PANDAS = tuple(int(number) for number in pd.__version__.split(".")[:2])
# Before pandas 3.1 the default parser may be off in the last digit; from then on it never is.
_EXACT = {"float_precision": "round_trip"} if _PANDAS < (3, 1) else {}

AGAIN = "Run the experiment again; finished replicates are not computed anew."


def run_folders(path: Path) -> list[Path]:
    """Folders of runs at any level at or below a path: those with a config and a table.

    Raises
    ------
    StorageError
        When there is none.
    """
    found = sorted(
        config.parent for config in Path(path).rglob("config.yaml") if table_of(config.parent)
    )
    if not found:
        raise StorageError(
            "there is no finished run here.", place=str(path), remedy="`greedyexp run` makes one."
        )
    return found


def table_of(folder: Path) -> Path | None:
    """The CSV of a run folder, compressed or not; None when it has none."""
    tables = [path for path in folder.glob("*.csv*") if path.suffix in (".csv", ".gz")]
    return next((path for path in sorted(tables) if not path.name.startswith("timings.")), None)


def timings_of(folder: Path) -> Path | None:
    """The seconds of a run folder, compressed or not; None when it has none."""
    return next((path for path in sorted(folder.glob("timings.csv*")) if path.is_file()), None)


def read_frame(table: Path) -> pd.DataFrame:
    """The tidy table with full precision.

    Raises
    ------
    StorageError
        When the file cannot be read as a table.
    """
    try:
        return pd.read_csv(
            table,
            keep_default_na=False,
            na_values=[""],
            dtype={"message": str, "status": str, "algorithm": str},
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
