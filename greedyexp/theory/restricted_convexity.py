"""How curved a quadratic is along sparse directions: rho_-(s) and rho_+(s).

For Q(b) = ||y - X b||^2 / (2 n) + ridge / 2 ||b||^2 they are the smallest and the largest
eigenvalue of X_S^T X_S / n + ridge I over all supports S of at most s columns. With an intercept,
which is fitted each time, X stands for the columns less their means.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from greedyexp.errors import DataError
from greedyexp.losses.loss import Loss
from greedyexp.losses.squared import SquaredLoss
from greedyexp.theory.smoothness import smoothness_l1, squared
from greedyexp.theory.spectrum import checked_design, spectrum

# Supports that an enumeration may look at.
MOST_SUPPORTS = 200_000


@dataclass(frozen=True)
class Curvatures:
    """Bounds that hold for the sparsity they are said to hold for.

    Parameters
    ----------
    single : float
        rho_+(1), or an upper bound.
    lower : float
        rho_-(s), or a lower bound.
    upper : float
        rho_+(s), or an upper bound.
    """

    single: float
    lower: float
    upper: float


def certified(design, *, ridge: float = 0.0, intercept: bool = False) -> Curvatures:
    """Bounds for every s, rounding included: the extreme eigenvalues of the whole matrix.

    ``lower`` is the ridge when there are more columns than rows, since rho_-(p) is then.

    Parameters
    ----------
    design : array (n, p)
    ridge : float >= 0
    intercept : bool

    Raises
    ------
    DataError
        See ``checked_design``.
    """
    P = checked_design(columns(design, np.arange(np.shape(design)[1]), intercept))
    known, n = spectrum(P), len(P)
    lower = squared(known.values[-1], known.error, n).lower if P.shape[1] <= n else 0.0
    upper = squared(known.values[0], known.error, n).upper
    return Curvatures(smoothness_l1(P).upper + ridge, lower + ridge, upper + ridge)


def enumerated(design, s: int, *, ridge: float = 0.0, intercept: bool = False) -> Curvatures:
    """The constants themselves, by the eigenvalues of all supports of s columns.

    Parameters
    ----------
    design : array (n, p)
    s : int in [1, p]
    ridge : float >= 0
    intercept : bool

    Raises
    ------
    DataError
        When there are more than 200 000 supports.
    """
    P = columns(design, np.arange(np.shape(design)[1]), intercept)
    n, p = P.shape
    if math.comb(p, s) > MOST_SUPPORTS:
        raise DataError(
            f"{math.comb(p, s)} supports of {s} of {p} columns are too many to look at."
        )
    gram = P.T @ P / n + ridge * np.eye(p)
    values = [np.linalg.eigvalsh(gram[np.ix_(S, S)]) for S in itertools.combinations(range(p), s)]
    ends = np.array([(one[0], one[-1]) for one in values])
    return Curvatures(
        float(gram.diagonal().max()), float(ends[:, 0].min()), float(ends[:, 1].max())
    )


def least_on(
    design, support: Sequence[int], *, ridge: float = 0.0, intercept: bool = False
) -> float:
    """The smallest eigenvalue of X_S^T X_S / n + ridge I for one support S; infinite for none.

    It is no lower bound of rho_-(|S|), but an upper one: what holds with it holds where a proof
    compares two points whose supports are in S, and nowhere else.

    Parameters
    ----------
    design : array (n, p) or sparse array
    support : sequence of int in [0, p)
    ridge : float >= 0
    intercept : bool
    """
    support = np.asarray(support, dtype=np.int64)
    if not len(support):
        return math.inf
    P = columns(design, support, intercept)
    n, k = P.shape
    if k > n - intercept:
        return float(ridge)
    return float(np.linalg.svd(P, compute_uv=False)[-1] ** 2 / n + ridge)


def convexity(loss: Loss, support: Sequence[int]) -> float:
    """rho_- between points whose selectable coefficients are in one support.

    For the squared loss the smallest eigenvalue there (``least_on``), for another its ridge.

    Parameters
    ----------
    loss : Loss
    support : sequence of int
    """
    if not isinstance(loss, SquaredLoss):
        return loss.ridge
    return least_on(loss.X, support, ridge=loss.ridge, intercept=bool(loss.n_dense))


def columns(design, support: np.ndarray, intercept: bool) -> np.ndarray:
    """Columns as a dense array (n, k), less their means with an intercept."""
    P = design[:, support]
    P = P.toarray() if sparse.issparse(P) else np.asarray(P, dtype=float)
    return P - P.mean(axis=0) if intercept else P


def smallest_size(
    sparsity: int, curvatures: Callable[[int], Curvatures], largest: int
) -> int | None:
    """The smallest s with which selections are known to end at no more than s - k features.

    s - k > (k + 1) ((sqrt(rho_+(s) / rho_-(s)) + 1) 2 rho_+(1) / rho_-(s))^2. The proof gives it
    with sqrt(2) in place of 2: its inequality (17) has a factor 2 to spare.

    Parameters
    ----------
    sparsity : int >= 0
        k, the size of the support compared with.
    curvatures : callable
        From s to the constants.
    largest : int
        No s is larger.

    Returns
    -------
    int or None
        None when there is none.

    References
    ----------
    Liu, Fujimaki & Ye (2014), equation (3).
    """
    for s in range(sparsity + 1, largest + 1):
        known = curvatures(s)
        if known.lower <= 0.0:
            continue
        root = math.sqrt(known.upper / known.lower) + 1.0
        if s - sparsity > (sparsity + 1) * (root * 2.0 * known.single / known.lower) ** 2:
            return s
    return None
