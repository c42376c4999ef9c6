"""The exact Lasso on one task: solve on a signed support, change it where the signs disagree.

The objective is G(b) = ||X b - y||^2 / (2 n) + lam ||b||_1. On a support S with signs s it is a
quadratic, whose minimiser is found from a factorisation of X_S itself, not of its Gram matrix: half
as many digits are lost. Where the minimiser has other signs the step ends at the first coefficient
that reaches zero, which leaves S. Once the signs agree, the coefficient that violates
|X_i^T (y - X b)| / n <= lam most enters. Every step lowers G or takes a coefficient out.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr, solve_triangular

from greedyexp.theory.constants import Optimum
from greedyexp.theory.spectrum import EPS, spectrum

# Violations of the conditions of optimality below this part of lam are left where mending the
# largest of them did not lower the gap.
_PRECISION = 1e-10

# Steps for each row and column before giving up; from zero about one is taken.
_PATIENCE = 20


def minimise(X: np.ndarray, y: np.ndarray, lam: float, coef: np.ndarray, aim: float) -> Optimum:
    """The Lasso from a first guess.

    Parameters
    ----------
    X : array (n, p)
    y : array (n,)
    lam : float > 0
    coef : array (p,)
        The guess.
    aim : float >= 0
        Duality gap at which to stop.

    Returns
    -------
    Optimum
        The point of the smallest duality gap, be it above ``aim``: where rounding hides what is
        left to gain, and when the steps run out.
    """
    coef, signs = coef.copy(), np.sign(coef)
    support = coef != 0
    slack = _PRECISION * lam + 10 * EPS * float(np.abs(X.T @ y).max()) / len(y)
    best, steps = _sharp_gap(X, y, lam, coef), _PATIENCE * sum(X.shape)
    known = spectrum(X)
    while best.gap > aim and steps > 0:
        steps -= _settle(X, known, y, lam, coef, signs, support, steps)
        now = _sharp_gap(X, y, lam, coef)
        improved = now.gap < best.gap
        if improved:
            best = now
        gradient = X.T @ (y - X @ coef) / len(y)
        outside = np.where(support, 0.0, np.abs(gradient))
        entering = int(np.argmax(outside))
        if outside[entering] <= (lam if improved else lam + slack):
            break
        support[entering], signs[entering] = True, np.sign(gradient[entering])
    return best


def duality_gap(X: np.ndarray, y: np.ndarray, lam: float, coef: np.ndarray) -> Optimum:
    """The objective at ``coef`` and how far above the optimum it can be.

    With the residual r = y - X b and t <= 1 the largest number for which |X^T t r| / n <= lam, the
    point t r / n is feasible for the dual, and the gap is
    ||r||^2 (1 - t)^2 / (2 n) + sum_i (lam |b_i| - t b_i X_i^T r / n): terms that are not negative,
    so that nothing of the size of the objective cancels.
    """
    residual = y - X @ coef
    return _gap_at(X, lam, coef, residual, residual / len(y))


def _sharp_gap(X, y, lam, coef) -> Optimum:
    """The smaller gap of two dual points: the residual, and the nearest with X_S^T r / n = lam s.

    On a support that has settled they differ by the rounding of ``coef``, of first order in the gap
    of the one and of second order in that of the other.
    """
    residual = y - X @ coef
    plain = _gap_at(X, lam, coef, residual, residual / len(y))
    inside = X[:, coef != 0].T
    miss = lam * np.sign(coef[coef != 0]) - inside @ residual / len(y)
    shift = np.linalg.lstsq(inside, miss, rcond=None)[0]
    moved = _gap_at(X, lam, coef, residual, residual / len(y) + shift)
    return moved if moved.gap < plain.gap else plain


def _gap_at(X, lam, coef, residual, dual) -> Optimum:
    """The gap of ``coef`` and a dual point, which is made feasible by a factor t <= 1.

    It is (n / 2) ||r / n - t theta||^2 + sum_i (lam |b_i| - t b_i X_i^T theta).
    """
    n = len(residual)
    level = X.T @ dual
    largest = float(np.abs(level).max())
    t = 1.0 if largest <= lam else lam / largest
    away = residual / n - t * dual
    own = np.maximum(lam * np.abs(coef) - t * coef * level, 0.0)
    value = residual @ residual / (2 * n) + lam * np.abs(coef).sum()
    return Optimum(coef.copy(), float(value), float(n * (away @ away) / 2 + own.sum()))


def _settle(X, known, y, lam, coef, signs, support, steps) -> int:
    """Minimise over the signed support, which shrinks on the way; the number of steps made."""
    for made in range(1, steps + 1):
        inside = np.flatnonzero(support)
        if not inside.size:
            return made
        move, ends = _direction(X[:, inside], known, y, lam, coef[inside], signs[inside])
        falling = signs[inside] * move < 0
        reach = np.full(len(inside), np.inf)
        reach[falling] = -coef[inside][falling] / move[falling]
        first = int(np.argmin(reach))
        if ends and reach[first] >= 1:
            coef[inside] += move
            return made
        if np.isinf(reach[first]):
            # Only rounding lets the objective fall forever.
            return made
        coef[inside] += reach[first] * move
        coef[inside[first]], support[inside[first]] = 0.0, False
    return steps


def _direction(X, known, y, lam, coef, signs) -> tuple[np.ndarray, bool]:
    """The way to the minimiser over a signed support, and whether it ends there.

    Columns depend on each other where what one adds to the others is rounding for the whole design,
    or where there are more than its rank. Then it is a way that leaves the fit as it is and along
    which the penalty does not grow; it has no end but the first coefficient that reaches zero.
    """
    n = len(y)
    Q, R, order = qr(X, mode="economic", pivoting=True)
    size = np.abs(np.diag(R))
    rank = min(int((size > known.floor).sum()), known.rank)
    move = np.zeros(len(coef))
    if rank < len(coef):
        move[order[:rank]] = -solve_triangular(R[:rank, :rank], R[:rank, rank])
        move[order[rank]] = 1.0
        return (-move if signs @ move > 0 else move), False
    pull = solve_triangular(R, signs[order], trans="T")
    move[order] = solve_triangular(R, Q.T @ y - n * lam * pull)
    return move - coef, True
