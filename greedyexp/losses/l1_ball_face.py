"""Newton steps on a face of an l1 ball, up to the rounding of derivatives."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import linalg

from greedyexp.losses.loss import Loss

# Steps of differences of gradients: where these are straight lines, as part of the largest
# coefficient; where they bend, to either side, in units in which they do so over one.
STRAIGHT, BENT = 1e-5, 1e-3
ROUNDS = 400
# Rounds in which the gap must halve, unless coefficients leave.
PATIENCE = 8
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


def settle_on_face(loss: Loss, start: np.ndarray, radius: float, target: float) -> np.ndarray:
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
    """
    face = _Face(loss, radius)
    w, gradient = start, loss.gradient(start)
    best, least, marker, before, since = w, np.inf, np.inf, np.inf, 0
    for _ in range(ROUNDS):
        gap = float(gradient @ w) + radius * float(np.abs(gradient).max())
        if gap < least:
            best, least = w, gap
        if gap <= 0.5 * marker:
            marker, since = gap, 0
        if gap <= target or since > PATIENCE:
            break
        if gap > SLOW * before:
            face.forget()
        before = gap
        moved = face.step(w, gradient)
        if moved is None:
            break
        if np.count_nonzero(moved) >= np.count_nonzero(w):
            since += 1
        w, gradient = _shortened(loss, w, gradient, moved)
    norm = float(np.abs(best).sum())
    return best if norm <= radius else best * (radius / norm)


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


class _Face:
    """The coefficients in use with their signs, and second derivatives over them.

    Parameters
    ----------
    loss : Loss
    radius : float > 0
    """

    def __init__(self, loss: Loss, radius: float):
        self.loss = loss
        self.radius = radius
        self.moments = getattr(loss, "moments", None)
        self.curved = bool(np.isfinite(loss.rho))
        self._columns: dict[int, np.ndarray] = {}

    def forget(self) -> None:
        """Compute second derivatives afresh, if they are not the same everywhere."""
        if self.curved:
            self._columns.clear()

    def step(self, w: np.ndarray, gradient: np.ndarray) -> np.ndarray | None:
        """The next point; None when there is nowhere to go."""
        norm = float(np.abs(w).sum())
        tight = norm >= self.radius * (1.0 - ON_BALL)
        level = max(0.0, -float(gradient @ w) / self.radius) if tight else 0.0
        used = np.flatnonzero(w)
        signs = np.where(w != 0.0, np.sign(w), -np.sign(gradient))
        left = np.abs(gradient[used] + level * signs[used]).max(initial=0.0)
        sizes = np.where(w == 0.0, np.abs(gradient), 0.0)
        over = np.flatnonzero(sizes > level * (1.0 + BEYOND))
        if len(over) and EAGER * (sizes[over].max() - level) >= left:
            most = max(ENTER, int(ENTER_PART * len(used)))
            used = np.append(used, over[np.argsort(-sizes[over], kind="stable")[:most]])
        while len(used):
            move = self._towards(w, gradient, used, signs[used], norm, tight)
            wrong = signs[used] * (w[used] + move) < 0.0
            blocked = wrong & (w[used] == 0.0)
            if not blocked.any():
                return self._moved(w, used, move, wrong)
            # What would enter against its sign stays out.
            used = used[~blocked]
        return None

    def _towards(self, w, gradient, used, signs, norm: float, tight: bool) -> np.ndarray:
        """The move to the minimiser of the quadratic model with these coefficients and signs."""
        hessian = self._hessian(w, gradient, used)
        slope, missing = gradient[used], self.radius - norm
        if not tight:
            move = _solved(hessian, -slope)
            if norm + float(np.abs(w[used] + move).sum() - np.abs(w[used]).sum()) <= self.radius:
                return move
        move, multiplier = _on_plane(hessian, slope, signs, missing)
        # A negative multiplier pulls off the sphere, into the ball.
        return move if multiplier >= 0.0 else _solved(hessian, -slope)

    def _moved(self, w, used, move, wrong) -> np.ndarray | None:
        """As far along a move as signs and the ball allow; what becomes zero is out of use."""
        lengths = np.full(len(used), np.inf)
        lengths[wrong] = np.abs(w[used[wrong]] / move[wrong])
        length = min(1.0, float(lengths.min(initial=1.0)))
        if not np.isfinite(move).all() or not move.any():
            return None
        moved = w.copy()
        moved[used] += length * move
        moved[used[lengths <= length]] = 0.0
        norm = float(np.abs(moved).sum())
        return moved if norm <= self.radius else moved * (self.radius / norm)

    def _hessian(self, w, gradient, active) -> np.ndarray:
        missing = [int(index) for index in active if int(index) not in self._columns]
        for index in missing:
            self._columns[index] = self._column(w, gradient, index)
        block = np.column_stack([self._columns[int(index)][active] for index in active])
        return 0.5 * (block + block.T)

    def _column(self, w, gradient, index: int) -> np.ndarray:
        if self.moments is not None:
            column = self.moments.column(index)
            column[index] += self.loss.ridge
            return column
        ahead, behind = w.copy(), w.copy()
        if self.curved:
            length = BENT / (max(1.0, self.loss.beta) * (self.loss.largest_feature or 1.0))
            behind[index] -= length
            below = self.loss.gradient(behind)
        else:
            length = STRAIGHT * (float(np.abs(w).max()) or self.radius)
            below = gradient
        ahead[index] += length
        return (self.loss.gradient(ahead) - below) / (ahead[index] - behind[index])


def _on_plane(hessian, slope, signs, missing: float) -> tuple[np.ndarray, float]:
    """The minimiser v of slope^T v + v^T H v / 2 with signs^T v = missing, and its multiplier."""
    # In units of the curvature, so that the border is neither large nor small beside it.
    unit = float(np.abs(hessian).max()) or 1.0
    size = len(slope)
    system = np.zeros((size + 1, size + 1))
    system[:size, :size] = hessian / unit
    system[:size, size] = system[size, :size] = signs
    solution = _solved(system, np.append(-slope / unit, missing))
    return solution[:size], float(solution[size])


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A solution, of singular equations the one of least norm."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", linalg.LinAlgWarning)
            return linalg.solve(matrix, right, assume_a="sym")
    except (linalg.LinAlgError, linalg.LinAlgWarning):
        return np.linalg.lstsq(matrix, right, rcond=1e-12)[0]
