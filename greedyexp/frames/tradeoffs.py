"""Excess risk against the number of features or steps, and what theorems promise of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from greedyexp.frames.counts import require_columns, require_numbers
from greedyexp.frames.records import identity, records
from greedyexp.frames.spread import spread


def recorded(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """One row for each theorem, reference and recorded step, with what is known of the step.

    Parameters
    ----------
    frame : DataFrame
        Of protocol ``tradeoff``.
    columns : sequence of str
        What the rows must tell.

    Raises
    ------
    ConfigError
        When a column is missing, has empty cells or is not numeric.
    """
    rows = records(frame, "bound", [*dict.fromkeys([*columns, "theorem", "reference", "step"])])
    for name in ("step", "excess"):
        require_numbers(rows, name)
    steps = records(frame, "step", ["step", "features", "risk"])
    require_columns(steps, ["gap"])
    same = [*identity(frame), "step"]
    known = steps[[*same, "features", "risk", "gap"]]
    rows = rows.drop(columns=["features", "risk", "gap"], errors="ignore")
    return rows.merge(known, on=same, how="left", validate="many_to_one")


def curves(
    rows: pd.DataFrame, frame: pd.DataFrame, keys: Sequence[str], x: str, y: str
) -> pd.DataFrame:
    """Median and band of a measurement along steps or features.

    Parameters
    ----------
    rows : DataFrame
        As ``recorded`` gives them.
    x : {"features", "step"}
        With ``features`` the value at m is the least of all recorded steps with at most m features.
    y : {"excess", "risk", "gap"}

    Returns
    -------
    DataFrame
        The keys, ``at``, and ``median``, ``low``, ``high`` and ``replicates`` of ``spread``; only
        where all replicates of a line have a value.
    """
    once = rows.dropna(subset=[y]).drop_duplicates([*identity(frame), "reference", "step"])
    if once.empty:
        return pd.DataFrame(columns=[*keys, "at", "median", "low", "high", "replicates"])
    own = [*identity(frame), "reference"]
    if x == "step":
        placed = once.assign(at=once["step"], value=once[y])
    else:
        places = _places(int(once["features"].max()))
        parts = [_least(one, places, y) for _, one in once.groupby(own, dropna=False, sort=False)]
        placed = pd.concat(parts, ignore_index=True)
    table = spread(placed[[*keys, "at", "value"]], [*keys, "at"], "value")
    whole = table.groupby(list(keys))["replicates"].transform("max")
    return table[table["replicates"] == whole]


def bounds(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Median over replicates of what each theorem promises after so many steps."""
    known = rows.assign(value=rows["excess_bound"].astype(float).fillna(np.inf), at=rows["step"])
    names = [*dict.fromkeys([*keys, "theorem"]), "at"]
    table = spread(known[[*names, "value"]], names, "value")
    return table[np.isfinite(table["median"])]


def _places(most: int) -> np.ndarray:
    """Numbers of features: all up to 50, then in steps of about a twentieth."""
    beyond = np.geomspace(50, most, max(2, int(48 * np.log10(most / 50)))) if most > 50 else []
    return np.union1d(np.arange(min(most, 50) + 1), np.rint(beyond).astype(int))


def _least(one: pd.DataFrame, places: np.ndarray, y: str) -> pd.DataFrame:
    """The least value with at most so many features, from the first number that has one."""
    one = one.sort_values("features", kind="stable")
    counts, least = one["features"].to_numpy(), np.minimum.accumulate(one[y].to_numpy(dtype=float))
    at = places[(places >= counts[0]) & (places <= counts[-1])]
    last = np.searchsorted(counts, at, side="right") - 1
    head = pd.concat([one.iloc[[0]]] * len(at), ignore_index=True)
    return head.assign(at=at, value=least[last])
