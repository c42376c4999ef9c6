"""What protocol ``selection`` tells of single classes and single features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field

from greedyexp.core.errors import ConfigError
from greedyexp.results import notes
from greedyexp.results.comparison import single
from greedyexp.results.context import Context
from greedyexp.results.counts import FAILED, UNPROVED, require_numeric
from greedyexp.results.labels import number
from greedyexp.results.records import records, replicates
from greedyexp.stats.means import t_interval

# A parameter of figures and tables.
Sizes = Annotated[
    list[int],
    Field(description="sizes to show; all that the protocol was asked for when empty"),
]
# Where the table has it: the share of the rows held out that are of a class.
SHARE = "class_share"


def class_errors(frame: pd.DataFrame, context: Context, sizes: Sequence[int]) -> pd.DataFrame:
    """Mean error of each class at each size.

    Returns
    -------
    DataFrame
        A row for each algorithm, size and class, classes as the data list them: ``value``, ``low``
        and ``high`` (95% t interval; nan where there is none), number of ``replicates`` with rows
        of the class.

    Raises
    ------
    ConfigError
        When there are no such rows, or a size is not among them.
    """
    rows = _at(records(frame, "class", ["size", "class"]), sizes)
    require_numeric(rows, "class_error")
    order = _places(rows["class"])
    cells = []
    for (label, size, name), values in rows.groupby(["algorithm", "size", "class"])["class_error"]:
        told = values.dropna()
        if single(context) and len(told) == 1:
            numbers = (float(told.iloc[0]), np.nan, np.nan)
        else:
            numbers = t_interval(told)
        cells.append((label, int(size), name, *numbers, len(told)))
    names = ["algorithm", "size", "class", "value", "low", "high", "replicates"]
    table = pd.DataFrame(cells, columns=names)
    return table.sort_values("class", key=lambda column: column.map(order), kind="stable")


def class_names(frame: pd.DataFrame, table: pd.DataFrame) -> dict:
    """What each class of a table is called; with its mean share where the frame has shares."""
    shown = list(table["class"].unique())
    if SHARE not in frame.columns:
        return {name: _word(name) for name in shown}
    shares = frame.groupby("class")[SHARE].mean()
    return {name: f"{_word(name)} ({shares[name]:.1%})" for name in shown}


def used_features(frame: pd.DataFrame, sizes: Sequence[int]) -> pd.DataFrame:
    """How often each feature is used at each size.

    Returns
    -------
    DataFrame
        A row for each algorithm, size and feature, features as the data list them: ``share`` of
        the ``replicates`` in which it is used.

    Raises
    ------
    ConfigError
        When there are no such rows, or a size is not among them.
    """
    rows = _at(records(frame, "feature", ["size", "feature", "used"]), sizes)
    require_numeric(rows, "used")
    order = _places(rows["feature"])
    grouped = rows.groupby(["algorithm", "size", "feature"])["used"]
    table = grouped.agg(share="mean", replicates="count").reset_index()
    table = table.sort_values("feature", key=lambda column: column.map(order), kind="stable")
    return table.assign(size=table["size"].astype(int), feature=table["feature"].map(_word))


def shares_text(counts: pd.Series, context: Context) -> str:
    """What the numbers of a table of features are: shares of replicates, or those of one."""
    if single(context):
        return "one replicate"
    return f"shares of {notes.count_text(counts.min(), counts.max())} replicates"


def remarks(frame: pd.DataFrame, context: Context, numbers: str) -> list[str]:
    """Where the numbers come from, what they are in words, and what is not in them."""
    lines = [f"{notes.origin(context)}: {numbers}."]
    status = replicates(frame)["status"]
    if status.isin(FAILED).any():
        lines.append(f"Failed replicates, left out: {status.isin(FAILED).sum()} of {len(status)}.")
    if (status == UNPROVED).any():
        lines.append(f"Without certificate: {(status == UNPROVED).mean():.2%}.")
    return lines


def _at(rows: pd.DataFrame, sizes: Sequence[int]) -> pd.DataFrame:
    known = sorted(rows["size"].unique())
    for size in sizes:
        if size not in known:
            listed = ", ".join(f"{one:g}" for one in known)
            raise ConfigError(
                f"the table has no such rows of size {size}.", remedy=f"It has sizes {listed}."
            )
    return rows[rows["size"].isin(sizes)] if sizes else rows


def _places(names: pd.Series) -> dict:
    return {name: place for place, name in enumerate(names.unique())}


def _word(name) -> str:
    """A name; numbers without the decimal point that empty cells of their column bring about."""
    whole = isinstance(name, float) and name.is_integer()
    return number(int(name)) if whole else str(name)
