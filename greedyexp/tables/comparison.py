"""Means of metrics side by side with the numbers a paper printed."""

from __future__ import annotations

from typing import Annotated

import pandas as pd
from pydantic import Field

from greedyexp.frames.comparison import Metrics, Published, compare, remarks, styles
from greedyexp.frames.context import Context
from greedyexp.frames.labels import letter, number
from greedyexp.registry import table
from greedyexp.tables.cells import Cell


def _apart(*, row, **_) -> list[str]:
    return [row]


def _columns(*, row, metrics, **_) -> list[str]:
    return [row, *metrics]


@table("comparison", title="Comparison", columns=_columns, apart=_apart, by_algorithm="published")
def comparison(
    frame: pd.DataFrame,
    context: Context,
    *,
    row: Annotated[str, Field(description="column with one group of rows per value")],
    metrics: Metrics,
    published: Published = {},  # noqa: B006 - a default that pydantic copies
) -> pd.DataFrame:
    """One row for each value of ``row`` and metric, one column for each algorithm.

    A cell is the mean over replicates with its 95% t interval, then the published number in
    brackets. A replicate that failed has no value; means are over the others, and the failures
    are counted below.
    """
    shown = styles(metrics)
    numbers = compare(frame, context, row=row, metrics=shown, published=published)
    heading = letter(row)
    labels = list(numbers["algorithm"].unique())
    titles = {label: context.titles.get(label, label) for label in labels}
    if len(set(titles.values())) < len(titles):
        titles = {label: label for label in labels}
    rows = []
    for (level, metric), cells in numbers.groupby([row, "metric"], sort=False):
        style = shown[metric]
        line = {heading: number(level), "mean of": style.named(metric)}
        for cell in cells.itertuples():
            line[titles[cell.algorithm]] = Cell(
                cell.value, cell.low, cell.high, cell.published, style.digits
            )
        rows.append(line)
    result = pd.DataFrame(rows)
    said = remarks(frame, context, numbers)
    if numbers["published"].notna().any():
        said.append("In brackets: published.")
    result.attrs |= {"group": heading, "notes": said}
    return result
