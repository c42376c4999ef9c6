"""BFGS for convex smooth functions, with an inverse Hessian that is kept from fit to fit.

The line search uses the directional derivative where differences of values are within rounding
error (Hager & Zhang 2005, "A new conjugate gradient method with guaranteed descent"). It can
therefore reduce the gradient to its own rounding error. The approximate inverse Hessian is dense.
It remains valid when a variable enters or leaves: both updates are exact if the approximation is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

SUFFICIENT = 1e-4
_CURVATURE = 0.9
# Relative differences of function values up to this size are noise.
NOISE = 1e-14
MOST_TRIALS = 40
# If the curvature of a new variable, given the others, is smaller than this fraction, its coupling
# to them is ignored.
_LEAST_PIVOT = 1e-8
# In a Hessian from differences, eigenvalues smaller than this fraction of the largest are noise.
_LEAST_EIGENVALUE = 1e-6


@dataclass
class Descent:
    """State of a minimisation.

    Parameters
    ----------
    x : array (m,)
    value : float
    gradient : array (m,)
    inverse : array (m, m)
        Approximate inverse Hessian, positive definite.
    converged : bool
        Whether |gradient| is within the tolerance.
    iterations, evaluations : int
    """

    x: np.ndarray
    value: float
    gradient: np.ndarray
    inverse: np.ndarray
    converged: bool = False
    iterations: int = 0
    evaluations: int = 0


def descend(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]],
    x: np.ndarray,
    tolerance: float | np.ndarray,
    inverse: np.ndarray | None = None,
    limit: int = 1000,
) -> Descent:
    """Minimise a convex function.

    Parameters
    ----------
    function : callable
        x -> value and gradient (m,).
    x : array (m,)
        Starting point.
    tolerance : float or array (m,)
        Largest |gradient| at the end.
    inverse : array (m, m), optional
        Approximate inverse Hessian; by default a multiple of the identity.
    limit : int
        Largest number of iterations.
    """
    value, gradient = function(x)
    fresh = inverse is None
    if inverse is None:
        inverse = _initial_inverse(gradient)
    state = Descent(x, value, gradient, inverse, evaluations=1)
    while (np.abs(state.gradient) > tolerance).any():
        if state.iterations >= limit:
            return state
        if not _step(function, state, fresh):
            if fresh:
                return state
            # The given inverse may be misleading; steepest descent is not.
            state.inverse, fresh = _initial_inverse(state.gradient), True
            continue
        state.iterations += 1
        fresh = False
    state.converged = True
    return state


def _initial_inverse(gradient: np.ndarray) -> np.ndarray:
    """Return the multiple of the identity for which the first step has length 1."""
    return np.eye(len(gradient)) / max(float(np.linalg.norm(gradient)), 1e-300)


def _step(function, state: Descent, fresh: bool) -> bool:
    """Make one line search and update; return False if no step decreases the function."""
    direction = -state.inverse @ state.gradient
    slope = state.gradient @ direction
    if not slope < 0.0:
        return False
    found = _search(function, state, direction, slope)
    if found is None:
        return False
    length, value, gradient = found
    move, change = length * direction, gradient - state.gradient
    product = move @ change
    if product > 0.0:
        if fresh:
            state.inverse = np.eye(len(move)) * (product / (change @ change))
        _update(state.inverse, move, change, product)
    state.x, state.value, state.gradient = state.x + move, value, gradient
    return True


def _update(inverse: np.ndarray, move: np.ndarray, change: np.ndarray, product: float) -> None:
    """Apply the BFGS update to the inverse in place; it then maps ``change`` to ``move``."""
    image = inverse @ change
    half = (0.5 * (1.0 + change @ image / product) * move - image) / product
    both = np.outer(half, move)
    inverse += both
    inverse += both.T


def _search(function, state: Descent, direction: np.ndarray, slope: float):
    """Return the length, value and gradient of a step that satisfies the Wolfe conditions, or None.

    Close to rounding error, the conditions use derivatives instead of values.
    """
    noise = NOISE * max(abs(state.value), 1e-300)
    low, high = 0.0, np.inf
    low_slope, high_slope = slope, np.inf
    length = 1.0
    for _ in range(MOST_TRIALS):
        value, gradient = function(state.x + length * direction)
        state.evaluations += 1
        here = gradient @ direction
        # A convex function has decreased wherever its slope is still negative.
        falls = here <= 0.0 or value <= state.value + SUFFICIENT * length * slope
        falls = falls or (value <= state.value + noise and here <= -0.8 * slope)
        if here >= _CURVATURE * slope and falls and np.isfinite(value):
            return length, value, gradient
        if here <= 0.0:
            low, low_slope = length, here
        else:
            high, high_slope = length, here
        length = _next_length(low, low_slope, high, high_slope)
        if not length > low * (1.0 + 1e-15) or (high < np.inf and length >= high):
            return None
    return None


def _next_length(low: float, low_slope: float, high: float, high_slope: float) -> float:
    """Return the safeguarded secant root of the slopes; four times the length without a bracket."""
    if high == np.inf:
        return 4.0 * low
    if np.isfinite(high_slope) and high_slope > low_slope:
        share = -low_slope / (high_slope - low_slope)
    else:
        share = 0.5
    return low + min(max(share, 0.1), 0.9) * (high - low)


def inverse_hessian(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]],
    where: Descent,
    difference: float,
    least: float,
) -> np.ndarray:
    """Return the inverse Hessian at a point from one difference of gradients per variable.

    Parameters
    ----------
    function : callable
        x -> value and gradient (m,).
    where : Descent
    difference : float
        Step of the differences.
    least : float >= 0
        Lower bound of the eigenvalues of the Hessian.

    Returns
    -------
    array (m, m)
        Positive definite: eigenvalues within noise are replaced by the smallest value above noise.
    """
    rows = []
    for place in range(len(where.x)):
        ahead = where.x.copy()
        ahead[place] += difference
        rows.append((function(ahead)[1] - where.gradient) / difference)
    hessian = np.array(rows)
    values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
    values = np.maximum(values, max(least, _LEAST_EIGENVALUE * values[-1], 1e-300))
    return (vectors / values) @ vectors.T


def append(inverse: np.ndarray, column: np.ndarray, curvature: float) -> np.ndarray:
    """Return the inverse with a new variable at the end.

    Parameters
    ----------
    inverse : array (m, m)
    column : array (m,)
        Second derivatives with respect to the new variable and each of the others.
    curvature : float
        Second derivative along the new variable.
    """
    m = len(inverse)
    image = inverse @ column
    pivot = curvature - column @ image
    if not pivot > _LEAST_PIVOT * abs(curvature):
        image, pivot = np.zeros(m), abs(curvature) if curvature else 1.0
    grown = np.empty((m + 1, m + 1))
    grown[:m, :m] = inverse + np.outer(image, image) / pivot
    grown[m, :m] = grown[:m, m] = -image / pivot
    grown[m, m] = 1.0 / pivot
    return grown


def remove(inverse: np.ndarray, place: int) -> np.ndarray:
    """Return the inverse without one variable, which is then held fixed."""
    column = inverse[:, place]
    reduced = inverse - np.outer(column, column) / column[place]
    keep = np.arange(len(inverse)) != place
    return reduced[np.ix_(keep, keep)]
