"""Newton steps on a face of an l1 ball, down to the rounding error of derivatives."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
import scipy

from greedyexp.core.errors import ConfigError
from greedyexp.losses.loss import Loss
from greedyexp.losses.population import PopulationSquaredLoss
from greedyexp.losses.smoothed import SmoothedLoss

# Steps of differences of gradients. For linear gradients, the step is relative to the largest
# coefficient. For nonlinear gradients, steps go to both sides, relative to the length over which
# the gradient bends.
STRAIGHT, BENT = 1e-5, 1e-3
# Fraction of the largest curvature to add for piecewise quadratic losses. With fewer curved rows
# than coefficients the model is flat along some moves; signs and kinks then limit the step.
_DAMPING = 1e-10
ROUNDS = 400
# Number of rounds in which the gap must halve, unless coefficients leave. It is larger for
# piecewise quadratic losses, whose gap may increase temporarily.
PATIENCE, PIECES_PATIENCE = 8, 30
# Recompute second derivatives that vary unless the gap falls below this fraction of the last gap.
SLOW = 0.1
# Fraction of a slope that may remain, with the opposite sign, at the end of a step.
_OVERSHOOT = 0.5
SHORTEST = 1e-6
# A norm is equal to the radius if it differs by less than this fraction.
_ON_BALL = 1e-12
# A coefficient may enter if its derivative exceeds that of the face by this fraction.
BEYOND = 1e-12
# Coefficients enter once the violation among those in use is below this fraction of the largest
# violation.
EAGER = 0.1
# Smallest number of coefficients that enter at once, and their number relative to those in use.
ENTER, ENTER_PART = 4, 0.1


@dataclass(frozen=True)
class BallMinimum:
    """A point of the ball and an upper bound of its excess risk.

    Parameters
    ----------
    params : array (d,)
        w with ||w||_1 <= radius, and exact zeros.
    value : float
        R(w).
    gap : float
        Upper bound of R(w) - min R >= 0, up to rounding.
    converged : bool
        Whether the gap is small enough.
    message : str
        Reason for no convergence; empty if there is none.
    """

    params: np.ndarray
    value: float
    gap: float
    converged: bool
    message: str = ""

    @classmethod
    def with_gap(cls, params: np.ndarray, value: float, gap: float, allowed: float) -> BallMinimum:
        """Return the point with its gap; it has converged if the gap is at most ``allowed``."""
        said = "" if gap <= allowed else f"The duality gap is {gap:.1e}, above {allowed:.1e}."
        return cls(params, value, gap, not said, said)


def duality_gap(params: np.ndarray, gradient: np.ndarray, radius: float) -> float:
    """Return <grad R(w), w> + radius ||grad R(w)||_inf >= R(w) - min R over the ball.

    By convexity, R(v) >= R(w) + <grad R(w), v - w> for each v in the ball (Shalev-Shwartz, Srebro &
    Zhang 2009, Lemma 5). The result is zero if rounding makes it negative.
    """
    return max(0.0, float(gradient @ params) + radius * float(np.abs(gradient).max()))


def shrink_into_ball(w: np.ndarray, radius: float) -> np.ndarray:
    """Return w, scaled to ||w||_1 = radius if it is outside the ball."""
    norm = float(np.abs(w).sum())
    return w if norm <= radius else w * (radius / norm)


def check_radius(radius: float) -> None:
    """Raise ConfigError if the radius is not positive and finite."""
    if not (0.0 < radius < math.inf):
        raise ConfigError(f"the radius must be a number > 0, but is {radius!r}.")


def _minimise_model(
    hessian: np.ndarray, slope: np.ndarray, at: np.ndarray, signs: np.ndarray, radius: float
) -> np.ndarray:
    """Return the minimiser of <slope, v - at> + (v - at)^T H (v - at) / 2, shape (k,).

    The constraints are sum signs v <= radius and signs v >= 0. A coefficient that becomes zero on
    the way stays zero.

    Parameters
    ----------
    hessian : array (k, k)
        H, positive semidefinite.
    slope : array (k,)
    at : array (k,)
        A point of the ball with these signs or zeros.
    signs : array (k,) of -1 and 1
    radius : float > 0
    """
    v, slope, free = at.copy(), slope.copy(), np.arange(len(at))
    while len(free):
        own, sign = v[free], signs[free]
        move = _unsigned_move(
            hessian[np.ix_(free, free)], slope[free], sign, radius - float(sign @ own)
        )
        if not np.isfinite(move).all():
            break
        wrong = sign * (own + move) < 0.0
        lengths = np.full(len(free), np.inf)
        lengths[wrong] = np.abs(own[wrong] / move[wrong])
        length = min(1.0, float(lengths.min()))
        ahead = own + length * move
        ahead[lengths <= length] = 0.0
        slope += hessian[:, free] @ (ahead - own)
        v[free] = ahead
        if not wrong.any():
            break
        free = free[lengths > length]
    return v


def _unsigned_move(hessian, slope, signs, room: float) -> np.ndarray:
    """Return the move to the minimiser in the ball or on its sphere, ignoring signs."""
    if room > 0.0:
        move = _solve_symmetric(hessian, -slope)
        if float(signs @ move) <= room:
            return move
    # Scale by the curvature to balance the border against the Hessian.
    unit = float(np.abs(hessian).max()) or 1.0
    size = len(slope)
    system = np.zeros((size + 1, size + 1))
    system[:size, :size] = hessian / unit
    system[:size, size] = system[size, :size] = signs
    solution = _solve_symmetric(system, np.append(-slope / unit, room))
    # If the multiplier is negative, the minimiser is inside the ball.
    return solution[:size] if solution[size] >= 0.0 else _solve_symmetric(hessian, -slope)


def _solve_symmetric(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the solution of a linear system, of least norm if the matrix is singular."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", scipy.linalg.LinAlgWarning)
            return scipy.linalg.solve(matrix, right, assume_a="sym")
    except (scipy.linalg.LinAlgError, scipy.linalg.LinAlgWarning):
        return np.linalg.lstsq(matrix, right, rcond=1e-12)[0]


class Hessian:
    """Second derivatives of a loss, stored once computed.

    They are exact for moments and for smoothed losses, otherwise differences of gradients.

    Parameters
    ----------
    loss : Loss
    """

    def __init__(self, loss: Loss):
        self.loss = loss
        self.pieces = isinstance(loss, SmoothedLoss)
        self.curved = bool(np.isfinite(loss.rho))
        self._kept: dict[int, np.ndarray] = {}

    def forget(self) -> None:
        """Discard the second derivatives that depend on the point."""
        if self.curved and not self.pieces:
            self._kept.clear()

    def over(self, used: np.ndarray, w: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return the matrix (k, k) over the coefficients ``used``, at w or at an earlier point."""
        for index in used:
            if index not in self._kept:
                self._kept[index] = self._column(int(index), w, gradient)
        columns = np.stack([self._kept[index] for index in used])
        loss = self.loss
        if isinstance(loss, SmoothedLoss):
            rows = columns[:, loss.bent(loss.arguments(w))]
            damped = loss.ridge + _DAMPING * float(loss.smoothness.max())
            return rows @ rows.T * (loss.beta / loss.n_samples) + damped * np.eye(len(used))
        block = columns[:, used]
        return 0.5 * (block + block.T)

    def _column(self, index: int, w: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return second derivatives (d,) of a coefficient; for smoothed losses, its column (n,)."""
        if isinstance(self.loss, SmoothedLoss):
            return self.loss.rows([index])[0]
        if isinstance(self.loss, PopulationSquaredLoss):
            column = self.loss.moments.column(index)
            column[index] += self.loss.ridge
            return column
        ahead, behind = w.copy(), w.copy()
        if self.curved:
            length = BENT / (max(1.0, self.loss.beta) * (self.loss.largest_feature or 1.0))
            behind[index] -= length
            below = self.loss.gradient(behind)
        else:
            length = STRAIGHT * float(np.abs(w).max() or 1.0)
            below = gradient
        ahead[index] += length
        return (self.loss.gradient(ahead) - below) / (ahead[index] - behind[index])


def newton_on_face(
    loss: Loss, start: np.ndarray, radius: float, target: float, most: float = np.inf
) -> np.ndarray:
    """Return the best point found by an active-set Newton method from a good start, shape (d,).

    Coefficients keep their signs within a step, and leave when they become zero. Coefficients with
    a larger derivative than on the face enter. Least squares are solved exactly once the signs are
    right.

    Parameters
    ----------
    loss : Loss
    start : array (d,)
        A point of the ball.
    radius : float > 0
    target : float >= 0
        Duality gap at which to stop.
    most : float
        Stop before more coefficients are in use, because a matrix is formed for them.
    """
    second = Hessian(loss)
    patience = PIECES_PATIENCE if second.pieces else PATIENCE
    w, gradient = start, loss.gradient(start)
    best, least, marker, before, since = w, np.inf, np.inf, np.inf, 0
    for _ in range(ROUNDS):
        gap = float(gradient @ w) + radius * float(np.abs(gradient).max())
        if gap < least:
            best, least = w, gap
        if gap <= 0.5 * marker:
            marker, since = gap, 0
        if gap <= target or since > patience:
            break
        if gap > SLOW * before:
            second.forget()
        before = gap
        used = _working_set(w, gradient, radius)
        if not 0 < len(used) <= most:
            break
        signs = np.where(w[used] != 0.0, np.sign(w[used]), -np.sign(gradient[used]))
        moved = np.zeros_like(w)
        hessian = second.over(used, w, gradient)
        moved[used] = _minimise_model(hessian, gradient[used], w[used], signs, radius)
        moved = shrink_into_ball(moved, radius)
        if np.count_nonzero(moved) >= np.count_nonzero(w):
            since += 1
        w, gradient = _shorten(loss, w, gradient, moved)
    return shrink_into_ball(best, radius)


def _shorten(loss: Loss, w, gradient, moved) -> tuple[np.ndarray, np.ndarray]:
    """Return the point along a move where only a small slope remains, and its gradient.

    For a piecewise quadratic loss the model covers only the current piece, so full steps may cycle.
    """
    move = moved - w
    first, length = float(gradient @ move), 1.0
    ahead = loss.gradient(moved)
    while first < 0.0 and length > SHORTEST:
        slope = float(ahead @ move)
        if slope <= -_OVERSHOOT * first:
            break
        # The root of the line through both slopes, not too close to either end.
        length *= min(max(first / (first - slope), 0.1), 0.9)
        moved = w + length * move
        ahead = loss.gradient(moved)
    return moved, ahead


def _working_set(w: np.ndarray, gradient: np.ndarray, radius: float) -> np.ndarray:
    """Return the coefficients in use, and the largest violators among the others."""
    tight = float(np.abs(w).sum()) >= radius * (1.0 - _ON_BALL)
    level = max(0.0, -float(gradient @ w) / radius) if tight else 0.0
    used = np.flatnonzero(w)
    left = np.abs(gradient[used] + level * np.sign(w[used])).max(initial=0.0)
    sizes = np.where(w == 0.0, np.abs(gradient), 0.0)
    over = np.flatnonzero(sizes > level * (1.0 + BEYOND))
    if not len(over) or EAGER * (sizes[over].max() - level) < left:
        return used
    most = max(ENTER, int(ENTER_PART * len(used)))
    return np.append(used, over[np.argsort(-sizes[over], kind="stable")[:most]])
