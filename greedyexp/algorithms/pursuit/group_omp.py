"""Orthogonal matching pursuit over rows: every task takes the same features."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.algorithms._limits import enforce
from greedyexp.algorithms.pursuit._judged import Judged
from greedyexp.algorithms.pursuit.omp import pursuit_path, refuse_more_than_features
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem


def check(shape: dict, *, n_rows: int | None, **_) -> None:
    """Refuse more rows than features.

    Raises
    ------
    ValueError
        With a sentence.
    """
    refuse_more_than_features(shape, "n_rows", n_rows)


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
        int | None, Field(ge=1, description="most rows; default min(n, p) / 2")
    ] = None,
    judge: Judged = "coordinate",
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Group OMP: add the row that lowers the summed loss most, refit every task, repeat.

    Parameters
    ----------
    problem : Problem
        r tasks over p features.
    n_rows : int, optional
        Where the path ends; default half of the smaller of p and the least number of rows of data.
    judge : {"coordinate", "refit"}
        What scores a row: see Notes.
    grid : dict with array ``n_rows``, optional
        Return one estimate for each number of rows, in this order.

    Returns
    -------
    Path
        Estimates with 0, 1, ... rows; ``objective`` is sum_j ||y_j - X_j b_j||^2 / (2 n_j). A path
        that nothing improves further ends there.

    Raises
    ------
    ConfigError
        When a number of rows is not a whole number >= 0, or n_rows is more than p.

    Notes
    -----
    The score of row i is sum_j (x_ij^T res_j)^2 / (2 n_j ||x_ij||^2), the loss decrease when only
    the coefficients of that row move; with ``judge`` refit ||x_ij|| becomes the distance of x_ij
    from the span of the support, and the score the decrease after a refit. The published
    simultaneous OMP, for a common design with unit columns, sums absolute correlations instead of
    squares. Scores equal to a relative 1e-10 go to the lowest row. In a task where the column lies
    in the span of the support (squared sine below 1e-10) the entry stays zero while the other tasks
    take theirs; such entries are reported.

    References
    ----------
    J. A. Tropp, A. C. Gilbert, M. J. Strauss, Algorithms for simultaneous sparse approximation.
    Part I: Greedy pursuit, 2006.
    """
    enforce(check, problem, n_rows=n_rows)
    return pursuit_path(
        problem, "n_rows", n_rows, grid, together=True, normalize=True, refit=judge == "refit"
    )
