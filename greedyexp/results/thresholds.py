"""Where success crosses a level, for every group of a tidy table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from greedyexp.results.context import Context
from greedyexp.results.counts import (
    count_successes,
    require_columns,
    require_numbers,
    succeeded,
)
from greedyexp.stats.sequential import located_crossing


def thresholds(
    frame: pd.DataFrame,
    context: Context,
    *,
    of: str,
    success: Mapping[str, str],
    by: Sequence[str],
    level: float = 0.5,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """The value of ``of`` at which success crosses ``level``, with its interval.

    Groups and points of a group may have different numbers of replicates. A replicate that failed
    is a trial without success. Where results decided how many trials a point got, intervals are
    widened to hold at any stopping time (``stats.sequential``).

    Parameters
    ----------
    of : str
        A numeric column along which success rises.
    success : mapping of str to str
        Metric by algorithm label or registered name; ``default`` for the others.
    by : sequence of str
        One threshold for every combination of values of these columns.
    level, confidence : float in (0, 1)

    Returns
    -------
    DataFrame
        The columns of ``by``, sorted; ``estimate``, ``low``, ``high``, ``slope`` as in
        ``stats.crossing.Crossing``; ``trials`` in all and their number of ``points``; ``fewest``
        and ``most``, the extremes of the trials per point.

    Raises
    ------
    ConfigError
        When a column is missing, or ``of`` is not numeric.
    """
    require_columns(frame, [*by, of])
    require_numbers(frame, of)
    counts = count_successes(succeeded(frame, success, context), frame, [*by, of])
    rows = []
    for key, points in counts.groupby(list(by), sort=True, dropna=False):
        trials = points["trials"]
        fit = located_crossing(
            points[of],
            points["successes"],
            trials,
            sequential=context.adaptive,
            level=level,
            confidence=confidence,
        )
        fitted = (fit.estimate, fit.low, fit.high, fit.slope)
        rows.append((*key, *fitted, trials.sum(), len(points), trials.min(), trials.max()))
    names = ("estimate", "low", "high", "slope", "trials", "points", "fewest", "most")
    return pd.DataFrame(rows, columns=[*by, *names])
