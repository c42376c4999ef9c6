"""Differences between two samples, paired or independent: intervals and p-values.

Many pairs of samples are compared at once: the last axis holds the values of a sample, and the axes
before it tell the pairs apart.
"""

from __future__ import annotations

import math

import numpy as np

from greedyexp.stats.contrasts import combined_interval
from greedyexp.stats.level import LEVEL
from greedyexp.stats.means import half_widths, mean_of
from greedyexp.stats.proportions import fisher, mcnemar, phi, wilson
from greedyexp.stats.rounding import ROUNDING, vary


def difference_of_proportions(
    x: np.ndarray, y: np.ndarray, *, paired: bool, confidence: float = LEVEL
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Compare two proportions by McNemar's exact test if they are paired, else by Fisher's.

    Parameters
    ----------
    x : array, shape (..., n)
    y : array, shape (..., m)
        Zeros and ones; m = n if they are paired.
    paired : bool
        True if x[..., i] and y[..., i] belong together.
    confidence : float in (0, 1)

    Returns
    -------
    difference, low, high : array, shape (...)
        mean(y) - mean(x), with Newcombe's interval (see ``combined_interval``).
    p_value : array, shape (...)
    """
    n, m = x.shape[-1], y.shape[-1]
    counts = [x.sum(axis=-1), y.sum(axis=-1)]
    if paired:
        counts.append((x * y).sum(axis=-1))
    table = np.stack(counts, axis=-1).astype(int)
    # Many pairs have the same counts, on which everything depends.
    unique, inverse = np.unique(table.reshape(-1, len(counts)), axis=0, return_inverse=True)
    found = np.array([_of_counts(n, m, confidence, *one) for one in unique.tolist()])
    difference, low, high, p = found[inverse.reshape(table.shape[:-1])].T
    return difference.T, low.T, high.T, p.T


def _of_counts(
    n: int, m: int, confidence: float, first: int, second: int, both: int | None = None
) -> tuple[float, float, float, float]:
    """Compare the proportions first / n and second / m; ``both`` is known if they are paired."""
    shares = (wilson(k, of, confidence=confidence) for k, of in ((first, n), (second, m)))
    lows, highs = zip(*shares, strict=True)
    correlation = np.eye(2)
    if both is None:
        p = fisher((first, n), (second, m))
    else:
        cells = (both, first - both, second - both, n - first - second + both)
        p = mcnemar(*cells)
        correlation[0, 1] = correlation[1, 0] = phi(*cells)
    return *combined_interval([-1, 1], [first / n, second / m], lows, highs, correlation), p


def difference_of_means(
    x: np.ndarray, y: np.ndarray, *, paired: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Compare two means by the paired t-test if they are paired, else by Welch's.

    If all paired differences are equal, they have no variance to estimate, and the sign test is
    used. Independent samples whose values are all equal have none either; the permutation test is
    used for them. Numbers that differ by rounding errors are equal (``rounding.vary``).

    Parameters
    ----------
    x : array, shape (..., n)
    y : array, shape (..., m)
        Finite numbers; m = n if they are paired.
    paired : bool
        True if x[..., i] and y[..., i] belong together.

    Returns
    -------
    difference, low, high : array, shape (...)
        mean(y) - mean(x), with its interval.
    p_value : array, shape (...)
    """
    n, m = x.shape[-1], y.shape[-1]
    size = np.maximum(np.abs(x).max(axis=-1), np.abs(y).max(axis=-1))
    if paired:
        d = y - x
        difference, half = mean_of(d), half_widths(d)
        varies = vary(d, size)
        # Under the hypothesis each difference is as likely to have the other sign.
        p = np.where(np.abs(difference) > ROUNDING * size, 2.0 ** (1 - n), 1.0)
    else:
        difference = mean_of(y) - mean_of(x)
        # Half-widths of independent estimates add like standard errors.
        half = np.hypot(half_widths(x), half_widths(y))
        varies = vary(x) | vary(y)
        apart = ~varies & (np.abs(difference) > ROUNDING * size)
        varies &= min(n, m) > 1
        # One of all splits of the values into two samples separates them so; doubled for two sides.
        p = np.where(apart, min(2 / math.comb(n + m, n), 1.0), 1.0)
    if varies.any():
        # Its import takes long, and equal samples do not need it.
        from scipy.stats import ttest_1samp, ttest_ind_from_stats

        if paired:
            p[varies] = ttest_1samp(d[varies], 0.0, axis=-1).pvalue
        else:
            one, other = (
                (v[varies].mean(axis=-1), v[varies].std(axis=-1, ddof=1), v.shape[-1])
                for v in (x, y)
            )
            p[varies] = ttest_ind_from_stats(*one, *other, equal_var=False).pvalue
    return difference, difference - half, difference + half, p
