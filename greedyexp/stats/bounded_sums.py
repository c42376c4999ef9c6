"""Exact tests and intervals for the expectation of a sum of independent bounded variables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from greedyexp.stats.contrasts import SMALLEST_P
from greedyexp.stats.proportions import binomial_tail, checked_confidence
from greedyexp.stats.rounding import ROUNDING

# Ranges that differ by less than this share of the largest are equal but for rounding errors.
_ROUNDED = 1e-12


@dataclass(frozen=True)
class BoundedSum:
    """A sum of independent variables Y_i with known ranges [a_i, b_i].

    The tests hold their level for every number of variables, every level and all distributions in
    these ranges, which may differ between the variables. Two-sided p-values are twice the smaller
    one-sided one, so that both directions together are wrong with probability at most the level.
    Intervals contain the values that are not rejected.

    If every variable has two values, a_i and b_i, and all ranges have one length, the sum is a
    number of successes. Of all success probabilities with one mean, equal ones make the tails of
    this number heaviest (Hoeffding 1956), so that the binomial test is valid, see
    ``binomial_tail``.

    Otherwise the test bets against the hypothesis that the expectations have the sum t. Let
    m_i = a_i + f (b_i - a_i), with f such that the m_i sum to t. For a bet c >= 0 with
    1 + c (Y_i - m_i) >= 0 for all i, the product of these factors has an expectation of at most

        prod_i (1 + c (E Y_i - m_i)) <= exp(c sum_i (E Y_i - m_i)) <= 1

    if the expectations sum to t or less. By Markov's inequality, the product is 1 / p or more with
    probability at most p, and so is a mean of the products of several bets. The bets are the
    fractions 1, 2^-1/2, 2^-1, ... of the largest one. If the variables rarely leave m_i, the
    product grows as if their variance were known: two methods that seldom differ are compared by
    the data sets on which they do.

    Parameters
    ----------
    values, lows, highs : array, shape (n,)
        Y_i, a_i and b_i, with a_i < b_i for some i.
    two_valued : bool
        True if each variable has the values a_i and b_i only.
    identical : bool
        True if all variables have the same distribution.

    References
    ----------
    Hoeffding (1956), On the distribution of the number of successes in independent trials, Ann.
    Math. Statist. 27.
    Waudby-Smith and Ramdas (2024), Estimating means of bounded random variables by betting, J. R.
    Statist. Soc. B 86.
    """

    values: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    two_valued: bool = False
    identical: bool = False

    def p_value(self, total: float) -> float:
        """Return the two-sided p-value of an expectation of the sum, at least 1e-9."""
        f = (total - self._low) / self._length
        # An end of the range is possible, also where the sum of the ends is rounded.
        if not -ROUNDING <= f <= 1 + ROUNDING:
            return SMALLEST_P
        f = min(max(f, 0.0), 1.0)
        above, below = self._tails
        return min(1.0, max(2 * min(above(f), below(1 - f)), SMALLEST_P))

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the expectations of the sum that are not rejected."""
        level = (1 - checked_confidence(confidence)) / 2
        f = min(float((self.values - self.lows).sum() / self._length), 1.0)
        above, below = self._tails
        low = self._low + self._length * _last_rejected(above, f, level)
        return low, float(self.highs.sum()) - self._length * _last_rejected(below, 1 - f, level)

    @property
    def _low(self) -> float:
        return float(self.lows.sum())

    @property
    def _length(self) -> float:
        return float((self.highs - self.lows).sum())

    @cached_property
    def _tails(self) -> tuple[Callable[[float], float], Callable[[float], float]]:
        """One-sided p-values of f against larger values, and of 1 - f in the mirrored sum."""
        lengths = self.highs - self.lows
        count, largest = len(lengths), float(lengths.max())
        if self.two_valued and np.ptp(lengths) <= _ROUNDED * largest:
            wins = int((self.values - self.lows > largest / 2).sum())

            def tail(successes: int) -> Callable[[float], float]:
                return lambda f: binomial_tail(successes, count, f, identical=self.identical)

            return tail(wins), tail(count - wins)
        rises = np.column_stack([self.values - self.lows, self.highs - self.values, lengths])
        unique, times = np.unique(rises / largest, axis=0, return_counts=True)
        up, down, lengths = unique.T
        return (lambda f: _betting_p(up, lengths, times, f)), (
            lambda f: _betting_p(down, lengths, times, f)
        )


def _betting_p(rises: np.ndarray, lengths: np.ndarray, times: np.ndarray, f: float) -> float:
    """Return the p-value of f against larger values.

    Parameters
    ----------
    rises, lengths : array, shape (k,)
        Y_i - a_i and b_i - a_i, divided by the largest length.
    times : array, shape (k,)
        How many variables have these values.
    """
    if f == 0:
        return 0.0 if rises.any() else 1.0
    bets = 2.0 ** (-np.arange(int(np.log2(times.sum())) + 4) / 2)[:, None]
    with np.errstate(divide="ignore"):
        # 1 + c (Y_i - m_i), where 1 / f is the largest possible c.
        factors = np.log(np.maximum(1 - bets * lengths + bets / f * rises, 0.0))
        logs = (times * factors).sum(axis=1)
    largest = float(logs.max())
    if largest <= 0:
        return 1.0
    # The mean product may overflow, its inverse not.
    return min(1.0, float(np.exp(-largest) / np.exp(logs - largest).mean()))


def _last_rejected(tail: Callable[[float], float], inside: float, level: float) -> float:
    """Return the largest f below ``inside`` with a p-value of at most the level, or else 0."""
    outside = 0.0
    for _ in range(45):
        middle = (inside + outside) / 2
        if tail(middle) <= level:
            outside = middle
        else:
            inside = middle
    return outside
