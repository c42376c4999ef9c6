"""Newton steps on a face of an l1 ball, up to the rounding of derivatives."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import linalg

from greedyexp.losses.loss import Loss

# Steps of differences of gradients: as part of the largest coefficient, and, where derivatives
# bend, in units in which they do so over one.
DIFFERENCE = 1e-5
ROUNDS = 200
# Rounds in which the gap must halve.
PATIENCE = 12
# Second derivatives that bend are computed afresh after so many rounds.
STALE = 4
# A norm so close to the radius, as part of it, is on the ball.
ON_BALL = 1e-12
# A derivative beyond that of the face by this part of it asks its coefficient in.
BEYOND = 1e-12
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
    w = start.copy()
    best, least, marker, since = w, np.inf, np.inf, 0
    for _ in range(ROUNDS):
        gradient = loss.gradient(w)
        gap = float(gradient @ w) + radius * float(np.abs(gradient).max())
        if gap < least:
            best, least = w, gap
        if gap <= 0.5 * marker:
            marker, since = gap, 0
        since += 1
        if gap <= target or since > PATIENCE:
            break
        moved = face.step(w, gradient)
        if moved is None:
            break
        w = moved
    norm = float(np.abs(best).sum())
    return best if norm <= radius else best * (radius / norm)


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
        self._age = 0

    def step(self, w: np.ndarray, gradient: np.ndarray) -> np.ndarray | None:
        """The next point; None when there is nowhere to go."""
        norm = float(np.abs(w).sum())
        tight = norm >= self.radius * (1.0 - ON_BALL)
        level = max(0.0, -float(gradient @ w) / self.radius) if tight else 0.0
        active = np.flatnonzero(w)
        active = np.append(active, self._entering(w, gradient, level, len(active)))
        if not len(active):
            return None
        signs = np.where(w[active] != 0.0, np.sign(w[active]), -np.sign(gradient[active]))
        hessian = self._hessian(w, gradient, active)
        slope = gradient[active]
        if tight:
            move = _on_plane(hessian, slope, signs, self.radius - norm)
        else:
            move = _solved(hessian, -slope)
            # The first coefficients to enter could leave the ball at once.
            if norm + float(signs @ move) > self.radius:
                move = _on_plane(hessian, slope, signs, self.radius - norm)
        return self._moved(w, active, signs, move)

    def _entering(self, w, gradient, level: float, in_use: int) -> np.ndarray:
        """Coefficients out of use with the largest derivatives beyond the level."""
        sizes = np.where(w == 0.0, np.abs(gradient), 0.0)
        over = np.flatnonzero(sizes > level * (1.0 + BEYOND))
        most = max(ENTER, int(ENTER_PART * in_use))
        return over[np.argsort(-sizes[over], kind="stable")[:most]]

    def _moved(self, w, active, signs, move) -> np.ndarray | None:
        """As far along a move as signs allow; what becomes zero is out of use."""
        wrong = signs * (w[active] + move) < 0.0
        lengths = np.full(len(active), np.inf)
        lengths[wrong] = np.abs(w[active[wrong]] / move[wrong])
        if wrong.any() and lengths.min() == 0.0:
            # What enters against its sign stays out, and the others move.
            keep = ~(wrong & (lengths == 0.0))
            active, move, lengths = active[keep], move[keep], lengths[keep]
        length = min(1.0, float(lengths.min(initial=1.0)))
        if length == 0.0 or not len(active) or not np.isfinite(move).all():
            return None
        moved = w.copy()
        moved[active] += length * move
        moved[active[lengths <= length]] = 0.0
        return moved

    def _hessian(self, w, gradient, active) -> np.ndarray:
        if self.curved and self._age % STALE == 0:
            self._columns.clear()
        self._age += 1
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
        length = DIFFERENCE * (float(np.abs(w).max()) or self.radius)
        if self.curved:
            bend = max(1.0, self.loss.beta) * (self.loss.largest_feature or 1.0)
            length = min(length, DIFFERENCE / bend)
        ahead = w.copy()
        ahead[index] += length
        return (self.loss.gradient(ahead) - gradient) / (ahead[index] - w[index])


def _on_plane(hessian, slope, signs, missing: float) -> np.ndarray:
    """The minimiser of slope^T v + v^T H v / 2 with signs^T v = missing."""
    # In units of the curvature, so that the border is neither large nor small beside it.
    unit = float(np.abs(hessian).max()) or 1.0
    size = len(slope)
    system = np.zeros((size + 1, size + 1))
    system[:size, :size] = hessian / unit
    system[:size, size] = system[size, :size] = signs
    return _solved(system, np.append(-slope / unit, missing))[:size]


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A solution, of singular equations the one of least norm."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", linalg.LinAlgWarning)
            return linalg.solve(matrix, right, assume_a="sym")
    except (linalg.LinAlgError, linalg.LinAlgWarning):
        return np.linalg.lstsq(matrix, right, rcond=1e-12)[0]
