"""The semidefinite relaxation of maximum cut, with a certified dual bound.

max Tr(C Z) over positive semidefinite Z with diag Z <= 1, dual to min 1^T y over Diag(y) - C
positive semidefinite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from greedyexp.core.errors import DataError
from greedyexp.kernels.max_cut import ascend
from greedyexp.theory.semidefinite import Triangle, solve_conic
from greedyexp.theory.spectrum import EPS

# A safety limit: hard covariances of 50 columns need 50 sweeps.
_MOST_SWEEPS = 5000
# Largest order: three dense matrices of this order take 1 GB.
LARGEST_ORDER = 6000


@dataclass(frozen=True)
class MaxCut:
    """A solution with its certificate.

    Parameters
    ----------
    factor : array (k, p)
        V with unit columns; Z = V^T V.
    multipliers : array (p,)
        y with Diag(y) - C positive semidefinite.
    primal, dual : float
        Proved bounds primal <= optimum <= dual for the given C.
    sweeps : int
        Rounds over the columns; 0 if the conic solver found the solution.
    """

    factor: np.ndarray
    multipliers: np.ndarray
    primal: float
    dual: float
    sweeps: int


def max_cut(C: np.ndarray, *, tol: float = 1e-6, most_sweeps: int = _MOST_SWEEPS) -> MaxCut:
    """Solve max Tr(C Z), Z positive semidefinite, diag Z <= 1.

    Low-rank block coordinate ascent runs until a Cholesky factor proves
    (dual - primal) / dual <= tol. If it does not reach this, a conic solver is used.

    Parameters
    ----------
    C : array (p, p)
        Symmetric positive semidefinite with a positive diagonal. The bounds hold for any
        eigenvalues, but may stay apart if some are negative.
    tol : float in [1e-10, 1)
        Largest relative gap.
    most_sweeps : int
        Limit before the conic solver is used.

    Raises
    ------
    DataError
        If an entry is not finite.

    References
    ----------
    M. X. Goemans, D. P. Williamson, Improved approximation algorithms for maximum cut and
    satisfiability problems using semidefinite programming, 1995.
    P.-W. Wang, W.-C. Chang, J. Z. Kolter, The mixing method, 2018.
    """
    C = 0.5 * (C + C.T)
    if not np.isfinite(C).all():
        raise DataError("the covariance of the columns has entries that are not finite.")
    p = len(C)
    # The trace of the scaled slack matrix is p. The error of Cholesky is (p + 2) eps / 2 times it
    # (Rump 2006), that of the entries 3 eps each. The allowance is twice the sum.
    allowance = p * (p + 8) * EPS
    rank = int(np.ceil(np.sqrt(2 * p))) + 1
    V = np.random.default_rng(0).standard_normal((rank, p))
    V /= np.linalg.norm(V, axis=0)
    y, sweeps, certified = ascend(C, V, tol, allowance, most_sweeps)
    if not certified:
        return _conic(C, tol, allowance)
    primal = y.sum() - _rounding(C, rank)
    return MaxCut(V, (1 + tol) * y, primal, (1 + tol) * y.sum() * (1 + p * EPS), sweeps)


def _rounding(C: np.ndarray, rank: int) -> float:
    """Bound the rounding of Tr(C V^T V) with V (rank, p), including that of column lengths."""
    return float((len(C) + rank + 10) * EPS * np.abs(C).sum())


def _conic(C: np.ndarray, tol: float, allowance: float) -> MaxCut:
    """Solve the dual by Clarabel; make its point feasible and its multiplier a correlation."""
    p = len(C)
    triangle = Triangle(p)
    scale = np.diag(C).max()
    place = np.flatnonzero(triangle.on_diagonal)
    diagonals = scipy.sparse.csc_matrix((np.ones(p), (place, np.arange(p))), (triangle.size, p))
    constant = triangle.pack(-C / scale)
    y, Z = solve_conic(np.ones(p), diagonals, constant, triangle, tol)
    values, vectors = scipy.linalg.eigh(Z)
    V = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    V /= np.linalg.norm(V, axis=0)
    # A feasible y is at least the diagonal. Scaling by the largest eigenvalue makes y feasible.
    y = np.maximum(scale * y, np.diag(C))
    root = np.sqrt(y)
    y *= scipy.linalg.eigvalsh(C / root / root[:, None])[-1] + allowance
    primal = float(np.sum((V @ C) * V)) - _rounding(C, p)
    return MaxCut(V, y, primal, float(y.sum()) * (1 + p * EPS), 0)
