"""Bounds on the noise in the gradient of the loss, and the tuning that theory derives from them.

With z_j ~ N(0, noise_std^2 I) of n_j rows, the gradient noise is w_ij = x_ij^T z_j / n_j, a
Gaussian of standard deviation noise_std ||x_ij|| / n_j <= noise_std c / sqrt(n), where n is the
smallest n_j and c the largest ||x_ij|| / sqrt(n_j). A penalty parameter above the dual norm of w
excludes false entries if the design is incoherent and there are enough samples. The usual choice is
twice a bound on this norm.
"""

from __future__ import annotations

import math

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.problems.problem import Problem


def largest_entry(
    noise_std: float, n_samples: int, n_features: int, n_tasks: int, column_norm: float = 1.0
) -> float:
    """Return a bound on max_ij |w_ij|: noise_std c sqrt(2 log(p r) / n).

    There are p r Gaussians, and P(|N| > t) <= sqrt(2 / pi) exp(-t^2 / 2) / t. With
    t^2 = 2 log(p r) the union bound leaves a probability of at most 1 / sqrt(pi log(p r)).

    Parameters
    ----------
    noise_std : float >= 0
    n_samples : int
        n, rows of the smallest task.
    n_features, n_tasks : int
        p and r, p r >= 2.
    column_norm : float
        c, largest ||x_ij|| / sqrt(n_j).

    References
    ----------
    M. J. Wainwright, Sharp thresholds for high-dimensional and noisy sparsity recovery, 2009.
    """
    return noise_std * column_norm * math.sqrt(2 * math.log(n_features * n_tasks) / n_samples)


def largest_row(
    noise_std: float, n_samples: int, n_features: int, n_tasks: int, column_norm: float = 1.0
) -> float:
    """Return a bound on max_i sum_j |w_ij|: noise_std c sqrt(2 r (r log 2 + log p) / n).

    The l1 norm of a row is the largest of 2^r signed sums, each a Gaussian of variance at most
    r noise_std^2 c^2 / n. With t^2 = 2 (r log 2 + log p) the union bound over 2^r p of them leaves
    a probability of at most 1 / (t sqrt(2 pi)).

    Parameters as for ``largest_entry``.

    References
    ----------
    S. Negahban, M. J. Wainwright, Joint support recovery under high-dimensional scaling, 2008.
    """
    terms = n_tasks * math.log(2) + math.log(n_features)
    return noise_std * column_norm * math.sqrt(2 * n_tasks * terms / n_samples)


def largest_row_l2(
    noise_std: float, n_samples: int, n_features: int, n_tasks: int, column_norm: float = 1.0
) -> float:
    """Return a bound on max_i ||w_i||_2: noise_std c (sqrt(r) + sqrt(2 log p)) / sqrt(n).

    In units of noise_std c / sqrt(n) the square of the norm is at most a chi-square variable of r
    degrees of freedom, for which Chernoff's bound is P(chi^2 > r v) <= (v exp(1 - v))^(r / 2). At
    v = (1 + a)^2 with a = sqrt(2 log(p) / r) this is ((1 + a) exp(-a))^r / p. The union bound over
    p rows then leaves a probability of at most ((1 + a) exp(-a))^r.

    Parameters as for ``largest_entry``. The noise of different tasks must be independent.

    References
    ----------
    K. Lounici, M. Pontil, S. van de Geer, A. B. Tsybakov, Oracle inequalities and optimal inference
    under group sparsity, 2011.
    """
    spread = math.sqrt(n_tasks) + math.sqrt(2 * math.log(n_features))
    return noise_std * column_norm * spread / math.sqrt(n_samples)


def entry_price(problem: Problem) -> float:
    """Return lam of the Lasso and lam_s of the dirty model, twice ``largest_entry``.

    Raises
    ------
    DataError
        If the noise level is unknown or zero.
    """
    return 2 * largest_entry(*_sizes(problem))


def row_price(problem: Problem) -> float:
    """Return lam of the l1/linf group lasso and lam_b of the dirty model, twice ``largest_row``.

    Raises
    ------
    DataError
        If the noise level is unknown or zero.
    """
    return 2 * largest_row(*_sizes(problem))


def row_price_l2(problem: Problem) -> float:
    """Return lam of the l1/l2 group lasso, twice ``largest_row_l2``.

    Raises
    ------
    DataError
        If the noise level is unknown or zero.
    """
    return 2 * largest_row_l2(*_sizes(problem))


def stopping_threshold(noise_std: float, n_samples: int, n_features: int, n_tasks: int) -> float:
    """Return epsilon = lambda^2 = 2 sigma^2 log(p r) / n, above all rewards of noise alone.

    lambda = ``largest_entry`` is the level of max_ij |x_i^T z_j| / n for columns of squared
    norm n; Jalali & Sanghavi (2012), Corollary 1 (C1), with the constant of Gaussian noise.

    Theorem 1 needs epsilon >= C lambda^2 with a constant C that is far too large in practice. C = 1
    can be justified directly. Once the true support is fitted, the reward of a null entry is
    (x_i^T P z)^2 / (2 n ||x_i||^2) with a projection P, at most sigma^2 / (2 n) times a chi-square
    variable with one degree of freedom. Since P(chi^2_1 > t) <= exp(-t / 2), a given entry exceeds
    epsilon with probability at most (p r)^-2, and any of the p r null entries with probability at
    most 1 / (p r). Otherwise the run stops on the true support. Null rows are covered too: with
    w = (r + 1) / 2 their reward has the lighter tail P(chi^2_r > 2 (r + 1) log(p r)), and both
    unions together stay below 1 / (p r).

    The largest null reward tends to lambda^2 / 2, but exceeds this level with a probability that
    vanishes only like 1 / sqrt(log(p r)).

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
    """Return w = 1 + (r - 1) / 2, the middle of the interval (1, r).

    With w in (d - 1, d), rows with at least d entries count as shared (Theorem 1). The middle
    favours neither extreme. For two tasks of equal strength a row beats its best entry when the
    gains are within a factor w - 1 = 1 / 2 of each other.
    """
    return 1.0 + (n_tasks - 1) / 2.0


def _sizes(problem: Problem) -> tuple[float, int, int, int, float]:
    if not problem.noise_std:
        raise DataError(
            "tuning by theory needs a noise level above zero.",
            remedy="Give noise_std, or tune by cross-validation.",
        )
    norm = float(np.sqrt(max(own.square.max() for own in problem.columns)))
    n = int(problem.n_samples.min())
    return problem.noise_std, n, problem.n_features, problem.n_tasks, norm
