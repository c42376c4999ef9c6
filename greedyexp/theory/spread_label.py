"""How many features it takes when the label is spread over all of them, exactly and by theorems.

The distribution of Shalev-Shwartz, Srebro & Zhang (2009), section A.8: the label y is a fair sign,
and features X_i are signs that are independent given y and equal y with probability (1 + a) / 2,
where a = 1 / B1. The dense predictor w_i = 1 / (d a) has l1 norm B1 and an error that vanishes with
growing d. What fewer features can do is known exactly. The loss is (<w, x> - y)^2, without a half,
or |<w, x> - y|. With z_i = X_i y the latter is |sum_i w_i z_i - 1| in the mean over independent
signs z_i of mean a.

*Equal weights are best.* The error of a predictor on a given set of features is convex in its
weights and does not change when they are permuted, since the z_i are exchangeable. The mean over
all permutations, a predictor with equal weights, therefore has no more error. And fewer features
are weights of zero, so that the least error does not grow with their number.

References
----------
S. Shalev-Shwartz, N. Srebro, T. Zhang, Trading accuracy for sparsity, TTIC-TR-2009-3, Theorems 6
and 7 and section A.8.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from greedyexp.theory.sign_sums import Mean, mean_distance, sign_counts

# What the theorems ask for.
MOST_EPSILON = 0.1
LEAST_NORM = 2.0
# An error that is above epsilon by this part of it is rounding.
ROUNDING = 1e-12
# Beyond so many features the binomial law takes too long.
MOST_FEATURES = 1e11


def least_squared_error(l1_norm: float, n_features: int) -> float:
    """The least E[(<w, x> - y)^2] of B0 features: (1 - a^2) / (1 - a^2 + a^2 B0).

    Parameters
    ----------
    l1_norm : float >= 1
        B1 = 1 / a.
    n_features : int >= 0
        B0.
    """
    spread = _spread(l1_norm)
    return spread / (spread + n_features) if n_features else 1.0


def features_for_squared_error(l1_norm: float, epsilon: float) -> float:
    """The least number of features with mean squared error at most epsilon.

    ``least_squared_error`` solved for B0: (B1^2 - 1) (1 / epsilon - 1), rounded up.

    Parameters
    ----------
    l1_norm : float >= 1
        B1.
    epsilon : float > 0
        Raised by a relative 1e-12, so that rounding does not cost a feature.

    Returns
    -------
    float
        A whole number.

    Raises
    ------
    ValueError
        When epsilon is not positive.
    """
    if _accuracy(epsilon) >= 1.0:
        return 0.0
    return max(1.0, math.ceil(_spread(l1_norm) * (1.0 / _accuracy(epsilon) - 1.0)))


def least_absolute_error(l1_norm: float, n_features: int) -> float:
    """The least E|<w, x> - y| of B0 features.

    With equal weights c it is min_c E|c S - 1| with S the sum of B0 signs z_i. That is piecewise
    linear in c > 0, with kinks at 1 / s for the values s > 0 of S. Right of 1 / s the slope is
    2 E[S; S >= s] - E[S], so that the minimum is at the largest s for which this is not negative.
    c <= 0 is no better than c = 0, where the slope is -E[S].

    Parameters
    ----------
    l1_norm : float >= 1
        B1 = 1 / a.
    n_features : int >= 0
        B0. Time and memory grow as its root.
    """
    _spread(l1_norm)
    if n_features == 0:
        return 1.0
    sums, chances = sign_counts(n_features, 1.0 / l1_norm)
    parts = (sums * chances)[::-1]
    kink = int(np.argmax(np.cumsum(parts) >= 0.5 * parts.sum()))
    best = sums[::-1][kink]
    return float(chances @ np.abs(sums - best)) / float(best)


def features_for_absolute_error(l1_norm: float, epsilon: float) -> float:
    """The least number of features with mean absolute error at most epsilon.

    By bisection, since the least error does not grow with the number of features; by Jensen's
    inequality those for a squared error of epsilon^2 suffice.

    Parameters
    ----------
    l1_norm : float >= 1
        B1.
    epsilon : float > 0
        Raised by a relative 1e-12, so that rounding does not cost a feature.

    Returns
    -------
    float
        A whole number.

    Raises
    ------
    ValueError
        When epsilon is not positive, or so small that it may take more than 1e11 features.
    """
    accuracy = _accuracy(epsilon)
    if accuracy >= 1.0:
        return 0.0
    enough = features_for_squared_error(l1_norm, accuracy**2)
    if enough > MOST_FEATURES:
        raise ValueError(f"a mean absolute error of {epsilon:g} takes too many features to count.")
    short, enough = 0, int(enough)
    while enough - short > 1:
        middle = (short + enough) // 2
        if least_absolute_error(l1_norm, middle) <= accuracy:
            enough = middle
        else:
            short = middle
    return float(enough)


def mean_absolute_error(weights: np.ndarray, l1_norm: float, tolerance: float = 1e-6) -> Mean:
    """E|<w, x> - y| of any predictor, and how far it may be off.

    Parameters
    ----------
    weights : array (d,)
    l1_norm : float >= 1
        B1 = 1 / a, of the distribution; not that of the weights.
    tolerance : float > 0
        The margin that is asked for; zero is what weights of few different values have.
    """
    _spread(l1_norm)
    return mean_distance(weights, 1.0 / l1_norm, 1.0, tolerance)


def squared_error_bound(l1_norm: float, epsilon: float) -> float:
    """Theorem 7: a mean squared error of epsilon takes at least B1^2 / (8 epsilon) features.

    Parameters
    ----------
    l1_norm : float > 2
        B1.
    epsilon : float in (0, 0.1]

    Raises
    ------
    ValueError
        When the theorem does not speak of these.
    """
    _refuse_beyond_theorem(l1_norm, epsilon)
    return l1_norm**2 / (8.0 * epsilon)


def absolute_error_bound(
    l1_norm: float, epsilon: float, reading: Literal["printed", "proof"] = "printed"
) -> float:
    """Theorem 6: a mean absolute error of epsilon takes at least B1^2 / (45 epsilon^2) features.

    The proof has E|V| >= 0.2 E[V^2]^(1/2) for V = <w, x> - y, and is to end "analogously to the
    case of squared-error". There the sum of the weights is less than B1 / 2, or else
    E[V^2] >= (B1^2 - 1) / (4 B0) >= B1^2 / (8 B0); so here
    epsilon^2 >= 0.04 B1^2 / (8 B0), which is B0 >= B1^2 / (200 epsilon^2) and not the printed one.

    The printed one is true nevertheless. Without the two cases, the least of E[V^2] over all
    weights is (B1^2 - 1) / (B1^2 - 1 + B0), so that B0 >= (B1^2 - 1) (0.04 / epsilon^2 - 1). With
    epsilon <= 0.1 the last bracket is at least 0.03 / epsilon^2, with B1 > 2 the first more than
    3/4 B1^2; their product is more than B1^2 / (44.5 epsilon^2).

    Parameters
    ----------
    l1_norm : float > 2
        B1.
    epsilon : float in (0, 0.1]
    reading : {"printed", "proof"}
        B1^2 / (45 epsilon^2), or what the cases of the proof give, B1^2 / (200 epsilon^2).

    Raises
    ------
    ValueError
        When the theorem does not speak of these, or there is no such reading.
    """
    _refuse_beyond_theorem(l1_norm, epsilon)
    constants = {"printed": 45.0, "proof": 200.0}
    if reading not in constants:
        raise ValueError(f"there is no reading '{reading}' of Theorem 6: use printed or proof.")
    return (l1_norm / epsilon) ** 2 / constants[reading]


def _spread(l1_norm: float) -> float:
    """B1^2 - 1 = (1 - a^2) / a^2."""
    if not 1.0 <= l1_norm < math.inf:
        raise ValueError(f"B1 must be a number >= 1, but is {l1_norm!r}.")
    return (l1_norm - 1.0) * (l1_norm + 1.0)


def _accuracy(epsilon: float) -> float:
    if not epsilon > 0.0:
        raise ValueError(f"epsilon must be positive, but is {epsilon!r}.")
    return epsilon * (1.0 + ROUNDING)


def _refuse_beyond_theorem(l1_norm: float, epsilon: float) -> None:
    if not l1_norm > LEAST_NORM:
        raise ValueError(f"Theorems 6 and 7 are about B1 > 2, but B1 is {l1_norm:g}.")
    if not 0.0 < epsilon <= MOST_EPSILON:
        raise ValueError(f"Theorems 6 and 7 are about epsilon in (0, 0.1], not {epsilon:g}.")
