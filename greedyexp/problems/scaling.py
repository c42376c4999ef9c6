"""Problems with centred or scaled columns, and coefficients in the original units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import scipy

from greedyexp.core.errors import DataError
from greedyexp.kernels.column_sums import column_sums
from greedyexp.problems.checks import Columns, is_sparse, require_memory
from greedyexp.problems.problem import Problem

# A column may be constant if its variance is at most this fraction of its mean square.
_SMALL_VARIANCE = 1e-10
# Entries of a column that differ by at most this fraction of the largest differ by rounding.
_ROUNDING = 4.0 * np.finfo(float).eps


@dataclass(frozen=True)
class Scaling:
    """What was subtracted from the columns of a problem, and by what they were divided.

    Parameters
    ----------
    means, scales : arrays (r, p)
        Of the features of each task.
    shifts : array (r,)
        Means of the responses.
    centred : bool
        Whether columns and responses were centred; otherwise ``means`` and ``shifts`` are zero.
    """

    means: np.ndarray
    scales: np.ndarray
    shifts: np.ndarray
    centred: bool

    def original(self, coef: np.ndarray) -> np.ndarray:
        """Return coefficients (..., p, r) for features in their original units."""
        return coef / self.scales.T

    def intercepts(self, coef: np.ndarray) -> np.ndarray:
        """Return the intercepts (..., r) of coefficients (..., p, r) in original units."""
        return self.shifts - (coef * self.means.T).sum(axis=-2)


def scaled(problem: Problem, *, centre: bool, scale: bool) -> tuple[Problem, Scaling]:
    """Centre the columns and the responses, or divide the columns by their standard deviations.

    Parameters
    ----------
    problem : Problem
        A problem with at least one row in each task.
    centre : bool
        Subtract the mean of each column and of each response. Least squares on the result is least
        squares with an intercept, which is not penalised.
    scale : bool
        Divide each column by its standard deviation about its mean, with divisor n. A column that
        is constant up to rounding is divided by 1.

    Returns
    -------
    problem : Problem
        A shared design stays shared. A constant column that is centred becomes exactly zero.
    scaling : Scaling

    Raises
    ------
    DataError
        If a sparse design is to be centred, or the copy does not fit into the free memory.
    """
    if centre and problem.sparse_design:
        raise DataError(
            "a sparse design is not centred, which would fill it with numbers.",
            remedy="Give X.toarray(), or fit without an intercept.",
        )
    made = [
        _scaled(X, known, centre=centre, scale=scale)
        for X, known in zip(problem.designs, problem.columns, strict=False)
    ]
    X, means, scales = zip(*made * (problem.n_tasks // len(made)), strict=True)
    shifts = np.array([y.mean() if centre else 0.0 for y in problem.y])
    y = tuple(values - shift for values, shift in zip(problem.y, shifts, strict=True))
    scaling = Scaling(np.stack(means), np.stack(scales), shifts, centre)
    return replace(problem, X=X, y=y if centre else problem.y), scaling


def _scaled(
    X: np.ndarray, known: Columns, *, centre: bool, scale: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a design with changed columns, what was subtracted, and by what it was divided."""
    means, constant = known.mean, _constant_columns(X, known)
    none, deviations = np.zeros(X.shape[1]), np.ones(X.shape[1])
    if is_sparse(X):
        deviations = _sparse_deviations(X, means)
        deviations[constant] = 1.0
        parts = (X.data / deviations[X.indices], X.indices, X.indptr)
        return cast(np.ndarray, scipy.sparse.csr_array(parts, shape=X.shape)), none, deviations
    require_memory(8.0 * X.size, "a centred or scaled copy of X", "Give fewer rows or features.")
    changed = X - means
    if scale:
        deviations = np.sqrt(column_sums(changed)[2] / len(X))
        deviations[constant] = 1.0
    if not centre:
        return np.divide(X, deviations, out=changed), none, deviations
    changed[:, constant] = 0.0
    if scale:
        changed /= deviations
    return changed, means, deviations


def _constant_columns(X: np.ndarray, known: Columns) -> np.ndarray:
    """Return the indices of the columns whose entries are equal up to rounding."""
    near = np.flatnonzero(known.square - known.mean**2 <= _SMALL_VARIANCE * known.square)
    # One by one, to avoid a copy of the design.
    columns = (X[:, [j]].toarray() if is_sparse(X) else X[:, j] for j in near)
    spread = np.array([np.ptp(column) for column in columns])
    return near[spread <= _ROUNDING * known.largest[near]]


def _sparse_deviations(X, means: np.ndarray) -> np.ndarray:
    """Return the standard deviations of the columns of a sparse design about these means."""
    n, p = X.shape
    stored = np.bincount(X.indices, minlength=p)
    squares = np.bincount(X.indices, (X.data - means[X.indices]) ** 2, minlength=p)
    return np.sqrt((squares + (n - stored) * means**2) / n)
