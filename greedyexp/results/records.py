"""Rows of one kind from the table of a protocol that writes several kinds, and the replicates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from greedyexp.core.errors import ConfigError
from greedyexp.core.parts import Protocol, RecordKind
from greedyexp.core.registry import parts
from greedyexp.results.context import Context
from greedyexp.results.counts import FAILED, require_columns
from greedyexp.results.sizes import with_sizes


class AllFailed(ConfigError):
    """Nothing was measured, as every replicate failed."""


def remedy_for(column: str) -> str | None:
    """Return how to make a protocol record a column; None if no protocol declares it."""
    return _joined(kind for _, kind in _declared() if column in kind.columns)


def _declared() -> list[tuple[Protocol, RecordKind]]:
    return [(part, kind) for part in parts("protocol").values() for kind in part.records]


def _joined(kinds: Iterable[RecordKind]) -> str | None:
    return " ".join(dict.fromkeys(kind.remedy for kind in kinds)) or None


def records(frame: pd.DataFrame, kind: str, columns: Sequence[str]) -> pd.DataFrame:
    """Return the rows of one kind of record.

    Parameters
    ----------
    kind : str
        Value of the column ``record``, declared by a protocol.
    columns : sequence of str
        Columns that must have a value in each of these rows.

    Raises
    ------
    ConfigError
        If a column is missing or has empty cells, there is no such row, or every replicate failed.
    """
    require_columns(frame, ["record", *columns])
    refuse_all_failed(frame)
    rows = frame[frame["record"] == kind]
    if rows.empty:
        raise ConfigError(
            f"the table has no rows of record '{kind}'.", remedy=_remedy_for_kind(frame, kind)
        )
    refuse_empty(rows, columns)
    return rows


def _remedy_for_kind(frame: pd.DataFrame, kind: str) -> str | None:
    """Return how to record this kind, with the protocol that wrote the table if that can."""
    present = set(frame["record"].dropna())
    able = [(part, one) for part, one in _declared() if one.name == kind]
    writers = [one for part, one in able if present <= {other.name for other in part.records}]
    return _joined(writers or [one for _, one in able])


def refuse_all_failed(frame: pd.DataFrame) -> None:
    """Refuse a table in which nothing was measured.

    Raises
    ------
    AllFailed
        When every replicate failed.
    """
    if frame["status"].isin(FAILED).all():
        raise AllFailed(
            "every replicate failed, so there is nothing to draw.",
            remedy="The column message of the table says why.",
        )


def refuse_empty(rows: pd.DataFrame, columns: Sequence[str]) -> None:
    """Refuse rows that do not tell which line or panel they belong to.

    Raises
    ------
    ConfigError
        With the first column that has an empty cell.
    """
    for name in columns:
        if rows[name].isna().any():
            raise ConfigError(
                f"column '{name}' has empty cells.",
                remedy="Name one with a value everywhere.",
            )


def replicates(frame: pd.DataFrame) -> pd.DataFrame:
    """One row for each replicate, though a protocol may write many.

    The columns before ``status`` say what a row is of: data, replicate, algorithm and its swept
    parameters. Those after it are measured.
    """
    return frame[~frame.duplicated(identity(frame))]


def identity(frame: pd.DataFrame) -> list[str]:
    """The columns that tell replicates apart."""
    return list(frame.columns[: frame.columns.get_loc("status")])


def told_apart(
    frame: pd.DataFrame, context: Context, *columns: str | None
) -> tuple[pd.DataFrame, list[str]]:
    """The table as a figure wants it that tells these columns apart, and the columns.

    Sizes are filled in, and ``algorithm`` is the entry of the file where the columns tell the rest:
    an entry with a sweep gives a label for each value, ``rmp (lam=0.1)``, and a figure that has lam
    along an axis wants them as one algorithm, ``rmp``.

    Parameters
    ----------
    *columns : str or None
        Each is kept once; None stands for no column.

    Raises
    ------
    ConfigError
        When the table lacks a column.
    """
    frame = with_sizes(frame)
    keys = list(dict.fromkeys(name for name in columns if name is not None))
    require_columns(frame, keys)
    labels = {label: context.entry(label, keys) for label in frame["algorithm"].unique()}
    return frame.assign(algorithm=frame["algorithm"].map(labels)), keys
