"""What each accuracy takes, in steps or features, and how it grows as accuracies get finer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from greedyexp.frames.counts import require_numbers, require_numeric
from greedyexp.frames.records import identity, records
from greedyexp.frames.spread import spread
from greedyexp.stats.line import line_weights
from greedyexp.stats.means import t_interval

# What tells the rows of one replicate apart that have the same accuracy.
KEYS = ("theorem", "reference")


def accuracies(frame: pd.DataFrame, columns: Sequence[str], count: str) -> pd.DataFrame:
    """The rows of accuracies, checked; an accuracy that was not reached has an infinite ``taken``.

    Parameters
    ----------
    frame : DataFrame
        Of protocol ``tradeoff``.
    columns : sequence of str
        What the rows must tell.
    count : {"steps", "features_needed"}
        What is counted.

    Raises
    ------
    ConfigError
        When a column is missing, has empty cells or is not numeric.
    """
    rows = records(frame, "epsilon", [*dict.fromkeys([*columns, *KEYS, "epsilon"])])
    require_numbers(rows, "epsilon")
    for name in (count, "steps_bound"):
        require_numeric(rows, name)
    return rows.assign(taken=rows[count].astype(float).fillna(np.inf))


def measured(rows: pd.DataFrame, frame: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Median and band of what is taken, at each accuracy; how many replicates ``reached`` it.

    A replicate counts once though several theorems speak of it.
    """
    own = [*identity(frame), *keys, "epsilon"]
    once = rows.drop_duplicates([*dict.fromkeys(own)])
    names = [*keys, "epsilon"]
    table = spread(once[[*names, "taken"]], names, "taken")
    reached = np.isfinite(once["taken"]).groupby([once[name] for name in names], sort=True).sum()
    return table.assign(reached=reached.to_numpy())


def promised(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Median over replicates of what theorems promise at each accuracy; infinite for nothing."""
    bound = rows.assign(bound=rows["steps_bound"].astype(float).fillna(np.inf))
    return spread(bound, [*keys, "epsilon"], "bound")


@dataclass(frozen=True)
class Growth:
    """A mean over replicates with its 95% t interval; nan without one.

    Parameters
    ----------
    value, low, high : float
    replicates : int
        Those with at least three accuracies reached that take different numbers.
    """

    value: float
    low: float
    high: float
    replicates: int

    @property
    def known(self) -> bool:
        return self.replicates > 0


def growth(rows: pd.DataFrame, frame: pd.DataFrame, law: str) -> Growth:
    """How what is taken grows with 1 / epsilon: each replicate's least-squares slope, averaged.

    Parameters
    ----------
    rows : DataFrame
        Of one line, as ``accuracies`` gives them.
    law : {"power", "log"}
        The exponent p of (1 / epsilon)^p, or the steps that each factor of ten in accuracy costs.
        Accuracies that take no step, or are not reached, are left out.
    """
    slopes = []
    for _, one in rows.groupby(identity(frame), dropna=False, sort=False):
        one = one.drop_duplicates("epsilon")
        one = one[np.isfinite(one["taken"]) & (one["taken"] >= 1)]
        if one["epsilon"].nunique() < 3:
            continue
        weights = line_weights(-np.log10(one["epsilon"].to_numpy(dtype=float)))[1]
        taken = one["taken"].to_numpy(dtype=float)
        slopes.append(float(weights @ (np.log10(taken) if law == "power" else taken)))
    if not slopes:
        return Growth(np.nan, np.nan, np.nan, 0)
    value, low, high = t_interval(slopes)
    return Growth(value, low, high, len(slopes))
