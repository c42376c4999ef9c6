"""The exact Lasso for one task, by an active-set method on signed supports.

The objective is G(b) = ||X b - y||^2 / (2 n) + lam ||b||_1. It is quadratic on a support S with
fixed signs. Its minimiser there is computed from a factorisation of X_S, not of the Gram matrix,
which loses half as many digits. If the minimiser has other signs, the step ends where the first
coefficient reaches zero, and this coefficient leaves S. Once the signs agree, the coefficient with
the largest violation of |X_i^T (y - X b)| / n <= lam enters. Every step decreases G or removes a
coefficient.
"""

from __future__ import annotations

import numpy as np
import scipy

from greedyexp.theory.constants import Optimum
from greedyexp.theory.spectrum import EPS, spectrum

# After a step that does not reduce the gap, ignore violations of optimality below this fraction of
# lam.
_PRECISION = 1e-10

# Largest number of steps per row and column; a start from zero takes about one.
_PATIENCE = 20


def minimise(X: np.ndarray, y: np.ndarray, lam: float, coef: np.ndarray, aim: float) -> Optimum:
    """Solve the Lasso from an initial estimate.

    Parameters
    ----------
    X : array (n, p)
    y : array (n,)
    lam : float > 0
    coef : array (p,)
        Initial estimate.
    aim : float >= 0
        Duality gap at which to stop.

    Returns
    -------
    Optimum
        The point with the smallest duality gap. The gap exceeds ``aim`` if rounding prevents
        further progress or the steps are used up.
    """
    # The support is where a sign is not zero.
    coef, signs = coef.copy(), np.sign(coef)
    slack = _PRECISION * lam + 10 * EPS * float(np.abs(X.T @ y).max()) / len(y)
    best, steps = _smaller_gap(X, y, lam, coef), _PATIENCE * sum(X.shape)
    known = spectrum(X)
    while best.gap > aim and steps > 0:
        steps -= _minimise_on_support(X, known, y, lam, coef, signs, steps)
        now = _smaller_gap(X, y, lam, coef)
        improved = now.gap < best.gap
        if improved:
            best = now
        gradient = X.T @ (y - X @ coef) / len(y)
        outside = np.where(signs != 0, 0.0, np.abs(gradient))
        entering = int(np.argmax(outside))
        if outside[entering] <= (lam if improved else lam + slack):
            break
        signs[entering] = np.sign(gradient[entering])
    return best


def duality_gap(X: np.ndarray, y: np.ndarray, lam: float, coef: np.ndarray) -> Optimum:
    """Return the objective at ``coef`` and an upper bound of its distance from the optimum.

    Let r = y - X b, and let t <= 1 be the largest number with |X^T t r| / n <= lam. Then t r / n is
    dual feasible, and the gap is

        ||r||^2 (1 - t)^2 / (2 n) + sum_i (lam |b_i| - t b_i X_i^T r / n).

    All terms are nonnegative. There is therefore no cancellation.
    """
    residual = y - X @ coef
    return _gap_at(X, lam, coef, residual, residual / len(y))


def _smaller_gap(X, y, lam, coef) -> Optimum:
    """Return the smaller gap of two dual points.

    They are the residual and the nearest point with X_S^T r / n = lam s. On a final support, both
    points differ by the rounding error of ``coef``. This error has a first-order effect on the gap
    of the residual, and a second-order effect on the other.
    """
    residual = y - X @ coef
    plain = _gap_at(X, lam, coef, residual, residual / len(y))
    inside = X[:, coef != 0].T
    miss = lam * np.sign(coef[coef != 0]) - inside @ residual / len(y)
    shift = np.linalg.lstsq(inside, miss, rcond=None)[0]
    moved = _gap_at(X, lam, coef, residual, residual / len(y) + shift)
    return moved if moved.gap < plain.gap else plain


def _gap_at(X, lam, coef, residual, dual) -> Optimum:
    """Return the gap of ``coef`` and a dual point, which a factor t <= 1 makes feasible.

    The gap is (n / 2) ||r / n - t theta||^2 + sum_i (lam |b_i| - t b_i X_i^T theta).
    """
    n = len(residual)
    level = X.T @ dual
    largest = float(np.abs(level).max())
    t = 1.0 if largest <= lam else lam / largest
    away = residual / n - t * dual
    own = np.maximum(lam * np.abs(coef) - t * coef * level, 0.0)
    value = residual @ residual / (2 * n) + lam * np.abs(coef).sum()
    return Optimum(coef.copy(), float(value), float(n * (away @ away) / 2 + own.sum()))


def _minimise_on_support(X, known, y, lam, coef, signs, steps) -> int:
    """Minimise over the signed support, which may shrink; return the number of steps."""
    for made in range(1, steps + 1):
        inside = np.flatnonzero(signs)
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
            # Only rounding errors can make the objective decrease forever.
            return made
        coef[inside] += reach[first] * move
        coef[inside[first]] = signs[inside[first]] = 0.0
    return steps


def _direction(X, known, y, lam, coef, signs) -> tuple[np.ndarray, bool]:
    """Return the direction to the minimiser over a signed support, and whether it ends there.

    Columns are linearly dependent if a column adds only rounding error of the whole design to the
    others, or if there are more columns than the rank. The direction then keeps the fit and does
    not increase the penalty. It ends only at the first coefficient that reaches zero.
    """
    n = len(y)
    Q, R, order = scipy.linalg.qr(X, mode="economic", pivoting=True)
    size = np.abs(np.diag(R))
    rank = min(int((size > known.floor).sum()), known.rank)
    move = np.zeros(len(coef))
    if rank < len(coef):
        move[order[:rank]] = -scipy.linalg.solve_triangular(R[:rank, :rank], R[:rank, rank])
        move[order[rank]] = 1.0
        return (-move if signs @ move > 0 else move), False
    pull = scipy.linalg.solve_triangular(R, signs[order], trans="T")
    move[order] = scipy.linalg.solve_triangular(R, Q.T @ y - n * lam * pull)
    return move - coef, True
