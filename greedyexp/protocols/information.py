"""A robust extended Bayesian information criterion: tuning by the training rows alone."""

from __future__ import annotations

import math

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.estimates.path import Path
from greedyexp.estimates.sparse import SparseEstimates
from greedyexp.problems.checks import constant_columns
from greedyexp.problems.problem import Problem


def least_criterion(path: Path, problem: Problem) -> int:
    """Return the index of the estimate whose support has the least criterion, the first on ties.

    Raises
    ------
    DataError
        If every estimate has more nonzero coefficients in a task than half of its rows.
    """
    values = criterion(path.sparse, problem, centre=path.intercepts is not None)
    if len(values) and np.isinf(values).all():
        raise DataError(
            "tuning 'ebic_robust': each estimate of the path has more nonzero coefficients in a"
            " task than half of its rows.",
            remedy="Use more rows, or a path that begins with fewer coefficients.",
        )
    return int(np.argmin(values)) if len(values) else 0


def criterion(estimates: SparseEstimates, problem: Problem, *, centre: bool = False) -> np.ndarray:
    """Return the robust extended Bayesian information criterion of supports.

    The criterion is the sum over tasks of

        n log(v) + k log(n / (2 pi)) + (k + 2) log(v0 / v) + 2 k log(p),

    where k is the number of selected coefficients of the task, n v its least sum of squared
    residuals on this support, n v0 the sum of squares of the response, and p the number of columns
    that are not zero (not constant, if the estimates have intercepts). It judges a support
    alone, not how an algorithm shrinks the coefficients, so it treats all algorithms alike. Unlike
    the extended criterion of Chen and Chen, it is consistent also for small noise and fixed n,
    where that one selects too much.

    Parameters
    ----------
    estimates : SparseEstimates
        m estimates. Only their supports are used.
    problem : Problem
        The training rows, n of them in a task.
    centre : bool
        Whether the estimates have intercepts, so that columns and responses are centred.

    Returns
    -------
    array (m,)
        Infinite if k > n / 2 in a task: the theory of the criterion needs supports that are small
        compared with n, and v approaches zero for others.

    Notes
    -----
    Minus twice the logarithm of the marginal likelihood of a support is, by Laplace's approximation
    and up to constants,

        n log(v) + log det F - k log(2 pi),

    where F is the Fisher information of the k coefficients and the variance: X^T X / v and
    n / (2 v^2). With responses in units of sqrt(v0), which makes the criterion invariant to their
    scale, log det F grows like k log(n) + (k + 2) log(v0 / v). The prior of a support is p^(-k),
    the paper's zeta = 1, which gives 2 k log(p).

    The formula, with v0 = y^T y / n, was checked against this derivation and against an independent
    implementation of the paper, not against the printed article. The sum over tasks is our own
    extension to several responses.

    References
    ----------
    P. B. Gohain, M. Jansson, Robust information criterion for model selection in sparse
    high-dimensional linear regression models, 2023, with zeta = 1.

    J. Chen, Z. Chen, Extended Bayesian information criteria for model selection with large model
    spaces, 2008.
    """
    total = np.zeros(len(estimates))
    r = problem.n_tasks
    for task, (X, y) in enumerate(zip(problem.X, problem.y, strict=True)):
        known = problem.columns[task]
        empty = len(constant_columns(X, known)) if centre else np.sum(known.largest == 0.0)
        response = y - y.mean() if centre else y
        usable = max(X.shape[1] - int(empty), 1)
        values: dict[bytes, float] = {}
        for k in range(len(estimates)):
            entries = estimates.support(k)
            support = entries[entries % r == task] // r
            key = support.tobytes()
            if key not in values:
                values[key] = _of_support(X, response, support, usable, centre)
            total[k] += values[key]
    return total


def _of_support(X, y: np.ndarray, support: np.ndarray, p: int, centre: bool) -> float:
    n, k = len(y), len(support)
    if 2 * k > n:
        return math.inf
    penalty = k * (math.log(n / (2 * math.pi)) + 2 * math.log(p))
    squares = float(y @ y)
    if squares == 0:
        return penalty
    residual = y
    if k:
        columns = X[:, support]
        columns = columns.toarray() if hasattr(columns, "toarray") else columns
        columns = columns - columns.mean(axis=0) if centre else columns
        norms = np.linalg.norm(columns, axis=0)
        columns = columns / np.where(norms > 0, norms, 1.0)
        residual = y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0]
    # A smaller residual is rounding error, whose logarithm is arbitrary.
    least = (n * np.finfo(float).eps) ** 2
    unexplained = math.log(max(float(residual @ residual) / squares, least))
    return (n - k - 2) * unexplained + n * math.log(squares / n) + penalty
