"""Points of curves: estimates over replicates, with intervals or bands.

Every estimate returns a table with the keys that tell points apart, ``estimate``, ``low`` and
``high``, and the number of ``trials`` that it is over. Figures, tables and comparisons read it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from greedyexp.results import successes
from greedyexp.results.columns import refuse_pooled
from greedyexp.results.context import Context
from greedyexp.results.records import (
    failed_rows,
    refuse_all_failed,
    refuse_empty_cells,
    require_columns,
    require_numeric,
)
from greedyexp.stats.level import INTERVAL
from greedyexp.stats.means import fieller, t_interval
from greedyexp.stats.rounding import vary
from greedyexp.stats.row_shares import share_interval
from greedyexp.stats.two_samples import difference_of_proportions

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

# Up to this many replicates, a band covers all of them: quartiles would not be informative.
FEW = 5
NO_INTERVAL = (float("nan"), float("nan"))
# What a band from ``medians`` is.
BAND, EXTREMES = "band", "smallest and largest"
# Columns of counts, by the names that readers see.
REPLICATES: Mapping[str, str] = {"replicates": "trials"}


def medians(
    rows: pd.DataFrame,
    keys: Sequence[str],
    value: str,
    *,
    whole: Sequence[str] = (),
    extremes: bool = False,
) -> pd.DataFrame:
    """Compute median and band of a column for every combination of the keys.

    Parameters
    ----------
    rows : DataFrame
        One row for each replicate and combination. Values may be infinite: a median or the end of
        a band is then infinite if its replicate is.
    keys : sequence of str
    value : str
        Column without empty cells.
    whole : sequence of str
        Columns that tell lines apart. A line then has the points that all its replicates have: a
        median over the remaining ones would jump.
    extremes : bool
        The band covers all replicates however many they are.

    Returns
    -------
    DataFrame
        The points, sorted. The band covers all replicates if no combination has more than ``FEW``.
        Otherwise it is the middle half: from the last value not above the first quartile to the
        first not below the third.
    """
    refuse_pooled(rows, keys)
    grouped = rows.groupby(list(keys), sort=True)[value]
    table = grouped.agg(estimate="median", low="min", high="max", trials="count")
    if table["trials"].max() > FEW and not extremes:
        # Use values of the sample, since there is nothing between a finite and an infinite value.
        table["low"] = grouped.quantile(0.25, interpolation="lower")
        table["high"] = grouped.quantile(0.75, interpolation="higher")
    found: pd.DataFrame = table.reset_index()
    if whole and len(found):
        most = found.groupby(list(whole))["trials"].transform("max")
        kept: pd.DataFrame = found[found["trials"] == most].reset_index(drop=True)
        return kept
    return found


def medians_reached(rows: pd.DataFrame, keys: Sequence[str], count: str) -> pd.DataFrame:
    """Compute median and band of the count at which an accuracy is reached.

    Parameters
    ----------
    rows : DataFrame
        As for ``medians``. The accuracy is one of the keys.
    count : str
        Column of steps, features or iterations, empty or infinite where the accuracy was not
        reached.

    Returns
    -------
    DataFrame
        The points, and the number of replicates that ``reached`` the accuracy. The count of a
        replicate that did not reach it is infinite.
    """
    rows = rows.assign(taken=rows[count].astype(float).fillna(np.inf))
    reached = np.isfinite(rows["taken"]).groupby([rows[name] for name in keys], sort=True).sum()
    found: pd.DataFrame = medians(rows, keys, "taken").assign(reached=reached.to_numpy())
    return found


def means(frame: pd.DataFrame, context: Context, keys: Sequence[str], value: str) -> pd.DataFrame:
    """Compute the mean of a column for every combination of the keys, with ``mean_interval``.

    Parameters
    ----------
    frame : DataFrame
        One row for each replicate and combination.
    value : str
        Numeric column. Failed replicates and values that are not finite are left out.

    Returns
    -------
    DataFrame
        The points, sorted; the estimate is nan if no value is finite.

    Raises
    ------
    AllFailed
        If every replicate failed.
    ConfigError
        If a column is missing or has wrong values.
    """
    import pandas as pd

    require_columns(frame, [*keys, value])
    refuse_all_failed(frame)
    require_numeric(frame, value)
    failed = failed_rows(frame)
    refuse_empty_cells(frame[~failed], keys)
    refuse_pooled(frame[~failed], keys)
    finite = frame[value].where(~failed & np.isfinite(frame[value]))
    points = []
    for key, group in frame.groupby(list(keys), sort=True):
        values = finite[group.index].dropna()
        points.append((*key, *mean_interval(values, context, group, value), len(values)))
    found: pd.DataFrame = pd.DataFrame(points, columns=[*keys, "estimate", "low", "high", "trials"])
    return found


def facts(
    points: pd.DataFrame,
    name: str,
    interval: str = INTERVAL,
    counts: Mapping[str, str] = REPLICATES,
) -> dict[str, Any]:
    """Return the numbers of points by the names that readers see.

    Parameters
    ----------
    points : DataFrame
        The result of an estimate, or some of its rows.
    name : str
        Name of the estimate; a median of one replicate is called ``value``.
    interval : str
        Name of the interval or the band.
    counts : mapping of str to str
        Columns of further numbers, by the names that readers see.
    """
    numbers = {name: points["estimate"], interval: (points["low"], points["high"])}
    if interval == BAND and points["trials"].max() == 1:
        numbers = {"value": points["estimate"]}
    reached = {"reached it": "reached"} if "reached" in points else {}
    return numbers | {name: points[column] for name, column in {**counts, **reached}.items()}


def is_single(context: Context) -> bool:
    """Return True if the run has one replicate per point, for example because data are fixed."""
    return context.trials == 1 and not context.adaptive


def has_shares(column: str, rows: pd.DataFrame, context: Context) -> bool:
    """Return True if means of a column are shares of successes in independent replicates."""
    return column in context.successes and not context.resampling.covers(rows)


def mean_interval(
    values: ArrayLike,
    context: Context,
    rows: pd.DataFrame,
    column: str,
    minus: ArrayLike | None = None,
) -> tuple[float, float, float]:
    """Return a mean or mean difference and its interval; nan ends for no interval.

    A share of successes has the interval of figures of success, a difference Newcombe's.
    A run with one replicate has none, nor have equal values over splits of one data set.

    The interval of a run until decided covers at all its looks together. If replicates resample one
    data set, the interval holds for new data (``experiment.resampling``).

    Parameters
    ----------
    values : array_like, shape (n,)
        The column in each replicate, or a number that is computed from it.
    rows : DataFrame
        The rows that the values are computed from.
    column : str
        The column that they are computed from.
    minus : array_like, shape (n,), optional
        What is subtracted: the column of another algorithm in the same replicates.
    """
    parts = np.stack([values] if minus is None else [values, minus])
    differences = parts[0] if minus is None else parts[0] - parts[1]
    if is_single(context) and len(differences) == 1:
        return (float(differences[0]), *NO_INTERVAL)
    if has_shares(column, rows, context):
        return _share_interval(parts, context)
    split, added = context.resampling.split(rows, column), context.resampling.added(rows, column)
    if equal_in_splits(differences, added):
        return (float(differences.mean()), *NO_INTERVAL)
    if split:
        return share_interval(parts, split, (1.0, -1.0)[: len(parts)], context.confidence)
    return t_interval(differences, context.confidence, added)


def _share_interval(parts: np.ndarray, context: Context) -> tuple[float, float, float]:
    """Return a share of successes, or the difference of two, with its interval."""
    if len(parts) == 1:
        wins, trials = parts[0].sum(), parts.shape[1]
        found = (wins / trials if trials else np.nan, *successes.interval(wins, trials, context))
    else:
        first, second = parts
        found = difference_of_proportions(
            second, first, paired=True, confidence=context.confidence
        )[:3]
    value, low, high = map(float, found)
    return value, low, high


def equal_in_splits(values: np.ndarray, added: float, size: float | None = None) -> bool:
    """Return True if splits of one data set have equal values, which say nothing about others.

    Parameters
    ----------
    values : array, shape (n,)
    added : float
        Positive for splits (``Resampling.added``).
    size : float, optional
        The size of the numbers that the values were computed from.
    """
    return added > 0 and len(values) > 1 and not vary(values, size)


def ratio(
    pairs: np.ndarray, context: Context, rows: pd.DataFrame, column: str
) -> tuple[float, float, float]:
    """Return the ratio of the means of paired values, with Fieller's interval.

    ``rows`` and ``column`` are those of ``mean_interval``.
    """
    top, bottom = pairs
    if not len(top):
        return (math.nan, *NO_INTERVAL)
    added = context.resampling.added(rows, column)
    found, low, high = fieller(top, bottom, context.confidence, added)
    single = is_single(context) and len(top) == 1
    if single or equal_in_splits(top - found * bottom, added, np.abs(top).max()):
        low, high = NO_INTERVAL
    return found, low, high
