"""Smoothness of F(a) = ||P a - y||^2 / (2 n): how much its gradient can change."""

from __future__ import annotations

import numpy as np

from greedyexp.theory.constant import Constant
from greedyexp.theory.spectrum import EPS, checked_design, spectrum


def smoothness_l2(design) -> Constant:
    """L2 = lambda_max(P^T P) / n, smoothness in the l2 norm.

    Parameters
    ----------
    design : array (n, p)
        P.

    Raises
    ------
    DataError
        See ``checked_design``.

    References
    ----------
    Moucer, Taylor & Bach (2024), Section 2.1.
    """
    P = checked_design(design)
    known = spectrum(P)
    return squared(known.values[0], known.error, len(P))


def smoothness_l1(design) -> Constant:
    """L1 = max_i ||P_i||^2 / n over columns, smoothness in the l1 norm.

    Parameters
    ----------
    design : array (n, p)
        P.

    Raises
    ------
    DataError
        See ``checked_design``.

    References
    ----------
    Moucer, Taylor & Bach (2024), equation (9).
    """
    P = checked_design(design)
    n = len(P)
    value = float(np.square(P).sum(axis=0).max()) / n
    # A sum of n squares, each rounded, errs by less than (n + 2) eps of itself.
    return Constant(value, value * (1 - (n + 2) * EPS), value * (1 + (n + 2) * EPS))


# By the norm; methods that can use either name it so.
SMOOTHNESS = {"l1": smoothness_l1, "l2": smoothness_l2}


def squared(value: float, error: float, n_samples: int) -> Constant:
    """s^2 / n for a singular value s within ``error`` of ``value``."""
    rounding = 4 * EPS
    lower = max(value - error, 0.0) ** 2 / n_samples * (1 - rounding)
    upper = (value + error) ** 2 / n_samples * (1 + rounding)
    return Constant(float(value) ** 2 / n_samples, float(lower), float(upper))
