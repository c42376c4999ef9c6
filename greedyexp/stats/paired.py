"""Two methods judged on the same replicates: the 2x2 table of their successes."""

from __future__ import annotations

import math

from scipy.stats import binomtest


def mcnemar(both: int, only_first: int, only_second: int, neither: int) -> float:
    """Exact two-sided McNemar test that two success probabilities are equal.

    Given the replicates on which the methods differ, either is the better one with probability
    1/2; those on which they agree do not enter.

    Parameters
    ----------
    both, only_first, only_second, neither : int >= 0
        Replicates on which both, one or no method succeeded.

    Returns
    -------
    float in (0, 1]
        1 when the methods never differ.

    Raises
    ------
    ValueError
        When a count is negative.

    References
    ----------
    McNemar (1947), Note on the sampling error of the difference between correlated proportions or
    percentages, Psychometrika 12.
    """
    _check(both, only_first, only_second, neither)
    differ = only_first + only_second
    return float(binomtest(only_first, differ).pvalue) if differ else 1.0


def phi(both: int, only_first: int, only_second: int, neither: int) -> float:
    """Correlation of two successes, as Newcombe's method 10 takes it.

    A positive correlation is shrunk by a continuity correction, n/2 off the cross product and not
    below 0, since it makes the interval of a difference shorter.

    Parameters
    ----------
    both, only_first, only_second, neither : int >= 0
        Replicates on which both, one or no method succeeded.

    Returns
    -------
    float in [-1, 1]
        0 when a method always or never succeeded.

    Raises
    ------
    ValueError
        When a count is negative.

    References
    ----------
    Newcombe (1998), Improved confidence intervals for the difference between binomial proportions
    based on paired data, Statistics in Medicine 17, 2635-2650, method 10.
    """
    _check(both, only_first, only_second, neither)
    margins = (
        (both + only_first)
        * (only_second + neither)
        * (both + only_second)
        * (only_first + neither)
    )
    if margins == 0:
        return 0.0
    cross = both * neither - only_first * only_second
    if cross > 0:
        cross = max(0.0, cross - (both + only_first + only_second + neither) / 2)
    return cross / math.sqrt(margins)


def _check(*counts: int) -> None:
    if min(counts) < 0:
        raise ValueError("counts must not be negative.")
