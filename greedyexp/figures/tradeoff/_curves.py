"""Risks along steps or features, and the bounds of theorems on them, from a table of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from greedyexp.core.errors import ConfigError
from greedyexp.results.records import (
    identity,
    positions,
    records,
    require_columns,
    require_numeric,
)
from greedyexp.results.summaries import spread
from greedyexp.results.theorems import bound_medians, refuse_mixed_references

if TYPE_CHECKING:
    import pandas as pd

# Columns that describe a step and do not depend on a theorem or a reference.
_OF_STEP = ["features", "risk", "gap"]


def recorded_steps(
    chosen: pd.DataFrame, frame: pd.DataFrame, keys: Sequence[str], *, mixed: bool = False
) -> pd.DataFrame:
    """Return one row for each theorem, reference and recorded step, with the columns of the step.

    Parameters
    ----------
    chosen : DataFrame
        The rows to show from a table of protocol ``tradeoff``.
    frame : DataFrame
        The same rows and all rows of record ``step``, which have no theorem and no reference.
    keys : sequence of str
        Columns that separate lines and panels.
    mixed : bool
        Allow several references in a line.

    Raises
    ------
    ConfigError
        If a column is missing or has wrong values, or lines would mix references.
    """
    columns = [*dict.fromkeys([*keys, "theorem", "reference"])]
    rows = records(chosen, "bound", columns, finite=["step", "excess"])
    require_columns(frame, ["excess_bound", *_OF_STEP])
    require_numeric(frame, "excess_bound", *_OF_STEP)
    if not mixed:
        refuse_mixed_references(rows, list(keys))
    same = [*identity(frame), "step"]
    steps = records(frame, "step", ["step", "features", "risk"])[[*same, *_OF_STEP]]
    rows = rows.drop(columns=_OF_STEP)
    return rows.merge(steps, on=same, how="left", validate="many_to_one")


def curves(
    rows: pd.DataFrame, frame: pd.DataFrame, keys: Sequence[str], x: str, y: str
) -> pd.DataFrame:
    """Compute median and band of a measurement along steps or features.

    Parameters
    ----------
    rows : DataFrame
        The result of ``recorded_steps``.
    x : {"features", "step"}
        With "features", the value at m is the least of all recorded steps with at most m features,
        up to the largest number of features of a replicate of the line.
    y : {"excess", "risk", "gap"}

    Returns
    -------
    DataFrame
        The keys, ``at``, and the columns of ``spread``, where all replicates of a line have a
        value.

    Raises
    ------
    ConfigError
        If no row has a value.
    """
    # A replicate is counted once, even if it has several theorems and references.
    own = [*dict.fromkeys([*identity(frame), *keys])]
    once = rows.dropna(subset=[y]).drop_duplicates([*own, "step"])
    if once.empty:
        raise ConfigError(
            f"no run has a {y}, so there is nothing to draw.", remedy="Leave it out of `measured`."
        )
    if x == "step":
        placed = once.assign(at=once["step"], value=once[y])
    else:
        last = once.groupby(list(keys))["features"].transform("max")
        placed = _least(once.assign(last=last), own, y)
    table = spread(placed[[*keys, "at", "value"]], [*keys, "at"], "value")
    whole = table.groupby(list(keys))["replicates"].transform("max")
    return table[table["replicates"] == whole].reset_index(drop=True)


def _least(rows: pd.DataFrame, own: Sequence[str], y: str) -> pd.DataFrame:
    """Return the least value of each replicate with at most m features, from its smallest m on."""
    counts, last = rows["features"].to_numpy(), rows["last"].to_numpy()
    values = rows[y].to_numpy(dtype=float)
    first, at, found = [], [], []
    for part in positions(rows, own):
        part = part[np.argsort(counts[part], kind="stable")]
        numbers = _feature_numbers(int(counts[part[0]]), int(last[part[0]]))
        least = np.minimum.accumulate(values[part])
        first.append(np.full(len(numbers), part[0]))
        at.append(numbers)
        found.append(least[np.searchsorted(counts[part], numbers, side="right") - 1])
    placed = rows.iloc[np.concatenate(first)]
    return placed.assign(at=np.concatenate(at), value=np.concatenate(found))


def _feature_numbers(first: int, last: int) -> np.ndarray:
    """Return all numbers up to 50, then some at a ratio of about 1.05, and the last."""
    whole = np.arange(min(last, 50) + 1)
    if last > 50:
        beyond = np.geomspace(50, last, max(2, int(48 * np.log10(last / 50))))
        whole = np.union1d(whole, np.rint(beyond).astype(int))
    return whole[whole >= first]


def bounds(
    rows: pd.DataFrame,
    frame: pd.DataFrame,
    keys: Sequence[str],
    x: str,
    shown: Sequence[str] | None,
) -> pd.DataFrame:
    """Compute the median bound after each number of steps for some theorems, all if None.

    A bound after k steps is a bound for k features only if the predictors of the algorithm never
    have more features than steps. If theorems have the same bound, the first one is kept.
    """
    if x == "features":
        more = rows["features"] > rows["step"]
        rows = rows[~more.groupby([rows[name] for name in keys]).transform("any")]
    table = bound_medians(rows, frame, keys, "step", "excess_bound").rename(columns={"step": "at"})
    if shown is not None:
        table = table[table["theorem"].isin(shown)]
    names = [*dict.fromkeys([*keys, "theorem"])]
    values = table.groupby(names, sort=False)["median"].agg(tuple).reset_index()
    first = values.drop_duplicates([*keys, "median"])
    return table.merge(first[names], on=names)
