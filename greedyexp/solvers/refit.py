"""Verify least-squares fits made in Gram form against the data, and refit inaccurate ones."""

from __future__ import annotations

import numpy as np

from greedyexp.kernels.gram_fit import REFIT
from greedyexp.problems.problem import Problem

# Largest correlation of a column of the support with the residual, relative to the norms of the
# column and the response, that a least-squares fit may leave.
_STATIONARY = 1e-9


def certify(
    problem: Problem, coef: np.ndarray, loss: np.ndarray, smallest: float
) -> tuple[np.ndarray, np.ndarray, str]:
    """Verify the last, largest fit from a fresh residual; if it is inaccurate, refit all by QR.

    Parameters
    ----------
    coef : array (m, p, r)
        Fits along a path, the largest support last.
    loss : array (m,)
        Losses of the fits.
    smallest : float
        Smallest squared sine of the angle between a selected column and the span of the others.
        Below ``REFIT`` the Gram form has lost too many digits, and all fits are redone from the
        design.

    Returns
    -------
    coef, loss : arrays
        The given arrays, or those of the new fits.
    message : str
        Empty if the given fits are accurate.
    """
    if smallest >= REFIT and stationarity(problem, coef[-1]) <= _STATIONARY:
        return coef, loss, ""
    coef = np.stack([_from_design(problem, one) for one in coef])
    loss = np.array([squared_loss(problem, one) for one in coef])
    return coef, loss, "nearly dependent columns: every fit was redone from the design."


def stationarity(problem: Problem, coef: np.ndarray) -> float:
    """Return max |x_i^T res_j| / (||x_i|| ||y_j||) over the support; zero at a minimum."""
    if problem.shared_design:
        return _stationarity_of(problem.X[0], np.stack(problem.y, axis=1), coef)
    tasks = zip(problem.X, problem.y, coef.T, strict=True)
    return max(_stationarity_of(X, y[:, None], b[:, None]) for X, y, b in tasks)


def _stationarity_of(X: np.ndarray, y: np.ndarray, coef: np.ndarray) -> float:
    """Return ``stationarity`` of tasks with responses (n, r) that share a design."""
    rows = np.flatnonzero(coef.any(axis=1))
    if 4 * len(rows) < X.shape[1]:
        X, coef = X[:, rows], coef[rows]
    slope = np.abs(X.T @ (y - X @ coef))
    # A zero column or response has a zero slope, so any positive scale works.
    norms = np.sqrt(np.einsum("ni,ni->i", X, X))
    scale = np.outer(np.where(norms > 0, norms, 1.0), np.linalg.norm(y, axis=0))
    slope /= np.where(scale > 0, scale, 1.0)
    return float(np.max(slope, where=coef != 0, initial=0.0))


def _from_design(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """Return the least-squares fit on the support of ``coef`` (p, r), by a factorisation of X."""
    fit = np.zeros_like(coef)
    for j, (X, y) in enumerate(zip(problem.X, problem.y, strict=True)):
        support = np.flatnonzero(coef[:, j])
        if len(support):
            norms = np.linalg.norm(X[:, support], axis=0)
            fit[support, j] = np.linalg.lstsq(X[:, support] / norms, y, rcond=None)[0] / norms
    return fit


def squared_loss(problem: Problem, coef: np.ndarray) -> float:
    """Return sum_j ||y_j - X_j b_j||^2 / (2 n_j) at coefficients (p, r)."""
    residuals = (y - X @ b for X, y, b in zip(problem.X, problem.y, coef.T, strict=True))
    return float(sum(residual @ residual / (2 * len(residual)) for residual in residuals))
