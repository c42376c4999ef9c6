"""Means of metrics, and seconds of fits, next to the numbers that a paper published."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.registry import table
from greedyexp.protocols.base import FIT_SECONDS
from greedyexp.results import comparisons
from greedyexp.results.columns import declared, separate_algorithms
from greedyexp.results.context import Context
from greedyexp.results.curves import has_shares, is_single
from greedyexp.results.notes import comparison_notes
from greedyexp.results.records import Where, replicates, rows_where
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
    columns=comparisons.metric_columns,
    apart=separate_algorithms,
    by_algorithm="published",
)
def comparison(
    frame: pd.DataFrame,
    context: Context,
    *,
    row: Annotated[str, Field(description="column with one group of rows per value")],
    metrics: comparisons.Metrics,
    published: comparisons.Published = {},  # noqa: B006 - a default that pydantic copies
    where: Where = {},  # noqa: B006
    title: Title = "",
) -> pd.DataFrame:
    """One row for each value of ``row`` and metric, one column for each algorithm.

    A cell is the mean over replicates with its t interval, then the published number in
    brackets. A share of successes has both ends of the interval of figure ``phase_transition``. A
    replicate that failed has no value; means are over the others, and the failures are counted
    below. With one replicate, for example because data are fixed, a cell is its number.
    """
    shown = comparisons.metric_styles(metrics)
    frame = rows_where(frame, where)
    means = comparisons.compare(frame, context, row=row, metrics=shown, published=published)
    heading, what = short_name(row), "value of" if is_single(context) else "mean of"
    titles = context.titled(list(means["algorithm"].unique()), heading, what)
    rows = []
    groups: Any = means.groupby([row, "metric"], sort=False)
    for (level, metric), cells in groups:
        style = shown[metric]
        line: dict[str, Any] = {heading: number_text(level), what: style.heading(metric)}
        for cell in cells.itertuples():
            numbers = (cell.estimate, cell.low, cell.high, cell.published)
            share = has_shares(metric, frame, context)
            line[titles[cell.algorithm]] = Cell(*numbers, style.digits, ends=share)
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

    Seconds are those of the fit alone, with a t interval. Ratios are mean seconds divided by
    the mean seconds of ``base``, with Fieller's interval over the data sets for which both have
    seconds. The published seconds and their ratio are in brackets.
    """
    frame = rows_where(replicates(frame) if "record" in frame.columns else frame, where)
    settings: Any = {"row": row, "metrics": {_SECONDS: comparisons.MetricStyle()}}
    settings["published"] = {label: {_SECONDS: seconds} for label, seconds in published.items()}
    means = comparisons.compare(frame, context, **settings)
    labels = list(means["algorithm"].unique())
    if base not in labels:
        raise ConfigError(
            f"`base` names '{base}', which has no rows.", remedy=did_you_mean(base, labels)
        )
    titles = context.titled(labels)
    others = {label: base for label in labels if label != base}
    ratios = (
        comparisons.compare(frame, context, **settings, against=others, by="ratio")
        if others
        else means
    )
    rows = []
    groups: Any = means.groupby(row, sort=False)
    for level, cells in groups:
        line: dict[str, Any] = {short_name(row): number_text(level)}
        for cell in cells.itertuples():
            numbers = (cell.estimate, cell.low, cell.high, cell.published)
            line[f"{titles[cell.algorithm]} (s)"] = _cell(*numbers)
        for cell in ratios[ratios[row] == level].itertuples():
            # Printed seconds have no more than three digits.
            numbers = (cell.estimate, cell.low, cell.high, float(f"{cell.published:.3g}"))
            line[f"{titles[cell.algorithm]} / {titles[base]}"] = _cell(*numbers)
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
