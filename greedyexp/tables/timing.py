"""Seconds of fits side by side, their ratios, and what a paper printed for both."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field

from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.registry import table
from greedyexp.protocols.measured import FIT_SECONDS
from greedyexp.results.comparison import MetricStyle, apart_of, compare, remarks, single
from greedyexp.results.context import Context
from greedyexp.results.counts import FAILED
from greedyexp.results.labels import letter, number
from greedyexp.results.records import identity, replicates, told_apart
from greedyexp.results.where import Where, rows_where
from greedyexp.stats.means import fieller
from greedyexp.tables.cells import Cell
from greedyexp.tables.titles import Title, titled

_SECONDS = FIT_SECONDS.name
_PAIR = "pair of replicates"
Seconds = Annotated[
    dict[str, dict[str, Annotated[float, Field(gt=0)]]],
    Field(description="printed seconds: algorithm, value of row"),
]


def _columns(*, row, where=(), **_) -> list[str]:
    return [*apart_of(row=row), _SECONDS, *where]


@table("timing", title="Seconds", columns=_columns, apart=apart_of, by_algorithm="published")
def timing(
    frame: pd.DataFrame,
    context: Context,
    *,
    row: Annotated[str, Field(description="column with one row per value")],
    base: Annotated[str, Field(description="label of the algorithm that others are divided by")],
    published: Seconds = {},  # noqa: B006 - a default that pydantic copies
    where: Where = {},  # noqa: B006
    title: Title = "",
) -> pd.DataFrame:
    """One row for each value of ``row``: mean seconds of each algorithm, then their ratios.

    Seconds are of the fit alone, with its 95% t interval. A ratio is that of mean seconds to the
    mean seconds of ``base``, with Fieller's interval over the data sets that both have seconds of.
    In brackets stand the printed seconds and their ratio.
    """
    frame = rows_where(replicates(frame) if "record" in frame.columns else frame, where)
    means = compare(
        frame,
        context,
        row=row,
        metrics={_SECONDS: MetricStyle()},
        published={label: {_SECONDS: seconds} for label, seconds in published.items()},
    )
    labels = list(means["algorithm"].unique())
    if base not in labels:
        raise ConfigError(
            f"`base` names '{base}', which has no rows.", remedy=did_you_mean(base, labels)
        )
    titles = context.titled(labels)
    frame, _ = told_apart(frame, context, row)
    samples = _samples(frame, row)
    heading = letter(row)
    rows = []
    for level, cells in means.groupby(row, sort=False):
        printed = dict(zip(cells["algorithm"], cells["published"], strict=True))
        line = {heading: number(level)}
        for cell in cells.itertuples():
            numbers = (cell.value, cell.low, cell.high, cell.published)
            line[f"{titles[cell.algorithm]} (s)"] = _cell(*numbers)
        for label in [label for label in labels if label != base]:
            ratio = _ratio(samples, level, label, base, context)
            beside = _rounded(printed[label] / printed[base])
            line[f"{titles[label]} / {titles[base]}"] = _cell(*ratio, beside)
        rows.append(line)
    result = pd.DataFrame(rows)
    said = remarks(frame, context, means)
    said.append(
        "Seconds of the fit alone, by the clock on the wall, on one core, compilation left out;"
        " one time of each fit is kept."
    )
    if means["published"].notna().any():
        said.append("In brackets: published, on another machine.")
    result.attrs |= {"notes": said, "title": titled("Seconds", title, where)}
    return result


def _samples(frame: pd.DataFrame, row: str) -> pd.Series:
    """Seconds by value of row, algorithm and data set."""
    # What tells the data sets apart stands before the algorithm.
    names = identity(frame)
    data = [name for name in names[: names.index("algorithm")] if name != row]
    rows = frame[~frame["status"].isin(FAILED) & frame[_SECONDS].notna() & frame[row].notna()]
    pair = rows.groupby(data, dropna=False, sort=False).ngroup()
    rows = rows.assign(**{_PAIR: pair})
    return rows.groupby([row, "algorithm", _PAIR])[_SECONDS].mean()


def _ratio(
    samples: pd.Series, level, label: str, base: str, context: Context
) -> tuple[float, float, float]:
    """Ratio of the mean seconds on common data sets, and its interval."""
    try:
        both = pd.concat([samples[level, label], samples[level, base]], axis=1, join="inner")
    except KeyError:
        return math.nan, math.nan, math.nan
    top, bottom = both.to_numpy().T
    ratio, low, high = fieller(top, bottom)
    if single(context) and len(both) == 1:
        return ratio, math.nan, math.nan
    return ratio, low, high


def _cell(value: float, low: float, high: float, published: float) -> Cell:
    """Three digits that count, as values of all sizes stand in one table."""
    size = math.floor(math.log10(value)) if np.isfinite(value) and value > 0 else 0
    return Cell(value, low, high, published, max(0, 2 - size))


def _rounded(ratio: float) -> float:
    """Three digits, as printed seconds have no more."""
    return float(f"{ratio:.3g}")
