"""Row-penalised least squares along a decreasing path: block coordinate descent and Newton steps.

At each point Newton steps minimise over the manifold of the previous point. Rows whose gradient
leaves the dual unit set are then released by one exact block update each. The two alternate until
no row is left. Every step decreases the objective, and every manifold is solved to rounding.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels import native


def row_path(
    gram: np.ndarray,
    correlation: np.ndarray,
    power: float,
    lam_s: np.ndarray,
    lam_b: np.ndarray,
    capacity: int,
    accuracy: float,
    max_sweeps: int,
    max_support: np.ndarray,
    start: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Minimise sum_j ||y_j - X_j b_j||^2 / (2 n_j) + row penalty for each (lam_s, lam_b) in turn.

    The penalty of a row v is max <u, v> over |u_j| <= lam_s, sum_j |u_j| <= lam_b.

    Parameters
    ----------
    gram : array (1 or r, p, p)
        X_j^T X_j / n_j; a single matrix is shared by all tasks.
    correlation : array (r, p)
        X_j^T y_j / n_j.
    power : float
        sum_j ||y_j||^2 / n_j.
    lam_s, lam_b : arrays (m,)
        Box and l1 radius of the dual unit set, decreasing.
    capacity : int
        Largest possible number of independent variables.
    accuracy : float
        Duality gap to reach.
    max_sweeps : int
        Largest number of rounds of Newton steps and row updates for one point.
    max_support : int array (m,)
        The path ends after the first point with more nonzero entries than this.
    start : array (p, r), optional
        Estimate at other prices or of fewer rows to begin with; zero by default.

    Returns
    -------
    coef : array (m, p, r)
    objective, gap : arrays (m,)
        The gap allows for rounding of products with ``gram``.
    done : int
        Number of points computed.
    """
    r, p = correlation.shape
    size = len(lam_s)
    coef = np.zeros((size, p, r))
    objective = np.zeros(size)
    gap = np.full(size, np.inf)
    done = native.row_path.row_path(
        gram,
        correlation,
        power,
        lam_s,
        lam_b,
        capacity,
        accuracy,
        max_sweeps,
        max_support,
        np.zeros((p, r)) if start is None else start,
        coef,
        objective,
        gap,
    )
    return coef, objective, gap, done
