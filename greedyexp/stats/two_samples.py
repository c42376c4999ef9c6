"""Differences between two samples, paired or independent: 95% intervals and p-values."""

from __future__ import annotations

import numpy as np

from greedyexp.stats.contrasts import combined_interval
from greedyexp.stats.means import t_interval
from greedyexp.stats.proportions import mcnemar, phi, wilson


def difference_of_proportions(
    x: np.ndarray, y: np.ndarray, *, paired: bool
) -> tuple[float, float, float, float]:
    """Compare two proportions by McNemar's exact test if they are paired, else by Fisher's.

    Parameters
    ----------
    x : array, shape (n,)
    y : array, shape (m,)
        Zeros and ones; m = n if they are paired.
    paired : bool
        True if x[i] and y[i] belong together.

    Returns
    -------
    difference, low, high : float
        mean(y) - mean(x), with Newcombe's 95% interval (see ``combined_interval``).
    p_value : float
    """
    rates, counts = [float(v.mean()) for v in (x, y)], [int(v.sum()) for v in (x, y)]
    ends = [tuple(map(float, wilson(k, len(v)))) for k, v in zip(counts, (x, y), strict=True)]
    correlation = np.eye(2)
    if paired:
        both = int((x * y).sum())
        cells = (both, counts[0] - both, counts[1] - both, len(x) - sum(counts) + both)
        p = mcnemar(*cells)
        correlation[0, 1] = correlation[1, 0] = phi(*cells)
    else:
        from scipy.stats import fisher_exact

        table = np.array([[k, len(v) - k] for k, v in zip(counts, (x, y), strict=True)])
        p = float(fisher_exact(table).pvalue)
    lows, highs = zip(*ends, strict=True)
    return *combined_interval([-1, 1], rates, lows, highs, correlation), p


def difference_of_means(
    x: np.ndarray, y: np.ndarray, *, paired: bool
) -> tuple[float, float, float, float]:
    """Compare two means by the paired t-test if they are paired, else by Welch's.

    If all paired differences are equal, they have no variance to estimate, and the sign test is
    used. Independent samples without a variance have no test, and p is 1.

    Parameters
    ----------
    x : array, shape (n,)
    y : array, shape (m,)
        Finite numbers; m = n if they are paired.
    paired : bool
        True if x[i] and y[i] belong together.

    Returns
    -------
    difference, low, high : float
        mean(y) - mean(x), with its 95% interval.
    p_value : float
    """
    from scipy.stats import ttest_ind_from_stats, ttest_rel

    if paired:
        d = y - x
        difference, low, high = t_interval(d)
        if np.ptp(d) <= 1e-9 * np.abs(d).max():
            # Under the hypothesis each difference is as likely to have the other sign.
            return difference, low, high, 1.0 if not d.any() else 2.0 ** (1 - len(d))
        return difference, low, high, float(ttest_rel(d, np.zeros(len(d))).pvalue)
    means, lows, highs = zip(*(t_interval(v) for v in (x, y)), strict=True)
    interval = combined_interval([-1, 1], means, lows, highs, np.eye(2))
    if min(len(x), len(y)) < 2 or not (np.ptp(x) or np.ptp(y)):
        return *interval, 1.0
    one, other = ((float(v.mean()), float(v.std(ddof=1)), len(v)) for v in (x, y))
    welch = ttest_ind_from_stats(
        one[0], one[1], one[2], other[0], other[1], other[2], equal_var=False
    )
    return *interval, float(welch.pvalue)
