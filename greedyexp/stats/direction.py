"""Whether success rises or falls along a column, and curves that contradict it."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from greedyexp.stats.crossing import checked_points
from greedyexp.stats.rising import log_evidence

Direction: TypeAlias = Literal["rising", "falling"]

# A direction is clear if its statistic exceeds this normal quantile, of probability 0.0005.
_CLEAR = 3.29
# Error probability of the tests that a curve crosses the level both ways.
_ERROR = 0.001

UNCLEAR = "neither rises nor falls clearly"
_AGAINST = {"rising": "falls, although it should rise", "falling": "rises, although it should fall"}
_BOTH_WAYS = "crosses the level upwards and downwards"


def direction_of(x, won, curve, data_set) -> Direction | None:
    """Return whether the success of some curves rises or falls along x; None if it is not clear.

    Each trial contributes the rank of its x among those of its curve, from -1 to 1, times its
    outcome minus the mean outcome of the curve. In a curve, the sum counts the pairs of a success
    and a failure in which the success has the larger x, minus those in which the failure has it.
    The direction is clear if the sum over all curves has 3.29 standard deviations or more.

    The variance is that of the sum if x were permuted among the data sets of the same curves: for
    one curve, that of the Wilcoxon test. It is at least the sum of squares over data sets. For few
    successes or failures, or with most trials at one point, the distribution is skewed, and the
    first term of Cornish and Fisher makes the bar on the side of the long tail higher.

    If success does not depend on x, or rises, "falling" is returned with a probability of about
    0.001 or less, which is small against the error probability of an interval. Only the order of x
    matters. A curve with equal outcomes contributes nothing.

    Parameters
    ----------
    x : array of float, shape (n,)
        Positions of the trials.
    won : array, shape (n,)
        Outcomes, 0 or 1.
    curve, data_set : array of int, shape (n,)
        The curve of each trial, and its data set; numbered from 0.

    References
    ----------
    Cornish and Fisher (1938), Moments and cumulants in the specification of distributions, Revue de
    l'Institut International de Statistique 5; van Elteren (1960), On the combination of independent
    two sample tests of Wilcoxon, Bulletin of the International Statistical Institute 37; Liang and
    Zeger (1986), Longitudinal data analysis using generalized linear models, Biometrika 73 (sums of
    squares over clusters).
    """
    size = np.maximum(np.bincount(curve), 1)
    share = np.bincount(curve, weights=won) / size
    ranks, residuals = _ranks(x, curve, size), won - share[curve]
    moved = np.bincount(data_set, weights=ranks * residuals)
    total = moved.sum()
    variance, third = _permuted_cumulants(ranks, residuals, curve, data_set)
    variance = max(variance, float(np.sum(moved**2)))
    if variance == 0:
        return None
    skewed = max(np.sign(total) * third / variance, 0.0) * (_CLEAR**2 - 1) / 6
    if abs(total) < _CLEAR * np.sqrt(variance) + skewed:
        return None
    return "rising" if total > 0 else "falling"


def _permuted_cumulants(
    ranks: np.ndarray, residuals: np.ndarray, curve: np.ndarray, data_set: np.ndarray
) -> tuple[float, float]:
    """Return the variance and the third cumulant if the ranks of data sets are permuted.

    They are permuted among data sets of the same curves, which are those with the same first and
    last curve and number of rows.
    """
    if not len(curve):
        return 0.0, 0.0
    rows = np.bincount(data_set)
    curves = int(curve.max()) + 1
    first, last = np.full(len(rows), curves), np.zeros(len(rows), dtype=int)
    np.minimum.at(first, data_set, curve)
    np.maximum.at(last, data_set, curve)
    # One number for each triple: rows of a matrix would be sorted ten times as slowly.
    _, group = np.unique((rows * (curves + 1) + first) * curves + last, return_inverse=True)
    summed = np.bincount(data_set, weights=residuals)
    rank = np.bincount(data_set, weights=ranks) / np.maximum(rows, 1)
    square = np.bincount(data_set, weights=ranks**2) / np.maximum(rows, 1)
    many = np.bincount(group)

    def together(left: np.ndarray, right: np.ndarray, lost: int) -> float:
        products = np.bincount(group, weights=left) * np.bincount(group, weights=right)
        return float(np.sum(products / np.maximum(many - lost, 1)))

    return together(square, summed**2, 1), together(rank**3, summed**3, 0)


def _ranks(x: np.ndarray, curve: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return the rank of each x in its curve, scaled to lie between -1 and 1 with mean 0."""
    order = np.lexsort((x, curve))
    ordered = np.stack([curve[order], x[order]])
    new = np.flatnonzero(np.any(np.diff(ordered, prepend=np.nan) != 0, axis=0))
    ends = np.append(new[1:], len(x))
    # Equal x share the mean of their ranks.
    doubled = np.repeat(new + ends, ends - new) - 2 * (np.cumsum(size) - size)[curve[order]]
    ranks = np.empty(len(x))
    ranks[order] = doubled / size[curve[order]] - 1
    return ranks


def misfit(x, successes, trials, direction: Direction, level: float = 0.5) -> str:
    """Return what contradicts that success moves from one side of the level to the other.

    A curve contradicts its direction if it clearly has the opposite one, as in ``direction_of``, or
    if a point is shown to be above the level before another one is shown to be below. Each has a
    probability of at most about 0.001 for a curve of the given direction.

    Returns
    -------
    str
        A verb with its complements, such as ``falls, although it should rise``; empty if nothing
        contradicts the direction.
    """
    x, successes, trials = checked_points(x, successes, trials, level)
    failures = trials - successes
    if direction == "falling":
        successes, failures, level = failures, successes, 1 - level
    if trend(x, successes, trials) == "falling":
        return _AGAINST[direction]
    bar = np.log(2 * max(len(x), 1) / _ERROR)
    below = np.flatnonzero(log_evidence(successes, failures, level) > bar)
    above = np.flatnonzero(log_evidence(failures, successes, 1 - level) > bar)
    return _BOTH_WAYS if len(above) and len(below) and above[0] < below[-1] else ""


def trend(x, successes, trials) -> Direction | None:
    """Return the direction of one curve of independent trials, as in ``direction_of``.

    Parameters
    ----------
    x, successes, trials : array_like, shape (k,)
    """
    x, successes, trials = checked_points(x, successes, trials)
    counts = np.column_stack([trials - successes, successes]).astype(int).ravel()
    won = np.repeat(np.tile([0, 1], len(x)), counts)
    data_set = np.arange(len(won))
    return direction_of(np.repeat(x.repeat(2), counts), won, np.zeros_like(data_set), data_set)
