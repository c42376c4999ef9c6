"""Least angle regression of scikit-learn, and the Lasso path that it follows."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.peers._tasks import Fitted, lams_of, path_of_tasks, small_problem
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem


def prepare(**_) -> None:
    """Import scikit-learn."""
    sklearn_lars(small_problem())


@algorithm(
    "sklearn_lars",
    title="LARS (scikit-learn)",
    paper="Efron, Hastie, Johnstone & Tibshirani (2004)",
    packages=("scikit-learn",),
    prepare=prepare,
    stops=("lam",),
)
def sklearn_lars(
    problem: Problem,
    *,
    method: Annotated[
        Literal["lar", "lasso"],
        Field(description="features only enter, or leave where the Lasso path says so"),
    ] = "lar",
    lam: param.Lams = None,
    n_lams: param.NLams = 50,
    lam_min_ratio: param.LamMinRatio = 0.01,
    max_iter: param.MaxIter = 100_000,
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Least angle regression for each task, by ``sklearn.linear_model.lars_path``.

    The path is linear between its knots. It is evaluated where the largest correlation
    |x_i^T (y_j - X_j b_j)| / n_j is lam, so that all tasks and folds have the same points. With
    method lasso, this is the Lasso at lam.

    Parameters
    ----------
    problem : Problem
        A problem with r >= 1 tasks. The columns are used as they are; the method assumes columns of
        similar norms.
    method : {"lar", "lasso"}
    lam : float or list of float > 0, optional
        Explicit values; there is one estimate for each, in this order.
    n_lams : int >= 1
        Number of values of the automatic grid, that of ``lasso``.
    lam_min_ratio : float in (0, 1)
        Ratio of the last value of this grid to the first.
    max_iter : int >= 1
        Maximum number of knots.
    grid : dict with an array ``lam``, optional
        Values that replace ``lam``.

    Returns
    -------
    Path
        A path with grid ``lam``. An estimate is not converged if scikit-learn ends the path before
        lam; it is then the last one.

    References
    ----------
    B. Efron, T. Hastie, I. Johnstone, R. Tibshirani, Least angle regression, 2004.
    """
    from sklearn.linear_model import lars_path

    def fit(X: np.ndarray, y: np.ndarray, lams: np.ndarray) -> Fitted:
        # scikit-learn takes correlations that differ by less than 1e-7 for equal.
        unit = float(np.abs(X.T @ y).max()) / len(y) or 1.0
        knots, _, coef = lars_path(
            X, y / unit, method=method, alpha_min=float(lams.min()) / unit, max_iter=max_iter
        )
        knots, coef = knots * unit, coef * unit
        # Knots decrease, and np.interp needs increasing points.
        between = [np.interp(lams, knots[::-1], row[::-1]) for row in coef]
        return Fitted(np.transpose(between), lams >= knots[-1] * (1 - 1e-9))

    lams = lams_of(problem, lam, n_lams, lam_min_ratio, grid)
    return path_of_tasks(problem, "lam", lams, fit)
