"""What is proved of each method: one function for each, from a problem to a ``Guarantee``.

All take ``(problem, optimum, *, support=None, **parameters)``. The gap is that to
``optimum.value``: proofs that compare with a point hold for the point found, exact or not. The
constants enter by their certified ends, so that every bound is one for the problem at hand.

With ``support``, a mask or indices of features, the guarantee is the local one: it bounds the gap
from an iteration on after which no iterate has a nonzero coefficient outside. Steps then are those
of the method on the columns of the support with the L of all columns, since that sets their length;
what depends on the start is left out.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from greedyexp.problems.problem import Problem
from greedyexp.theory.constant import Constant
from greedyexp.theory.curvature import lojasiewicz_l2
from greedyexp.theory.guarantee import Guarantee, Optimum
from greedyexp.theory.l1_relaxation import curvature_l1_sdp, relaxation_fits
from greedyexp.theory.smoothness import SMOOTHNESS, smoothness_l1, smoothness_l2
from greedyexp.theory.spectrum import spectrum

# The relaxation over dependent columns of a higher rank takes minutes.
LARGEST_RANK = 80
# One run asks for the constants of a design once for each algorithm.
REMEMBERED = 16
NOTHING_LEFT = Guarantee(rate=0.0)


def gradient_descent(problem: Problem, optimum: Optimum, *, support=None) -> Guarantee:
    """gap_k <= (1 - mu / L2)^(2 k) gap_0, mu the smallest nonzero eigenvalue of P^T P / n.

    Proposition 4 has the exponent k. On a quadratic 2 k is a theorem: in the eigenbasis the gap is
    a sum of terms l c^2 / 2, and a step multiplies each by (1 - l / L2)^2 <= (1 - mu / L2)^2.
    """
    P = _columns(problem, support)
    if P is None:
        return NOTHING_LEFT
    smoothness = smoothness_l2(problem.X[0])
    return Guarantee(rate=_rate(_eigenvalue(P), smoothness), power=2)


def gs_coordinate_descent(problem: Problem, optimum: Optimum, *, support=None) -> Guarantee:
    """gap_k <= (1 - mu1 / L1)^k gap_0, mu1 or mu1L by a lower bound (Proposition 7).

    The exponent 2 k that is sometimes drawn is false: from zero with two orthonormal columns of
    equal weight the first step halves the gap, and 1 - mu1 / L1 = 1/2.
    """
    return _coordinate_descent(problem, smoothness_l1(problem.X[0]), support)


def proximal_gradient(problem: Problem, optimum: Optimum, *, lam: float, support=None) -> Guarantee:
    """gap_k <= L2 ||a_0 - a*||^2 / (2 k), and (1 - mu2 / L2)^(2 k) gap_0 for independent columns.

    The paper prints the linear rate with exponent k. For lam = 0 the method is gradient descent.

    References
    ----------
    A. B. Taylor, J. M. Hendrickx, F. Glineur, Exact worst-case convergence rates of the proximal
    gradient method for composite convex minimization, 2018 (objective values, step 1 / L2).
    A. Beck, M. Teboulle, A fast iterative shrinkage-thresholding algorithm, 2009, Theorem 3.1.
    """
    if lam == 0:
        return gradient_descent(problem, optimum, support=support)
    P = _columns(problem, support)
    if P is None:
        return NOTHING_LEFT
    smoothness = smoothness_l2(problem.X[0])
    rate = _rate(_eigenvalue(P), smoothness) if _independent(P) else None
    far = None
    if support is None:
        away = _start(problem) - optimum.coef
        far = smoothness.upper * float(away @ away) / 2
    return Guarantee(rate, 2, far, 0)


def proximal_gs_coordinate_descent(
    problem: Problem, optimum: Optimum, *, lam: float, smoothness: str, support=None
) -> Guarantee:
    """gap_k <= (1 - mu2 / (p L))^k gap_0 for independent columns, L the ``smoothness`` used.

    The best coordinate decreases the model at least by 1 / p of what all would together, which is
    mu2 / L of the gap at least. On a support p is its size. For lam = 0 the method is coordinate
    descent with steps of length 1 / L, to which Proposition 7 applies with L for L1.

    References
    ----------
    J. Nutini, M. Schmidt, I. Laradji, M. Friedlander, H. Koepke, Coordinate descent converges
    faster with the Gauss-Southwell rule than random selection, 2018, Appendix 8.
    """
    constant = SMOOTHNESS[smoothness](problem.X[0])
    if lam == 0:
        return _coordinate_descent(problem, constant, support)
    P = _columns(problem, support)
    if P is None:
        return NOTHING_LEFT
    if not _independent(P):
        return Guarantee()
    return Guarantee(rate=_rate(_eigenvalue(P) / P.shape[1], constant))


def rmp(problem: Problem, optimum: Optimum, *, lam: float, support=None) -> Guarantee:
    """gap_k <= (1 - mu1 / L1)^k gap_0 for independent columns, 2 L1 R^2 / (k + 1) always.

    Propositions 17 and 18. R bounds ||a - a*||_1 for all a with G(a) <= G(a_0): lam ||a||_1 <= G(a)
    since the loss is not negative, so that R = G(a_0) / lam + ||a*||_1 does. For lam = 0 there is
    no such bound, and no need for one: the method is coordinate descent.
    """
    if lam == 0:
        return gs_coordinate_descent(problem, optimum, support=support)
    P = _columns(problem, support)
    if P is None:
        return NOTHING_LEFT
    smoothness = smoothness_l1(problem.X[0])
    rate = _rate(_l1_curvature(P), smoothness) if _independent(P) else None
    far = math.inf
    if support is None:
        start = _start(problem)
        away = problem.X[0] @ start - problem.y[0]
        size = float(away @ away) / (2 * len(away) * lam) + float(np.abs(start).sum())
        radius = size + float(np.abs(optimum.coef).sum())
        # Infinite for a tiny lam, where a power would raise an error.
        far = 2 * smoothness.upper * radius * radius
    return Guarantee(rate, 1, far if math.isfinite(far) else None, 1)


def ultimate(problem: Problem, optimum: Optimum, *, support=None, **_) -> Guarantee:
    """gap_k <= (1 - mu1L / L1)^k gap_0 whatever the rank and lam (Proposition 20).

    The loss is L1-smooth and mu1L-strongly convex in the gauge of the columns; with independent
    columns mu1L = mu1, and the method is regularized matching pursuit. It moves in the space of
    samples, where a support is no place to stay in: there is no local guarantee but this one.
    """
    return _coordinate_descent(problem, smoothness_l1(problem.X[0]), None)


def _coordinate_descent(problem: Problem, smoothness: Constant, support) -> Guarantee:
    P = _columns(problem, support)
    if P is None:
        return NOTHING_LEFT
    return Guarantee(rate=_rate(_l1_curvature(P), smoothness))


def _rate(curved: Constant, smoothness: Constant) -> float:
    """1 - mu / L, rounded up by the certificates."""
    return max(0.0, 1.0 - curved.lower / smoothness.upper)


def _columns(problem: Problem, support) -> np.ndarray | None:
    """The design or its columns on the support; None when they are zero or there are none."""
    P = problem.X[0]
    if support is not None:
        P = P[:, np.asarray(support)]
    return P if P.any() else None


def _start(problem: Problem) -> np.ndarray:
    if problem.start is None:
        return np.zeros(problem.n_features)
    return problem.start[:, 0]


def _independent(P: np.ndarray) -> bool:
    return P.shape[1] <= P.shape[0] and spectrum(P).rank == P.shape[1]


def _eigenvalue(P: np.ndarray) -> Constant:
    """The smallest nonzero eigenvalue of P^T P / n."""
    return lojasiewicz_l2(P)


def _l1_curvature(P: np.ndarray) -> Constant:
    """The best lower bound on mu1 or mu1L at hand: the relaxation if feasible, or Lemma 23."""
    return _remembered_curvature(P.tobytes(), P.shape)


@lru_cache(REMEMBERED)
def _remembered_curvature(content: bytes, shape: tuple[int, int]) -> Constant:
    P = np.frombuffer(content).reshape(shape)
    p, rank = shape[1], spectrum(P).rank
    simple = lojasiewicz_l2(P) / p
    if not relaxation_fits(rank, p) or (rank < p and rank > LARGEST_RANK):
        return simple
    relaxed = curvature_l1_sdp(P)
    return relaxed if relaxed.lower >= simple.lower else simple
