"""Coordinate descent on a quadratic with an l1 penalty."""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel


@kernel
def sweeps(
    hessian: np.ndarray, slope: np.ndarray, u: np.ndarray, lam: float, tolerance: float, limit: int
) -> bool:
    """Minimise along one coordinate after the other, in place; whether the last round was still.

    Parameters
    ----------
    hessian : array (m, m)
        Symmetric; coordinates without curvature stay as they are.
    slope : array (m,)
        Gradient of the quadratic at u, kept up to date.
    u : array (m,)
    lam : float >= 0
        Weight of the l1 norm.
    tolerance : float
        Largest change of a derivative by a coordinate's own step in a round that counts as still.
    limit : int
        Most rounds.
    """
    for _ in range(limit):
        largest = 0.0
        for j in range(len(u)):
            own = hessian[j, j]
            if own <= 0.0:
                continue
            target = own * u[j] - slope[j]
            if target > lam:
                new = (target - lam) / own
            elif target < -lam:
                new = (target + lam) / own
            else:
                new = 0.0
            step = new - u[j]
            if step != 0.0:
                u[j] = new
                slope += step * hessian[j]
                largest = max(largest, abs(step) * own)
        if largest <= tolerance:
            return True
    return False
