"""Differences and ratios of two algorithms on the same data sets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.results.context import Context
from greedyexp.results.records import (
    failed_rows,
    group_columns,
    identity,
    refuse_all_failed,
    require_columns,
    require_numeric,
)
from greedyexp.results.summaries import (
    NO_INTERVAL,
    MetricStyle,
    Published,
    interval_text,
    is_single,
    mean_interval,
    published_number,
)
from greedyexp.results.text import count_text
from greedyexp.stats.means import fieller

if TYPE_CHECKING:
    import pandas as pd

_PAIR = "pair of replicates"

# Parameters of figures.
Against = Annotated[
    dict[str, str],
    Field(description="algorithm: the algorithm that it is compared with on the same data sets"),
]
By = Annotated[
    Literal["difference", "ratio"],
    Field(description="what is shown of two algorithms; used with `against`"),
]
# The value of two equal algorithms.
EQUAL = {"difference": 0.0, "ratio": 1.0}


def samples(frame: pd.DataFrame, row: str, metric: str) -> pd.Series:
    """Return the values of a metric by value of ``row``, algorithm and data set.

    Failed replicates are left out.
    """
    # The columns before the algorithm identify the data set.
    names = identity(frame)
    data = [name for name in names[: names.index("algorithm")] if name != row]
    rows = frame[~failed_rows(frame) & frame[metric].notna() & frame[row].notna()]
    pair = rows.groupby(data, dropna=False, sort=False).ngroup()
    rows = rows.assign(**{_PAIR: pair})
    found: pd.Series = rows.groupby([row, "algorithm", _PAIR])[metric].mean()
    return found


def on_common_data(values: pd.Series, level: Any, labels: tuple[str, str]) -> np.ndarray:
    """Return the values of two algorithms on the data sets for which both have one.

    Parameters
    ----------
    values : Series
        From ``samples``.
    level : value of ``row``
    labels : pair of str

    Returns
    -------
    array, shape (2, n)
        n is 0 if an algorithm has no values.
    """
    import pandas as pd

    try:
        both = pd.concat([values[level, label] for label in labels], axis=1, join="inner")
    except KeyError:
        return np.empty((2, 0))
    found: np.ndarray = both.to_numpy().T
    return found


def ratio(pairs: np.ndarray, context: Context) -> tuple[float, float, float]:
    """Return the ratio of the means of paired values, with Fieller's 95% interval."""
    top, bottom = pairs
    if not len(top):
        return (math.nan, *NO_INTERVAL)
    found, low, high = fieller(top, bottom, context.confidence)
    return (found, *NO_INTERVAL) if is_single(context) and len(top) == 1 else (found, low, high)


def compare_pairs(
    frame: pd.DataFrame,
    context: Context,
    *,
    row: str,
    metrics: Mapping[str, MetricStyle],
    against: Mapping[str, str],
    by: str,
    published: Published,
) -> pd.DataFrame:
    """Compute differences or ratios of the means of two algorithms on the same data sets.

    Parameters
    ----------
    row, metrics, published
        As for ``compare_means``. A published difference or ratio is that of two published numbers.
    against : mapping of str to str
        Maps an algorithm to the one that it is compared with.
    by : {"difference", "ratio"}

    Returns
    -------
    DataFrame
        The columns of ``compare_means``. Intervals of differences are paired t intervals, those of
        ratios are Fieller's; ``algorithm`` is the first of the two, ``failed`` the number of data
        sets on which one of them failed.

    Raises
    ------
    AllFailed
        If every replicate failed.
    ConfigError
        If a column is missing, a metric is not numeric, or an algorithm has no rows.
    """
    import pandas as pd

    require_columns(frame, [row, *metrics])
    refuse_all_failed(frame)
    require_numeric(frame, *metrics)
    frame, _ = group_columns(frame, context, row)
    labels = list(frame["algorithm"].unique())
    for label in [label for pair in against.items() for label in pair]:
        if label not in labels:
            raise ConfigError(
                f"`against` names '{label}', which has no rows.",
                remedy=did_you_mean(label, labels),
            )
    levels = sorted(frame[row].dropna().unique())
    names = identity(frame)
    data = names[: names.index("algorithm")]
    lost = frame[failed_rows(frame)]
    cells = []
    for metric, style in metrics.items():
        values = samples(frame, row, metric) * style.scale
        for level in levels:
            for pair in against.items():
                both = on_common_data(values, level, pair)
                first, second = (
                    published_number(published, context, label, metric, level) for label in pair
                )
                if by == "ratio":
                    numbers, known = ratio(both, context), first / second if second else np.nan
                else:
                    differences = pd.Series(both[0] - both[1])
                    numbers, known = mean_interval(differences, context), first - second
                # A failed replicate of a selection has no size.
                here = lost[lost["algorithm"].isin(pair) & lost[row].isin([level, np.nan])]
                counts = both.shape[1], len(here.drop_duplicates(data))
                cells.append((level, metric, pair[0], *numbers, known, *counts))
    columns = ["value", "low", "high", "published", "replicates", "failed"]
    found: pd.DataFrame = pd.DataFrame(cells, columns=[row, "metric", "algorithm", *columns])
    return found


def contrast_text(table: pd.DataFrame, by: str, context: Context) -> str:
    """Describe the numbers of ``compare_pairs``."""
    if is_single(context):
        return f"{by}s of one replicate, no intervals"
    kind, means = {
        "difference": ("paired t", "mean differences"),
        "ratio": ("Fieller", "ratios of means"),
    }[by]
    intervals = interval_text(kind, context)
    return f"{means} over {count_text(table['replicates'])} replicates with {intervals}"
