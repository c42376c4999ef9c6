"""The Lasso paths of celer."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.peers._tasks import Fitted, lams_of, path_of_tasks, small_problem
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem


def prepare(**_) -> None:
    """Import celer."""
    celer_lasso(small_problem())


@algorithm(
    "celer_lasso",
    title="Lasso (celer)",
    paper="Massias, Gramfort & Salmon (2018)",
    packages=("celer",),
    prepare=prepare,
    stops=("lam",),
)
def celer_lasso(
    problem: Problem,
    *,
    lam: param.Lams = None,
    n_lams: param.NLams = 50,
    lam_min_ratio: param.LamMinRatio = 0.01,
    tol: param.Tol = 1e-7,
    max_iter: param.MaxIter = 100,
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Lasso for each task separately, by ``celer.celer_path``.

    Minimises ||y_j - X_j b_j||^2 / (2 n_j) + lam ||b_j||_1, as ``lasso`` does, on the same grid.

    Parameters
    ----------
    problem : Problem
        A problem with r >= 1 tasks.
    lam : float or list of float > 0, optional
        Explicit values; there is one estimate for each, in this order.
    n_lams : int >= 1
        Number of values of the automatic grid.
    lam_min_ratio : float in (0, 1)
        Ratio of the last value of this grid to the first.
    tol : float in (0, 1)
        Duality gap to reach, relative to the objective at 0; celer's own ``tol`` is half of it. The
        default is that of ``lasso``; that of celer is 1e-6.
    max_iter : int >= 1
        Maximum number of working sets for one value of lam; the default of celer is 20.
    grid : dict with an array ``lam``, optional
        Values that replace ``lam``.

    Returns
    -------
    Path
        A path with grid ``lam``. ``objective`` has no penalty.

    References
    ----------
    M. Massias, A. Gramfort, J. Salmon, Celer: a fast solver for the Lasso with dual extrapolation,
    2018.
    """
    from celer import celer_path

    lams = lams_of(problem, lam, n_lams, lam_min_ratio, grid)

    def fit(X: np.ndarray, y: np.ndarray, lams: np.ndarray) -> Fitted:
        # celer returns the estimates in decreasing order of the values.
        order = np.argsort(-lams, kind="stable")
        _, coef, gap = celer_path(
            X, y, pb="lasso", alphas=lams[order], tol=tol / 2, max_iter=max_iter
        )
        back = np.argsort(order)
        return Fitted(coef.T[back], gap[back] <= tol * (y @ y) / (2 * len(y)))

    return path_of_tasks(problem, "lam", lams, fit)
