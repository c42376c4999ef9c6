"""Excess risk against the number of features or steps, and what theorems promise of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from greedyexp.core.errors import ConfigError
from greedyexp.results.counts import require_columns, require_numbers, require_numeric
from greedyexp.results.records import identity, records
from greedyexp.results.spread import spread
from greedyexp.results.theorems import medians, one_reference, without_repeats

# What is known of a step whatever it is compared with.
_OF_STEP = ("features", "risk", "gap")


def recorded(
    chosen: pd.DataFrame, frame: pd.DataFrame, keys: Sequence[str], *, mixed: bool = False
) -> pd.DataFrame:
    """One row for each theorem, reference and recorded step, with what is known of the step.

    Parameters
    ----------
    chosen : DataFrame
        The rows to show, of protocol ``tradeoff``.
    frame : DataFrame
        The same and all rows of record ``step``, which are about no theorem and no reference.
    keys : sequence of str
        What lines and panels are told apart by.
    mixed : bool
        Whether a line may be about several references, as what is known of a step is about none.

    Raises
    ------
    ConfigError
        When a column is missing, has empty cells or is not numeric, or lines would mix references.
    """
    rows = records(chosen, "bound", [*dict.fromkeys([*keys, "theorem", "reference", "step"])])
    for name in ("step", "excess"):
        require_numbers(rows, name)
    require_columns(frame, ["excess_bound", *_OF_STEP])
    for name in ("excess_bound", *_OF_STEP):
        require_numeric(frame, name)
    if not mixed:
        one_reference(rows, list(keys))
    same = [*identity(frame), "step"]
    steps = records(frame, "step", ["step", "features", "risk"])[[*same, *_OF_STEP]]
    rows = rows.drop(columns=list(_OF_STEP))
    return rows.merge(steps, on=same, how="left", validate="many_to_one")


def curves(
    rows: pd.DataFrame, frame: pd.DataFrame, keys: Sequence[str], x: str, y: str
) -> pd.DataFrame:
    """Median and band of a measurement along steps or features.

    Parameters
    ----------
    rows : DataFrame
        As ``recorded`` gives them.
    x : {"features", "step"}
        With ``features`` the value at m is the least of all recorded steps with at most m features,
        up to the most that a replicate of the line has.
    y : {"excess", "risk", "gap"}

    Returns
    -------
    DataFrame
        The keys, ``at``, and ``median``, ``low``, ``high`` and ``replicates`` of ``spread``; only
        where all replicates of a line have a value.

    Raises
    ------
    ConfigError
        When no row has a value.
    """
    # A replicate counts once, though several theorems and references speak of it.
    own = [*dict.fromkeys([*identity(frame), *keys])]
    once = rows.dropna(subset=[y]).drop_duplicates([*own, "step"])
    if once.empty:
        raise ConfigError(
            f"no run has a {y}, so there is nothing to draw.",
            remedy="Leave it out of `measured`.",
        )
    if x == "step":
        placed = once.assign(at=once["step"], value=once[y])
    else:
        last = once.groupby(list(keys))["features"].transform("max")
        parts = once.assign(last=last).groupby(own, dropna=False, sort=False)
        placed = pd.concat([_least(one, y) for _, one in parts], ignore_index=True)
    table = spread(placed[[*keys, "at", "value"]], [*keys, "at"], "value")
    whole = table.groupby(list(keys))["replicates"].transform("max")
    return table[table["replicates"] == whole].reset_index(drop=True)


def bounds(
    rows: pd.DataFrame,
    frame: pd.DataFrame,
    keys: Sequence[str],
    x: str,
    theorems: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Median over replicates of what theorems promise after so many steps, where it is finite.

    Of theorems that promise the same of an algorithm the first is kept.

    Parameters
    ----------
    rows : DataFrame
        As ``recorded`` gives them.
    x : {"features", "step"}
        A bound after k steps is one for k features only of an algorithm whose predictors have no
        more features than steps; those of others are left out along ``features``.
    theorems : sequence of str, optional
        Those to keep; all when None.

    Returns
    -------
    DataFrame
        The keys, ``theorem``, ``at`` and the columns of ``spread``.
    """
    if x == "features":
        more = rows["features"] > rows["step"]
        rows = rows[~more.groupby([rows[name] for name in keys]).transform("any")]
    table = medians(rows, frame, keys, "step", "excess_bound").rename(columns={"step": "at"})
    if theorems is not None:
        table = table[table["theorem"].isin(theorems)]
    return without_repeats(table, keys)


def _places(first: int, last: int) -> np.ndarray:
    """Numbers of features: all up to 50, then in steps of about a twentieth, and the last."""
    beyond = np.geomspace(50, last, max(2, int(48 * np.log10(last / 50)))) if last > 50 else []
    whole = np.union1d(np.arange(min(last, 50) + 1), np.rint(beyond).astype(int))
    return whole[whole >= first]


def _least(one: pd.DataFrame, y: str) -> pd.DataFrame:
    """The least value of a replicate with at most so many features, from its first number on."""
    one = one.sort_values("features", kind="stable")
    counts, least = one["features"].to_numpy(), np.minimum.accumulate(one[y].to_numpy(dtype=float))
    at = _places(int(counts[0]), int(one["last"].iloc[0]))
    values = least[np.searchsorted(counts, at, side="right") - 1]
    head = one.iloc[np.zeros(len(at), dtype=int)]
    return head.assign(at=at, value=values)
