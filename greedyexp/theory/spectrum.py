"""Singular values of a design with a proved error, and its numerical rank.

The optimum, the constants, the bounds and the methods that need a basis all use the same rank. A
response is projected onto the directions that count. The other directions stay in the design, but
gradient methods hardly move along them, since a step is proportional to the squared singular value,
and their contribution to the fit is within rounding error. The methods therefore need no special
rules, and gaps and bounds agree up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from greedyexp.core.errors import DataError

EPS = float(np.finfo(float).eps)
# Centring and scaling turn zero singular values into about max(n, p) eps s_1, or several times as
# much if means are a hundred standard deviations from zero. With larger means these values count as
# nonzero.
_RANK_MARGIN = 10.0
# The squares of numbers outside this range overflow or vanish.
LARGEST, SMALLEST = 1e140, 1e-140
# The decomposition of one design is needed again for each algorithm, by optimum and constants.
REMEMBERED = 4


@dataclass(frozen=True)
class Spectrum:
    """Thin singular value decomposition P = U diag(s) V^T.

    Parameters
    ----------
    left, values, right : arrays (n, m), (m,), (p, m)
        U, s in descending order, V; m = min(n, p).
    error : float
        Each exact singular value is within this distance of the given one.
    """

    left: np.ndarray
    values: np.ndarray
    right: np.ndarray
    error: float

    @property
    def rank(self) -> int:
        """Number of singular values above rounding errors of the data."""
        return int(np.sum(self.values > self.floor))

    @property
    def floor(self) -> float:
        """The level above which singular values count."""
        size = max(len(self.left), len(self.right))
        return _RANK_MARGIN * size * EPS * float(self.values[0])

    @property
    def smallest(self) -> float:
        """The smallest singular value that counts, s_rank."""
        return float(self.values[self.rank - 1])


def checked_design(design) -> np.ndarray:
    """Return the design as an array (n, p) of floats.

    Raises
    ------
    DataError
        If the design is not a matrix of finite numbers, is zero, or has entries whose squares
        overflow.
    """
    try:
        P = np.asarray(design, dtype=float)
    except (TypeError, ValueError):
        raise DataError("the design has entries that are not numbers.") from None
    if P.ndim != 2 or P.size == 0:
        raise DataError(f"the design has shape {P.shape}; a matrix with entries is needed.")
    if not np.isfinite(P).all():
        raise DataError(
            "the design has entries that are not finite.", remedy="Remove or impute them."
        )
    largest = np.abs(P).max()
    if largest == 0:
        raise DataError("the design is zero.")
    if not SMALLEST < largest < LARGEST:
        raise DataError(
            f"the largest entry of the design is {largest:.1e}; its square is out of range.",
            remedy="Choose other units.",
        )
    return P


def spectrum(P: np.ndarray) -> Spectrum:
    """Decompose a checked design; the last few results are cached and must not be modified.

    The error bound does not rely on the algorithm of the decomposition: with
    R = P - U S V^T and columns of U and V that are orthonormal up to eta_u and eta_v,
    |s_i(P) - s_i| <= ||R||_F + s_i (eta_u + eta_v + eta_u eta_v) (Weyl; Ostrowski). The rounding
    of R itself, at most (m + 2) eps ||U||_F ||S V^T||_F, is added.
    """
    return _decomposed(P.tobytes(), P.shape)


@lru_cache(REMEMBERED)
def _decomposed(content: bytes, shape: tuple[int, int]) -> Spectrum:
    P = np.frombuffer(content).reshape(shape)
    U, s, Vt = scipy.linalg.svd(P, full_matrices=False, check_finite=False)
    m = len(s)
    scaled = s[:, None] * Vt
    residual = np.linalg.norm(P - U @ scaled)
    rounding = (m + 2) * EPS * np.sqrt(m) * np.linalg.norm(scaled)
    slant_u, slant_v = _slant(U), _slant(Vt.T)
    error = residual + rounding + s[0] * (slant_u + slant_v + slant_u * slant_v)
    return Spectrum(U, s, Vt.T, float(error))


def _slant(Q: np.ndarray) -> float:
    """Bound the distance of Q from orthonormal columns, rounding of the check included."""
    n, m = Q.shape
    return float(np.linalg.norm(Q.T @ Q - np.eye(m))) + (n + 2) * EPS * np.sqrt(m)
