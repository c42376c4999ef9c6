"""Orthogonal matching pursuit of scikit-learn."""

from __future__ import annotations

from typing import Annotated

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
    """Import scikit-learn."""
    sklearn_omp(small_problem())


@algorithm(
    "sklearn_omp",
    title="OMP (scikit-learn)",
    paper="Rubinstein, Zibulevsky & Elad (2008)",
    check=check_sizes,
    packages=("scikit-learn",),
    prepare=prepare,
    stops=("n_atoms",),
)
def sklearn_omp(
    problem: Problem,
    *,
    n_atoms: param.Atoms = None,
    normalize: Annotated[
        bool, Field(description="divide the columns by their norms before the pursuit")
    ] = True,
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Orthogonal matching pursuit for each task, by ``sklearn.linear_model.orthogonal_mp``.

    Parameters
    ----------
    problem : Problem
        A problem with r >= 1 tasks.
    n_atoms : int, optional
        Number of atoms at which the path ends; by default half of min(n, p), with n the smallest
        number of rows of a task.
    normalize : bool
        scikit-learn assumes columns of unit norm. With true, the columns are divided by their norms
        and the coefficients are in units of the data again; a column of zeros stays as it is. With
        false, scikit-learn gets the columns as they are.
    grid : dict with array ``n_atoms``, optional
        Return one estimate for each number of atoms, in this order.

    Returns
    -------
    Path
        Estimates with 0, 1, ... atoms in every task. If scikit-learn ends a pursuit because the
        remaining columns depend on the chosen ones, later estimates are the last one.

    Raises
    ------
    ConfigError
        If n_atoms is more than p or the number of rows.

    References
    ----------
    R. Rubinstein, M. Zibulevsky, M. Elad, Efficient implementation of the K-SVD algorithm using
    batch orthogonal matching pursuit, 2008.
    """
    from sklearn.linear_model import orthogonal_mp

    param.enforce(check_sizes, problem, n_atoms=n_atoms)

    def fit(X: np.ndarray, y: np.ndarray, sizes: np.ndarray) -> Fitted:
        norms = np.sqrt((X**2).sum(axis=0)) if normalize else np.ones(X.shape[1])
        norms[norms == 0] = 1.0
        X /= norms
        most = int(min(sizes.max(), *X.shape))
        states = np.zeros((1, X.shape[1]))
        if most:
            coef = orthogonal_mp(X, y, n_nonzero_coefs=most, return_path=True)
            states = np.vstack([states, coef.reshape(X.shape[1], -1).T])
        return Fitted(states[np.minimum(sizes, len(states) - 1)] / norms, np.ones(len(sizes), bool))

    return path_of_tasks(problem, "n_atoms", sizes_of(problem, "n_atoms", n_atoms, grid), fit)
