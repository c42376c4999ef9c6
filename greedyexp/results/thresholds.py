"""Thresholds, where success crosses a level: their estimates with intervals, and notes on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from greedyexp.results import successes
from greedyexp.results.context import Context
from greedyexp.results.records import require_columns, require_finite
from greedyexp.results.text import group_text
from greedyexp.results.words import axis_label, short_name
from greedyexp.stats.crossing import Crossing
from greedyexp.stats.sequential import located_crossing

if TYPE_CHECKING:
    import pandas as pd

# Parameters of figures and tables.
Of = Annotated[str, Field(description="column whose threshold is estimated")]
Level = Annotated[float, Field(gt=0, lt=1, description="probability of success at the threshold")]

# A note names at most so many thresholds outside the tested range.
_MAX_NAMED = 4


def thresholds(
    frame: pd.DataFrame,
    context: Context,
    *,
    of: str,
    success: Mapping[str, str],
    by: Sequence[str],
    level: float = 0.5,
) -> pd.DataFrame:
    """Estimate the value of ``of`` at which success crosses ``level``, with its 95% interval.

    Groups and points of a group may have different numbers of replicates. A replicate that failed
    is a trial without success. If results decided where trials were placed, intervals are valid at
    any stopping time (``stats.sequential``); in a run until decided, they are valid at every look.

    Parameters
    ----------
    of : str
        A numeric column along which success rises.
    success : mapping of str to str
        Metric by algorithm label or registered name; ``default`` for the others.
    by : sequence of str
        One threshold for every combination of values of these columns.
    level : float in (0, 1)

    Returns
    -------
    DataFrame
        The columns of ``by``, sorted; ``estimate``, ``low`` and ``high`` as in
        ``stats.crossing.Crossing``, but infinite where the fitted curve crosses the level outside
        the tested values; whether the interval is that of a ``logistic`` curve; the number of all
        ``trials``; ``fewest`` and ``most`` trials per point; the number of trials that ``failed``.

    Raises
    ------
    ConfigError
        If a column is missing, or ``of`` is not numeric.
    """
    import pandas as pd

    require_columns(frame, [*by, of])
    require_finite(frame, of)
    counts = successes.count(frame, successes.metrics_of(frame, context, success), [*by, of])
    rows = []
    for key, points in counts.groupby(list(by), sort=True, dropna=False):
        x, wins, trials = (points[name] for name in (of, "successes", "trials"))
        fit = located_crossing(
            *(x, wins, trials),
            sequential=context.placed,
            level=level,
            confidence=context.confidence,
        )
        ends = _within(fit, x[trials > 0])
        numbers = (*ends, fit.step is None, trials.sum(), trials.min(), trials.max())
        rows.append((*key, *numbers, points["failed"].sum()))
    names = ("estimate", "low", "high", "logistic", "trials", "fewest", "most", "failed")
    table: pd.DataFrame = pd.DataFrame(rows, columns=[*by, *names])
    return table


def _within(fit: Crossing, tested: pd.Series) -> tuple[float, float, float]:
    """Return estimate, low and high of a crossing, without what was extrapolated."""
    # Where nothing was tested, the crossing would depend on the assumed curve alone.
    if fit.estimate > tested.max():
        return np.inf, fit.low, np.inf
    if fit.estimate < tested.min():
        return -np.inf, -np.inf, fit.high
    return fit.estimate, fit.low, fit.high


def facts(table: pd.DataFrame) -> dict[str, Any]:
    """Return the numbers of some thresholds by the names that readers see."""
    return {
        "threshold": table["estimate"],
        "95% interval": (table["low"], table["high"]),
        "trials": table["trials"],
        "failed": table["failed"],
    }


def threshold_name(of: str, level: float, per: str | None = None) -> str:
    """Return the name of a threshold, divided by ``per``, for axes and captions."""
    quantity = r"$\theta$" if of == "theta" else axis_label(of)
    if per is not None:
        quantity = f"{short_name(of)} / {short_name(per)}"
    return f"{quantity} at {100 * level:.4g}% success"


def notes(
    frame: pd.DataFrame, context: Context, table: pd.DataFrame, keys: Sequence[str]
) -> list[str]:
    """Return the notes on trials and failures, and name thresholds outside the tested range."""
    fitted, intervals = table["logistic"].sum(), "95% intervals of a logistic fit"
    if not fitted:
        intervals = "95% intervals without a model of the curve"
    elif fitted < len(table):
        intervals += f" for {fitted} of {len(table)}, others without a model"
    if context.placed:
        intervals += ", valid at any stopping time"
    elif context.looks:
        intervals += ", valid at every look"
    trials = (table["fewest"].min(), table["most"].max(), table["trials"].sum())
    found = successes.notes(frame, context, trials, intervals)
    outside = table.loc[~np.isfinite(table["estimate"]), list(keys)]
    names = [group_text(values, context) for values in outside.to_dict("records")]
    if len(names) > _MAX_NAMED:
        found.append(f"{len(names)} of {len(table)} thresholds are not in the tested range.")
    elif names:
        found.append(f"Not crossed in the tested range: {'; '.join(names)}.")
    return found
