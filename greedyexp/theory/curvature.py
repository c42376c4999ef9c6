"""Curvature of F(a) = ||P a - y||^2 / (2 n) in the l2 norm, and what follows for the l1 norm."""

from __future__ import annotations

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.theory.constant import Constant
from greedyexp.theory.smoothness import squared
from greedyexp.theory.spectrum import EPS, checked_design, spectrum


def lojasiewicz_l2(design) -> Constant:
    """mu2L, the smallest nonzero eigenvalue of P P^T / n (Lojasiewicz inequality, l2 norm).

    It equals mu2 = lambda_min(P^T P) / n, strong convexity in the l2 norm, when the columns are
    independent; else mu2 is zero, and convergence depends on this constant alone. Eigenvalues that
    rounding of the data would explain count as zero, as those of centred data with p >= n: the
    bounds are those of the smallest that is not. Proposition 4 prints lambda_max; its proof and
    Corollary 6 need this.

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
    Moucer, Taylor & Bach (2024), Section 2.1, Proposition 4, Lemmas 1 and 2.
    """
    P = checked_design(design)
    known = spectrum(P)
    return squared(known.smallest, known.error, len(P))


def curvature_l1_upper(design) -> Constant:
    """1^T P^T P 1 / (n p^2), an upper bound on mu1 (Lemma 23: z = 1 / p).

    With dependent columns it bounds mu1 = 0 but not the Lojasiewicz constant, and says nothing.

    Parameters
    ----------
    design : array (n, p)
        P with independent columns.

    Raises
    ------
    DataError
        When the columns are dependent; see also ``checked_design``.

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
    # Each sum of a row errs by at most p eps times the sum of its absolute values.
    error = p * EPS * np.linalg.norm(np.abs(P).sum(axis=1))
    scale = 1 / (np.sqrt(n) * p)
    lower = max(np.sqrt(value) - error * scale, 0.0) ** 2 * (1 - (n + 4) * EPS)
    upper = (np.sqrt(value) + error * scale) ** 2 * (1 + (n + 4) * EPS)
    return Constant(value, float(lower), float(upper))
