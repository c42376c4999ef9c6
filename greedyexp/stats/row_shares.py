"""Intervals for shares of rows that are measured on random splits of one data set.

Let N independent rows be divided at random into m training rows T and n = N - m > m test rows, and
let d(T, i) be the loss of the fit to T in row i: a loss in [0, 1], or a combination of such losses.
A split gives M, the mean of d(T, i) over its test rows. The mean of M over J splits has the
variance S^2 / J + Var(U) in expectation, where S^2 is the sample variance of the J results and U is
the mean over all splits of the data set.

Write d(T, i) = g(T) + r(T, i), where g(T) is the expected loss of the fit in a new row, and let G
and R be the variances of g and r. Then

- the mean of g(T) over all T is a U-statistic of order m, whose variance is at most
  (m / N) G [1]_.
- the mean of r(T, i) over all T and i has a variance of at most R / N. By Hoeffding's
  decomposition, that of its part of order c is at most c C(m, c - 1) / C(N - 1, c - 1) / N
  times the part of R of this order, and the factor of 1 / N is at most 1 if n > m. Rows that are a
  test row of one split and a training row of another are included: no assumption on the stability
  of the fit is needed.
- Var(M) = G + R / n, since test rows are independent given T, and S^2 + Var(U) is Var(M) in
  expectation.

A row may increase the loss of the fit as a training row and have a large loss as a test row: with
wrong labels, nearest neighbours do both. The two means are then correlated, and their standard
deviations add up. The largest Var(U) that all three relations allow is

    sqrt(Var(U)) = sqrt(m / n) S + sqrt(N R) / n.

R is at most E d^2. For d = sum_k w_k l_k with losses l_k in [0, 1] whose means are p_k, it is at
most (sum of w_k) (sum of w_k p_k) over the positive weights, plus the same for the negative ones:
p for a share, and p_1 + p_2 for the difference of two. Since p_k is estimated, its upper limit from
N independent rows is used.

All terms have Student's quantile with J - 1 degrees of freedom. For normal results, the normal
quantile would be enough for the term with R. But results of few splits may vary only because of a
rare row that spoils the fit, and S is then often 0 by chance.

References
----------
.. [1] Hoeffding (1948), A class of statistics with asymptotically normal distribution, Annals of
   Mathematical Statistics 19, theorem 5.2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from greedyexp.stats.level import LEVEL
from greedyexp.stats.means import mean_of, quantile


class Split(NamedTuple):
    """Numbers of training rows and of test rows; there are more test rows."""

    n_train: float
    n_test: float


def share_interval(
    shares, split: Split, weights=(1.0,), confidence: float = LEVEL
) -> tuple[float, float, float]:
    """Return the interval of a weighted sum of mean shares of rows.

    Parameters
    ----------
    shares : array_like, shape (k, n)
        Shares of test rows, or means of a loss in [0, 1], on the same n splits.
    split : Split
    weights : array_like, shape (k,)
    confidence : float in (0, 1)

    Returns
    -------
    value, low, high : float
        The ends are infinite for one split, and otherwise within the range of the sum. The interval
        has a positive length even if all shares are equal.
    """
    shares, weights = np.asarray(shares, dtype=float), np.asarray(weights, dtype=float)
    count = shares.shape[-1]
    values = weights @ shares
    value = float(mean_of(values)) if count else np.nan
    if count < 2:
        return value, -np.inf, np.inf
    t, rows = quantile(count, confidence), split.n_train + split.n_test
    limits = (np.sqrt(shares.mean(axis=1) + t**2 / (4 * rows)) + t / (2 * np.sqrt(rows))) ** 2
    losses = np.minimum(limits, 1.0)
    signs = np.maximum(weights, 0.0), np.maximum(-weights, 0.0)
    residual = sum(float(sign.sum() * (sign @ losses)) for sign in signs)
    spread = values.std(ddof=1)
    common = np.sqrt(split.n_train / split.n_test) * spread
    common += np.sqrt(rows * residual) / split.n_test
    half = float(t * np.hypot(spread / np.sqrt(count), common))
    positive, negative = (float(sign.sum()) for sign in signs)
    return value, max(value - half, -negative), min(value + half, positive)
