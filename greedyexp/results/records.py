"""Rows of one kind from the table of a protocol that writes several kinds, and the replicates."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from greedyexp.core.errors import ConfigError
from greedyexp.results.context import Context
from greedyexp.results.counts import FAILED, require_columns
from greedyexp.results.entries import entry_of
from greedyexp.results.sizes import with_sizes

# What is in rows of one kind alone, and which.
_RECORD_OF = {
    "class_error": "class",
    "class_share": "class",
    "used": "feature",
    "excess": "bound",
    "features_needed": "epsilon",
}
# What must be asked of the protocol for its table to have rows of a kind.
_ASKED = {
    "epsilon": "Give protocol trajectory, tradeoff or tightness accuracies to reach.",
    "iteration": "Let protocol trajectory record iterations.",
    "coordinate": "Let protocol trajectory record coordinates.",
    "rate": "Let protocol trajectory measure the rate.",
    "size": "Use protocol selection.",
    "class": "Give protocol selection sizes in classes_at.",
    "feature": "Give protocol selection sizes in chosen_at.",
    "step": "Let protocol tradeoff record steps by points or dense.",
    "bound": "Let protocol tradeoff record steps by points or dense.",
    "theorem": "Use protocol tradeoff.",
    "reference": "Use protocol tradeoff.",
}


class AllFailed(ConfigError):
    """Nothing was measured, as every replicate failed."""


def remedy_for(column: str) -> str | None:
    """What to ask of a protocol for its table to have a column; None where nothing would do."""
    return _ASKED[_RECORD_OF[column]] if column in _RECORD_OF else None


def records(frame: pd.DataFrame, kind: str, columns: Sequence[str]) -> pd.DataFrame:
    """The rows of one kind of record.

    Parameters
    ----------
    kind : str
        Value of the column ``record``: ``epsilon``, ``iteration``, ``coordinate``, ``rate``,
        ``size``, ``class``, ``feature``, ``step``, ``bound``, ``theorem`` or ``reference``.
    columns : sequence of str
        What the rows must tell: each has a value in every row.

    Raises
    ------
    ConfigError
        When a column is missing or has empty cells, there is no such row, or every replicate
        failed.
    """
    require_columns(frame, ["record", *columns])
    refuse_all_failed(frame)
    rows = frame[frame["record"] == kind]
    if rows.empty:
        raise ConfigError(f"the table has no rows of record '{kind}'.", remedy=_ASKED[kind])
    refuse_empty(rows, columns)
    return rows


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
    labels = {label: _entry(label, context, keys) for label in frame["algorithm"].unique()}
    return frame.assign(algorithm=frame["algorithm"].map(labels)), keys


def _entry(label: str, context: Context, keys: Sequence[str]) -> str:
    entry = entry_of(label, context.algorithms.keys() - {label})
    if entry is None:
        return label
    swept = label[len(entry) + 2 : -1].split(", ")
    return entry if all(part.partition("=")[0] in keys for part in swept) else label
