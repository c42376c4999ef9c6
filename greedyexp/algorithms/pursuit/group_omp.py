"""Orthogonal matching pursuit over rows: every task takes the same features."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.pursuit.omp import check_steps, pursuit_path
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem


def check(shape: dict, *, n_rows: int | None, **_) -> None:
    """Raise ValueError if n_rows exceeds the number of features."""
    check_steps(shape, "n_rows", n_rows)


@algorithm(
    "group_omp",
    title="Group OMP",
    paper="Tropp, Gilbert & Strauss (2006), Algorithm 3.1",
    requires=("multi_task",),
    check=check,
    stops=("n_rows",),
)
def group_omp(
    problem: Problem,
    *,
    n_rows: Annotated[
        int | None, Field(ge=1, description="maximum number of rows; default min(n, p) / 2")
    ] = None,
    judge: param.Judged = "coordinate",
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Group OMP: add the row that lowers the summed loss most, refit every task, repeat.

    Parameters
    ----------
    problem : Problem
        r tasks over p features.
    n_rows : int, optional
        Number of rows at which the path ends; by default half of min(n, p), with n the smallest
        number of samples of a task.
    judge : {"coordinate", "refit"}
        How rows are scored; see Notes.
    grid : dict with array ``n_rows``, optional
        Return one estimate for each number of rows, in this order.

    Returns
    -------
    Path
        Estimates with 0, 1, ... rows; ``objective`` is sum_j ||y_j - X_j b_j||^2 / (2 n_j). The
        path ends when no further row lowers it.

    Raises
    ------
    ConfigError
        If a number of rows is not a whole number >= 0, or n_rows is more than p.

    Notes
    -----
    The score of row i is sum_j (x_ij^T res_j)^2 / (2 n_j ||x_ij||^2), the loss decrease when only
    the coefficients of that row move; with ``judge: refit`` ||x_ij|| becomes the distance of x_ij
    from the span of the support, and the score is the decrease after a refit. The published
    simultaneous OMP, for a common design with unit columns, sums absolute correlations instead of
    squares. Among scores equal to a relative 1e-10 the lowest row wins. In a task where the column
    lies in the span of the support (squared sine below 1e-10) the entry stays zero while the other
    tasks take theirs; such entries are reported.

    References
    ----------
    J. A. Tropp, A. C. Gilbert, M. J. Strauss, Algorithms for simultaneous sparse approximation.
    Part I: Greedy pursuit, 2006.
    """
    param.enforce(check, problem, n_rows=n_rows)
    return pursuit_path(
        problem, "n_rows", n_rows, grid, together=True, normalize=True, refit=judge == "refit"
    )
