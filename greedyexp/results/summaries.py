"""Summaries over replicates: medians with bands, and means of metrics with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.protocols.base import FIT_SECONDS
from greedyexp.results.columns import reads, separate_algorithms
from greedyexp.results.context import Context
from greedyexp.results.records import (
    NOT_CERTIFIED,
    failed_rows,
    group_columns,
    records,
    refuse_all_failed,
    replicates,
    require_columns,
    require_numeric,
)
from greedyexp.results.text import count_text, origin_text
from greedyexp.results.words import metric_title, number_text
from greedyexp.stats.means import t_interval

if TYPE_CHECKING:
    import pandas as pd

# Up to this many replicates, a band covers all of them: quartiles would not be informative.
FEW = 5


def spread(rows: pd.DataFrame, keys: Sequence[str], value: str) -> pd.DataFrame:
    """Compute median and band of a column for every combination of the keys.

    Parameters
    ----------
    rows : DataFrame
        One row for each replicate and combination. Values may be infinite: a median or the end of
        a band is then infinite if its replicate is.
    keys : sequence of str
    value : str
        Column without empty cells.

    Returns
    -------
    DataFrame
        The keys, sorted; ``median``, ``low``, ``high`` and the number of ``replicates``. The band
        covers all replicates if no combination has more than ``FEW``. Otherwise it is the middle
        half: from the last value not above the first quartile to the first not below the third.
    """
    grouped = rows.groupby(list(keys), sort=True)[value]
    table = grouped.agg(["median", "min", "max", "count"])
    if table["count"].max() > FEW:
        # Use values of the sample, since there is nothing between a finite and an infinite value.
        table["min"] = grouped.quantile(0.25, interpolation="lower")
        table["max"] = grouped.quantile(0.75, interpolation="higher")
    names = {"min": "low", "max": "high", "count": "replicates"}
    found: pd.DataFrame = table.rename(columns=names).reset_index()
    return found


def spread_reached(rows: pd.DataFrame, keys: Sequence[str], count: str) -> pd.DataFrame:
    """Compute median and band of the count at which an accuracy is reached.

    Parameters
    ----------
    rows : DataFrame
        As for ``spread``. The accuracy is one of the keys.
    count : str
        Column of steps, features or iterations, empty or infinite where the accuracy was not
        reached.

    Returns
    -------
    DataFrame
        The columns of ``spread``, and the number of replicates that ``reached`` the accuracy. The
        count of a replicate that did not reach it is infinite.
    """
    rows = rows.assign(taken=rows[count].astype(float).fillna(np.inf))
    reached = np.isfinite(rows["taken"]).groupby([rows[name] for name in keys], sort=True).sum()
    found: pd.DataFrame = spread(rows, keys, "taken").assign(reached=reached.to_numpy())
    return found


def spread_facts(table: pd.DataFrame, median: str) -> dict[str, Any]:
    """Return the numbers of a ``spread`` or ``spread_reached`` by the names that readers see.

    Parameters
    ----------
    median : str
        Name of the median.
    """
    most = table["replicates"].max()
    numbers: dict[str, Any] = {("value" if most == 1 else median): table["median"]}
    if most > 1:
        numbers["band"] = (table["low"], table["high"])
    numbers["replicates"] = table["replicates"]
    return numbers | ({"reached it": table["reached"]} if "reached" in table else {})


def unreached_text(table: pd.DataFrame, accuracy: str = "accuracy") -> str:
    """Return, as text, how often a replicate did not reach an accuracy; empty for never."""
    share = 1 - table["reached"].sum() / table["replicates"].sum()
    text = f"{accuracy} not reached: {share:.2%} of all pairs of replicate and {accuracy}."
    return text.capitalize() if share else ""


def spread_text(table: pd.DataFrame) -> str:
    """Describe the lines and bands of a ``spread``."""
    most = table["replicates"].max()
    if most == 1:
        return "one replicate"
    return f"medians of {count_text(table['replicates'])} replicates, bands: {band_name(table)}"


def band_name(table: pd.DataFrame) -> str:
    """Return what the bands of a ``spread`` are."""
    return "interquartile range" if table["replicates"].max() > FEW else "smallest to largest"


NO_INTERVAL = (float("nan"), float("nan"))


class MetricStyle(BaseModel):
    """Title, scale, unit and format of a metric."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: Annotated[str, Field(description="Title; the name of the metric if empty.")] = ""
    scale: Annotated[float, Field(gt=0, description="Factor, 100 for percent.")] = 1.0
    unit: Annotated[str, Field(description="Unit after scaling, such as %.")] = ""
    digits: Annotated[int, Field(ge=0, le=12, description="Decimals shown.")] = 3
    axis: Annotated[Literal["linear", "log"], Field(description="Vertical axis of the figure.")] = (
        "linear"
    )

    def heading(self, metric: str) -> str:
        """Return title and unit."""
        title = self.title or metric_title(metric)
        return f"{title} ({self.unit})" if self.unit else title


# Parameters of figures and tables.
Metrics = Annotated[
    list[str] | dict[str, MetricStyle],
    Field(min_length=1, description="metrics, or metric: title, scale, unit, digits"),
]
# Algorithm label or name -> metric -> value of the row column -> printed number in the unit shown.
Published = Annotated[
    dict[str, dict[str, dict[str, float]]],
    Field(description="published numbers by algorithm, metric and value of row"),
]
Sizes = Annotated[list[int], Field(description="sizes to show; all sizes of the protocol if empty")]


def metric_columns(*, metrics: Metrics, **params: Any) -> list[str]:
    """Return the columns that a comparison reads."""
    return reads(*metrics, apart=separate_algorithms)(**params)


def metric_styles(metrics: Metrics) -> dict[str, MetricStyle]:
    """Return the style of each metric, in the given order."""
    if isinstance(metrics, Mapping):
        return dict(metrics)
    return {name: MetricStyle() for name in metrics}


def compare_means(
    frame: pd.DataFrame,
    context: Context,
    *,
    row: str,
    metrics: Mapping[str, MetricStyle],
    published: Published,
) -> pd.DataFrame:
    """Compute the mean of every metric for every algorithm at every value of a column.

    Failed replicates are left out and counted. A run with one replicate per point has no
    intervals.

    Parameters
    ----------
    row : str
        Column whose values are compared separately.
    published : mapping algorithm -> metric -> value of ``row`` -> number
        Published numbers, in the unit shown. Algorithms that are not in the table are ignored.

    Returns
    -------
    DataFrame
        One row for each value of ``row``, metric and algorithm, algorithms in the order of the
        experiment file: ``value``, ``low``, ``high`` (95% t interval, nan if there is none) and
        ``published`` (nan if there is none), all in the shown unit; the numbers of ``replicates``
        in the mean and of ``failed`` ones.

    Raises
    ------
    AllFailed
        If every replicate failed.
    ConfigError
        If a column is missing, a metric is not numeric, no row has both a metric and ``row``, or
        published numbers name a metric that is not shown.
    """
    import pandas as pd

    require_columns(frame, [row, *metrics])
    refuse_all_failed(frame)
    require_numeric(frame, *metrics)
    for metric in [name for by_metric in published.values() for name in by_metric]:
        if metric not in metrics:
            raise ConfigError(
                f"`published` names '{metric}', which is not compared here.",
                remedy=did_you_mean(metric, sorted(metrics)),
            )
    frame, _ = group_columns(_with_metrics(frame, list(metrics)), context, row)
    _refuse_empty(frame, row, list(metrics))
    labels = context.in_order("algorithm", sorted(frame["algorithm"].unique()))
    cells = []
    for level in sorted(frame[row].dropna().unique()):
        for metric, style in metrics.items():
            for label in labels:
                rows = frame[(frame[row] == level) & (frame["algorithm"] == label)]
                if metric == FIT_SECONDS.name:
                    # All rows of a replicate repeat its seconds.
                    rows = replicates(rows)
                failed = failed_rows(rows)
                values = rows.loc[~failed, metric].dropna() * style.scale
                printed = published_number(published, context, label, metric, level)
                numbers = (*mean_interval(values, context), printed, len(values), failed.sum())
                cells.append((level, metric, label, *numbers))
    columns = ["value", "low", "high", "published", "replicates", "failed"]
    found: pd.DataFrame = pd.DataFrame(cells, columns=[row, "metric", "algorithm", *columns])
    return found


def comparison_notes(
    frame: pd.DataFrame, context: Context, table: pd.DataFrame, numbers: str = ""
) -> list[str]:
    """Return the notes that explain the numbers of ``compare_means``.

    Parameters
    ----------
    numbers : str
        Description of the numbers; that of means by default.
    """
    row = table.columns[0]
    frame = _with_metrics(frame, list(table["metric"].unique()))
    frame = replicates(group_columns(frame, context, row)[0])
    numbers = numbers or means_text(table["replicates"], context)
    notes = [f"{origin_text(context)}: {numbers}."]
    failed = failed_rows(frame)
    if failed.any():
        by_label = failed.groupby(frame["algorithm"]).agg(["sum", "count"])
        parts = [
            f"{context.titles.get(label, label)} {failures} of {count}"
            for label, failures, count in by_label[by_label["sum"] > 0].itertuples()
        ]
        notes.append(f"Failed replicates, not in the means: {', '.join(parts)}.")
    return [*notes, *_uncertified(frame)]


def _uncertified(frame: pd.DataFrame) -> list[str]:
    share = (frame["status"] == NOT_CERTIFIED).mean()
    return [f"Without certificate: {share:.2%}."] if share else []


def is_single(context: Context) -> bool:
    """Return True if the run has one replicate per point, for example because data are fixed."""
    return context.trials == 1 and not context.adaptive


def means_text(counts: pd.Series[int], context: Context) -> str:
    """Describe the numbers of a table, which are means with intervals or of one replicate."""
    if is_single(context):
        return "one replicate, no intervals"
    return f"means over {count_text(counts)} replicates with {interval_text('t', context)}"


def interval_text(kind: str, context: Context) -> str:
    """Describe 95% intervals, such as "t"; in a run until decided they cover at all its looks."""
    return f"95% {kind} intervals{' valid at every look' if context.looks else ''}"


def mean_interval(values: pd.Series[float], context: Context) -> tuple[float, float, float]:
    """Return the mean and its 95% t interval; nan ends for a run with one replicate.

    The interval of a run until decided covers at all its looks together.
    """
    if is_single(context) and len(values) == 1:
        return (float(values.iloc[0]), *NO_INTERVAL)
    return t_interval(values, context.confidence)


def _with_metrics(frame: pd.DataFrame, metrics: list[str]) -> pd.DataFrame:
    """Return the rows with a value of any metric, and those of failed replicates."""
    if "record" not in frame.columns:
        return frame
    # Rows of all kinds repeat the seconds of their replicate.
    own = [name for name in metrics if name != FIT_SECONDS.name] or metrics
    found: pd.DataFrame = frame[frame[own].notna().any(axis=1) | failed_rows(frame)]
    return found


def _refuse_empty(frame: pd.DataFrame, row: str, metrics: list[str]) -> None:
    measured = frame[metrics].notna().any(axis=1) & frame[row].notna()
    if not (measured & ~failed_rows(frame)).any():
        raise ConfigError(
            f"no row here has both {row} and {' or '.join(metrics)}.",
            remedy="Choose other rows by `where`, or another column as `row`.",
        )


def published_number(
    published: Published, context: Context, label: str, metric: str, level: object
) -> float:
    """Return the published number of an algorithm at a value of ``row``; nan if there is none."""
    name = context.algorithms.get(label, label)
    by_level = published.get(label, published.get(name, {})).get(metric, {})
    return next((number for key, number in by_level.items() if _same(key, level)), float("nan"))


def _same(key: str, level: Any) -> bool:
    """Return True if a YAML key, which is text, equals the value of a column."""
    try:
        return float(key) == float(level)
    except ValueError:
        return key == str(level)


def records_at(
    frame: pd.DataFrame, kind: Literal["class", "feature"], value: str, sizes: Sequence[int]
) -> tuple[pd.DataFrame, dict[Any, int]]:
    """Return the rows about single classes or features at some sizes.

    Parameters
    ----------
    frame : DataFrame
        Table of protocol ``selection``.
    value : str
        Numeric column of these rows.
    sizes : sequence of int
        The sizes to keep; all if empty.

    Returns
    -------
    rows : DataFrame
    order : dict
        The position of each class or feature in the data.

    Raises
    ------
    ConfigError
        If the table has no rows about classes or features, or lacks a size.
    """
    columns = ["size", kind, *(["used"] if value == "used" else [])]
    rows = records(frame, kind, columns)
    known = sorted(rows["size"].unique())
    for size in sizes:
        if size not in known:
            listed = ", ".join(f"{one:g}" for one in known)
            raise ConfigError(
                f"the table has no such rows of size {size}.", remedy=f"It has sizes {listed}."
            )
    rows = rows[rows["size"].isin(sizes)] if sizes else rows
    require_columns(rows, [value])
    require_numeric(rows, value)
    return rows, {name: place for place, name in enumerate(rows[kind].unique())}


def name_text(name: Any) -> str:
    """Return the name of a class or feature; empty cells turn whole numbers into floats."""
    whole = isinstance(name, float) and name.is_integer()
    return number_text(int(name)) if whole else str(name)


def selection_notes(frame: pd.DataFrame, context: Context, numbers: str) -> list[str]:
    """Return the notes on classes or features.

    Parameters
    ----------
    numbers : str
        Description of the numbers in the figure or table.
    """
    notes = [f"{origin_text(context)}: {numbers}."]
    frame = replicates(frame)
    failed = failed_rows(frame)
    if failed.any():
        notes.append(f"Failed replicates, left out: {failed.sum()} of {len(frame)}.")
    return [*notes, *_uncertified(frame)]
