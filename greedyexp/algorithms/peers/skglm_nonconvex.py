"""Least squares with the nonconvex penalties MCP and SCAD, by skglm."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.peers._tasks import Fit, Fitted, lams_of, path_of_tasks, small_problem
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem

PACKAGES = ("skglm", "numba")
Tol = Annotated[
    float,
    Field(gt=0, lt=1, description="violation of the first-order conditions to reach, over max lam"),
]


def _prepare_mcp(**_) -> None:
    """Compile the path of MCP, which takes numba some seconds."""
    skglm_mcp(small_problem())


def _prepare_scad(**_) -> None:
    """Compile the path of SCAD, which takes numba some seconds."""
    skglm_scad(small_problem())


@algorithm(
    "skglm_mcp",
    title="MCP (skglm)",
    paper="Zhang (2010); Bertrand et al. (2022)",
    packages=PACKAGES,
    prepare=_prepare_mcp,
    stops=("lam",),
)
def skglm_mcp(
    problem: Problem,
    *,
    gamma: Annotated[
        float, Field(gt=1, description="the penalty is constant beyond gamma lam")
    ] = 3.0,
    lam: param.Lams = None,
    n_lams: param.NLams = 50,
    lam_min_ratio: param.LamMinRatio = 0.01,
    tol: Tol = 1e-6,
    max_iter: param.MaxIter = 200,
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Least squares with the minimax concave penalty for each task, by ``skglm``.

    Looks for a stationary point of ||y_j - X_j b_j||^2 / (2 n_j) + sum_i rho(|b_ij|), where
    rho(t) = lam t - t^2 / (2 gamma) up to gamma lam, and gamma lam^2 / 2 beyond. Each value of lam
    starts from the estimate of the value before; the first starts from zero.

    Parameters
    ----------
    problem : Problem
        A problem with r >= 1 tasks. The columns are divided by their root mean squares, as the
        penalty assumes, and the coefficients are in units of the data again.
    gamma : float > 1
        The default is that of skglm and of Breheny & Huang (2011).
    lam : float or list of float > 0, optional
        Explicit values in the units of scaled columns, best in decreasing order; there is one
        estimate for each, in this order.
    n_lams : int >= 1
        Number of values of the automatic grid, down from the smallest that gives zero.
    lam_min_ratio : float in (0, 1)
        Ratio of the last value of this grid to the first.
    tol : float in (0, 1)
        Largest violation of the first-order conditions, relative to the largest correlation
        |x_i^T y_j| / n_j; an estimate with a larger one is not converged.
    max_iter : int >= 1
        Maximum number of working sets for one value of lam; the default of skglm is 50.
    grid : dict with an array ``lam``, optional
        Values that replace ``lam``.

    Returns
    -------
    Path
        A path with grid ``lam``. ``objective`` has no penalty.

    References
    ----------
    C.-H. Zhang, Nearly unbiased variable selection under minimax concave penalty, 2010.
    Q. Bertrand, Q. Klopfenstein, P.-A. Bannier, G. Gidel, M. Massias, Beyond L1: faster and better
    sparse models with skglm, 2022.
    """
    from skglm.penalties import MCPenalty

    fit = _coordinate_descent(MCPenalty(1.0, gamma), tol, max_iter)
    scaled, norms = _scaled(problem)
    path = path_of_tasks(scaled, "lam", lams_of(scaled, lam, n_lams, lam_min_ratio, grid), fit)
    return _divided(path, norms)


@algorithm(
    "skglm_scad",
    title="SCAD (skglm)",
    paper="Fan & Li (2001); Bertrand et al. (2022)",
    packages=PACKAGES,
    prepare=_prepare_scad,
    stops=("lam",),
)
def skglm_scad(
    problem: Problem,
    *,
    gamma: Annotated[
        float, Field(gt=2, description="the penalty is constant beyond gamma lam")
    ] = 3.7,
    lam: param.Lams = None,
    n_lams: param.NLams = 50,
    lam_min_ratio: param.LamMinRatio = 0.01,
    tol: Tol = 1e-6,
    max_iter: param.MaxIter = 200,
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Least squares with smoothly clipped absolute deviations for each task, by ``skglm``.

    Looks for a stationary point of ||y_j - X_j b_j||^2 / (2 n_j) + sum_i rho(|b_ij|), where the
    derivative of rho is lam up to lam, (gamma lam - t) / (gamma - 1) up to gamma lam, and 0 beyond.
    Each value of lam starts from the estimate of the value before; the first starts from zero.

    Parameters
    ----------
    problem : Problem
        A problem with r >= 1 tasks. The columns are divided by their root mean squares, as the
        penalty assumes, and the coefficients are in units of the data again.
    gamma : float > 2
        The default is that of Fan & Li.
    lam, n_lams, lam_min_ratio, tol, max_iter, grid
        As for ``skglm_mcp``.

    Returns
    -------
    Path
        A path with grid ``lam``. ``objective`` has no penalty.

    References
    ----------
    J. Fan, R. Li, Variable selection via nonconcave penalized likelihood and its oracle properties,
    2001.
    Q. Bertrand, Q. Klopfenstein, P.-A. Bannier, G. Gidel, M. Massias, Beyond L1: faster and better
    sparse models with skglm, 2022.
    """
    from skglm.penalties import SCAD

    fit = _coordinate_descent(SCAD(1.0, gamma), tol, max_iter)
    scaled, norms = _scaled(problem)
    path = path_of_tasks(scaled, "lam", lams_of(scaled, lam, n_lams, lam_min_ratio, grid), fit)
    return _divided(path, norms)


def _coordinate_descent(penalty: Any, tol: float, max_iter: int) -> Fit:
    """Return the path of a penalty by coordinate descent on working sets."""
    from skglm.datafits import Quadratic
    from skglm.solvers import AndersonCD

    def fit(X: np.ndarray, y: np.ndarray, lams: np.ndarray) -> Fitted:
        accuracy = tol * (float(np.abs(X.T @ y).max()) / len(y) or 1.0)
        solver = AndersonCD(max_iter=max_iter, tol=accuracy, fit_intercept=False, warm_start=True)
        _, coef, violation = solver.path(X, y, Quadratic(), penalty, lams)
        return Fitted(coef.T, violation <= accuracy)

    return fit


def _divided(path: Path, numbers: np.ndarray) -> Path:
    """Return a path whose coefficients are divided by numbers (p, r)."""
    sparse = path.sparse
    return replace(path, estimates=sparse.with_values(sparse.values / sparse.at(numbers)))


def _scaled(problem: Problem) -> tuple[Problem, np.ndarray]:
    """Return the problem with columns of root mean square 1, and the root mean squares (p, r)."""
    norms = [np.sqrt((X**2).mean(axis=0)) for X in problem.designs]
    norms = [np.where(norm > 0, norm, 1.0) for norm in norms]
    designs = [X / norm for X, norm in zip(problem.designs, norms, strict=True)]
    times = problem.n_tasks // len(designs)
    return replace(problem, X=tuple(designs * times)), np.column_stack(norms * times)
