"""Means of metrics, and seconds of fits, next to the numbers that a paper published."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.registry import table
from greedyexp.protocols.base import FIT_SECONDS
from greedyexp.results.columns import declared, separate_algorithms
from greedyexp.results.context import Context
from greedyexp.results.pairs import on_common_data, ratio, samples
from greedyexp.results.records import Where, group_columns, replicates, rows_where
from greedyexp.results.summaries import (
    Metrics,
    MetricStyle,
    Published,
    compare_means,
    comparison_notes,
    is_single,
    metric_columns,
    metric_styles,
)
from greedyexp.results.words import number_text, short_name
from greedyexp.tables._output import Cell, Title, make_table

if TYPE_CHECKING:
    import pandas as pd

_SECONDS = FIT_SECONDS.name
Seconds = Annotated[
    dict[str, dict[str, Annotated[float, Field(gt=0)]]],
    Field(description="published seconds by algorithm and value of row"),
]


@table(
    "comparison",
    title="Comparison",
    columns=metric_columns,
    apart=separate_algorithms,
    by_algorithm="published",
)
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
    are counted below. With one replicate, for example because data are fixed, a cell is its number.
    """
    shown = metric_styles(metrics)
    frame = rows_where(frame, where)
    means = compare_means(frame, context, row=row, metrics=shown, published=published)
    titles = context.titled(list(means["algorithm"].unique()))
    heading = short_name(row)
    what = "value of" if is_single(context) else "mean of"
    rows = []
    groups: Any = means.groupby([row, "metric"], sort=False)
    for (level, metric), cells in groups:
        style = shown[metric]
        line: dict[str, Any] = {heading: number_text(level), what: style.heading(metric)}
        for cell in cells.itertuples():
            numbers = (cell.value, cell.low, cell.high, cell.published)
            line[titles[cell.algorithm]] = Cell(*numbers, style.digits)
        rows.append(line)
    notes = comparison_notes(frame, context, means)
    if means["published"].notna().any():
        notes.append("In brackets: published.")
    return make_table(rows, notes, "Comparison", title, where, heading)


@table(
    "timing",
    title="Seconds",
    by_algorithm="published",
    **declared(_SECONDS, apart=separate_algorithms),
)
def timing(
    frame: pd.DataFrame,
    context: Context,
    *,
    row: Annotated[str, Field(description="column with one row per value")],
    base: Annotated[str, Field(description="label of the algorithm that others are compared with")],
    published: Seconds = {},  # noqa: B006 - a default that pydantic copies
    where: Where = {},  # noqa: B006
    title: Title = "",
) -> pd.DataFrame:
    """One row for each value of ``row``: mean seconds of each algorithm, then their ratios.

    Seconds are those of the fit alone, with a 95% t interval. Ratios are mean seconds divided by
    the mean seconds of ``base``, with Fieller's interval over the data sets for which both have
    seconds. The published seconds and their ratio are in brackets.
    """
    frame = rows_where(replicates(frame) if "record" in frame.columns else frame, where)
    means = compare_means(
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
    values = samples(group_columns(frame, context, row)[0], row, _SECONDS)
    rows = []
    groups: Any = means.groupby(row, sort=False)
    for level, cells in groups:
        printed = dict(zip(cells["algorithm"], cells["published"], strict=True))
        line: dict[str, Any] = {short_name(row): number_text(level)}
        for cell in cells.itertuples():
            numbers = (cell.value, cell.low, cell.high, cell.published)
            line[f"{titles[cell.algorithm]} (s)"] = _cell(*numbers)
        for label in [label for label in labels if label != base]:
            quotient = ratio(on_common_data(values, level, (label, base)), context)
            # Printed seconds have no more than three digits.
            published_ratio = float(f"{printed[label] / printed[base]:.3g}")
            line[f"{titles[label]} / {titles[base]}"] = _cell(*quotient, published_ratio)
        rows.append(line)
    notes = [
        *comparison_notes(frame, context, means),
        "Wall-clock seconds of the fit alone on one core; one measurement of each fit.",
    ]
    if means["published"].notna().any():
        notes.append("In brackets: published, on another machine.")
    return make_table(rows, notes, "Seconds", title, where)


def _cell(value: float, low: float, high: float, published: float) -> Cell:
    """Return a cell with three significant digits, because sizes differ within a table."""
    size = math.floor(math.log10(value)) if np.isfinite(value) and value > 0 else 0
    return Cell(value, low, high, published, max(0, 2 - size))
