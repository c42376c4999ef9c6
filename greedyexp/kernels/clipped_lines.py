"""Smoothed absolute and hinge losses along one coordinate, for many coordinates.

Both are the mean of phi(u_i) over u = c + sum_j b_j z_j, where phi' = clip(beta u, low, 1): u is
the residual and low = -1 for the absolute loss, u is one less the margin and low = 0 for the hinge.
Where beta u is between low and 1, phi is quadratic; elsewhere it is linear. The loss is this mean
plus ``ridge / 2`` times the squared coefficients.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels import native
from greedyexp.kernels.logistic_columns import Columns


def line_step(
    z: np.ndarray, u: np.ndarray, ridge: float, coefficient: float, beta: float, low: float
) -> float:
    """Return the step to a minimum along one coordinate; a minimum always exists.

    Parameters
    ----------
    z, u : arrays (n,)
        The column and the arguments of phi.
    ridge, coefficient : float
        Weight of the penalty and the present coefficient.
    beta, low : float
        Parameters of the loss.
    """
    return native.clipped_lines.line_step(z, u, ridge, coefficient, beta, low)


def bend(z: np.ndarray, u: np.ndarray, a: float, beta: float, low: float) -> float:
    """Return the sum over samples of phi(u + a z) - phi(u) - a z phi'(u) >= 0.

    It is computed without cancellation; the arguments are those of ``line_step``.
    """
    return native.clipped_lines.bend(z, u, a, beta, low)


def line_minima(
    columns: Columns, u: np.ndarray, ridge: float, coef: np.ndarray, beta: float, low: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the minima along all coordinates.

    Parameters
    ----------
    columns : Columns
    u : array (n,)
    ridge : float
    coef : array (p,)
        The present coefficients.
    beta, low : float

    Returns
    -------
    steps : array (p,)
        Step to a minimum along each coordinate.
    gains : array (p,), >= 0
        The loss here less its minimum.
    """
    steps, gains = np.empty(columns.size), np.empty(columns.size)
    native.clipped_lines.line_minima(columns.native, u, ridge, coef, beta, low, steps, gains)
    return steps, gains


def falls(
    rows: np.ndarray, coef: np.ndarray, u: np.ndarray, ridge: float, beta: float, low: float
) -> np.ndarray:
    """Return the increase of the loss when only one coefficient becomes zero, for each, (k,).

    Parameters
    ----------
    rows : array (k, n)
        Columns of the support.
    coef : array (k,)
    u : array (n,)
    ridge, beta, low : float
    """
    out = np.empty(len(coef))
    native.clipped_lines.falls(rows, coef, u, ridge, beta, low, out)
    return out
