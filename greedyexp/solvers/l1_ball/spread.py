"""Least squares over an l1 ball for features that share one hidden variable, without a matrix."""

from __future__ import annotations

import numpy as np

from greedyexp.losses.loss import Loss
from greedyexp.problems.moments import SpreadMoments
from greedyexp.solvers.l1_ball.minimum import into_ball

# Most steps of Newton and bisection to the root of a monotone piecewise linear function.
MOST_ROOTS = 200
CORRECTIONS = 3


def is_spread(loss: Loss) -> bool:
    """Whether E[x x^T] + ridge I is a positive diagonal matrix plus u u^T."""
    moments = getattr(loss, "moments", None)
    return isinstance(moments, SpreadMoments) and bool((moments.alpha + loss.ridge > 0.0).all())


def minimise_spread(loss: Loss, radius: float) -> np.ndarray:
    """The minimiser of w^T (diag(a) + u u^T) w / 2 - c^T w over the ball, shape (d,).

    With t = <u, w> and the multiplier lam of the ball, w_j is c_j - u_j t brought towards zero by
    lam, over a_j. For each lam, t is the root of a falling piecewise linear function; the norm
    falls with lam. Once signs are known both numbers solve two linear equations.

    Parameters
    ----------
    loss : Loss
        For which ``is_spread`` is true.
    radius : float > 0
    """
    model = _Model(loss.moments, loss.ridge)
    w = model.at(0.0)
    if np.abs(w).sum() <= radius:
        return w
    low, high = 0.0, float(np.abs(model.cross).max())
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if np.abs(model.at(middle)).sum() > radius:
            low = middle
        else:
            high = middle
    w = model.at(high)
    for _ in range(CORRECTIONS):
        w = model.corrected(w, loss.gradient(w), radius)
    return into_ball(w, radius)


class _Model:
    """The quadratic function, with what is needed of it along the multiplier.

    Parameters
    ----------
    moments : SpreadMoments
    ridge : float >= 0
    """

    def __init__(self, moments: SpreadMoments, ridge: float):
        self.own = moments.alpha + ridge
        self.u = moments.u
        self.cross = moments.cross
        self._shared = 0.0

    def at(self, lam: float) -> np.ndarray:
        """The minimiser with lam ||w||_1 added, shape (d,)."""
        below, above = -np.inf, np.inf
        t = self._shared
        for _ in range(MOST_ROOTS):
            w = self._soft(t, lam)
            excess = float(self.u @ w) - t
            if excess > 0.0:
                below = t
            else:
                above = t
            used = w != 0.0
            step = excess / (1.0 + float((self.u[used] ** 2 / self.own[used]).sum()))
            # A step that leaves the bracket goes round in circles.
            ahead = t + step if below < t + step < above else 0.5 * (below + above)
            if ahead == t or not np.isfinite(ahead):
                break
            t = ahead
        self._shared = t
        return w

    def corrected(self, w: np.ndarray, gradient: np.ndarray, radius: float) -> np.ndarray:
        """The minimiser on the face of w, from the gradient at w, so that digits are kept.

        The part of it that is the same for all but for signs is the multiplier, and is taken out
        first: in sums over many features it would drown the rest.
        """
        used = np.flatnonzero(w)
        signs, own, u = np.sign(w[used]), self.own[used], self.u[used]
        weights, tilts = u / own, signs / own
        left = np.array([[1.0 + weights @ u, weights @ signs], [tilts @ u, tilts @ signs]])
        slope = gradient[used]
        slope = slope - signs * float(signs @ slope) / len(used)
        missing = radius - float(np.abs(w).sum())
        right = np.array([-(weights @ slope), -(tilts @ slope) - missing])
        shared, more = np.linalg.solve(left, right)
        moved = w[used] - (slope + u * shared + signs * more) / own
        found = np.zeros_like(w)
        found[used] = np.where(moved * signs > 0.0, moved, 0.0)
        return found

    def _soft(self, t: float, lam: float) -> np.ndarray:
        pull = self.cross - self.u * t
        return np.sign(pull) * np.maximum(np.abs(pull) - lam, 0.0) / self.own
