"""Errors of estimated coefficients and of their predictions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.core.registry import metric
from greedyexp.estimates.path import Path
from greedyexp.losses.squared import SquaredLoss
from greedyexp.metrics.support import truth_of
from greedyexp.problems.problem import Problem

# Largest relative distance of an estimate that counts as recovery.
_RECOVERED = 1e-3

_coefficients = partial(metric, of="path", requires=("truth",))
_residuals = partial(metric, of="path", predicts=True)


@_coefficients("frobenius_error", better="lower", title="Frobenius error")
def frobenius_error(problem: Problem, path: Path) -> np.ndarray:
    """||b - b*||_F, the Frobenius distance to the true coefficients."""
    return path.sparse.compared(truth_of(problem)).distance


@_coefficients("recovered", better="higher", binary=True, title="exact recovery")
def recovered(problem: Problem, path: Path) -> np.ndarray:
    """1 when ||b - b*||_F <= 1e-3 ||b*||_F, else 0; for data without noise."""
    truth = truth_of(problem)
    distance = path.sparse.compared(truth).distance
    return (distance <= _RECOVERED * np.sqrt((truth**2).sum())).astype(int)


@_residuals("training_error", better=None, title="training error", requires=("rows",))
def training_error(problem: Problem, path: Path) -> np.ndarray:
    """Mean over tasks of the mean squared residual on the training rows."""
    return _mean_squared_residual(problem.X, problem.y, path)


@_residuals("test_error", better="lower", title="test error", requires=("test_rows",))
def test_error(problem: Problem, path: Path) -> np.ndarray:
    """Mean over tasks of the mean squared residual on the test rows."""
    return _mean_squared_residual(problem.X_test, problem.y_test, path)


@metric("test_loss", better="lower", title="test loss", of="path", requires=("test_rows",))
def test_loss(problem: Problem, path: Path) -> np.ndarray:
    """Mean over the test rows of the loss that was minimised, without a penalty.

    For the loss ``poisson`` it is half of the mean deviance, for ``logistic`` and ``multinomial``
    the mean negative log-likelihood, for ``squared`` the mean squared residual.

    Raises
    ------
    DataError
        If the algorithm names no loss, or the loss is not a sum over single rows.
    """
    return path.row_losses(problem.X_test, problem.y_test).mean(axis=1)


def _mean_squared_residual(
    X: Sequence[np.ndarray], y: Sequence[np.ndarray], path: Path
) -> np.ndarray:
    if path.loss is not None and path.loss.scores:
        raise DataError(
            "squared residuals need predictions of the response, but those of this loss are scores"
            " of classes or logarithms of means.",
            remedy="Use test_loss, or a metric of classes, such as test_sign_error.",
        )
    errors = [
        ((yj - path.predictions(Xj, j)) ** 2).mean(axis=1)
        for j, (Xj, yj) in enumerate(zip(X, y, strict=True))
    ]
    return np.mean(errors, axis=0)


@_coefficients("relative_error", better="lower", title="relative error")
def relative_error(problem: Problem, path: Path) -> np.ndarray:
    """||b - bbar|| / ||bbar||, where bbar minimises the path's loss over the true support.

    Both norms exclude the dense coefficients of a loss. For an algorithm that names no loss, bbar
    is the least-squares fit, with intercepts if the path has some.
    Liu, Fujimaki & Ye (2014), Section 5.

    Raises
    ------
    DataError
        If bbar is zero, as without any true feature, and b is not.
    """
    best = _fit_on_true_support(problem, path)
    distance = path.sparse.compared(best).distance
    norm = np.sqrt((best**2).sum())
    if norm == 0.0 and distance.any():
        raise DataError(
            "relative_error is undefined: the best coefficients on the true support are all zero.",
            remedy="Use frobenius_error, or f_measure.",
        )
    return np.where(distance == 0, 0.0, distance / (norm or 1.0))


def _fit_on_true_support(problem: Problem, path: Path) -> np.ndarray:
    """Return the minimiser over the true support, shape (p, r)."""
    true = truth_of(problem) != 0
    if path.loss is not None:
        found = path.loss.minimise(np.flatnonzero(true))
        return found.params[: path.loss.size].reshape(true.shape)
    columns = [
        SquaredLoss(X, y, intercept=path.intercepts is not None)
        .minimise(np.flatnonzero(true[:, j]))
        .params
        for j, (X, y) in enumerate(zip(problem.X, problem.y, strict=True))
    ]
    return np.column_stack(columns)[: len(true)]
