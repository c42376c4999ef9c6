"""Sparsity-constrained least squares by the solvers of skscope."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.peers._tasks import (
    Fitted,
    check_sizes,
    path_of_tasks,
    sizes_of,
    small_problem,
)
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem


def prepare(**_) -> None:
    """Import skscope."""
    skscope(small_problem())


@algorithm(
    "skscope",
    title="skscope",
    paper="Wang et al. (2024)",
    check=check_sizes,
    packages=("skscope", "jax"),
    prepare=prepare,
    stops=("n_atoms",),
)
def skscope(
    problem: Problem,
    *,
    solver: Annotated[
        Literal["scope", "foba"],
        Field(description="splicing iterations, or forward-backward greedy selection"),
    ] = "scope",
    n_atoms: param.Atoms = None,
    max_iter: param.MaxIter = 100,
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Sparsity-constrained least squares for each task, by the solvers of ``skscope``.

    Minimises ||y_j - X_j b_j||^2 / (2 n_j) with at most s coefficients, one fit for each size s.
    skscope gets the loss, its gradient, and the least-squares fit on a support, so that it neither
    compiles nor iterates where the minimum is known.

    Parameters
    ----------
    problem : Problem
        A problem with r >= 1 tasks. The columns are used as they are; the solvers assume columns of
        similar norms.
    solver : {"scope", "foba"}
        ``ScopeSolver`` or ``FobaSolver``, with the settings of skscope.
    n_atoms : int, optional
        Largest number of features of a task; by default half of min(n, p), with n the smallest
        number of rows of a task.
    max_iter : int >= 1
        Maximum number of iterations for one size. It is the default of skscope for foba, and 20 for
        scope.
    grid : dict with array ``n_atoms``, optional
        Return one estimate for each number of features, in this order.

    Returns
    -------
    Path
        A path with grid ``n_atoms``.

    Raises
    ------
    ConfigError
        If n_atoms is more than p or the number of rows.

    References
    ----------
    Z. Wang, J. Zhu, X. Wang, J. Zhu, H. Peng, P. Chen, A. Wang, X. Zhang, skscope: fast
    sparsity-constrained optimization in Python, 2024.
    """
    from skscope import FobaSolver, ScopeSolver

    param.enforce(check_sizes, problem, n_atoms=n_atoms)
    kind = {"scope": ScopeSolver, "foba": FobaSolver}[solver]

    def fit(X: np.ndarray, y: np.ndarray, sizes: np.ndarray) -> Fitted:
        count, width = X.shape

        def loss(coef: np.ndarray, _: Any) -> float:
            residual = y - X @ coef
            return float(residual @ residual) / (2 * count)

        def gradient(coef: np.ndarray, _: Any) -> np.ndarray:
            return X.T @ (X @ coef - y) / count

        def minimise(_objective, _gradient, coef, support, _data):
            coef[support] = np.linalg.lstsq(X[:, support], y, rcond=None)[0]
            return loss(coef, None), coef

        coef = np.zeros((len(sizes), width))
        for at, size in enumerate(np.minimum(sizes, min(X.shape))):
            if size:
                one = kind(width, int(size), count, numeric_solver=minimise, max_iter=max_iter)
                coef[at] = one.solve(loss, gradient=gradient)
        return Fitted(coef, np.ones(len(sizes), bool))

    return path_of_tasks(problem, "n_atoms", sizes_of(problem, "n_atoms", n_atoms, grid), fit)
