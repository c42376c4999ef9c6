"""Proved convergence rates of iterative methods on least squares, and predicted ones.

Each method has one function that returns its ``GapBound``. All take ``(problem, optimum, *,
support=None, **parameters)``. The gap is the distance to ``optimum.value``: proofs that compare
with a point hold for the point found, exact or not. The bounds use the certified ends of the
constants and therefore hold for the given problem.

With ``support``, a mask or indices of features, the bound is local: it holds as soon as no later
iterate has a nonzero coefficient outside the support. The method then runs on the columns of the
support, while the L of all columns sets the step length. Terms that depend on the start are left
out.

The predicted rates are limits for large random designs. For P (n, p) of independent entries with
mean zero and variance s^2, as p / n tends to r, the nonzero eigenvalues of P^T P / n fill an
interval. The paper writes d for p.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from greedyexp.core.errors import ConfigError
from greedyexp.problems.problem import Problem
from greedyexp.theory.constants import (
    SMOOTHNESS,
    Constant,
    Optimum,
    lojasiewicz_l2,
    smoothness_l1,
    smoothness_l2,
)
from greedyexp.theory.l1_curvature import curvature_l1_sdp, relaxation_fits
from greedyexp.theory.spectrum import spectrum

# For dependent columns of a higher rank, the relaxation takes minutes.
_LARGEST_RANK = 80
# A run needs the constants of a design once for each algorithm.
REMEMBERED = 16


@dataclass(frozen=True)
class GapBound:
    """An upper bound on the gap of the objective after k iterations.

    Parameters
    ----------
    rate : float in [0, 1], optional
        With ``power``, the linear bound gap_0 rate^(power k); None if no linear rate is proved.
    power : int
        Exponent of the rate per iteration.
    sublinear : float, optional
        c of the bound c / (k + shift), for k >= 1.
    shift : int
        See ``sublinear``.
    """

    rate: float | None = None
    power: int = 1
    sublinear: float | None = None
    shift: int = 0

    def bound(self, k, gap: float) -> np.ndarray:
        """Return the least of the proved bounds, an array like k.

        Parameters
        ----------
        k : int or array of int >= 0
            Iterations.
        gap : float
            Objective at iteration 0 minus its optimum. It bounds the gap of every iteration, since
            the methods never increase the objective.
        """
        k = np.asarray(k, dtype=float)
        least = np.full(k.shape, float(gap))
        if self.rate is not None:
            least = np.minimum(least, gap * self.rate ** (self.power * k))
        if self.sublinear is not None:
            later = self.sublinear / (np.maximum(k, 1) + self.shift)
            least = np.where(k >= 1, np.minimum(least, later), least)
        return least

    @property
    def contraction(self) -> float | None:
        """The proved factor of the gap per iteration, ``rate ** power``; None without a rate."""
        return None if self.rate is None else self.rate**self.power


def gradient_descent(problem: Problem, optimum: Optimum, *, support=None) -> GapBound:
    """Bound gap_k <= (1 - mu / L2)^(2 k) gap_0, mu the smallest nonzero eigenvalue of P^T P / n.

    Proposition 4 has the exponent k. On a quadratic 2 k can be proved: in the eigenbasis the gap is
    a sum of terms l c^2 / 2, and a step multiplies each by (1 - l / L2)^2 <= (1 - mu / L2)^2.
    """
    rate = _rate(problem, lojasiewicz_l2, smoothness_l2, support)
    return GapBound(rate=rate, power=2)


def gs_coordinate_descent(problem: Problem, optimum: Optimum, *, support=None) -> GapBound:
    """Bound gap_k <= (1 - mu1 / L1)^k gap_0 with a lower bound on mu1 or mu1L (Proposition 7).

    The exponent 2 k, which is sometimes plotted, is false: from zero with two orthonormal columns
    of equal weight the first step halves the gap, and 1 - mu1 / L1 = 1/2.
    """
    return GapBound(_rate(problem, _l1_curvature, smoothness_l1, support))


def proximal_gradient(problem: Problem, optimum: Optimum, *, lam: float, support=None) -> GapBound:
    """Bound gap_k <= L2 ||a_0 - a*||^2 / (2 k), and (1 - mu2 / L2)^(2 k) gap_0.

    The linear rate needs independent columns; the paper prints it with exponent k. For lam = 0 the
    method is gradient descent.

    References
    ----------
    A. B. Taylor, J. M. Hendrickx, F. Glineur, Exact worst-case convergence rates of the proximal
    gradient method for composite convex minimization, 2018 (objective values, step 1 / L2).
    A. Beck, M. Teboulle, A fast iterative shrinkage-thresholding algorithm, 2009, Theorem 3.1.
    """
    if lam == 0:
        return gradient_descent(problem, optimum, support=support)
    rate = _rate(problem, lojasiewicz_l2, smoothness_l2, support, independent=True)
    if support is not None or rate == 0:
        return GapBound(rate, 2)
    away = _start(problem) - optimum.coef
    far = smoothness_l2(problem.X[0]).upper * float(away @ away) / 2
    return GapBound(rate, 2, far, 0)


def proximal_gs_coordinate_descent(
    problem: Problem, optimum: Optimum, *, lam: float, smoothness: str, support=None
) -> GapBound:
    """Bound gap_k <= (1 - mu2 / (p L))^k gap_0 for independent columns; ``smoothness`` selects L.

    The best coordinate decreases the model by at least 1 / p of the decrease by all coordinates
    together, which is at least mu2 / L of the gap. On a support p is its size. For lam = 0 the
    method is coordinate descent with steps of length 1 / L, to which Proposition 7 applies with L
    in place of L1.

    References
    ----------
    J. Nutini, M. Schmidt, I. Laradji, M. Friedlander, H. Koepke, Coordinate descent converges
    faster with the Gauss-Southwell rule than random selection, 2018, Appendix 8.
    """
    constant = SMOOTHNESS[smoothness]
    if lam == 0:
        return GapBound(_rate(problem, _l1_curvature, constant, support))
    return GapBound(_rate(problem, _per_column, constant, support, independent=True))


def rmp(problem: Problem, optimum: Optimum, *, lam: float, support=None) -> GapBound:
    """Bound gap_k <= (1 - mu1 / L1)^k gap_0 for independent columns, 2 L1 R^2 / (k + 1) always.

    Propositions 17 and 18. R bounds ||a - a*||_1 for all a with G(a) <= G(a_0): lam ||a||_1 <= G(a)
    since the loss is not negative, so R = G(a_0) / lam + ||a*||_1 is valid. For lam = 0 no such
    bound exists or is needed: the method is coordinate descent.
    """
    if lam == 0:
        return gs_coordinate_descent(problem, optimum, support=support)
    rate = _rate(problem, _l1_curvature, smoothness_l1, support, independent=True)
    if support is not None or rate == 0:
        return GapBound(rate)
    start = _start(problem)
    away = problem.X[0] @ start - problem.y[0]
    size = float(away @ away) / (2 * len(away) * lam) + float(np.abs(start).sum())
    radius = size + float(np.abs(optimum.coef).sum())
    # Infinite for a tiny lam, where a power would raise an error.
    far = 2 * smoothness_l1(problem.X[0]).upper * radius * radius
    return GapBound(rate, 1, far if math.isfinite(far) else None, 1)


def ultimate(problem: Problem, optimum: Optimum, *, support=None, **_) -> GapBound:
    """Bound gap_k <= (1 - mu1L / L1)^k gap_0 for any rank and lam (Proposition 20).

    The loss is L1-smooth and mu1L-strongly convex in the gauge of the columns; with independent
    columns mu1L = mu1, and the method is regularized matching pursuit. It moves in the space of
    samples and does not stay on a support, so the local bound is the same.
    """
    return GapBound(gauge_rate(problem))


def gauge_rate(problem: Problem) -> float:
    """Return 1 - mu1L / L1, or 1 - mu1 / L1 if columns are independent, rounded up.

    mu1L is replaced by its best lower bound: the relaxation where it can be computed, or Lemma 23.
    """
    rate = _rate(problem, _l1_curvature, smoothness_l1, None)
    assert rate is not None  # It holds without independent columns.
    return rate


def _rate(
    problem: Problem,
    curvature: Callable[[np.ndarray], Constant],
    smoothness: Callable[[np.ndarray], Constant],
    support,
    *,
    independent: bool = False,
) -> float | None:
    """Return 1 - mu / L, rounded up by the certificates.

    Parameters
    ----------
    curvature : callable
        Maps the columns on the support to mu.
    smoothness : callable
        Maps the design to L.
    support : array_like or None
    independent : bool
        True if the rate holds for independent columns only.

    Returns
    -------
    float or None
        0 if no column of the support is different from zero; None if there is no rate.
    """
    P = problem.X[0] if support is None else problem.X[0][:, np.asarray(support)]
    if not P.any():
        return 0.0
    p = P.shape[1]
    if independent and (p > len(P) or spectrum(P).rank < p):
        return None
    return max(0.0, 1.0 - curvature(P).lower / smoothness(problem.X[0]).upper)


def _start(problem: Problem) -> np.ndarray:
    if problem.start is None:
        return np.zeros(problem.n_features)
    return problem.start[:, 0]


def _per_column(P: np.ndarray) -> Constant:
    return lojasiewicz_l2(P) / P.shape[1]


def _l1_curvature(P: np.ndarray) -> Constant:
    """Return the best lower bound on mu1 or mu1L: the relaxation if feasible, or Lemma 23."""
    return _remembered_curvature(P.tobytes(), P.shape)


@lru_cache(REMEMBERED)
def _remembered_curvature(content: bytes, shape: tuple[int, int]) -> Constant:
    P = np.frombuffer(content).reshape(shape)
    p, rank = shape[1], spectrum(P).rank
    simple = lojasiewicz_l2(P) / p
    if not relaxation_fits(rank, p) or (rank < p and rank > _LARGEST_RANK):
        return simple
    relaxed = curvature_l1_sdp(P)
    return relaxed if relaxed.lower >= simple.lower else simple


def edges(aspect_ratio: float, variance: float = 1.0) -> tuple[float, float]:
    """Return s^2 (1 - sqrt r)^2 and s^2 (1 + sqrt r)^2, limits of the extreme nonzero eigenvalues.

    For r > 1 the same formula holds for the nonzero ones: those of P P^T / n are r times those of
    P P^T / p, whose aspect ratio is 1 / r.

    Parameters
    ----------
    aspect_ratio : float > 0
        r = p / n.
    variance : float > 0
        s^2.

    Raises
    ------
    ConfigError
        If one is not positive and finite.

    References
    ----------
    Z. Bai, J. W. Silverstein, Spectral analysis of large dimensional random matrices, 2010,
    Theorem 5.11; Moucer, Taylor & Bach (2024), Theorem 5.
    """
    for name, number in (("aspect_ratio", aspect_ratio), ("variance", variance)):
        if not (number > 0 and math.isfinite(number)):
            raise ConfigError(f"{name} = {number} must be positive and finite.")
    root = math.sqrt(aspect_ratio)
    return variance * (1 - root) ** 2, variance * (1 + root) ** 2


def gradient_rate(aspect_ratio: float) -> float:
    """Return 1 - lambda_min / lambda_max of the ``edges``, the limit of 1 - mu2 / L2.

    Corollary 6 in both regimes: r (1 - sqrt(1 / r))^2 = (1 - sqrt r)^2.

    Parameters
    ----------
    aspect_ratio : float > 0
        r = p / n.

    Raises
    ------
    ConfigError
        If it is not positive and finite.

    References
    ----------
    Moucer, Taylor & Bach (2024), Corollary 6.
    """
    smallest, largest = edges(aspect_ratio)
    return 1 - smallest / largest


def predict_gradient_descent(n_samples: int, p: int) -> float:
    """Return the limit of the factor of the gap per iteration of gradient descent.

    It is the square of Corollary 6, since the exponent 2 k is proved on quadratics.

    Parameters
    ----------
    n_samples, p : int >= 1
        Rows and columns.

    Raises
    ------
    ConfigError
        If one is not positive.
    """
    return gradient_rate(_aspect_ratio(n_samples, p)) ** 2


def predict_coordinate_descent(n_samples: int, p: int) -> float:
    """Return 1 - 1 / min(n, p), around which 1 - mu1 / L1 concentrates.

    This is proved for independent columns with p much smaller than n, and for the relaxation
    mu1_sdp with p much larger than n. The bound mu1L <= L1 / n of Lemma 23 holds only for the
    relaxation.

    Parameters and errors are those of ``predict_gradient_descent``.

    References
    ----------
    Moucer, Taylor & Bach (2024), Corollary 10.
    """
    _aspect_ratio(n_samples, p)
    return 1 - 1 / min(n_samples, p)


def _aspect_ratio(n_samples: int, p: int) -> float:
    if n_samples < 1 or p < 1:
        raise ConfigError(f"a design of {n_samples} rows and {p} columns has no aspect ratio.")
    return p / n_samples
