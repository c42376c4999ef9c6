"""Successes and trials of a tidy table; a failed replicate counts as a trial without success."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from greedyexp.core.errors import ConfigError
from greedyexp.experiment.design import success_metric
from greedyexp.results.context import Context
from greedyexp.results.records import failed_rows, require_columns, require_numeric
from greedyexp.results.text import failures_text, origin_text
from greedyexp.results.words import metric_title

if TYPE_CHECKING:
    import pandas as pd

# Parameters of figures and tables.
Success = Annotated[
    dict[str, str], Field(description="success metric by algorithm; 'default' for the others")
]


def metrics_of(frame: pd.DataFrame, context: Context, success: Mapping[str, str]) -> dict[str, str]:
    """Return the metric by which each algorithm of a table succeeds.

    Parameters
    ----------
    success : mapping of str to str
        Metric by algorithm label or registered name; ``default`` for the others.

    Raises
    ------
    ConfigError
        If the mapping has no metric for an algorithm.
    """
    metrics = {}
    for label in sorted(frame["algorithm"].unique()):
        column = success_metric(success, label, context.algorithms.get(label, label))
        if column is None:
            raise ConfigError(
                f"`success` names no metric for '{label}'.", remedy="Add `default: sign_support`."
            )
        metrics[label] = column
    return metrics


def trials_of(frame: pd.DataFrame, metrics: Mapping[str, str], keys: Sequence[str]) -> pd.DataFrame:
    """Return one row for each trial.

    Some protocols write several kinds of rows per replicate; rows without the metric are left out.
    For a failed replicate there is one row, without values of keys such as ``size``. It counts as a
    trial at each value.

    Parameters
    ----------
    metrics : mapping of str to str
        The result of ``metrics_of``.
    keys : sequence of str
        Columns that separate points.
    """
    import pandas as pd

    require_columns(frame, keys)
    if "record" not in frame.columns:
        return frame
    columns = sorted(set(metrics.values()))
    require_columns(frame, columns)
    kinds = frame.loc[frame[columns].notna().any(axis=1), "record"].unique()
    rows: pd.DataFrame = frame[frame["record"].isin(kinds) | failed_rows(frame)]
    for key in keys:
        incomplete = rows[key].isna() & failed_rows(rows)
        if incomplete.any():
            levels = rows[key].dropna().unique()
            at_each = [rows[incomplete].assign(**{key: level}) for level in levels]
            rows = pd.concat([rows[~incomplete], *at_each], ignore_index=True)
    return rows


def count(frame: pd.DataFrame, metrics: Mapping[str, str], keys: Sequence[str]) -> pd.DataFrame:
    """Count ``successes``, ``trials`` and ``failed`` for every combination of the keys, sorted.

    Raises
    ------
    ConfigError
        If a metric is missing, or has values other than 0 and 1, or if a key is named twice.
    """
    import pandas as pd

    twice = next((key for key in keys if list(keys).count(key) > 1), None)
    if twice is not None:
        raise ConfigError(
            f"the column '{twice}' is named for two purposes.",
            remedy="Name another column for one of them, such as the panels or the axis.",
        )
    values = pd.Series(0.0, index=frame.index)
    for label, column in metrics.items():
        require_columns(frame, [column])
        require_numeric(frame, column)
        rows = frame["algorithm"] == label
        counted = frame.loc[rows, column].astype(float).fillna(0.0)
        if not counted.isin((0.0, 1.0)).all():
            raise ConfigError(
                f"metric '{column}' is not a success: its values are not all 0 or 1.",
                remedy="Name a metric such as sign_support.",
            )
        values[rows] = counted
    numbered = frame[list(keys)].assign(value=values, failed=failed_rows(frame).astype(int))
    grouped = numbered.groupby(list(keys), sort=True, dropna=False)
    counts: pd.DataFrame = grouped.agg(
        successes=("value", "sum"), trials=("value", "count"), failed=("failed", "sum")
    ).reset_index()
    return counts


def notes(
    frame: pd.DataFrame, context: Context, trials: tuple[float, float, float], intervals: str
) -> list[str]:
    """Return the notes on origin, trials, intervals and failures.

    Parameters
    ----------
    trials : (int, int, int)
        Smallest and largest number of trials per point, and the total number.
    intervals : str
        Description of the intervals.
    """
    fewest, most, total = trials
    each = f"{most} trials per point"
    if fewest != most:
        each = f"{fewest} to {each}, {total} in all"
    return [
        f"{origin_text(context)}: {each}, {intervals}",
        failures_text(frame, "counted as no success"),
    ]


def metrics_note(context: Context, metrics: Mapping[str, str], line: Sequence[str]) -> str:
    """Name the metric of each algorithm; empty if the legend does so."""
    titles = {label: metric_title(column) for label, column in metrics.items()}
    if len(set(titles.values())) == 1:
        return f"Success: {next(iter(titles.values()))}."
    if line[0] == "algorithm":
        return ""
    named = [f"{context.titles.get(label, label)} ({title})" for label, title in titles.items()]
    return f"Success: {', '.join(named)}."
