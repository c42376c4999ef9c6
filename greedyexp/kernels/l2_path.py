"""The l1/l2 group lasso along a decreasing path, as a smooth problem in one scale for each row."""

from __future__ import annotations

import numpy as np

from greedyexp.kernels import native


def l2_path(
    gram: np.ndarray,
    correlation: np.ndarray,
    power: float,
    lams: np.ndarray,
    accuracy: float,
    max_sweeps: int,
    max_support: np.ndarray,
    scale: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Minimise sum_j ||y_j - X_j b_j||^2 / (2 n_j) + lam sum_i ||b_i||_2 for each lam in turn.

    Parameters
    ----------
    gram : array (1 or r, p, p)
        X_j^T X_j / n_j; a single matrix is shared by all tasks.
    correlation : array (r, p)
        X_j^T y_j / n_j.
    power : float
        sum_j ||y_j||^2 / n_j.
    lams : array (m,)
        Decreasing.
    accuracy : float
        Duality gap to reach.
    max_sweeps : int
        Largest number of Newton steps for one point.
    max_support : int array (m,)
        The path ends after the first point with more nonzero entries than this.
    scale : array (p,), optional
        ||b_i||_2 / lam of each row of an estimate to begin with; zero by default.

    Returns
    -------
    coef : array (m, p, r)
    objective, gap : arrays (m,)
        The gap allows for rounding of products with ``gram``.
    done : int
        Number of points computed.
    """
    r, p = correlation.shape
    size = len(lams)
    if scale is None:
        scale = np.zeros(p)
    coef = np.zeros((size, p, r))
    objective = np.zeros(size)
    gap = np.full(size, np.inf)
    done = native.l2_path.l2_path(
        gram,
        correlation,
        power,
        lams,
        accuracy,
        max_sweeps,
        max_support,
        scale,
        coef,
        objective,
        gap,
    )
    return coef, objective, gap, done
