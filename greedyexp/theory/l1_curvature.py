"""The curvature of least squares in the l1 norm: exact, and by a semidefinite relaxation.

mu1 = (1/n) min ||P z||^2 over ||z||_1 = 1 if columns are independent, else
mu1L = (1/n) min ||P^T v||_inf^2 over unit v in the range of P (Lemmas 1 and 2). The two agree where
both are defined. The exact constant is computed for few columns or a small rank.

One relaxation serves both regimes. With M over positive semidefinite matrices on the range of P,

    mu1_sdp = (1/n) min max_i P_i^T M P_i,  Tr M = 1
            = (1/n) max lambda_min(P Diag(eta) P^T on the range),  eta >= 0, sum eta = 1.

For p > n this is Lemma 22. With independent columns Z = P^T M P runs over all positive semidefinite
matrices and Tr M = Tr(C Z), C = (P^T P)^-1: it is the maximum-cut relaxation of Lemma 21. Both
sides are evaluated on P itself for the eta and M of a solver, so the bounds do not depend on the
accuracy of the solver or of an inverse.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from greedyexp.core.errors import ConfigError, DataError
from greedyexp.kernels.max_cut import REFRESH, largest_form
from greedyexp.theory.constants import Constant
from greedyexp.theory.max_cut import LARGEST_ORDER, max_cut
from greedyexp.theory.semidefinite import Triangle, best_mixture
from greedyexp.theory.spectrum import EPS, Spectrum, checked_design, spectrum

# Largest number of columns whose sign vectors are enumerated; 2^19 of them take 10 ms.
_MOST_COLUMNS = 20
# Largest number of facets of a polytope; Qhull lists them within seconds.
_MOST_FACETS = 200_000
# Up to this rank a hull of few columns decides, however many columns there are.
MOST_RANK = 6
# Numbers of products of columns with normals: in memory at a time (34 MB), and in one round.
_AT_ONCE, _MOST_PRODUCTS = 2**22, 2**28
# Qhull merges facets that agree to about this fraction of the largest coordinate.
_HULL = 1e-11
# The conic solver factors a dense matrix of about this many rows at every step (8000: 0.5 GB).
_LARGEST_SYSTEM = 8000


def curvature_l1(design) -> Constant:
    """Return mu1, or mu1L if columns are dependent.

    Independent columns: 1 / (n mu1) is the largest v^T (P^T P)^-1 v over all sign vectors.
    Dependent ones: n mu1L is the squared inradius of the convex hull of the columns and their
    negatives, which is the distance of its nearest facet from the origin.

    Parameters
    ----------
    design : array (n, p)
        P, with at most 20 columns, or of rank at most 6, or with a rank for which all facets can be
        listed.

    Returns
    -------
    Constant
        ``upper`` is the value at a point. ``lower`` allows for rounding errors, and for the
        tolerance of Qhull if facets are listed.

    Raises
    ------
    DataError
        If the design is too large, or its hull has too many facets; see also ``checked_design``.

    References
    ----------
    Moucer, Taylor & Bach (2024), Lemmas 1 to 3, Appendix C.1.
    """
    P = checked_design(design)
    known = spectrum(P)
    p, rank = P.shape[1], known.rank
    if not enumeration_fits(rank, p):
        raise DataError(
            f"{p} columns of rank {rank} are too many for the exact constant.",
            remedy=f"Take at most {_MOST_COLUMNS} columns, or the relaxation mu1_sdp.",
        )
    return _by_signs(P, known) if rank == p else _by_facets(P, known)


def enumeration_fits(rank: int, p: int) -> bool:
    """Return True if ``curvature_l1`` accepts p columns of this rank, at most min(n, p)."""
    if rank == p:
        return p <= _MOST_COLUMNS
    return rank <= MOST_RANK or _most_facets(rank, p) <= _MOST_FACETS


def _most_facets(rank: int, p: int) -> float:
    """Bound the facets of a polytope with 2 p vertices (McMullen's upper bound theorem)."""
    points = 2 * p
    half = rank // 2
    if rank % 2:
        return 2 * math.comb(points - half - 1, half)
    return math.comb(points - half, half) + math.comb(points - half - 1, half - 1)


def _by_signs(P: np.ndarray, known: Spectrum) -> Constant:
    """Enumerate sign vectors; ``known`` decomposes a design within ``error`` of P.

    sqrt(n mu1) = min ||P z|| / ||z||_1 changes by no more than the norm of a change of P.
    """
    n, p = P.shape
    shrunk = known.right / known.values
    C = shrunk @ shrunk.T
    best, largest = largest_form(C)
    hidden = 2 * (REFRESH + p) * p * EPS * float(np.abs(C).sum())
    lower = max(1 / math.sqrt(largest + hidden) - known.error, 0.0) ** 2 / n
    z = C @ best
    size = float(np.abs(z).sum())
    reached = P @ z
    rounding = 2 * p * EPS * float(np.linalg.norm(np.abs(P) @ np.abs(z)))
    value = (float(np.linalg.norm(reached)) / size) ** 2 / n
    upper = ((float(np.linalg.norm(reached)) + rounding) / size) ** 2 / n * (1 + 4 * (n + p) * EPS)
    return Constant(value, min(lower, value), upper)


def _by_facets(P: np.ndarray, known: Spectrum) -> Constant:
    n = len(P)
    B = known.left[:, : known.rank].T @ P
    scale = float(np.abs(B).max())
    normal, distance = _nearest_facet(B / scale)
    hidden = (_HULL + 4 * known.rank * EPS) * scale + known.error
    reached = float(np.abs(normal @ B).max() / np.linalg.norm(normal))
    lower = max(distance * scale - hidden, 0.0) ** 2 / n
    upper = (reached + 4 * known.rank * EPS * scale + known.error) ** 2 / n
    return Constant(reached**2 / n, min(lower, reached**2 / n), upper)


def _nearest_facet(B: np.ndarray) -> tuple[np.ndarray, float]:
    """Return unit normal and distance of the facet of conv(+-columns) nearest to the origin.

    The hull of a few columns lies inside that of all columns, so its inradius is no larger. The
    columns farthest beyond its nearest facets are added to it until no column is beyond the nearest
    one, and both inradii agree. Columns shorter than the inradius are inside the hull.
    """
    if len(B) == 1:
        return np.ones(1), float(np.abs(B).max())
    lengths = np.linalg.norm(B, axis=0)
    used = scipy.linalg.qr(B, mode="r", pivoting=True, check_finite=False)[1][: len(B)]
    least = np.inf
    while True:
        corners = B[:, used].T
        facets = scipy.spatial.ConvexHull(np.concatenate([corners, -corners])).equations
        facets = facets[np.argsort(-facets[:, -1], kind="stable")]
        distances = -facets[:, -1]
        outer = np.flatnonzero(lengths >= distances[0])
        if len(facets) > _MOST_FACETS or len(used) * len(outer) > _MOST_PRODUCTS:
            raise DataError(
                f"too many of the {B.shape[1]} columns of rank {len(B)} are corners of their hull"
                " for the exact constant.",
                remedy="Take fewer columns, or the relaxation mu1_sdp.",
            )
        # The inradius is at most the distance of the farthest column in any direction.
        nearer = max(1, int(np.count_nonzero(distances < least)))
        size = max(1, _AT_ONCE // len(outer))
        tried: int = min(max(len(used), size), nearer)
        farthest, heights = np.empty(tried, dtype=np.int64), np.empty(tried)
        for start in range(0, tried, size):
            part = slice(start, min(start + size, tried))
            products = np.abs(facets[part, :-1] @ B[:, outer])
            farthest[part] = outer[products.argmax(axis=1)]
            heights[part] = products.max(axis=1)
        least = min(least, float(heights.min()))
        beyond = ~np.isin(farthest, used) & (heights > distances[:tried] + _HULL)
        if not beyond[0]:
            return facets[0, :-1], float(distances[0])
        used = np.union1d(used, farthest[beyond])


def curvature_l1_sdp(design, *, tol: float = 1e-6) -> Constant:
    """Return mu1_sdp, a lower bound on mu1 (independent columns) or on mu1L (dependent ones).

    mu1 is at most pi / 2 times as large; no such factor is known for mu1L.

    Parameters
    ----------
    design : array (n, p)
        P, of any positive rank. Singular values that rounding of the data can explain count as
        zero.
    tol : float in [1e-10, 1)
        Target for the relative distance of the bounds; nearly dependent columns may miss it.

    Returns
    -------
    Constant
        Bounds on mu1_sdp. ``lower`` is also a bound on mu1 and mu1L.

    Raises
    ------
    ConfigError
        If tol is out of range.
    DataError
        If the design is too large; see also ``checked_design``.

    References
    ----------
    Moucer, Taylor & Bach (2024), Proposition 8, Lemmas 21 and 22.
    """
    if not 1e-10 <= tol < 1:
        raise ConfigError(f"tol = {tol} must be in [1e-10, 1).")
    P = checked_design(design)
    known = spectrum(P)
    p, rank = P.shape[1], known.rank
    if not relaxation_fits(rank, p):
        raise DataError(
            f"the relaxation for {p} columns of rank {rank} needs dense matrices beyond memory;"
            f" up to {LARGEST_ORDER} independent columns fit, else a rank with"
            f" rank (rank + 1) / 2 + p <= {_LARGEST_SYSTEM}."
        )
    eta, factor = _independent(known, tol) if rank == p else _dependent(known, tol)
    lower = _from_weights(P, eta, rank)
    upper = _from_factor(P, factor, known)
    return Constant(min(lower, upper), min(lower, upper), upper)


def relaxation_fits(rank: int, p: int) -> bool:
    """Return True if ``curvature_l1_sdp`` accepts p columns of this rank, at most min(n, p)."""
    if rank == p:
        return p <= LARGEST_ORDER
    return rank * (rank + 1) // 2 + p <= _LARGEST_SYSTEM


def _independent(known: Spectrum, tol: float):
    """Return weights y and factor P C V^T of the maximum cut with C = (P^T P)^-1."""
    shrunk = known.right / known.values
    cut = max_cut(shrunk @ shrunk.T, tol=tol)
    return cut.multipliers, (known.left / known.values) @ (known.right.T @ cut.factor.T)


def _dependent(known: Spectrum, tol: float):
    """Return weights and factor from the conic solver, in whitened coordinates of the range.

    With P = U S V^T the condition is V^T Diag(eta) V >= lambda S^-2. In the basis U, nearly
    dependent columns would make rounding errors of the solver as large as the eigenvalue.
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
    """Return lambda_min(P Diag(eta) P^T) / (n sum eta), at most mu1_sdp, hence mu1 and mu1L.

    Direct proof: sum eta max_i (P_i^T v)^2 >= v^T P Diag(eta) P^T v >= lambda_min ||v||^2.
    """
    weighted = spectrum(P * np.sqrt(eta))
    # The entries of the weighted design are rounded, too.
    least = weighted.values[rank - 1] - weighted.error - 2 * EPS * np.linalg.norm(weighted.values)
    return float(max(least, 0.0) ** 2 / (len(P) * eta.sum()) * (1 - (P.shape[1] + 8) * EPS))


def _from_factor(P: np.ndarray, K: np.ndarray, known: Spectrum) -> float:
    """Return max_i ||K^T P_i||^2 / (n ||K||^2), at least mu1_sdp for K in the range of P.

    Here M = K K^T. The basis of K deviates from the range by at most the angle error / s_rank
    (Wedin). The part of K outside the range only increases the trace and is subtracted there.
    """
    n = len(P)
    seen = np.linalg.norm(K.T @ P, axis=0).max()
    whole = np.linalg.norm(K)
    rounding = (n + 2) * EPS * whole * np.linalg.norm(P, axis=0).max()
    angle = known.error / max(known.smallest - known.error, EPS * known.smallest)
    inside = whole * (1 - min(angle, 0.5) - (K.size + 2) * EPS)
    return float(((seen + rounding) / inside) ** 2 / n * (1 + 8 * EPS))
