"""Loss and optimality of least-squares fits, written out."""

import numpy as np


def squared_loss(problem, coef):
    """Return sum_j ||y_j - X_j b_j||^2 / (2 n_j) at coefficients (p, r)."""
    residuals = (y - X @ b for X, y, b in zip(problem.X, problem.y, coef.T, strict=True))
    return float(sum(residual @ residual / (2 * len(residual)) for residual in residuals))


def stationarity(problem, coef):
    """Return max |x_i^T res_j| / (||x_i|| ||y_j||) over the support; zero at a minimum."""
    largest = 0.0
    for X, y, b in zip(problem.X, problem.y, coef.T, strict=True):
        for i in np.flatnonzero(b):
            slope = abs(X[:, i] @ (y - X @ b))
            largest = max(largest, slope / np.linalg.norm(X[:, i]) / np.linalg.norm(y))
    return largest
