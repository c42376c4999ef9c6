"""The mean logistic loss along one coordinate, for many coordinates, and the best of them.

All functions take signed columns z_j: the columns of the design times the labels -1 and 1. With
the margins m = sum_j b_j z_j the loss is mean_i log(1 + exp(-m_i)) plus ``ridge / 2`` times the
squared coefficients.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels import native
from greedyexp.kernels.logistic_columns import Columns


def losses(margins: np.ndarray, weights: np.ndarray) -> float:
    """Return the mean loss without the ridge.

    Parameters
    ----------
    margins : array (n,)
    weights : array (n,)
        Output: minus the derivatives of the losses by the margins, 1 / (1 + exp(m_i)).
    """
    return native.logistic_lines.losses(margins, weights)


def line_minima(
    columns: Columns, margins: np.ndarray, ridge: float, coef: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the minima along all coordinates.

    Parameters
    ----------
    columns : Columns
    margins : array (n,)
    ridge : float
    coef : array (p,)
        The present coefficients.

    Returns
    -------
    steps : array (p,)
        Step to each minimum; infinite if there is none.
    gains : array (p,)
        The loss here less its minimum, or infimum.
    """
    steps, gains = np.empty(columns.size), np.empty(columns.size)
    native.logistic_lines.line_minima(columns.native, margins, ridge, coef, steps, gains)
    return steps, gains


def falls(
    signed: np.ndarray,
    coef: np.ndarray,
    margins: np.ndarray,
    weights: np.ndarray,
    ridge: float,
    most: float = np.inf,
) -> np.ndarray:
    """Return the increase of the loss when only one coefficient becomes zero, for each, (k,).

    Parameters
    ----------
    signed : array (k, n)
        Signed columns of the support.
    coef : array (k,)
    margins, weights : arrays (n,)
        m_i and 1 / (1 + exp(m_i)).
    ridge : float
    most : float
        An increase may be replaced by a lower bound of it that is above this number. The bound is
        that of ``gain_bound``.
    """
    out = np.empty(len(coef))
    native.logistic_lines.falls(signed, coef, margins, weights, ridge, most, out)
    return out


def gain_bound(slope: float, curvature: float, reach: float, ridge: float) -> float:
    """Return an upper bound of the gain: the loss here less its least value along a coordinate.

    For |z_i| <= R the loss along the coordinate is at least its linear model plus
    (h / R^2) (exp(-R |a|) + R |a| - 1), h being its curvature (Bach, 2010, Proposition 1).

    Parameters
    ----------
    slope : float
        Derivative, including that of the ridge.
    curvature : float
        Second derivative h, without that of the ridge.
    reach : float
        R, the largest |z_i|.
    ridge : float

    Returns
    -------
    float
        Infinite if the lower bound of the loss has no minimum.
    """
    return native.logistic_lines.gain_bound(slope, curvature, reach, ridge)


def best_line(
    columns: Columns,
    margins: np.ndarray,
    slopes: np.ndarray,
    curvatures: np.ndarray,
    reach: np.ndarray,
    ridge: float,
    tie: float,
) -> tuple[int, float, int]:
    """Return the coordinate off the support with the largest gain.

    Upper bounds of the gains decide which lines need not be searched.

    Parameters
    ----------
    columns : Columns
    margins : array (n,)
    slopes : array (p,)
        Derivatives off the support, where coefficients are zero; zero on it.
    curvatures : array (p,)
        Second derivatives without the ridge.
    reach : array (p,)
        Largest |z_ij| of each column.
    ridge : float
    tie : float
        Gains that agree to this relative precision count as equal, and the lowest index wins.

    Returns
    -------
    feature : int
    gain : float
    searched : int
        Number of lines searched.
    """
    return native.logistic_lines.best_line(
        columns.native, margins, slopes, curvatures, reach, ridge, tie
    )
