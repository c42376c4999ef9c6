"""Problems with centred or scaled columns, and coefficients in the original units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np
import scipy

from greedyexp.core.errors import DataError
from greedyexp.kernels.column_sums import column_sums
from greedyexp.problems.checks import Columns, constant_columns, is_sparse, require_memory
from greedyexp.problems.problem import Problem


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
        """Return coefficients (p, r) for features in their original units."""
        return coef / self.scales.T

    def intercepts(self, coef: np.ndarray) -> np.ndarray:
        """Return the intercepts (r,) of coefficients (p, r) in original units."""
        return self.shifts - (coef * self.means.T).sum(axis=-2)


def scaled(problem: Problem, *, centre: bool, scale: bool) -> tuple[Problem, Scaling]:
    """Centre the columns and the responses, or divide the columns by their standard deviations.

    Parameters
    ----------
    problem : Problem
        A problem with at least one row in each task. Means are weighted if its rows are, and the
        rows are then multiplied by the square roots of weights of mean 1: least squares on the
        result is weighted least squares.
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
    weights = problem.weights
    if weights is not None:
        weights = weights / weights.mean()
    made = [
        _scaled(X, known, weights, centre=centre, scale=scale)
        for X, known in zip(problem.designs, problem.columns, strict=False)
    ]
    X, means, scales = zip(*made * (problem.n_tasks // len(made)), strict=True)
    shifts = np.array([np.average(y, weights=weights) if centre else 0.0 for y in problem.y])
    y = tuple(values - shift for values, shift in zip(problem.y, shifts, strict=True))
    if weights is not None:
        y = tuple(np.sqrt(weights) * values for values in y)
    scaling = Scaling(np.stack(means), np.stack(scales), shifts, centre)
    return replace(problem, X=X, y=y, weights=None), scaling


class Standardised(NamedTuple):
    """Training and test rows, by what their columns were divided, and the constant columns."""

    fitted: np.ndarray
    held: np.ndarray
    scales: np.ndarray
    constant: np.ndarray


def standardised(fitted: np.ndarray, held: np.ndarray) -> Standardised:
    """Centre columns, and divide them by their standard deviations, on the training rows.

    A column that is constant on these rows up to rounding says nothing about its effect. It is zero
    in all rows, so that no method can select it, and its scale is 1.

    Parameters
    ----------
    fitted, held : arrays (n, p), (m, p)
        Training rows and test rows.
    """
    constant = constant_columns(fitted)
    centre, scales = fitted.mean(axis=0), fitted.std(axis=0)
    scales[constant] = 1.0
    fitted, held = (fitted - centre) / scales, (held - centre) / scales
    fitted[:, constant] = held[:, constant] = 0.0
    return Standardised(fitted, held, scales, constant)


def without_lost_columns(part: Problem, whole: Problem) -> Problem:
    """Set columns to zero that are constant on the rows of a part and vary on all rows.

    Otherwise, such a column would be an intercept on the part, and its coefficient would be applied
    to other values on the other rows.
    """
    made, changed = list(part.designs), False
    for j, (X, columns) in enumerate(zip(part.designs, part.columns, strict=False)):
        constant = constant_columns(X, columns)
        constant = constant[columns.largest[constant] > 0]
        lost = np.setdiff1d(constant, constant_columns(whole.designs[j], whole.columns[j]))
        if len(lost):
            made[j] = X = X.copy()
            changed = True
            if is_sparse(X):
                X.data[np.isin(X.indices, lost)] = 0.0
            else:
                X[:, lost] = 0.0
    return replace(part, X=tuple(made * (part.n_tasks // len(made)))) if changed else part


def _scaled(
    X: np.ndarray, known: Columns, weights: np.ndarray | None, *, centre: bool, scale: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a design with changed columns, what was subtracted, and by what it was divided.

    With weights (n,) of mean 1, the rows are multiplied by their square roots.
    """
    means, constant = known.mean, constant_columns(X, known)
    none, deviations = np.zeros(X.shape[1]), np.ones(X.shape[1])
    if weights is not None:
        means, roots = weights @ X / len(weights), np.sqrt(weights)
    if is_sparse(X):
        if scale:
            deviations = _sparse_deviations(X, means)
            deviations[constant] = 1.0
        data = X.data / deviations[X.indices]
        if weights is not None:
            data *= np.repeat(roots, np.diff(X.indptr))
        parts = (data, X.indices, X.indptr)
        return cast(np.ndarray, scipy.sparse.csr_array(parts, shape=X.shape)), none, deviations
    require_memory(8.0 * X.size, "a centred or scaled copy of X", "Give fewer rows or features.")
    changed = X - means
    if weights is not None:
        changed *= roots[:, None]
    if scale:
        deviations = np.sqrt(column_sums(changed)[2] / len(X))
        deviations[constant] = 1.0
    if not centre:
        np.divide(X, deviations, out=changed)
        return changed if weights is None else changed * roots[:, None], none, deviations
    changed[:, constant] = 0.0
    if scale:
        changed /= deviations
    return changed, means, deviations


def _sparse_deviations(X, means: np.ndarray) -> np.ndarray:
    """Return the standard deviations of the columns of a sparse design about these means."""
    n, p = X.shape
    stored = np.bincount(X.indices, minlength=p)
    squares = np.bincount(X.indices, (X.data - means[X.indices]) ** 2, minlength=p)
    return np.sqrt((squares + (n - stored) * means**2) / n)
