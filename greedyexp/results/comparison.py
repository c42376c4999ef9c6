"""Means of metrics with their intervals, and the numbers a paper printed for the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.protocols.measured import FIT_SECONDS
from greedyexp.results import notes
from greedyexp.results.context import Context
from greedyexp.results.counts import FAILED, UNPROVED, require_columns
from greedyexp.results.records import refuse_all_failed, replicates, told_apart
from greedyexp.stats.means import t_interval


class MetricStyle(BaseModel):
    """How a metric is shown."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: Annotated[str, Field(description="What it is called; its name when empty.")] = ""
    scale: Annotated[float, Field(gt=0, description="Factor, 100 for percent.")] = 1.0
    unit: Annotated[str, Field(description="Unit after scaling, such as %.")] = ""
    digits: Annotated[int, Field(ge=0, le=12, description="Decimals shown.")] = 3
    axis: Annotated[Literal["linear", "log"], Field(description="Vertical axis of the figure.")] = (
        "linear"
    )

    def named(self, metric: str) -> str:
        """Title and unit."""
        title = self.title or metric.replace("_", " ")
        return f"{title} ({self.unit})" if self.unit else title


# Parameters of the figure and of the table.
Metrics = Annotated[
    list[str] | dict[str, MetricStyle],
    Field(min_length=1, description="metrics, or metric: title, scale, unit, digits"),
]
# Algorithm label or name, metric, value of the row column, printed number in the shown unit.
Published = Annotated[
    dict[str, dict[str, dict[str, float]]],
    Field(description="printed numbers: algorithm, metric, value of row"),
]


def apart_of(*, row: str, **_) -> list[str]:
    """The columns that separate means, which must be known before the run."""
    return [row, "algorithm"]


def styles(metrics: Metrics) -> dict[str, MetricStyle]:
    """The style of each metric, in the order asked for."""
    if isinstance(metrics, Mapping):
        return dict(metrics)
    return {name: MetricStyle() for name in metrics}


def compare(
    frame: pd.DataFrame,
    context: Context,
    *,
    row: str,
    metrics: Mapping[str, MetricStyle],
    published: Published,
) -> pd.DataFrame:
    """Mean of every metric for every algorithm at every value of a column.

    Means are over the replicates that did not fail; how many did is in the result. Where one
    replicate was asked for there is nothing to average, and no interval.

    Parameters
    ----------
    row : str
        Column whose values are compared apart.
    published : mapping algorithm -> metric -> value of ``row`` -> number
        In the shown unit. Those of algorithms that are not in the table are left out.

    Returns
    -------
    DataFrame
        One row for each value of ``row``, metric and algorithm, algorithms as the experiment lists
        them: ``value``, ``low``, ``high`` (95% t interval; nan where there is none), ``published``
        (nan when absent), all in the shown unit; ``replicates`` in the mean and ``failed`` ones.

    Raises
    ------
    AllFailed
        When every replicate failed.
    ConfigError
        When a column is missing, a metric is not numeric, no row has both a metric and ``row``, or
        published numbers name a metric that is not shown.
    """
    require_columns(frame, [row, *metrics])
    refuse_all_failed(frame)
    for metric in metrics:
        if not pd.api.types.is_numeric_dtype(frame[metric]):
            raise ConfigError(f"column '{metric}' is not a number.", remedy="Name a metric.")
    _refuse_unknown(published, metrics)
    frame, _ = told_apart(_of_one_kind(frame, list(metrics)), context, row)
    _refuse_nothing(frame, row, list(metrics))
    labels = context.in_order("algorithm", sorted(frame["algorithm"].unique()))
    cells = []
    for level in sorted(frame[row].dropna().unique()):
        for metric, style in metrics.items():
            for label in labels:
                rows = frame[(frame[row] == level) & (frame["algorithm"] == label)]
                if metric == FIT_SECONDS.name:
                    # All rows of a replicate have its seconds.
                    rows = replicates(rows)
                failed = rows["status"].isin(FAILED)
                values = rows.loc[~failed, metric].dropna() * style.scale
                printed = _published(published, context, label, metric, level)
                numbers = (*_interval(values, context), printed, len(values), failed.sum())
                cells.append((level, metric, label, *numbers))
    columns = ["value", "low", "high", "published", "replicates", "failed"]
    return pd.DataFrame(cells, columns=[row, "metric", "algorithm", *columns])


def remarks(frame: pd.DataFrame, context: Context, table: pd.DataFrame) -> list[str]:
    """What must be said beside the numbers of ``compare``."""
    row = table.columns[0]
    frame = _of_one_kind(frame, list(table["metric"].unique()))
    frame, _ = told_apart(frame, context, row)
    lines = [f"{notes.origin(context)}: {averages_text(table['replicates'], context)}."]
    frame = replicates(frame)
    failed = frame["status"].isin(FAILED)
    if failed.any():
        by_label = failed.groupby(frame["algorithm"]).agg(["sum", "count"])
        parts = [
            f"{context.titles.get(label, label)} {lost} of {count}"
            for label, lost, count in by_label[by_label["sum"] > 0].itertuples()
        ]
        lines.append(f"Failed replicates, not in the means: {', '.join(parts)}.")
    unproved = (frame["status"] == UNPROVED).mean()
    if unproved:
        lines.append(f"Without certificate: {unproved:.2%}.")
    return lines


def single(context: Context) -> bool:
    """Whether the run was to have one replicate of each point, as where the data are fixed."""
    return context.trials == 1 and not context.adaptive


def averages_text(counts: pd.Series, context: Context) -> str:
    """What the numbers of a table are: means with intervals, or those of one replicate."""
    if single(context):
        return "one replicate, so that there are no intervals"
    count = notes.count_text(counts.min(), counts.max())
    return f"means over {count} replicates with 95% t intervals"


def _interval(values: pd.Series, context: Context) -> tuple[float, float, float]:
    if single(context) and len(values) == 1:
        return float(values.iloc[0]), float("nan"), float("nan")
    return t_interval(values)


def _of_one_kind(frame: pd.DataFrame, metrics: list[str]) -> pd.DataFrame:
    """The rows that have any of the metrics, and those of failures, where rows are of kinds."""
    if "record" not in frame.columns:
        return frame
    # Seconds are of a replicate and stand in its rows of all kinds.
    own = [name for name in metrics if name != FIT_SECONDS.name] or metrics
    return frame[frame[own].notna().any(axis=1) | frame["status"].isin(FAILED)]


def _refuse_nothing(frame: pd.DataFrame, row: str, metrics: list[str]) -> None:
    """Refuse rows of which none has a value of any metric."""
    told = frame[metrics].notna().any(axis=1) & frame[row].notna()
    if not (told & ~frame["status"].isin(FAILED)).any():
        raise ConfigError(
            f"no row here has both {row} and {' or '.join(metrics)}.",
            remedy="Choose other rows by `where`, or another column as `row`.",
        )


def _refuse_unknown(published: Published, metrics: Sequence[str]) -> None:
    for name in [name for by_metric in published.values() for name in by_metric]:
        if name not in metrics:
            raise ConfigError(
                f"`published` names '{name}', which is not compared here.",
                remedy=did_you_mean(name, sorted(metrics)),
            )


def _published(published: Published, context: Context, label: str, metric: str, level) -> float:
    name = context.algorithms.get(label, label)
    by_level = published.get(label, published.get(name, {})).get(metric, {})
    return next((n for key, n in by_level.items() if _same(key, level)), float("nan"))


def _same(key: str, level) -> bool:
    """Whether a key of YAML, which is text, means this value of a column."""
    try:
        return float(key) == float(level)
    except ValueError:
        return key == str(level)
