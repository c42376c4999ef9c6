"""The semidefinite relaxation of the curvature of least squares in the l1 norm.

One programme serves both regimes. With M over positive semidefinite matrices on the range of P,

    mu1_sdp = (1/n) min max_i P_i^T M P_i,  Tr M = 1
            = (1/n) max lambda_min(P Diag(eta) P^T on the range),  eta >= 0, sum eta = 1.

For p > n this is Lemma 22. With independent columns Z = P^T M P runs over all positive semidefinite
matrices and Tr M = Tr(C Z), C = (P^T P)^-1: it is the maximum-cut relaxation of Lemma 21. Whatever
eta and M a solver gives, both sides are evaluated on P itself, so that neither its accuracy nor
that of an inverse enters the bounds.
"""

from __future__ import annotations

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.theory.constant import Constant
from greedyexp.theory.max_cut import LARGEST_ORDER, check_tol, max_cut
from greedyexp.theory.semidefinite import Triangle, best_mixture
from greedyexp.theory.spectrum import EPS, Spectrum, checked_design, spectrum

# The conic solver factors a dense matrix of about this many rows at every step (8000: 0.5 GB).
LARGEST_SYSTEM = 8000


def curvature_l1_sdp(design, *, tol: float = 1e-6) -> Constant:
    """mu1_sdp, a lower bound on mu1 (independent columns) or on mu1L (dependent ones).

    mu1 = (1/n) min ||P z||^2 over ||z||_1 = 1 is at most pi / 2 times as large; for mu1L = (1/n)
    min ||P^T v||_inf^2 over unit v in the range of P no such factor is known.

    Parameters
    ----------
    design : array (n, p)
        P, of any rank above zero; singular values that rounding of the data explains count as
        zero.
    tol : float in [1e-10, 1)
        Aim of the relative distance of the bounds; nearly dependent columns can leave more.

    Returns
    -------
    Constant
        Bounds of mu1_sdp; ``lower`` is one of mu1 and mu1L, too.

    Raises
    ------
    ConfigError
        When tol is out of range.
    DataError
        When the design is too large; see also ``checked_design``.

    References
    ----------
    Moucer, Taylor & Bach (2024), Proposition 8, Lemmas 21 and 22.
    """
    check_tol(tol)
    P = checked_design(design)
    known = spectrum(P)
    p, rank = P.shape[1], known.rank
    if not relaxation_fits(rank, p):
        raise DataError(
            f"the relaxation for {p} columns of rank {rank} needs dense matrices beyond memory;"
            f" up to {LARGEST_ORDER} independent columns fit, else a rank with"
            f" rank (rank + 1) / 2 + p <= {LARGEST_SYSTEM}."
        )
    eta, factor = _independent(known, tol) if rank == p else _dependent(known, tol)
    lower = _from_weights(P, eta, rank)
    upper = _from_factor(P, factor, known)
    return Constant(min(lower, upper), min(lower, upper), upper)


def relaxation_fits(rank: int, p: int) -> bool:
    """Whether ``curvature_l1_sdp`` takes p columns of that rank, at most min(n, p)."""
    if rank == p:
        return p <= LARGEST_ORDER
    return rank * (rank + 1) // 2 + p <= LARGEST_SYSTEM


def _independent(known: Spectrum, tol: float):
    """Weights y and factor P C V^T of the maximum cut with C = (P^T P)^-1."""
    shrunk = known.right / known.values
    cut = max_cut(shrunk @ shrunk.T, tol=tol)
    return cut.multipliers, (known.left / known.values) @ (known.right.T @ cut.factor.T)


def _dependent(known: Spectrum, tol: float):
    """Weights and factor from the conic solver, in whitened coordinates of the range.

    With P = U S V^T the condition is V^T Diag(eta) V >= lambda S^-2. Left in the basis U, nearly
    dependent columns would make the solver's rounding as large as the eigenvalue.
    """
    p, rank = len(known.right), known.rank
    basis, right = known.left[:, :rank], known.right[:, :rank]
    shrink = known.smallest / known.values[:rank]
    triangle = Triangle(rank)
    squares = triangle.pack_squares(np.sqrt(p) * right.T)
    eta, M = best_mixture(squares, triangle.pack(np.diag(shrink**2)), triangle, tol)
    values, vectors = np.linalg.eigh(M)
    return eta, (basis * shrink) @ (vectors * np.sqrt(np.maximum(values, 0.0)))


def _from_weights(P: np.ndarray, eta: np.ndarray, rank: int) -> float:
    """lambda_min(P Diag(eta) P^T) / (n sum eta): at most mu1_sdp, hence mu1 and mu1L.

    Directly: sum eta max_i (P_i^T v)^2 >= v^T P Diag(eta) P^T v >= lambda_min ||v||^2.
    """
    weighted = spectrum(P * np.sqrt(eta))
    # The entries of the weighted design are rounded, too.
    least = weighted.values[rank - 1] - weighted.error - 2 * EPS * np.linalg.norm(weighted.values)
    return float(max(least, 0.0) ** 2 / (len(P) * eta.sum()) * (1 - (P.shape[1] + 8) * EPS))


def _from_factor(P: np.ndarray, K: np.ndarray, known: Spectrum) -> float:
    """max_i ||K^T P_i||^2 / (n ||K||^2), M = K K^T: at least mu1_sdp for K in the range of P.

    K comes from a basis that is off the range by the angle error / s_rank at most (Wedin); its part
    beyond the range adds to the trace and to nothing else, so that it is taken off there.
    """
    n = len(P)
    seen = np.linalg.norm(K.T @ P, axis=0).max()
    whole = np.linalg.norm(K)
    rounding = (n + 2) * EPS * whole * np.linalg.norm(P, axis=0).max()
    angle = known.error / max(known.smallest - known.error, EPS * known.smallest)
    inside = whole * (1 - min(angle, 0.5) - (K.size + 2) * EPS)
    return float(((seen + rounding) / inside) ** 2 / n * (1 + 8 * EPS))
