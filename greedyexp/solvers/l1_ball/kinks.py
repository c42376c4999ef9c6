"""The minimiser of a loss with kinks over an l1 ball, with a certificate from the dual."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from greedyexp.core.errors import ConfigError
from greedyexp.losses.absolute import AbsoluteLoss
from greedyexp.losses.hinge import HingeLoss
from greedyexp.losses.smoothed import SmoothedLoss
from greedyexp.solvers.l1_ball.conic import solve_dual
from greedyexp.solvers.l1_ball.minimum import BallMinimum, check_radius, into_ball

# What the gap is to be, as part of R(0).
GAP = 1e-10
FEASIBLE = 1e-10
# Entries of a design up to which the simplex method is the faster one.
SIMPLEX_SIZE = 200_000


def minimise_unsmoothed_over_ball(
    name: str,
    X,
    y: np.ndarray,
    radius: float,
    ridge: float = 0.0,
    values: tuple[float, float] | None = None,
) -> BallMinimum:
    """min R(w) subject to ||w||_1 <= radius for a loss before it is smoothed.

    R is the mean of |x_i w - y_i| or max(0, 1 - y_i x_i w), plus ridge / 2 ||w||^2. Its dual is a
    linear programme, with a ridge a quadratic one. The gap is R(w) less the value of the dual at
    the weights that the solver found, brought into their box and summed up here; R(w) itself where
    that is less. Where a tiny ridge is too much for the quadratic programme the linear one is
    solved too, whose minimiser is within ridge radius^2 / 2.

    Parameters
    ----------
    name : {"absolute", "hinge"}
    X : array (n, d) or sparse array
    y : array (n,)
        Responses, for ``hinge`` two values.
    radius : float > 0
    ridge : float >= 0
    values : pair of float, optional
        What stands for -1 and for 1; by default the lower and the higher of y.

    Raises
    ------
    ConfigError
        When there is no such loss, or the radius is not positive and finite.
    """
    check_radius(radius)
    y = np.asarray(y, dtype=np.float64)
    if name == "absolute":
        loss: SmoothedLoss = AbsoluteLoss(X, y, beta=1.0, ridge=ridge)
    elif name == "hinge":
        pair = (float(y.min()), float(y.max())) if values is None else values
        loss = HingeLoss(X, y, beta=1.0, ridge=ridge, values=pair)
    else:
        raise ConfigError(
            f"the {name} loss is not one that is smoothed.", remedy="Use absolute or hinge."
        )
    return minimise_kinks(loss, radius)


def minimise_kinks(loss: SmoothedLoss, radius: float) -> BallMinimum:
    """The same for a smoothed loss, whose smoothing is left out.

    Parameters
    ----------
    loss : SmoothedLoss
    radius : float > 0
    """
    dual = _Dual(loss, radius)
    ways = [dual.conic, dual.linear] if loss.ridge > 0.0 else [dual.linear, dual.conic]
    params = np.zeros(loss.size)
    value, below = loss.unsmoothed(params), 0.0
    allowed = GAP * value
    for way in ways:
        point, weights = way()
        reached = loss.unsmoothed(point)
        if reached < value:
            params, value = point, reached
        below = max(below, dual.bound(weights))
        if value - below <= allowed:
            break
    return BallMinimum.judged(params, value, max(0.0, value - below), allowed)


class _Dual:
    """max over weights a in [low, 1] of mean_i a_i c_i + min over the ball of <z, w> + ridge term.

    z_j = mean_i a_i rows_ji.

    Parameters
    ----------
    loss : SmoothedLoss
    radius : float > 0
    """

    def __init__(self, loss: SmoothedLoss, radius: float):
        self.rows = loss.rows(range(loss.size))
        self.offsets = loss.arguments(np.zeros(loss.size))
        self.low, self.ridge, self.radius = loss.low, loss.ridge, radius

    def linear(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and weights by a linear programme; a ridge is left out."""
        d, n = self.rows.shape
        ones = np.ones((d, 1))
        matrix = np.block([[self.rows, -ones], [-self.rows, -ones]])
        found = linprog(
            np.append(-self.offsets, self.radius),
            A_ub=sparse.csc_array(matrix),
            b_ub=np.zeros(2 * d),
            bounds=[(self.low, 1.0)] * n + [(0.0, None)],
            method="highs-ds" if n * d <= SIMPLEX_SIZE else "highs-ipm",
            options={
                "primal_feasibility_tolerance": FEASIBLE,
                "dual_feasibility_tolerance": FEASIBLE,
            },
        )
        if found.x is None:
            return np.zeros(d), np.zeros(n)
        slopes = found.ineqlin.marginals
        w = slopes[:d] - slopes[d:]
        return into_ball(w, self.radius), found.x[:n]

    def conic(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and weights by an interior point method."""
        return solve_dual(self.rows, self.offsets, self.low, 0.0, self.ridge, self.radius)

    def bound(self, weights: np.ndarray) -> float:
        """The value of the dual, which no risk in the ball is below, but for rounding.

        Without a ridge that is mean_i a_i c_i - radius max_j |z_j|, which is a bound with a ridge
        too. With one <z, w> + ridge / 2 ||w||^2 + lam (||w||_1 - radius) is least at -sum_j
        (|z_j| - lam)_+^2 / (2 ridge) - lam radius, for the lam at which its minimiser is in the
        ball; where the ridge is tiny this is a small number less rounding over the ridge.
        """
        weights = np.clip(weights, self.low, 1.0)
        n = len(weights)
        sizes = np.abs(self.rows @ weights) / n
        gain = float(weights @ self.offsets) / n
        plain = -self.radius * float(sizes.max(initial=0.0))
        if self.ridge == 0.0:
            return gain + plain
        lam = _threshold(sizes, self.ridge * self.radius)
        over = np.maximum(sizes - lam, 0.0)
        curved = -float(over @ over) / (2.0 * self.ridge) - lam * self.radius
        return gain + max(plain, curved)


def _threshold(sizes: np.ndarray, total: float) -> float:
    """lam >= 0 with sum_j (sizes_j - lam)_+ = total, zero where the sum is less without it."""
    ordered = np.sort(sizes)[::-1]
    levels = (np.cumsum(ordered) - total) / np.arange(1, len(ordered) + 1)
    return max(0.0, float(levels.max(initial=0.0)))
