"""Newton steps on a face of an l1 ball, up to the rounding of derivatives."""

from __future__ import annotations

import numpy as np

from greedyexp.losses.loss import Loss
from greedyexp.solvers.l1_ball.hessian import Hessian
from greedyexp.solvers.l1_ball.minimum import into_ball
from greedyexp.solvers.l1_ball.model import on_face

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
