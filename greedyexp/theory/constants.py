"""Certified quantities of least squares, F(a) = ||P a - y||^2 / (2 n): constants and optima."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.theory.spectrum import EPS, checked_design, spectrum


@dataclass(frozen=True)
class Constant:
    """An estimate of a constant and a proved interval around it.

    Parameters
    ----------
    value : float
        Best estimate, lower <= value <= upper.
    lower, upper : float
        Proved bounds on the constant, rounding errors included.
    """

    value: float
    lower: float
    upper: float

    def __truediv__(self, divisor: float) -> Constant:
        """Return the constant divided by a positive number."""
        return Constant(self.value / divisor, self.lower / divisor, self.upper / divisor)


@dataclass(frozen=True)
class Optimum:
    """A minimiser of ||P a - y||^2 / (2 n) + lam ||a||_1 with its certificate.

    Parameters
    ----------
    coef : array (p,)
        The minimiser.
    value : float
        The objective at the minimiser.
    gap : float
        Duality gap: the least objective is at least ``value - gap``.
    """

    coef: np.ndarray
    value: float
    gap: float


def smoothness_l2(design) -> Constant:
    """Return L2 = lambda_max(P^T P) / n, the smoothness in the l2 norm.

    Parameters
    ----------
    design : array (n, p)
        P.

    Raises
    ------
    DataError
        If the design is not valid; see ``checked_design``.

    References
    ----------
    Moucer, Taylor & Bach (2024), Section 2.1.
    """
    P = checked_design(design)
    known = spectrum(P)
    return _squared(known.values[0], known.error, len(P))


def smoothness_l1(design) -> Constant:
    """Return L1 = max_i ||P_i||^2 / n over columns, the smoothness in the l1 norm.

    Parameters
    ----------
    design : array (n, p)
        P.

    Raises
    ------
    DataError
        If the design is not valid; see ``checked_design``.

    References
    ----------
    Moucer, Taylor & Bach (2024), equation (9).
    """
    P = checked_design(design)
    n = len(P)
    value = float(np.square(P).sum(axis=0).max()) / n
    # A sum of n squares, each rounded, has a relative error below (n + 2) eps.
    return Constant(value, value * (1 - (n + 2) * EPS), value * (1 + (n + 2) * EPS))


# Maps a norm to the smoothness in this norm, for methods that can use either norm.
SMOOTHNESS = {"l1": smoothness_l1, "l2": smoothness_l2}


def lojasiewicz_l2(design) -> Constant:
    """Return mu2L, the smallest nonzero eigenvalue of P P^T / n (Lojasiewicz inequality, l2 norm).

    With independent columns it equals the strong convexity mu2 = lambda_min(P^T P) / n. Otherwise
    mu2 is zero, and convergence depends on mu2L alone. Eigenvalues that rounding of the data can
    explain count as zero, for example those of centred data with p >= n. Proposition 4 prints
    lambda_max; its proof and Corollary 6 need this constant.

    Parameters
    ----------
    design : array (n, p)
        P.

    Raises
    ------
    DataError
        If the design is not valid; see ``checked_design``.

    References
    ----------
    Moucer, Taylor & Bach (2024), Section 2.1, Proposition 4, Lemmas 1 and 2.
    """
    P = checked_design(design)
    known = spectrum(P)
    return _squared(known.smallest, known.error, len(P))


def curvature_l1_upper(design) -> Constant:
    """Return 1^T P^T P 1 / (n p^2), an upper bound on mu1 (Lemma 23 with z = 1 / p).

    With dependent columns mu1 = 0, and this is not a bound on the Lojasiewicz constant.

    Parameters
    ----------
    design : array (n, p)
        P with independent columns.

    Raises
    ------
    DataError
        If the columns are dependent; see also ``checked_design``.

    References
    ----------
    Moucer, Taylor & Bach (2024), Lemma 23.
    """
    P = checked_design(design)
    n, p = P.shape
    rank = spectrum(P).rank
    if rank < p:
        raise DataError(
            f"the design has rank {rank} and p = {p} columns; this bound needs independent ones."
        )
    total = P.sum(axis=1)
    value = float(total @ total) / (n * p**2)
    # Each row sum has an error of at most p eps times the sum of absolute values.
    error = p * EPS * np.linalg.norm(np.abs(P).sum(axis=1))
    scale = 1 / (np.sqrt(n) * p)
    lower = max(np.sqrt(value) - error * scale, 0.0) ** 2 * (1 - (n + 4) * EPS)
    upper = (np.sqrt(value) + error * scale) ** 2 * (1 + (n + 4) * EPS)
    return Constant(value, float(lower), float(upper))


def _squared(value: float, error: float, n_samples: int) -> Constant:
    """Return s^2 / n for a singular value s within ``error`` of ``value``."""
    rounding = 4 * EPS
    lower = max(value - error, 0.0) ** 2 / n_samples * (1 - rounding)
    upper = (value + error) ** 2 / n_samples * (1 + rounding)
    return Constant(float(value) ** 2 / n_samples, float(lower), float(upper))
