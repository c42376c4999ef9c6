"""Where the minimisers of a risk with an l1 penalty cross an l1 ball."""

from __future__ import annotations

import numpy as np

from greedyexp.losses.loss import Loss
from greedyexp.solvers.l1_ball.minimum import into_ball
from greedyexp.solvers.l1_path.fit import L1Fit

# The path is followed by this factor of the penalty's weight until it leaves the ball, or until the
# weight is this part of where it began.
FACTOR = 0.3
LAST = 1e-8
# How exactly, in units of the largest weight, and how close to the ball, as part of its radius.
VIOLATION = 1e-9
CLOSE = 1e-6
MAX_STEPS = 60
MOST_ROOTS = 30
# A fit that violates its conditions by more than this part of the weight tells nothing.
LOST = 0.1


def start_on_path(loss: Loss, radius: float) -> np.ndarray:
    """A point of the ball, close to the minimiser over it unless the path gets lost, (d,).

    The norm of the penalised minimiser falls as the weight grows, and is piecewise linear in it for
    least squares: the secant finds the weight, safeguarded by bisection.

    Parameters
    ----------
    loss : Loss
    radius : float > 0
    """
    fit = L1Fit(loss)
    tolerance = VIOLATION * (fit.largest or loss.scale)

    def norm_at(weight: float) -> float | None:
        fit.follow(weight, tolerance, MAX_STEPS)
        return None if fit.residual > LOST * weight else float(np.abs(fit.params).sum())

    above, inside, lam = fit.largest, 0.0, fit.largest
    while True:
        if lam <= LAST * fit.largest:
            return into_ball(fit.params, radius)
        lam *= FACTOR
        norm = norm_at(lam)
        if norm is None or norm >= radius:
            break
        above, inside = lam, norm
    below, outside = lam, norm
    for count in range(MOST_ROOTS):
        if norm is None or abs(norm - radius) <= CLOSE * radius:
            break
        part = (radius - inside) / (outside - inside)
        # Each third step halves, so that a strongly bent path cannot hold the secant up.
        lam = above + (below - above) * (0.5 if count % 3 == 2 else part)
        norm = norm_at(lam)
        if norm is not None and norm >= radius:
            below, outside = lam, norm
        else:
            above, inside = lam, norm
    return into_ball(fit.params, radius)
