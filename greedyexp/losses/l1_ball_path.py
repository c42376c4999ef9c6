"""Where the minimisers of a risk with an l1 penalty cross an l1 ball."""

from __future__ import annotations

import numpy as np

from greedyexp.losses.l1_path_fit import L1Fit
from greedyexp.losses.loss import Loss

# The path is followed by this factor of the penalty's weight until it leaves the ball, or until the
# weight is worth less than this part of R(0).
FACTOR = 0.3
NOTHING = 1e-14
# How exactly, in units of the largest weight, and how close to the ball, as part of its radius.
VIOLATION = 1e-9
CLOSE = 1e-6
MAX_STEPS = 100
MOST_ROOTS = 30


def start_on_path(loss: Loss, radius: float, value: float) -> np.ndarray:
    """A point of the ball close to the minimiser over it, shape (d,).

    The norm of the penalised minimiser falls as the weight grows, and is piecewise linear in it for
    least squares: the secant finds the weight, safeguarded by bisection.

    Parameters
    ----------
    loss : Loss
    radius : float > 0
    value : float
        R(0).
    """
    fit = L1Fit(loss)
    tolerance = VIOLATION * (fit.largest or loss.scale)
    above, inside = fit.largest, 0.0
    within = fit.params
    lam = above
    while lam * radius > NOTHING * value:
        lam *= FACTOR
        if not fit.follow(lam, min(tolerance, 0.1 * lam), MAX_STEPS):
            return _into_ball(fit.params, radius)
        norm = float(np.abs(fit.params).sum())
        if norm >= radius:
            break
        above, inside, within = lam, norm, fit.params
    else:
        return within
    below, outside = lam, norm
    for count in range(MOST_ROOTS):
        if abs(norm - radius) <= CLOSE * radius:
            break
        part = (radius - inside) / (outside - inside)
        # Each third step halves, so that a strongly bent path cannot hold the secant up.
        lam = above + (below - above) * (0.5 if count % 3 == 2 else part)
        fit.follow(lam, tolerance, MAX_STEPS)
        norm = float(np.abs(fit.params).sum())
        if norm >= radius:
            below, outside = lam, norm
        else:
            above, inside = lam, norm
    return _into_ball(fit.params, radius)


def _into_ball(params: np.ndarray, radius: float) -> np.ndarray:
    norm = float(np.abs(params).sum())
    return params if norm <= radius else params * (radius / norm)
