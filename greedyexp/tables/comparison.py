"""Means of metrics side by side with the numbers a paper printed."""

from __future__ import annotations

from typing import Annotated

import pandas as pd
from pydantic import Field

from greedyexp.core.registry import table
from greedyexp.results.comparison import (
    Metrics,
    Published,
    apart_of,
    compare,
    remarks,
    single,
    styles,
)
from greedyexp.results.context import Context
from greedyexp.results.labels import letter, number
from greedyexp.results.where import Where, rows_where
from greedyexp.tables.cells import Cell
from greedyexp.tables.titles import Title, titled


def _columns(*, row, metrics, where=(), **_) -> list[str]:
    return [*apart_of(row=row), *metrics, *where]


@table("comparison", title="Comparison", columns=_columns, apart=apart_of, by_algorithm="published")
def comparison(
    frame: pd.DataFrame,
    context: Context,
    *,
    row: Annotated[str, Field(description="column with one group of rows per value")],
    metrics: Metrics,
    published: Published = {},  # noqa: B006 - a default that pydantic copies
    where: Where = {},  # noqa: B006
    title: Title = "",
) -> pd.DataFrame:
    """One row for each value of ``row`` and metric, one column for each algorithm.

    A cell is the mean over replicates with its 95% t interval, then the published number in
    brackets. A replicate that failed has no value; means are over the others, and the failures
    are counted below. With one replicate, as where the data are fixed, a cell is its number.
    """
    shown = styles(metrics)
    frame = rows_where(frame, where)
    numbers = compare(frame, context, row=row, metrics=shown, published=published)
    heading = letter(row)
    labels = list(numbers["algorithm"].unique())
    titles = context.titled(labels)
    what = "value of" if single(context) else "mean of"
    rows = []
    for (level, metric), cells in numbers.groupby([row, "metric"], sort=False):
        style = shown[metric]
        line = {heading: number(level), what: style.named(metric)}
        for cell in cells.itertuples():
            line[titles[cell.algorithm]] = Cell(
                cell.value, cell.low, cell.high, cell.published, style.digits
            )
        rows.append(line)
    result = pd.DataFrame(rows)
    said = remarks(frame, context, numbers)
    if numbers["published"].notna().any():
        said.append("In brackets: published.")
    result.attrs |= {"group": heading, "notes": said, "title": titled("Comparison", title, where)}
    return result
