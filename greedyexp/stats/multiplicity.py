"""Holm's method for several tests, and repeated looks at tests.

Trials are added where the results of a look leave tests open.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedyexp.stats.level import ALPHA


@dataclass(frozen=True)
class Holm:
    """Holm's decisions about m tests.

    Parameters
    ----------
    adjusted : array, shape (m,)
        Adjusted p-values in [0, 1]; a test is rejected if its adjusted p-value is at most alpha.
    levels : array, shape (m,)
        The confidence level at which each test was decided. The interval of a test at this level
        excludes the hypothesis if and only if the test is rejected. The intervals do not have joint
        coverage.
    """

    adjusted: np.ndarray
    levels: np.ndarray


def holm(p_values, alpha: float = ALPHA) -> Holm:
    """Apply Holm's step-down method, which bounds the family-wise error rate by alpha.

    The i-th smallest of m p-values is compared with alpha / (m - i + 1) until one is larger. That
    test and all later ones are not rejected and share the level of this last comparison.

    Parameters
    ----------
    p_values : array_like, shape (m,)
        Values in [0, 1]; tied values keep their order.
    alpha : float in (0, 1)

    Returns
    -------
    Holm

    Raises
    ------
    ValueError
        If a p-value or alpha is out of range.

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6.
    """
    p = np.asarray(p_values, dtype=float)
    if p.ndim != 1 or not np.all((p >= 0) & (p <= 1)):
        raise ValueError("p-values must be a vector of numbers between 0 and 1.")
    if not 0 < alpha < 1:
        raise ValueError("alpha must lie strictly between 0 and 1.")
    order = np.argsort(p, kind="stable")
    left = np.arange(len(p), 0, -1)
    adjusted, levels = np.empty(len(p)), np.empty(len(p))
    steps = np.minimum(1.0, np.maximum.accumulate(left * p[order]))
    adjusted[order] = steps
    rejected = int(np.count_nonzero(steps <= alpha))
    # No test after the first one that is not rejected is compared with a larger threshold.
    levels[order] = 1 - alpha / np.maximum(left, len(p) - rejected)
    return Holm(adjusted, levels)


@dataclass(frozen=True)
class Looks:
    """Looks k = 1, 2, ... at n_k = 2^(k-1) n_1 trials, each with the error alpha_k = 2^-k alpha.

    The rule for m hypotheses is fixed in advance. Look k tests hypotheses by their first n_k
    trials: those that have so many trials and were not rejected before. With r hypotheses rejected
    so far, the one with the smallest p-value is rejected if p <= alpha_k / (m - r), and so on until
    none is, as in Holm's method. A rejection is final. Which hypotheses get further trials, and
    when the looks end, may depend on the results in any way.

    The probability of rejecting any true hypothesis is at most alpha, for tests that are valid for
    a fixed number of trials and depend on each other in any way. Imagine that every hypothesis has
    n_k trials at every look. Let m_0 be the number of true hypotheses, and p_ik the p-value of
    hypothesis i from its first n_k trials. By the union bound, the probability that
    p_ik <= alpha_k / m_0 for any true hypothesis i and any k is at most the sum over k of
    m_0 alpha_k / m_0, which is at most alpha. Otherwise no true hypothesis is rejected: before the
    first such rejection all r rejected hypotheses were false, so that m_0 <= m - r and
    p_ik > alpha_k / m_0 >= alpha_k / (m - r). The p-values that the rule uses are some of these
    p_ik, and leaving out others only removes rejections.

    The errors of all looks sum to alpha without a last look. A limit on the number of trials may
    therefore be raised later, in view of the results.

    Parameters
    ----------
    first : int, at least 1
        Number of trials n_1 at the first look.

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6.
    Maurer and Bretz (2013), Multiple testing in group sequential trials using graphical
    approaches, Statistics in Biopharmaceutical Research 5; they combine Holm's method with looks.
    """

    first: int

    def trials(self, look: int) -> int:
        """Return the number of trials at a look."""
        return self.first << (look - 1)

    def share(self, look: int) -> float:
        """Return the part of alpha that a look spends."""
        return 0.5**look

    def up_to(self, most: int) -> int:
        """Return how many looks have at most so many trials."""
        return (most // self.first).bit_length()

    def decide(self, look: int, p_values, rejected, alpha: float = ALPHA) -> Holm:
        """Apply the rule at one look.

        Parameters
        ----------
        look : int, at least 1
        p_values : array_like, shape (m,)
            From the first n_k trials; 1 for hypotheses with fewer trials.
        rejected : array_like of bool, shape (m,)
            Hypotheses that earlier looks rejected.
        alpha : float in (0, 1)
            The error probability of all looks together.

        Returns
        -------
        Holm
            ``adjusted`` is at most alpha for the hypotheses that are rejected by now.
        """
        share = self.share(look)
        found = holm(np.where(rejected, 0.0, p_values), alpha * share)
        return Holm(np.minimum(1.0, found.adjusted / share), found.levels)
