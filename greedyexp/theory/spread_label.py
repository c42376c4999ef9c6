"""Features needed if the label is spread over all of them, exactly and by theorems.

The distribution of Shalev-Shwartz, Srebro & Zhang (2009), section A.8: the label y is a fair sign,
and features X_i are signs that are independent given y and equal y with probability (1 + a) / 2,
where a = 1 / B1. The dense predictor w_i = 1 / (d a) has l1 norm B1 and an error that vanishes with
growing d. The least error of fewer features is known exactly. The loss is (<w, x> - y)^2, without a
half, or |<w, x> - y|. With z_i = X_i y the latter is |sum_i w_i z_i - 1| in the mean over
independent signs z_i of mean a.

*Equal weights are best.* The error of a predictor on a given set of features is convex in its
weights and invariant to permutations, since the z_i are exchangeable. The mean over all
permutations, a predictor with equal weights, therefore has at most the same error. Unused features
have weight zero, so the least error does not grow with the number of features.

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

# The assumptions of the theorems.
_MOST_EPSILON = 0.1
_LEAST_NORM = 2.0
# Relative rounding error that is allowed above epsilon.
ROUNDING = 1e-12
# With more features the binomial distribution takes too long.
MOST_FEATURES = 1e11


def least_squared_error(l1_norm: float, n_features: int) -> float:
    """Return the least E[(<w, x> - y)^2] of B0 features: (1 - a^2) / (1 - a^2 + a^2 B0).

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
    """Return the least number of features with mean squared error at most epsilon.

    ``least_squared_error`` solved for B0: (B1^2 - 1) (1 / epsilon - 1), rounded up.

    Parameters
    ----------
    l1_norm : float >= 1
        B1.
    epsilon : float > 0
        Increased by a relative 1e-12, so rounding does not add a feature.

    Returns
    -------
    float
        A whole number.

    Raises
    ------
    ValueError
        If epsilon is not positive.
    """
    if _accuracy(epsilon) >= 1.0:
        return 0.0
    return max(1.0, math.ceil(_spread(l1_norm) * (1.0 / _accuracy(epsilon) - 1.0)))


def least_absolute_error(l1_norm: float, n_features: int) -> float:
    """Return the least E|<w, x> - y| of B0 features.

    With equal weights c it is min_c E|c S - 1| with S the sum of B0 signs z_i. That is piecewise
    linear in c > 0, with kinks at 1 / s for the values s > 0 of S. Right of 1 / s the slope is
    2 E[S; S >= s] - E[S]. The minimum is at the largest s for which it is not negative.
    c <= 0 is not better than c = 0, where the slope is -E[S].

    Parameters
    ----------
    l1_norm : float >= 1
        B1 = 1 / a.
    n_features : int >= 0
        B0. Time and memory grow as its square root.
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
    """Return the least number of features with mean absolute error at most epsilon.

    It is found by bisection, since the least error does not grow with the number of features. By
    Jensen's inequality the number for a squared error of epsilon^2 is enough.

    Parameters
    ----------
    l1_norm : float >= 1
        B1.
    epsilon : float > 0
        Increased by a relative 1e-12, so rounding does not add a feature.

    Returns
    -------
    float
        A whole number.

    Raises
    ------
    ValueError
        If epsilon is not positive, or may need more than 1e11 features.
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
    """Return E|<w, x> - y| of any predictor, with a bound on its error.

    Parameters
    ----------
    weights : array (d,)
    l1_norm : float >= 1
        B1 = 1 / a of the distribution, not of the weights.
    tolerance : float > 0
        The requested margin. Weights with few distinct values have margin zero.
    """
    _spread(l1_norm)
    return mean_distance(weights, 1.0 / l1_norm, 1.0, tolerance)


def squared_error_bound(l1_norm: float, epsilon: float) -> float:
    """Return the bound of Theorem 7 on the features for a squared error, B1^2 / (8 epsilon).

    Parameters
    ----------
    l1_norm : float > 2
        B1.
    epsilon : float in (0, 0.1]

    Raises
    ------
    ValueError
        If the theorem does not apply.
    """
    _check_theorem(l1_norm, epsilon)
    return l1_norm**2 / (8.0 * epsilon)


def absolute_error_bound(
    l1_norm: float, epsilon: float, reading: Literal["printed", "proof"] = "printed"
) -> float:
    """Return the bound of Theorem 6 on the features for an absolute error, B1^2 / (45 epsilon^2).

    The proof shows E|V| >= 0.2 E[V^2]^(1/2) for V = <w, x> - y and then continues "analogously to
    the case of squared-error". There the sum of the weights is less than B1 / 2, or else
    E[V^2] >= (B1^2 - 1) / (4 B0) >= B1^2 / (8 B0). Here this gives
    epsilon^2 >= 0.04 B1^2 / (8 B0), hence B0 >= B1^2 / (200 epsilon^2), not the printed bound.

    The printed bound is true nevertheless. Without the two cases, the minimum of E[V^2] over all
    weights is (B1^2 - 1) / (B1^2 - 1 + B0), hence B0 >= (B1^2 - 1) (0.04 / epsilon^2 - 1). With
    epsilon <= 0.1 the last factor is at least 0.03 / epsilon^2, with B1 > 2 the first is more than
    3/4 B1^2; their product is more than B1^2 / (44.5 epsilon^2).

    Parameters
    ----------
    l1_norm : float > 2
        B1.
    epsilon : float in (0, 0.1]
    reading : {"printed", "proof"}
        B1^2 / (45 epsilon^2), or the result of the printed proof, B1^2 / (200 epsilon^2).

    Raises
    ------
    ValueError
        If the theorem does not apply, or the reading is unknown.
    """
    _check_theorem(l1_norm, epsilon)
    constants = {"printed": 45.0, "proof": 200.0}
    if reading not in constants:
        raise ValueError(f"there is no reading '{reading}' of Theorem 6: use printed or proof.")
    return (l1_norm / epsilon) ** 2 / constants[reading]


def _spread(l1_norm: float) -> float:
    """Return B1^2 - 1 = (1 - a^2) / a^2."""
    if not 1.0 <= l1_norm < math.inf:
        raise ValueError(f"B1 must be a number >= 1, but is {l1_norm!r}.")
    return (l1_norm - 1.0) * (l1_norm + 1.0)


def _accuracy(epsilon: float) -> float:
    if not epsilon > 0.0:
        raise ValueError(f"epsilon must be positive, but is {epsilon!r}.")
    return epsilon * (1.0 + ROUNDING)


def _check_theorem(l1_norm: float, epsilon: float) -> None:
    if not l1_norm > _LEAST_NORM:
        raise ValueError(f"Theorems 6 and 7 need B1 > 2, but B1 is {l1_norm:g}.")
    if not 0.0 < epsilon <= _MOST_EPSILON:
        raise ValueError(f"Theorems 6 and 7 need epsilon in (0, 0.1], not {epsilon:g}.")
