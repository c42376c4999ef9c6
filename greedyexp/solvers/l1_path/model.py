"""A quadratic model of a loss over some of its coefficients, and its minimiser with an l1 norm."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from greedyexp.kernels.l1_quadratic import sweeps

# Part of a second derivative that is added to it, of dense coefficients part of the largest one:
# differences of gradients are noisy, and a model must not curve down where the loss is flat.
FLOOR = 1e-6
DENSE_FLOOR = 1e-7
SWEEPS = 10
ROUNDS = 200


class QuadraticModel:
    """Second derivatives of a loss over q dense coefficients and a growing set of selectable ones.

    Attributes
    ----------
    hessian : array (q + m, q + m)
        Dense coefficients first; symmetric positive definite.
    """

    def __init__(self, n_dense: int):
        self.n_dense = n_dense
        self.hessian = np.zeros((0, 0))

    def grow(self, columns: np.ndarray) -> None:
        """Take in k coefficients more.

        Parameters
        ----------
        columns : array (q + m + k, k)
            Second derivatives by each of them and all coefficients, themselves at the end.
        """
        old, k = len(self.hessian), columns.shape[1]
        mixed, own = columns[:old], 0.5 * (columns[old:] + columns[old:].T)
        # Where the loss is flat a difference is rounding, of either sign.
        curvature = np.abs(own.diagonal())
        curvature[curvature == 0.0] = 1.0
        own[np.diag_indices(k)] = curvature
        dense = old < self.n_dense
        own[np.diag_indices(k)] += DENSE_FLOOR * curvature.max() if dense else FLOOR * curvature
        # In units in which second derivatives are one, those of an intercept beside large features
        # do not count as dependent on them.
        units = np.sqrt(self.hessian.diagonal())[:, None]
        scaled = mixed / units
        apart = linalg.solve(self.hessian / (units * units.T), scaled, assume_a="pos") if old else 0
        shadow = scaled.T @ apart if old else 0.0
        grown = np.empty((old + k, old + k))
        grown[:old, :old] = self.hessian
        grown[:old, old:], grown[old:, :old] = mixed, mixed.T
        grown[old:, old:] = _positive(own - shadow, np.sqrt(own.diagonal())) + shadow
        self.hessian = grown

    def learn(self, move: np.ndarray, change: np.ndarray) -> None:
        """The BFGS update, after which the Hessian maps ``move`` to ``change``."""
        image = self.hessian @ move
        along, product = move @ image, move @ change
        if not (product > 0.0 and along > 0.0):
            return
        self.hessian += np.outer(change, change) / product - np.outer(image, image) / along

    def minimise(
        self, gradient: np.ndarray, u: np.ndarray, lam: float, tolerance: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """The minimiser of the model plus lam times the l1 norm of the selectable coefficients.

        The dense ones are eliminated. Coordinate descent finds signs, and steps towards the
        minimiser with these signs, up to the first that changes, spare it the long tail.

        Parameters
        ----------
        gradient : array (q + m,)
            Of the loss, where the model stands.
        u : array (m,)
            Selectable coefficients there.
        lam : float > 0
        tolerance : float
            How far the derivatives of the model may be from those of a minimiser.

        Returns
        -------
        step : array (q,)
            Of the dense coefficients.
        found : array (m,)
        """
        q = self.n_dense
        dense, mixed = self.hessian[:q, :q], self.hessian[:q, q:]
        if q:
            factor = linalg.cho_factor(dense)
            slope = gradient[q:] - mixed.T @ linalg.cho_solve(factor, gradient[:q])
            curvature = self.hessian[q:, q:] - mixed.T @ linalg.cho_solve(factor, mixed)
        else:
            slope, curvature = gradient.copy(), self.hessian
        found = _minimise(np.ascontiguousarray(curvature), slope, u.copy(), lam, tolerance)
        if not q:
            return np.zeros(0), found
        return -linalg.cho_solve(factor, gradient[:q] + mixed @ (found - u)), found


def _positive(matrix: np.ndarray, units: np.ndarray) -> np.ndarray:
    """The nearby positive definite matrix: learned and fresh second derivatives may not agree."""
    scaled = matrix / np.outer(units, units)
    values, vectors = linalg.eigh(scaled)
    if values[0] >= FLOOR:
        return matrix
    values = np.maximum(np.abs(values), FLOOR)
    return (vectors * values) @ vectors.T * np.outer(units, units)


def _minimise(
    hessian: np.ndarray, slope: np.ndarray, u: np.ndarray, lam: float, tolerance: float
) -> np.ndarray:
    for _ in range(ROUNDS):
        if sweeps(hessian, slope, u, lam, tolerance, SWEEPS):
            break
        while _jump(hessian, slope, u, lam):
            pass
    return u


def _jump(hessian: np.ndarray, slope: np.ndarray, u: np.ndarray, lam: float) -> bool:
    """Go to the minimiser with the signs of u, or to the first zero on the way; whether to one."""
    active = np.flatnonzero(u)
    try:
        factor = linalg.cho_factor(hessian[np.ix_(active, active)])
    except linalg.LinAlgError:
        return False
    step = -linalg.cho_solve(factor, slope[active] + lam * np.sign(u[active]))
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths = np.where(step * u[active] < 0.0, -u[active] / step, np.inf)
    blocking = int(lengths.argmin()) if len(lengths) else 0
    length = min(1.0, lengths.min(initial=1.0))
    u[active] += length * step
    blocked = bool(length < 1.0)
    if blocked:
        u[active[blocking]] = 0.0
    slope += hessian[:, active] @ (length * step)
    return blocked
