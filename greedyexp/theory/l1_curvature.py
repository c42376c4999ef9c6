"""The curvature of least squares in the l1 norm, exactly, for few columns or a small rank.

mu1 = (1/n) min ||P z||^2 over ||z||_1 = 1 when columns are independent, else
mu1L = (1/n) min ||P^T v||_inf^2 over unit v in the range of P (Lemmas 1 and 2); the two agree where
both are defined.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial import ConvexHull

from greedyexp.core.errors import DataError
from greedyexp.kernels.sign_vectors import REFRESH, largest_form
from greedyexp.theory.constant import Constant
from greedyexp.theory.spectrum import EPS, Spectrum, checked_design, spectrum

# 2^19 sign vectors take a hundredth of a second.
MOST_COLUMNS = 20
# Facets of a polytope that are listed within seconds.
MOST_FACETS = 200_000
# Qhull merges facets that agree to about this part of the largest coordinate.
HULL = 1e-11


def curvature_l1(design) -> Constant:
    """mu1, or mu1L when columns are dependent.

    Independent columns: 1 / (n mu1) is the largest v^T (P^T P)^-1 v over all sign vectors.
    Dependent ones: n mu1L is the squared distance from the origin of the nearest facet of the
    convex hull of the columns and their negatives.

    Parameters
    ----------
    design : array (n, p)
        P, with at most 20 columns, or of a rank so small that the hull can be listed.

    Returns
    -------
    Constant
        ``upper`` is the value at a point; ``lower`` adds what rounding can hide, that of the list
        of facets by the tolerance of Qhull.

    Raises
    ------
    DataError
        When the design is too large; see also ``checked_design``.

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
            remedy=f"Take at most {MOST_COLUMNS} columns, or the relaxation mu1_sdp.",
        )
    return _by_signs(P, known) if rank == p else _by_facets(P, known)


def enumeration_fits(rank: int, p: int) -> bool:
    """Whether ``curvature_l1`` takes p columns of that rank, at most min(n, p)."""
    if rank == p:
        return p <= MOST_COLUMNS
    return _most_facets(rank, p) <= MOST_FACETS


def _most_facets(rank: int, p: int) -> float:
    """A bound on the facets of a polytope with 2 p vertices (McMullen's upper bound theorem)."""
    points = 2 * p
    half = rank // 2
    if rank % 2:
        return 2 * math.comb(points - half - 1, half)
    return math.comb(points - half, half) + math.comb(points - half - 1, half - 1)


def _by_signs(P: np.ndarray, known: Spectrum) -> Constant:
    """Enumerate; the decomposition is that of a design within ``error`` of P.

    sqrt(n mu1) = min ||P z|| / ||z||_1 moves by no more than the norm of a change of P.
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
    basis = known.left[:, : known.rank]
    B = basis.T @ P
    B = B[:, np.abs(B).max(axis=0) > 0]
    scale = float(np.abs(B).max())
    if known.rank == 1:
        normal, distance = np.ones(1), scale
    else:
        facets = ConvexHull(np.concatenate([B, -B], axis=1).T / scale).equations
        nearest = int(np.argmax(facets[:, -1]))
        normal, distance = facets[nearest, :-1], -float(facets[nearest, -1]) * scale
    hidden = (HULL + 4 * known.rank * EPS) * scale + known.error
    reached = float(np.abs(normal @ B).max() / np.linalg.norm(normal))
    lower = max(distance - hidden, 0.0) ** 2 / n
    upper = (reached + 4 * known.rank * EPS * scale + known.error) ** 2 / n
    return Constant(reached**2 / n, min(lower, reached**2 / n), upper)
