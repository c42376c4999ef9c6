"""The Lasso path of scikit-learn."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.peers._tasks import Fitted, lams_of, path_of_tasks, small_problem
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem


def prepare(**_) -> None:
    """Import scikit-learn."""
    sklearn_lasso(small_problem())


@algorithm(
    "sklearn_lasso",
    title="Lasso (scikit-learn)",
    paper="Friedman, Hastie & Tibshirani (2010)",
    packages=("scikit-learn",),
    prepare=prepare,
    stops=("lam",),
)
def sklearn_lasso(
    problem: Problem,
    *,
    lam: param.Lams = None,
    n_lams: param.NLams = 50,
    lam_min_ratio: param.LamMinRatio = 0.01,
    tol: param.Tol = 1e-7,
    max_iter: param.MaxIter = 100_000,
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Lasso for each task separately, by ``sklearn.linear_model.lasso_path``.

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
        Duality gap to reach, relative to the objective at 0; scikit-learn's own ``tol`` is half of
        it. The default is that of ``lasso``; that of scikit-learn is 1e-4.
    max_iter : int >= 1
        Maximum number of sweeps for one value of lam; the default of scikit-learn is 1000.
    grid : dict with an array ``lam``, optional
        Values that replace ``lam``.

    Returns
    -------
    Path
        A path with grid ``lam``. ``objective`` has no penalty.

    References
    ----------
    J. Friedman, T. Hastie, R. Tibshirani, Regularization paths for generalized linear models via
    coordinate descent, 2010.
    """
    from sklearn.linear_model import lasso_path

    def fit(X: np.ndarray, y: np.ndarray, lams: np.ndarray) -> Fitted:
        # scikit-learn sorts the values.
        order = np.argsort(-lams, kind="stable")
        _, coef, gap = lasso_path(X, y, alphas=lams[order], tol=tol / 2, max_iter=max_iter)
        back = np.argsort(order)
        return Fitted(coef.T[back], gap[back] <= tol * (y @ y) / (2 * len(y)))

    lams = lams_of(problem, lam, n_lams, lam_min_ratio, grid)
    return path_of_tasks(problem, "lam", lams, fit)
