"""Successes and trials from a tidy table, failures counted as no success."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.experiment.design import success_metric
from greedyexp.protocols.measured import FIT_SECONDS
from greedyexp.protocols.outcome import Status
from greedyexp.results.context import Context

FAILED = tuple(status.value for status in Status if status.failed)
UNPROVED = Status.NOT_CONVERGED.value
NO_SECONDS = "there are no seconds of fits: timings.csv, which has them, is missing or older"


def success_column(success: Mapping[str, str], label: str, context: Context) -> str:
    """The column in which an algorithm's successes are counted.

    Parameters
    ----------
    success : mapping of str to str
        Metric by algorithm label or registered name; ``default`` for the others.

    Raises
    ------
    ConfigError
        When the mapping says nothing about the algorithm.
    """
    name = context.algorithms.get(label, label)
    column = success_metric(success, label, name)
    if column is None:
        raise ConfigError(
            f"`success` names no metric for '{label}'.", remedy="Add `default: sign_support`."
        )
    return column


def succeeded(frame: pd.DataFrame, success: Mapping[str, str], context: Context) -> pd.Series:
    """1.0 where a replicate succeeded in the metric of its algorithm, else 0.0.

    A replicate that failed has no value in the table and stays a trial without success.

    Raises
    ------
    ConfigError
        When a metric is missing from the mapping or from the table, or is not 0 or 1.
    """
    values = pd.Series(0.0, index=frame.index)
    for label in frame["algorithm"].unique():
        column = success_column(success, label, context)
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
    return values


def trials_of(
    frame: pd.DataFrame, success: Mapping[str, str], context: Context, keys: Sequence[str]
) -> pd.DataFrame:
    """One row for each trial of a protocol that writes several kinds of rows per replicate.

    Rows of kinds without the metric are left out. A replicate that failed has one row without a
    value of a key such as ``size``: it is a trial at each value.

    Parameters
    ----------
    success : mapping of str to str
        See ``succeeded``.
    keys : sequence of str
        Columns that tell points apart.
    """
    if "record" not in frame.columns:
        return frame
    columns = {success_column(success, label, context) for label in frame["algorithm"].unique()}
    require_columns(frame, sorted(columns))
    failed = frame["status"].isin(FAILED)
    kinds = frame.loc[frame[sorted(columns)].notna().any(axis=1), "record"].unique()
    rows = frame[frame["record"].isin(kinds) | failed]
    for key in keys:
        lost = rows[key].isna() & rows["status"].isin(FAILED)
        if lost.any():
            levels = rows[key].dropna().unique()
            at_each = [rows[lost].assign(**{key: level}) for level in levels]
            rows = pd.concat([rows[~lost], *at_each], ignore_index=True)
    return rows


def count_successes(values: pd.Series, frame: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Successes and trials for every combination of the keys.

    Parameters
    ----------
    values : Series of 0.0 and 1.0
        As ``succeeded`` gives them, on the index of the frame.
    keys : sequence of str
        Columns of the frame.

    Returns
    -------
    DataFrame
        The keys, sorted, then ``successes`` and ``trials``.
    """
    table = frame[list(keys)].assign(value=values)
    grouped = table.groupby(list(keys), sort=True, dropna=False)["value"]
    return grouped.agg(successes="sum", trials="count").reset_index()


def require_columns(frame: pd.DataFrame, names: Sequence[str]) -> None:
    """Refuse a table that lacks a column.

    Raises
    ------
    ConfigError
        With the nearest name.
    """
    for name in names:
        if name == FIT_SECONDS.name and name not in frame.columns:
            raise ConfigError(f"{NO_SECONDS}.", remedy="`greedyexp run --force` measures them.")
        if name not in frame.columns:
            raise ConfigError(
                f"the table has no column '{name}'.", remedy=did_you_mean(name, frame.columns)
            )


def require_numbers(frame: pd.DataFrame, name: str) -> None:
    """Refuse a column that is not a finite number in every row.

    Raises
    ------
    ConfigError
        With the column's name.
    """
    require_numeric(frame, name)
    if not np.isfinite(frame[name].astype(float)).all():
        raise _no_number(name)


def require_numeric(frame: pd.DataFrame, name: str) -> None:
    """Refuse a column with text in it; cells may be empty.

    Raises
    ------
    ConfigError
        With the column's name.
    """
    if not pd.api.types.is_numeric_dtype(frame[name]):
        raise _no_number(name)


def _no_number(name: str) -> ConfigError:
    return ConfigError(
        f"column '{name}' is not a number in every row.", remedy="Name a numeric column."
    )
