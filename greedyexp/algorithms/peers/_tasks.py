"""Paths of packages that fit one response at a time."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from greedyexp.algorithms import _parameters as param
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem
from greedyexp.solvers.row_paths import lam_values

# Data without structure, to import and compile a package before a fit is timed.
_SMALL = (12, 4)


class Fitted(NamedTuple):
    """Estimates (m, p) of one task, and which of them have converged (m,)."""

    coef: np.ndarray
    converged: np.ndarray


# Fits one response (n,) on a design (n, p) at all values (m,) of the tuning parameter.
Fit = Callable[[np.ndarray, np.ndarray, np.ndarray], Fitted]


def path_of_tasks(problem: Problem, name: str, values: np.ndarray, fit: Fit) -> Path:
    """Return the path of a problem whose tasks are fitted one by one at the same values.

    A package gets its own copy of the design, in Fortran order, which its solvers need. Warnings
    become the message of the path.

    Parameters
    ----------
    name : str
        Tuning parameter, the name of the grid.
    values : array (m,)

    Returns
    -------
    Path
        ``objective`` is sum_j ||y_j - X_j b_j||^2 / (2 n_j), without a penalty.
    """
    coef = np.zeros((len(values), problem.n_features, problem.n_tasks))
    converged = np.ones(len(values), dtype=bool)
    objective = np.zeros(len(values))
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        for task, (X, y) in enumerate(zip(problem.X, problem.y, strict=True)):
            found = fit(np.array(X, order="F"), y.copy(), values)
            coef[:, :, task] = found.coef
            converged &= found.converged
            objective += ((y - found.coef @ X.T) ** 2).mean(axis=1) / 2
    said = dict.fromkeys(" ".join(str(one.message).split()) for one in issued)
    return Path(coef, {name: values}, objective, converged, " ".join(said))


def lams_of(
    problem: Problem,
    lam: float | list[float] | None,
    n_lams: int,
    lam_min_ratio: float,
    grid: dict[str, np.ndarray] | None,
) -> np.ndarray:
    """Return the values of lam: those of the grid, explicit ones, or the automatic grid.

    The automatic grid is that of the algorithm ``lasso``.
    """
    if grid is not None:
        return param.grid_values(grid, "lam")
    if lam is not None:
        return param.as_numbers(lam)
    return lam_values(float(np.abs(problem.correlation).max()), n_lams, lam_min_ratio)


def sizes_of(
    problem: Problem, name: str, most: int | None, grid: dict[str, np.ndarray] | None
) -> np.ndarray:
    """Return the numbers of features of a path: those of the grid, or 0, 1, ..., ``most``.

    By default, ``most`` is half of min(n, p), with n the smallest number of rows of a task.
    """
    if grid is not None:
        return param.grid_values(grid, name, whole=True).astype(np.int64)
    half = max(1, min(int(problem.n_samples.min()), problem.n_features) // 2)
    return np.arange(1 + (half if most is None else most))


def check_sizes(shape: dict, *, n_atoms: int | None, **_) -> None:
    """Raise ValueError if there are fewer features or rows than n_atoms."""
    if n_atoms is None:
        return
    for name, what in (("n_features", "features"), ("n_samples", "rows of a task")):
        if n_atoms > shape[name]:
            raise ValueError(f"n_atoms = {n_atoms} is more than the {shape[name]} {what}.")


def small_problem() -> Problem:
    """Return a problem on which a package is tried before the first fit."""
    X = np.random.default_rng(0).standard_normal(_SMALL)
    return Problem((X,), (X[:, 0] + 0.1 * X[:, 1],))
