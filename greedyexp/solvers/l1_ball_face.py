"""Newton steps on a face of an l1 ball, down to the rounding error of derivatives."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from greedyexp.core.errors import ConfigError
from greedyexp.losses.loss import Loss
from greedyexp.losses.population import PopulationSquaredLoss
from greedyexp.losses.smoothed import SmoothedLoss


@dataclass(frozen=True)
class BallMinimum:
    """A point of the ball and how far its risk may be above the minimum.

    Parameters
    ----------
    params : array (d,)
        w with ||w||_1 <= radius, exact zeros where a coefficient is not in use.
    value : float
        R(w).
    gap : float
        At least R(w) - min R >= 0, but for rounding.
    converged : bool
        Whether the gap is what it is to be.
    message : str
        Why it is not, a sentence; empty when all is well.
    """

    params: np.ndarray
    value: float
    gap: float
    converged: bool
    message: str = ""

    @classmethod
    def judged(cls, params: np.ndarray, value: float, gap: float, allowed: float) -> BallMinimum:
        """With the verdict on the gap against what is allowed of it."""
        said = "" if gap <= allowed else f"The duality gap is {gap:.1e}, above {allowed:.1e}."
        return cls(params, value, gap, not said, said)


def duality_gap(params: np.ndarray, gradient: np.ndarray, radius: float) -> float:
    """<grad R(w), w> + radius ||grad R(w)||_inf >= R(w) - min R over the ball.

    By convexity R(v) >= R(w) + <grad R(w), v - w> for each v of the ball (Shalev-Shwartz, Srebro &
    Zhang 2009, Lemma 5); zero where rounding makes it negative.
    """
    return max(0.0, float(gradient @ params) + radius * float(np.abs(gradient).max()))


def into_ball(w: np.ndarray, radius: float) -> np.ndarray:
    """w, shrunk to ||w||_1 = radius where it is beyond."""
    norm = float(np.abs(w).sum())
    return w if norm <= radius else w * (radius / norm)


def check_radius(radius: float) -> None:
    """Refuse a radius that no ball has.

    Raises
    ------
    ConfigError
    """
    if not (0.0 < radius < math.inf):
        raise ConfigError(f"the radius must be a number > 0, but is {radius!r}.")


def on_face(
    hessian: np.ndarray, slope: np.ndarray, at: np.ndarray, signs: np.ndarray, radius: float
) -> np.ndarray:
    """Where <slope, v - at> + (v - at)^T H (v - at) / 2 is least, (k,).

    Over sum signs v <= radius with signs v >= 0. A coefficient that becomes zero on the way stays
    zero.

    Parameters
    ----------
    hessian : array (k, k)
        H, positive semidefinite.
    slope : array (k,)
    at : array (k,)
        In the ball, of these signs or zero.
    signs : array (k,) of -1 and 1
    radius : float > 0
    """
    v, slope, free = at.copy(), slope.copy(), np.arange(len(at))
    while len(free):
        own, sign = v[free], signs[free]
        move = _move(hessian[np.ix_(free, free)], slope[free], sign, radius - float(sign @ own))
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


def _move(hessian, slope, signs, room: float) -> np.ndarray:
    """To the minimiser without regard of signs, in the ball or, where that is outside, on it."""
    if room > 0.0:
        move = _solved(hessian, -slope)
        if float(signs @ move) <= room:
            return move
    # In units of the curvature, so that the border is neither large nor small beside it.
    unit = float(np.abs(hessian).max()) or 1.0
    size = len(slope)
    system = np.zeros((size + 1, size + 1))
    system[:size, :size] = hessian / unit
    system[:size, size] = system[size, :size] = signs
    solution = _solved(system, np.append(-slope / unit, room))
    # A negative multiplier pulls off the sphere, into the ball.
    return solution[:size] if solution[size] >= 0.0 else _solved(hessian, -slope)


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A solution, of singular equations the one of least norm."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", linalg.LinAlgWarning)
            return linalg.solve(matrix, right, assume_a="sym")
    except (linalg.LinAlgError, linalg.LinAlgWarning):
        return np.linalg.lstsq(matrix, right, rcond=1e-12)[0]


# Steps of differences of gradients: where these are straight lines, as part of the largest
# coefficient; where they bend, to either side, in units in which they do so over one.
STRAIGHT, BENT = 1e-5, 1e-3
# Part of the largest curvature that is added to that of pieces: with fewer bent rows than
# coefficients the model is flat along some moves, which signs and kinks end.
DAMPING = 1e-10


class Hessian:
    """Second derivatives, kept where they have been computed.

    Those of moments and of smoothed losses are exact, others are differences of gradients.

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
        """Compute what depends on the point afresh."""
        if self.curved and not self.pieces:
            self._kept.clear()

    def over(self, used: np.ndarray, w: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """The matrix (k, k) over the coefficients ``used``, at w or where it was last forgotten."""
        for index in used:
            if index not in self._kept:
                self._kept[index] = self._column(int(index), w, gradient)
        columns = np.stack([self._kept[index] for index in used])
        loss = self.loss
        if isinstance(loss, SmoothedLoss):
            rows = columns[:, loss.bent(loss.arguments(w))]
            damped = loss.ridge + DAMPING * float(loss.smoothness.max())
            return rows @ rows.T * (loss.beta / loss.n_samples) + damped * np.eye(len(used))
        block = columns[:, used]
        return 0.5 * (block + block.T)

    def _column(self, index: int, w: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Second derivatives by one coefficient and all (d,); of pieces the feature itself."""
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


ROUNDS = 400
# Rounds in which the gap must halve, unless coefficients leave; more of a loss of pieces, whose gap
# may rise on the way.
PATIENCE, PIECES_PATIENCE = 8, 30
# Second derivatives that bend are computed afresh when the gap falls to no less than this part.
SLOW = 0.1
# Part of a slope that may be left, with the other sign, at the end of a step.
OVERSHOOT = 0.5
SHORTEST = 1e-6
# A norm so close to the radius, as part of it, is on the ball.
ON_BALL = 1e-12
# A derivative beyond that of the face by this part of it asks its coefficient in.
BEYOND = 1e-12
# Coefficients enter once those that are in satisfy their conditions to this part of the violation.
EAGER = 0.1
# Fewest, and part of those in use, that enter at once.
ENTER, ENTER_PART = 4, 0.1


def settle_on_face(
    loss: Loss, start: np.ndarray, radius: float, target: float, most: float = np.inf
) -> np.ndarray:
    """The best point that an active-set Newton method finds from a good start, shape (d,).

    Coefficients keep their signs within a step and leave where they become zero; those whose
    derivative is larger than on the face enter. Least squares are solved exactly once the signs
    are right.

    Parameters
    ----------
    loss : Loss
    start : array (d,)
        In the ball.
    radius : float > 0
    target : float >= 0
        End at this duality gap.
    most : float
        End where more coefficients would be in use, for which a matrix is formed.
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
        used = _used(w, gradient, radius)
        if not 0 < len(used) <= most:
            break
        signs = np.where(w[used] != 0.0, np.sign(w[used]), -np.sign(gradient[used]))
        moved = np.zeros_like(w)
        hessian = second.over(used, w, gradient)
        moved[used] = on_face(hessian, gradient[used], w[used], signs, radius)
        moved = into_ball(moved, radius)
        if np.count_nonzero(moved) >= np.count_nonzero(w):
            since += 1
        w, gradient = _shortened(loss, w, gradient, moved)
    return into_ball(best, radius)


def _shortened(loss: Loss, w, gradient, moved) -> tuple[np.ndarray, np.ndarray]:
    """As far along a move as the loss falls, but for a part of its slope, and the gradient there.

    Of a loss of pieces the model knows the present one only, and full steps may go in circles.
    """
    move = moved - w
    first, length = float(gradient @ move), 1.0
    ahead = loss.gradient(moved)
    while first < 0.0 and length > SHORTEST:
        slope = float(ahead @ move)
        if slope <= -OVERSHOOT * first:
            break
        # Where a straight line between the slopes crosses zero, and not too near either end.
        length *= min(max(first / (first - slope), 0.1), 0.9)
        moved = w + length * move
        ahead = loss.gradient(moved)
    return moved, ahead


def _used(w: np.ndarray, gradient: np.ndarray, radius: float) -> np.ndarray:
    """Coefficients in use, and of those out of use with too large a derivative the largest."""
    tight = float(np.abs(w).sum()) >= radius * (1.0 - ON_BALL)
    level = max(0.0, -float(gradient @ w) / radius) if tight else 0.0
    used = np.flatnonzero(w)
    left = np.abs(gradient[used] + level * np.sign(w[used])).max(initial=0.0)
    sizes = np.where(w == 0.0, np.abs(gradient), 0.0)
    over = np.flatnonzero(sizes > level * (1.0 + BEYOND))
    if not len(over) or EAGER * (sizes[over].max() - level) < left:
        return used
    most = max(ENTER, int(ENTER_PART * len(used)))
    return np.append(used, over[np.argsort(-sizes[over], kind="stable")[:most]])
