"""A quadratic model over coefficients of known signs, and its minimiser in an l1 ball."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import linalg


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
