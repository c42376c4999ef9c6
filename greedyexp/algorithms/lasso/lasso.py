"""Lasso: least squares with an l1 penalty, one task at a time."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms._limits import check_max_support, enforce
from greedyexp.algorithms.lasso._row_paths import (
    LamMinRatio,
    Lams,
    MaxSupport,
    MaxSweeps,
    NLams,
    Tol,
    checked_lam,
    follow,
    lam_values,
    moments,
    remarks,
    smallest_null_lam,
)
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem
from greedyexp.theory.noise import entry_price


def theory_grid(problem: Problem, **_) -> dict[str, np.ndarray]:
    """lam at twice the noise in the gradient; see ``theory.noise``."""
    return {"lam": np.array([entry_price(problem)])}


@algorithm(
    "lasso",
    title="Lasso",
    paper="Wainwright (2009); baseline of Jalali & Sanghavi (2012)",
    check=check_max_support,
    theory=theory_grid,
    stops=("lam", "max_support"),
)
def lasso(
    problem: Problem,
    *,
    lam: Lams = None,
    n_lams: NLams = 50,
    lam_min_ratio: LamMinRatio = 0.01,
    max_support: MaxSupport = None,
    tol: Tol = 1e-7,
    max_sweeps: MaxSweeps = 1000,
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Lasso for each task alone, all tasks at the same lam.

    Minimises sum_j ||y_j - X_j b_j||^2 / (2 n_j) + lam sum_ij |b_ij|, exactly but for rounding:
    coordinate descent finds the support, Newton steps solve on it.

    Parameters
    ----------
    problem : Problem
        r >= 1 tasks.
    lam : float or list of float > 0, optional
        One estimate for each, in this order.
    n_lams : int >= 1
        Without ``lam``: so many values from max_ij |x_ij^T y_j| / n_j, the smallest that gives
        zero, downwards, equally spaced in log lam.
    lam_min_ratio : float in (0, 1)
        Last of them over the first.
    max_support : int >= 1, optional
        The automatic path ends with the first estimate that has more nonzero entries, counted over
        all tasks.
    tol : float in (0, 1)
        An estimate is ``converged`` when its duality gap is at most tol times the objective at 0.
    max_sweeps : int >= 1
        Most rounds of coordinate updates and Newton steps for one value of lam.
    grid : dict with an array ``lam``, optional
        As ``lam``.

    Returns
    -------
    Path
        With grid ``lam``; ``objective`` is loss plus penalty.

    Raises
    ------
    ConfigError
        When a value of lam is not positive and finite, or max_support is more than p r.
    DataError
        When the data are not finite.

    References
    ----------
    M. J. Wainwright, Sharp thresholds for high-dimensional and noisy sparsity recovery using
    l1-constrained quadratic programming (Lasso), 2009.
    """
    enforce(check_max_support, problem, max_support=max_support)
    data = moments(problem)
    if grid is not None:
        lam = grid["lam"]
    if lam is None:
        largest = smallest_null_lam(data, problem.n_tasks)
        lams = lam_values(largest, n_lams, lam_min_ratio)
    else:
        lams, max_support = checked_lam(lam), None
    tasks, ahead = [], lams
    for j in range(problem.n_tasks):
        alone = data.task(j)
        path = follow(alone, ahead, 1.0, tol=tol, max_sweeps=max_sweeps, max_support=max_support)
        tasks.append(path)
        ahead = ahead[: len(path)]
    count = len(ahead)
    coef = np.concatenate([path.coef[:count] for path in tasks], axis=2)
    if max_support is not None:
        over = np.flatnonzero(np.count_nonzero(coef, axis=(1, 2)) > max_support)
        count = over[0] + 1 if over.size else count
    converged = np.all([path.converged[:count] for path in tasks], axis=0)
    return Path(
        coef[:count],
        {"lam": lams[:count]},
        np.sum([path.objective[:count] for path in tasks], axis=0),
        converged,
        remarks(converged, tol, len(lams) - count, max_support),
    )
