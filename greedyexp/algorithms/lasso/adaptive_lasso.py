"""The adaptive Lasso: weights of the l1 penalty from a ridge regression."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.lasso.lasso import lasso
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem

# Weights of the ridge that are compared, relative to the largest squared singular value.
_RIDGES = np.geomspace(1e-8, 10.0, 46)


@algorithm(
    "adaptive_lasso",
    title="adaptive Lasso",
    paper="Zou (2006)",
    check=param.check_max_support,
    stops=("lam", "max_support"),
)
def adaptive_lasso(
    problem: Problem,
    *,
    gamma: Annotated[float, Field(gt=0, description="power of the weights 1 / |b_i|^gamma")] = 1.0,
    lam: param.Lams = None,
    n_lams: param.NLams = 50,
    lam_min_ratio: param.LamMinRatio = 0.001,
    max_support: param.MaxSupport = None,
    tol: param.Tol = 1e-7,
    max_sweeps: param.MaxSweeps = 1000,
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Lasso with weights 1 / |b0_ij|^gamma, where b0 is a ridge regression.

    Minimises sum_j ||y_j - X_j b_j||^2 / (2 n_j) + lam sum_ij |b_ij| / |b0_ij|^gamma. The weight of
    the ridge of each task has the least leave-one-out error of 46 values. Cross-validation fits the
    ridge to the rows of each fold alone.

    Parameters
    ----------
    problem : Problem
        A problem with r >= 1 tasks.
    gamma : float > 0
    lam : float or list of float > 0, optional
        Explicit values; there is one estimate for each, in this order.
    n_lams : int >= 1
        Number of values of the automatic grid, equally spaced in log lam, down from the smallest
        value that gives zero.
    lam_min_ratio : float in (0, 1)
        Ratio of the last value of this grid to the first. It is smaller than for ``lasso``, since
        weights of features differ.
    max_support : int >= 1, optional
        The automatic path ends with the first estimate that has more nonzero entries, counted over
        all tasks.
    tol, max_sweeps
        As for ``lasso``.
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

    References
    ----------
    H. Zou, The adaptive lasso and its oracle properties, 2006, equation 4.
    """
    pairs = zip(problem.X, problem.y, strict=True)
    weights = np.column_stack([np.abs(ridge(X, y)) ** gamma for X, y in pairs])
    # With c_i = b_i / |b0_i|^gamma, this is the Lasso on the columns |b0_i|^gamma x_i.
    designs = tuple(X * weights[:, j] for j, X in enumerate(problem.X))
    path = lasso(
        replace(problem, X=designs, truth=None),
        lam=lam,
        n_lams=n_lams,
        lam_min_ratio=lam_min_ratio,
        max_support=max_support,
        tol=tol,
        max_sweeps=max_sweeps,
        grid=grid,
    )
    sparse = path.sparse
    return replace(path, estimates=sparse.with_values(sparse.values * sparse.at(weights)))


def ridge(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the ridge regression (p,) whose weight has the least leave-one-out error."""
    U, values, Vt = np.linalg.svd(X, full_matrices=False)
    rotated, best, chosen = U.T @ y, np.inf, np.zeros(len(values))
    for weight in _RIDGES * (values[0] ** 2 or 1.0):
        shrunk = values**2 / (values**2 + weight)
        # The residual of row i without row i is its residual divided by 1 - h_ii.
        left = 1 - (U**2) @ shrunk
        error = float((((y - U @ (shrunk * rotated)) / left) ** 2).mean())
        if error < best:
            best, chosen = error, values / (values**2 + weight)
    return Vt.T @ (chosen * rotated)
