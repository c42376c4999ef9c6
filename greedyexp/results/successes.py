"""Successes of trials, and the thresholds where success crosses a level.

A failed replicate counts as a trial without success.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from greedyexp.core.errors import ConfigError
from greedyexp.experiment.design import success_metric
from greedyexp.results.columns import refuse_pooled
from greedyexp.results.context import Context
from greedyexp.results.records import (
    failed_rows,
    require_columns,
    require_finite,
    require_numeric,
    rows_where,
)
from greedyexp.results.text import failures_text, group_text, origin_text
from greedyexp.results.words import axis_label, metric_title, short_name
from greedyexp.stats import direction as directions
from greedyexp.stats.crossing import Crossing
from greedyexp.stats.level import INTERVAL, percent
from greedyexp.stats.sequential import located_crossing, proportion_interval

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

# Parameters of figures and tables.
Success = Annotated[
    dict[str, str], Field(description="success metric by algorithm; 'default' for the others")
]
Of = Annotated[str, Field(description="column whose threshold is estimated")]
Level = Annotated[float, Field(gt=0, lt=1, description="probability of success at the threshold")]
Direction = Annotated[
    directions.Direction | None,
    Field(description="whether success rises or falls along `of`; null: what the curves show"),
]

# Columns of counts, by the names that readers see.
COUNTS = {"trials": "trials", "failed": "failed"}
# A note names at most so many thresholds outside the tested range.
_MAX_NAMED = 4


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


def trials(
    frame: pd.DataFrame,
    context: Context,
    success: Mapping[str, str],
    keys: Sequence[str],
    where: Mapping[str, Any],
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return the chosen rows, one for each trial, and the metric of each algorithm.

    Parameters
    ----------
    success : mapping of str to str
        As for ``metrics_of``.
    keys : sequence of str
        Columns that separate points.
    where : mapping
        The choice of rows.
    """
    frame = rows_where(frame, where)
    metrics = metrics_of(frame, context, success)
    return trials_of(frame, metrics, keys), metrics


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
        If a metric is missing, or has values other than 0 and 1, if a key is named twice, or if a
        point would be over several settings.
    """
    twice = next((key for key in keys if list(keys).count(key) > 1), None)
    if twice is not None:
        raise ConfigError(
            f"the column '{twice}' is named for two purposes.",
            remedy="Name another column for one of them, such as the panels or the axis.",
        )
    refuse_pooled(frame, keys)
    numbered = frame[list(keys)].assign(
        value=outcomes(frame, metrics), failed=failed_rows(frame).astype(int)
    )
    grouped = numbered.groupby(list(keys), sort=True, dropna=False)
    counts: pd.DataFrame = grouped.agg(
        successes=("value", "sum"), trials=("value", "count"), failed=("failed", "sum")
    ).reset_index()
    return counts


def shares(
    frame: pd.DataFrame, context: Context, metrics: Mapping[str, str], keys: Sequence[str]
) -> pd.DataFrame:
    """Return what ``count`` does, with the share of successes as ``estimate`` and its interval."""
    table = count(frame, metrics, keys)
    low, high = interval(table["successes"], table["trials"], context)
    found: pd.DataFrame = table.assign(
        estimate=table["successes"] / table["trials"], low=low, high=high
    )
    return found


def outcomes(frame: pd.DataFrame, metrics: Mapping[str, str]) -> pd.Series:
    """Return the outcome of each row, 1 for a success.

    Raises
    ------
    ConfigError
        If a metric is missing, or has values other than 0 and 1.
    """
    import pandas as pd

    values: pd.Series = pd.Series(0.0, index=frame.index)
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
    return values


def interval(successes: ArrayLike, trials: ArrayLike, context: Context) -> tuple[Any, Any]:
    """Return the lower and upper ends of the interval of a probability of success.

    All figures and tables use it. If results decided the number of trials, it is valid at any
    stopping time; otherwise it is Wilson's.
    """
    return proportion_interval(successes, trials, sequential=context.adaptive)


def interval_text(context: Context, drawn: str = "intervals") -> str:
    """Describe what ``interval`` returns, which is ``drawn`` as intervals or bands."""
    if context.adaptive:
        return f"{INTERVAL}s valid at any stopping time"
    return f"{percent()} Wilson {drawn}"


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
    if context.resampling.covers(frame):
        intervals += ", which are about the splits of one data set only"
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


def thresholds(
    frame: pd.DataFrame,
    context: Context,
    *,
    of: str,
    success: Mapping[str, str],
    by: Sequence[str],
    level: float = 0.5,
    direction: directions.Direction | None = None,
) -> pd.DataFrame:
    """Estimate the value of ``of`` at which success crosses ``level``, with its interval.

    Groups and points of a group may have different numbers of replicates. A replicate that failed
    is a trial without success. If results decided where trials were placed, intervals are valid at
    any stopping time (``stats.sequential``); in a run until decided, they are valid at every look.
    All thresholds have one direction, so that an infinite one means the same for all of them.

    Parameters
    ----------
    of : str
        A numeric column along which success rises or falls.
    success : mapping of str to str
        Metric by algorithm label or registered name; ``default`` for the others.
    by : sequence of str
        One threshold for every combination of values of these columns.
    level : float in (0, 1)
    direction : {"rising", "falling"}, optional
        By default that of all curves together (``stats.direction``).

    Returns
    -------
    DataFrame
        The columns of ``by``, sorted; ``estimate``, ``low`` and ``high`` as in
        ``stats.crossing.Crossing``, but infinite where the fitted curve crosses the level outside
        the tested values; whether the interval is that of a ``logistic`` curve; the ``misfit``, why
        a curve has no threshold and its estimate is nan; the number of all ``trials``; ``fewest``
        and ``most`` trials per point; the number of trials that ``failed``.

    Raises
    ------
    ConfigError
        If a column is missing, or ``of`` is not numeric.
    """
    import pandas as pd

    require_columns(frame, [*by, of])
    require_finite(frame, of)
    metrics = metrics_of(frame, context, success)
    counts = count(frame, metrics, [*by, of])
    won = outcomes(frame, metrics).to_numpy()
    direction = direction or direction_along(frame, by, of, won, failed_rows(frame).to_numpy())
    rows = []
    for key, points in counts.groupby(list(by), sort=True, dropna=False):
        x, wins, trials = (points[name] for name in (of, "successes", "trials"))
        fit = located_crossing(
            *(x, wins, trials, direction),
            sequential=context.placed,
            level=level,
            confidence=context.confidence,
        )
        ends = _within(fit, x[trials > 0])
        numbers = (*ends, fit.step is None, fit.misfit, trials.sum(), trials.min(), trials.max())
        rows.append((*key, *numbers, points["failed"].sum()))
    names = ("estimate", "low", "high", "logistic", "misfit", "trials", "fewest", "most", "failed")
    table: pd.DataFrame = pd.DataFrame(rows, columns=[*by, *names])
    return table


def direction_along(
    frame: pd.DataFrame, by: Sequence[str], of: str, won: np.ndarray, failed: np.ndarray
) -> directions.Direction | None:
    """Return whether success rises or falls along a column, by all curves together.

    Failed runs must not decide it: the direction is not clear if it would be another one, or none,
    if they were successes.

    Parameters
    ----------
    by : sequence of str
        One curve for every combination of values of these columns.
    won : array, shape (n,)
        The outcome of each row, 0 or 1.
    failed : array of bool, shape (n,)
        The rows of failed runs.
    """
    curve = frame.groupby(list(by), dropna=False, sort=False).ngroup()
    # Different values of the column have different data sets.
    data_set = frame.groupby([of, "replicate"], sort=False).ngroup()
    place = frame[of].to_numpy(dtype=float), curve.to_numpy(), data_set.to_numpy()
    direction = directions.direction_of(place[0], won, *place[1:])
    if direction is None or not failed.any():
        return direction
    other = directions.direction_of(place[0], np.maximum(won, failed), *place[1:])
    return direction if other == direction else None


def _within(fit: Crossing, tested: pd.Series) -> tuple[float, float, float]:
    """Return estimate, low and high of a crossing, without what was extrapolated."""
    # Where nothing was tested, the crossing would depend on the assumed curve alone.
    if fit.estimate > tested.max():
        return np.inf, fit.low, np.inf
    if fit.estimate < tested.min():
        return -np.inf, -np.inf, fit.high
    return fit.estimate, fit.low, fit.high


def threshold_name(of: str, level: float, per: str | None = None) -> str:
    """Return the name of a threshold, divided by ``per``, for axes and captions."""
    quantity = r"$\theta$" if of == "theta" else axis_label(of)
    if per is not None:
        quantity = f"{short_name(of)} / {short_name(per)}"
    return f"{quantity} at {100 * level:.4g}% success"


def threshold_notes(
    frame: pd.DataFrame, context: Context, table: pd.DataFrame, keys: Sequence[str]
) -> list[str]:
    """Return the notes on trials and failures, and name thresholds outside the tested range."""
    crossed = table[table["misfit"] == ""]
    fitted, intervals = crossed["logistic"].sum(), f"{INTERVAL}s of a logistic fit"
    if not fitted:
        intervals = f"{INTERVAL}s without a model of the curve"
    elif fitted < len(crossed):
        intervals += f" for {fitted} of {len(crossed)}, others without a model"
    if context.placed:
        intervals += ", valid at any stopping time"
    elif context.looks:
        intervals += ", valid at every look"
    trials = (table["fewest"].min(), table["most"].max(), table["trials"].sum())
    found = notes(frame, context, trials, intervals)
    outside = crossed[~np.isfinite(crossed["estimate"])]
    if len(outside) > _MAX_NAMED:
        found.append(f"{len(outside)} of {len(crossed)} thresholds are not in the tested range.")
    elif len(outside):
        named = _names(outside, keys, context)
        found.append(f"Not crossed in the tested range: {named}.")
    for misfit, blank in table[table["misfit"] != ""].groupby("misfit", sort=True):
        count = f"{len(blank)} of {len(table)}" if len(blank) < len(table) else "all"
        which = count if len(blank) > _MAX_NAMED else _names(blank, keys, context)
        remedy = "; `direction` can say which" if misfit == directions.UNCLEAR else ""
        found.append(f"Without a threshold: {which}. Success {misfit}{remedy}.")
    return found


def _names(table: pd.DataFrame, keys: Sequence[str], context: Context) -> str:
    """Return the names of some thresholds."""
    return "; ".join(group_text(one, context) for one in table[list(keys)].to_dict("records"))
