"""Lasso: least squares with an l1 penalty, one task at a time."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms import _parameters as param
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.estimates.sparse import SparseEstimates
from greedyexp.problems.problem import Problem
from greedyexp.solvers.row_paths import PathSettings, data_of, follow
from greedyexp.solvers.row_penalties import DirtyPenalty
from greedyexp.theory.noise import entry_price


def theory_grid(problem: Problem, **_) -> dict[str, np.ndarray]:
    """lam at twice the noise in the gradient; see ``theory.noise``."""
    return {"lam": np.array([entry_price(problem)])}


@algorithm(
    "lasso",
    title="Lasso",
    paper="Wainwright (2009); baseline of Jalali & Sanghavi (2012)",
    check=param.check_max_support,
    takes_sparse=True,
    theory=theory_grid,
    stops=("lam", "max_support"),
)
def lasso(
    problem: Problem,
    *,
    lam: param.Lams = None,
    n_lams: param.NLams = 50,
    lam_min_ratio: param.LamMinRatio = 0.01,
    max_support: param.MaxSupport = None,
    tol: param.Tol = 1e-7,
    max_sweeps: param.MaxSweeps = 1000,
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Lasso for each task separately, all tasks at the same lam.

    Minimises sum_j ||y_j - X_j b_j||^2 / (2 n_j) + lam sum_ij |b_ij|, exactly up to rounding:
    coordinate descent finds the support, Newton steps solve on it.

    Parameters
    ----------
    problem : Problem
        A problem with r >= 1 tasks.
    lam : float or list of float > 0, optional
        Explicit values; there is one estimate for each, in this order.
    n_lams : int >= 1
        Number of values of the automatic grid, equally spaced in log lam, down from
        max_ij |x_ij^T y_j| / n_j, the smallest value that gives zero.
    lam_min_ratio : float in (0, 1)
        Ratio of the last value of this grid to the first.
    max_support : int >= 1, optional
        The automatic path ends with the first estimate that has more nonzero entries, counted over
        all tasks.
    tol : float in (0, 1)
        An estimate is ``converged`` if its duality gap is at most tol times the objective at 0.
    max_sweeps : int >= 1
        Maximum number of rounds of coordinate updates and Newton steps for one value of lam.
    grid : dict with an array ``lam``, optional
        Values that replace ``lam``.

    Returns
    -------
    Path
        A path with grid ``lam``; ``objective`` is the loss plus the penalty.

    Raises
    ------
    ConfigError
        If a value of lam is not positive and finite, or max_support is more than p r.
    DataError
        If the data are not finite.

    References
    ----------
    M. J. Wainwright, Sharp thresholds for high-dimensional and noisy sparsity recovery using
    l1-constrained quadratic programming (Lasso), 2009.
    """
    param.enforce(param.check_max_support, problem, max_support=max_support)
    asked = lam if grid is None else grid["lam"]
    settings = PathSettings(asked, n_lams, lam_min_ratio, max_support, tol, max_sweeps)
    data = data_of(problem, problem.n_tasks // len(problem.designs))
    lams = settings.lams(DirtyPenalty(problem.n_tasks).largest(data.correlation))
    tasks, ahead = [], lams
    for j in range(problem.n_tasks):
        path = follow(data.task(j), DirtyPenalty(1.0), ahead, settings)
        tasks.append(path)
        ahead = ahead[: len(path)]
    count = len(ahead)
    estimates = SparseEstimates.of_tasks([path.sparse.take(np.arange(count)) for path in tasks])
    if settings.limit is not None:
        over = np.flatnonzero(estimates.sizes > settings.limit)
        count = over[0] + 1 if over.size else count
    converged = np.all([path.converged[:count] for path in tasks], axis=0)
    return Path(
        estimates.take(np.arange(count)),
        {"lam": lams[:count]},
        np.sum([path.objective[:count] for path in tasks], axis=0),
        converged,
        settings.remarks(converged, len(lams) - count),
    )
