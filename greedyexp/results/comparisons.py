"""Means of metrics by algorithm, their differences and ratios, and published numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.protocols.base import FIT_SECONDS
from greedyexp.results.columns import reads, refuse_pooled, separate_algorithms
from greedyexp.results.context import Context
from greedyexp.results.curves import mean_interval, ratio
from greedyexp.results.records import (
    failed_rows,
    group_columns,
    identity,
    refuse_all_failed,
    replicates,
    require_columns,
    require_numeric,
)
from greedyexp.results.words import metric_title

if TYPE_CHECKING:
    import pandas as pd

_PAIR = "pair of replicates"
# The value of two equal algorithms.
EQUAL = {"difference": 0.0, "ratio": 1.0}


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
Against = Annotated[
    dict[str, str],
    Field(description="algorithm: the algorithm that it is compared with on the same data sets"),
]
By = Annotated[
    Literal["difference", "ratio"],
    Field(description="what is shown of two algorithms; used with `against`"),
]


def metric_columns(*, metrics: Metrics, **params: Any) -> list[str]:
    """Return the columns that a comparison reads."""
    return reads(*metrics, apart=separate_algorithms)(**params)


def metric_styles(metrics: Metrics) -> dict[str, MetricStyle]:
    """Return the style of each metric, in the given order."""
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
    against: Mapping[str, str] | None = None,
    by: str = "difference",
    panel: str | None = None,
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
    against : mapping of str to str, optional
        Maps an algorithm to the one that it is compared with on the same data sets: the estimates
        are differences or ratios of means, with paired t intervals or Fieller's. A published
        difference or ratio is that of two published numbers.
    by : {"difference", "ratio"}
    panel : str, optional
        Another column whose values are compared separately.

    Returns
    -------
    DataFrame
        One row for each value of ``row`` and ``panel``, metric and algorithm, algorithms in the
        order of the experiment file or of ``against``: ``estimate``, ``low``, ``high`` (nan if
        there is none) and ``published`` (nan if there is none), all in the shown unit; the numbers
        of ``trials`` in the mean and of ``failed`` ones.

    Raises
    ------
    AllFailed
        If every replicate failed.
    ConfigError
        If a column is missing, a metric is not numeric, no row has both a metric and ``row``,
        published numbers name a metric that is not shown, or an algorithm has no rows.
    """
    import pandas as pd

    if panel is not None:
        settings: Any = {"row": row, "metrics": metrics, "published": published, "by": by}
        parts = [
            compare(part, context, against=against, **settings).assign(**{panel: level})
            for level, part in frame.groupby(panel)
        ]
        whole: pd.DataFrame = pd.concat(parts, ignore_index=True)
        return whole
    require_columns(frame, [row, *metrics])
    refuse_all_failed(frame)
    require_numeric(frame, *metrics)
    for metric in [name for by_metric in published.values() for name in by_metric]:
        if metric not in metrics and not against:
            raise ConfigError(
                f"`published` names '{metric}', which is not compared here.",
                remedy=did_you_mean(metric, sorted(metrics)),
            )
    frame, _ = group_columns(with_metrics(frame, list(metrics)), context, row)
    _refuse_empty(frame, row, list(metrics))
    for metric in metrics:
        measured = frame[frame[metric].notna() & frame[row].notna() & ~failed_rows(frame)]
        # All rows of a replicate repeat its seconds.
        once = replicates(measured) if metric == FIT_SECONDS.name else measured
        refuse_pooled(once, [row, "algorithm"])
    labels = context.in_order("algorithm", sorted(frame["algorithm"].unique()))
    for label in [label for pair in (against or {}).items() for label in pair]:
        if label not in labels:
            raise ConfigError(
                f"`against` names '{label}', which has no rows.", remedy=did_you_mean(label, labels)
            )
    paired = {metric: samples(frame, row, metric) for metric in metrics} if against else {}
    points = []
    for level in sorted(frame[row].dropna().unique()):
        # A failed replicate of a selection has no size.
        here = frame[frame[row].eq(level) | (failed_rows(frame) & frame[row].isna() & bool(paired))]
        for metric, style in metrics.items():
            for label in against or labels:
                both = [label, against[label]] if against else [label]
                rows = here[here["algorithm"].isin(both)]
                printed = [
                    published_number(published, context, name, metric, level) for name in both
                ]
                if against:
                    values = on_common_data(paired[metric], level, (label, against[label]))
                    data = identity(frame)[: identity(frame).index("algorithm")]
                    failed = len(rows[failed_rows(rows)].drop_duplicates(data))
                    rows = frame[frame[row] == level]
                else:
                    rows = replicates(rows) if metric == FIT_SECONDS.name else rows
                    failed = int(failed_rows(rows).sum())
                    values = rows.loc[~failed_rows(rows), [metric]].dropna().to_numpy().T
                if against and by == "ratio":
                    numbers: tuple[float, ...] = ratio(values, context, rows, metric)
                    shown = printed[0] / printed[1] if printed[1] else np.nan
                else:
                    minus = values[1] if against else None
                    interval = mean_interval(values[0], context, rows, metric, minus=minus)
                    numbers = tuple(number * style.scale for number in interval)
                    shown = printed[0] - printed[1] if against else printed[0]
                points.append((level, metric, label, *numbers, shown, values.shape[1], failed))
    columns = ["estimate", "low", "high", "published", "trials", "failed"]
    found: pd.DataFrame = pd.DataFrame(points, columns=[row, "metric", "algorithm", *columns])
    return found


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


def with_metrics(frame: pd.DataFrame, metrics: list[str]) -> pd.DataFrame:
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
