"""Intervals and exact tests for success probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import scipy

from greedyexp.stats.level import LEVEL


def checked_confidence(confidence: float) -> float:
    """Return the confidence level as a float.

    Raises
    ------
    ValueError
        If the level does not lie strictly between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise ValueError("confidence must lie strictly between 0 and 1.")
    return float(confidence)


def checked_counts(successes, trials) -> tuple[np.ndarray, np.ndarray]:
    """Return successes and trials as float arrays of one shape.

    Raises
    ------
    ValueError
        If the counts do not broadcast together, or not 0 <= successes <= trials < infinity.
    """
    successes, trials = np.broadcast_arrays(
        np.asarray(successes, dtype=float), np.asarray(trials, dtype=float)
    )
    if not np.all((successes >= 0) & (successes <= trials) & (trials < np.inf)):
        raise ValueError("successes must lie between 0 and trials.")
    return successes, trials


def wilson(successes, trials, *, confidence: float = LEVEL) -> tuple[np.ndarray, np.ndarray]:
    """Return Wilson's score interval for a binomial proportion.

    Parameters
    ----------
    successes, trials : array_like of counts, broadcast together
        0 <= successes <= trials. Without trials the interval is [0, 1].
    confidence : float in (0, 1)
        Nominal coverage.

    Returns
    -------
    low, high : arrays
        0 <= low <= successes/trials <= high <= 1.

    References
    ----------
    Wilson (1927), Probable inference, the law of succession, and statistical inference.
    """
    successes, trials = checked_counts(successes, trials)
    # Most figures need nothing of scipy.special, which takes long to import.
    z2 = NormalDist().inv_cdf((1 - checked_confidence(confidence)) / 2) ** 2
    failures = trials - successes
    centre = successes + z2 / 2
    zeros = np.zeros(trials.shape)
    variance = np.divide(successes * failures, trials, where=trials > 0, out=zeros)
    half = np.sqrt(z2 * (variance + z2 / 4))
    low = (centre - half) / (trials + z2)
    high = (centre + half) / (trials + z2)
    # With 0 or all successes one end is exactly 0 or 1; rounding must not cross it.
    return np.where(successes == 0, 0.0, low), np.where(failures == 0, 1.0, high)


def clopper_pearson_upper(violations, trials, *, confidence: float = LEVEL) -> np.ndarray:
    """Return the exact one-sided upper limit on the probability of a violation.

    After n trials without a violation it is 1 - (1 - confidence)^(1/n).

    Parameters
    ----------
    violations, trials : array_like of counts, broadcast together
        0 <= violations <= trials. Without trials the limit is 1.
    confidence : float in (0, 1)
        Lower bound on the probability that the limit is at least the true probability.

    Returns
    -------
    array
        Upper limits in (0, 1].

    References
    ----------
    Clopper and Pearson (1934), The use of confidence or fiducial limits illustrated in the case
    of the binomial, Biometrika 26.
    """
    # Most commands need nothing else of scipy.stats, which takes long to import.
    from scipy.stats import beta

    violations, trials = checked_counts(violations, trials)
    some = violations < trials
    # beta.ppf needs positive parameters even where the limit is 1 without it.
    second = np.where(some, trials - violations, 1.0)
    limit = beta.ppf(checked_confidence(confidence), violations + 1, second)
    return np.where(some, limit, 1.0)


def confidence_sequence(
    successes, trials, *, confidence: float = LEVEL
) -> tuple[np.ndarray, np.ndarray]:
    """Return an interval for a Bernoulli probability that stays valid after every trial.

    The interval contains every p with m / (p^s (1 - p)^f) < 1 / (1 - confidence), where s and f
    count successes and failures and m = B(1 + s, 1 + f) is the likelihood of the sequence under a
    uniform prior on p. If p is the true probability, this ratio is a nonnegative martingale that
    starts at 1, under any stopping rule. By Ville's inequality, the probability that it ever
    reaches 1 / (1 - confidence) is at most 1 - confidence. The probability that any of the
    intervals misses p is therefore also at most 1 - confidence.

    Parameters
    ----------
    successes, trials : array_like of counts, broadcast together
        0 <= successes <= trials. Without trials the interval is [0, 1].
    confidence : float in (0, 1)
        Lower bound on the probability that all intervals of the sequence contain p.

    Returns
    -------
    low, high : arrays
        0 <= low <= successes/trials <= high <= 1, the ends rounded outward.

    References
    ----------
    Robbins (1970), Statistical methods related to the law of the iterated logarithm.
    """
    successes, trials = checked_counts(successes, trials)
    bar = -np.log1p(-checked_confidence(confidence))
    failures = trials - successes
    mixture = scipy.special.betaln(1 + successes, 1 + failures)

    def rejected(p: np.ndarray) -> np.ndarray:
        # The limit at p = 0 or 1 is finite only for an outcome that never occurred.
        return (
            mixture - scipy.special.xlogy(successes, p) - scipy.special.xlog1py(failures, -p) >= bar
        )

    share = np.divide(successes, trials, out=np.full(trials.shape, 0.5), where=trials > 0)
    return _last_rejected(rejected, share, 0.0), _last_rejected(rejected, share, 1.0)


def _last_rejected(
    rejected: Callable[[np.ndarray], np.ndarray], inside: np.ndarray, limit: float
) -> np.ndarray:
    """Return where rejection begins between a point inside and the limit, or else the limit."""
    outside = np.full(inside.shape, limit)
    # The ratio is convex in p, so rejection changes once on either side.
    with np.errstate(divide="ignore"):
        open_end = ~rejected(outside)
        for _ in range(60):
            middle = (inside + outside) / 2
            out = rejected(middle)
            outside = np.where(out, middle, outside)
            inside = np.where(out, inside, middle)
    return np.where(open_end, limit, outside)


def binomial_tail(successes: int, trials: int, p: float, *, identical: bool = True) -> float:
    """Return a bound on the probability of so many successes or more.

    Parameters
    ----------
    successes, trials : int
        0 <= successes <= trials.
    p : float in [0, 1]
        The mean success probability of the trials, which are independent.
    identical : bool
        False if the success probabilities may differ. The probability is largest if they are equal
        for numbers of at least trials * p + 1 (Hoeffding 1956, theorem 5). The bound is 1 for
        smaller numbers, but trials * p for one success. With ``identical`` it is exact.
    """
    if not 0 <= successes <= trials:
        raise ValueError("successes must lie between 0 and trials.")
    if not identical and successes < trials * p + 1:
        return min(1.0, trials * p) if successes == 1 else 1.0
    return float(scipy.special.bdtr(trials - successes, int(trials), 1 - p))


def fisher(one: tuple[int, int], two: tuple[int, int]) -> float:
    """Return the two-sided p-value of Fisher's exact test of equal success probabilities.

    Parameters
    ----------
    one, two : pair of int
        Successes and trials of two independent samples.

    Returns
    -------
    float in (0, 1]

    References
    ----------
    Fisher (1935), The logic of inductive inference, Journal of the Royal Statistical Society 98.
    """
    from scipy.stats import fisher_exact

    table = np.array([[wins, trials - wins] for wins, trials in (one, two)])
    return float(fisher_exact(table).pvalue)


def mcnemar(both: int, only_first: int, only_second: int, neither: int) -> float:
    """Return the two-sided p-value of McNemar's exact test of equal success probabilities.

    Among the replicates on which the two methods differ, either one succeeds with probability 1/2
    under the hypothesis. Replicates on which they agree are ignored.

    Parameters
    ----------
    both, only_first, only_second, neither : int >= 0
        Number of replicates on which both, one or neither method succeeded.

    Returns
    -------
    float in (0, 1]
        1 if the methods never differ.

    Raises
    ------
    ValueError
        If a count is negative.

    References
    ----------
    McNemar (1947), Note on the sampling error of the difference between correlated proportions or
    percentages, Psychometrika 12.
    """
    from scipy.stats import binomtest

    _check_not_negative(both, only_first, only_second, neither)
    differ = only_first + only_second
    return float(binomtest(only_first, differ).pvalue) if differ else 1.0


def phi(both: int, only_first: int, only_second: int, neither: int) -> float:
    """Return the correlation of two successes as defined for Newcombe's method 10.

    A continuity correction shrinks a positive correlation, which would shorten the interval of a
    difference: n/2 is subtracted from the cross product, but not below 0.

    Parameters
    ----------
    both, only_first, only_second, neither : int >= 0
        Number of replicates on which both, one or neither method succeeded.

    Returns
    -------
    float in [-1, 1]
        0 if a method always or never succeeded.

    Raises
    ------
    ValueError
        If a count is negative.

    References
    ----------
    Newcombe (1998), Improved confidence intervals for the difference between binomial proportions
    based on paired data, Statistics in Medicine 17, 2635-2650, method 10.
    """
    _check_not_negative(both, only_first, only_second, neither)
    first, second = both + only_first, both + only_second
    margins = first * (only_second + neither) * second * (only_first + neither)
    if margins == 0:
        return 0.0
    cross: float = both * neither - only_first * only_second
    if cross > 0:
        cross = max(0.0, cross - (both + only_first + only_second + neither) / 2)
    return cross / math.sqrt(margins)


def _check_not_negative(*counts: int) -> None:
    if min(counts) < 0:
        raise ValueError("counts must not be negative.")
