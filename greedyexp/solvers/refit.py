"""Verify least-squares fits made in Gram form against the data, and refit inaccurate ones."""

from __future__ import annotations

import numpy as np

from greedyexp.estimates.sparse import SparseEstimates
from greedyexp.kernels import gram_fit
from greedyexp.problems.checks import is_sparse
from greedyexp.problems.problem import Problem

# Largest correlation of a column of the support with the residual, relative to the norms of the
# column and the response, that a least-squares fit may leave.
_STATIONARY = 1e-9


def certify(
    problem: Problem, fits: SparseEstimates, loss: np.ndarray, smallest: np.ndarray | float
) -> tuple[SparseEstimates, np.ndarray, str]:
    """Verify the last, largest fit from a fresh residual; refit the tasks where it is inaccurate.

    Parameters
    ----------
    fits : SparseEstimates
        m fits along a path, the largest support last.
    loss : array (m,)
        Losses of the fits.
    smallest : array (r,) or float
        Smallest squared sine of the angle between a selected column and the span of the others, of
        each task. Below ``REFIT`` the Gram form has lost too many digits.

    Returns
    -------
    fits, loss
        The given ones, or new ones: all fits of these tasks are made again by a factorisation of
        the columns, and all losses are computed from the data.
    message : str
        Empty if the given fits are accurate.
    """
    last = fits.take([len(fits) - 1])
    designs, entries = problem.designs, last.entries
    if problem.sparse_design:
        features, tasks = np.divmod(entries, problem.n_tasks)
        used, column = np.unique(features, return_inverse=True)
        designs = tuple(dense_columns(X, used) for X in designs)
        entries = column * problem.n_tasks + tasks
    slopes = gram_fit.slopes(designs, problem.y, entries, last.values)
    accurate = (np.asarray(smallest) >= gram_fit.REFIT) & (slopes <= _STATIONARY)
    if accurate.all():
        return fits, loss, ""
    values, losses = fits.values.copy(), np.zeros((len(fits), problem.n_tasks))
    features, tasks = np.divmod(fits.entries, problem.n_tasks)
    by_task = np.argsort(tasks, kind="stable")
    starts = np.searchsorted(tasks[by_task], np.arange(problem.n_tasks + 1))
    for j, (X, y) in enumerate(zip(problem.X, problem.y, strict=True)):
        at = by_task[starts[j] : starts[j + 1]]
        used, column = np.unique(features[at], return_inverse=True)
        columns, owners = dense_columns(X, used), fits.owners[at]
        for k in () if accurate[j] else np.unique(owners):
            own = owners == k
            values[at[own]] = least_squares(columns[:, column[own]], y)
        coef = np.zeros((len(fits), len(used)))
        coef[owners, column] = values[at]
        losses[:, j] = ((y - coef @ columns.T) ** 2).sum(axis=1) / (2 * len(y))
    which = " of some tasks" if accurate.any() else ""
    message = f"nearly dependent columns: every fit{which} was redone from the design."
    return fits.with_values(values), losses.sum(axis=1), message


def dense_columns(X: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Return columns of a dense or sparse design as an array (n, k) in C order."""
    columns = X[:, features]
    return np.ascontiguousarray(columns.toarray() if is_sparse(columns) else columns)


def least_squares(columns: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the coefficients (k,) of the least-squares fit of y (n,) to columns (n, k)."""
    norms = np.linalg.norm(columns, axis=0)
    return np.linalg.lstsq(columns / norms, y, rcond=None)[0] / norms
