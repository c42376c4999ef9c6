"""Tuning of the greedy dirty model that its analysis prescribes, in closed form."""

from __future__ import annotations

from greedyexp.theory.noise import largest_entry


def stopping_threshold(noise_std: float, n_samples: int, n_features: int, n_tasks: int) -> float:
    """epsilon = lambda^2 = 2 sigma^2 log(p r) / n, above every reward that noise alone earns.

    lambda = ``noise.largest_entry`` is the level of max_ij |x_i^T z_j| / n for columns of squared
    norm n; Jalali & Sanghavi (2012), Corollary 1 (C1), with the constant of Gaussian noise.

    Theorem 1 asks for epsilon >= C lambda^2 with a constant that is far too large in practice; the
    constant one has a meaning of its own. When the true support is fitted, the reward of a null
    entry is (x_i^T P z)^2 / (2 n ||x_i||^2) with a projection P, at most sigma^2 / (2 n) times a
    chi-square variable with one degree of freedom. Since P(chi^2_1 > t) <= exp(-t / 2), a given
    entry exceeds epsilon with probability at most (p r)^-2, and any of the p r null entries with
    probability at most 1 / (p r): the run stops on the true support but for that probability. Null
    rows are covered too: with w = (r + 1) / 2 their reward has the lighter tail
    P(chi^2_r > 2 (r + 1) log(p r)), and both unions together stay below 1 / (p r).

    A factor one half (epsilon = lambda^2 / 2) is the level the largest null reward tends to; it is
    exceeded with a probability that vanishes like 1 / sqrt(log(p r)) only.

    Parameters
    ----------
    noise_std : float
        sigma > 0.
    n_samples : int
        Rows per task, the smallest if they differ.
    n_features, n_tasks : int
        p and r.
    """
    return largest_entry(noise_std, n_samples, n_features, n_tasks) ** 2


def sharing_weight(n_tasks: int) -> float:
    """w = 1 + (r - 1) / 2, the middle of the interval (1, r).

    With w in (d - 1, d) rows with at least d entries are taken as shared (Theorem 1); the middle
    favours neither extreme. For two tasks of equal strength a row beats its best entry when the
    gains are within a factor w - 1 = 1 / 2 of each other.
    """
    return 1.0 + (n_tasks - 1) / 2.0
