"""Predicted phase transitions, in units of theta, and the success rate that noise permits.

There are two tasks with Gaussian designs of identity covariance and s nonzeros per task. A fraction
kappa of them is shared, and theta = n / (s log(p - (2 - kappa) s)). The transitions are asymptotic
(p, s, n to infinity); finite problems cross 50% success near them. Methods that reward shared rows
also need shared coefficients of similar size in both tasks: uneven sizes move the transition of the
l1/linf group lasso far to the right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import scipy

from greedyexp.theory.noise import largest_entry


@dataclass(frozen=True)
class Threshold:
    """A predicted transition.

    Parameters
    ----------
    theta : callable
        Maps kappa in [0, 1] to the predicted theta.
    proved : bool
        False for a conjecture.
    even_values : bool
        True if it is stated only for shared coefficients of one size.
    """

    theta: Callable[[float], float]
    proved: bool = True
    even_values: bool = False


TWO_TASKS = {
    # Wainwright (2009).
    "lasso": Threshold(lambda kappa: 2.0),
    # Negahban & Wainwright (2008).
    "group_lasso": Threshold(lambda kappa: 4.0 - 3.0 * kappa, even_values=True),
    # Jalali, Ravikumar, Sanghavi & Ruan (2010).
    "dirty_lasso": Threshold(lambda kappa: 2.0 - kappa, even_values=True),
    # Jalali & Sanghavi (2012), Conjecture 1.
    "greedy_dirty": Threshold(lambda kappa: 1.0 - kappa / 2.0, proved=False),
}


def visible(
    values: str,
    noise_std: float,
    *,
    n_samples: int,
    n_features: int,
    n_tasks: int,
    sparsity: int,
) -> float:
    """Return the probability that all nonzero coefficients exceed the noise correlations.

    Assumption: on a design of unit variance an entry is found if and only if its value exceeds
    t = noise_std sqrt(2 log(p r) / n), the level of the largest of the p r noise correlations (see
    ``noise.largest_entry``). No threshold that excludes all null entries keeps an entry below t.
    The r s values are independent, hence:

    - standard normal values: P(|N| > t)^(r s) = erfc(t / sqrt 2)^(r s);
    - values +-1: 1 if t < 1, else 0.

    The success rate can be somewhat higher, since a shared row may be found by its strongest entry
    and the noise may be below its level. It is lower with too few samples.

    Parameters
    ----------
    values : {"gaussian", "sign"}
        Distribution of the nonzero coefficients.
    noise_std : float >= 0
    n_samples : int
        n, rows per task.
    n_features, n_tasks, sparsity : int
        p, r and s, nonzeros per task; p r >= 2.

    Returns
    -------
    float in [0, 1]

    Raises
    ------
    ValueError
        If there is no prediction for the distribution.
    """
    level = largest_entry(noise_std, n_samples, n_features, n_tasks)
    if values == "sign":
        return float(level < 1)
    if values == "gaussian":
        return float(scipy.special.erfc(level / 2**0.5) ** (n_tasks * sparsity))
    raise ValueError(f"no prediction for values '{values}'.")
