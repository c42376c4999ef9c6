"""How far an estimate is from the true coefficients or from the responses."""

from __future__ import annotations

import numpy as np

from greedyexp.core.registry import metric
from greedyexp.problems.problem import Problem


@metric("frobenius_error", better="lower", title="Frobenius error", requires=("truth",))
def frobenius_error(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """||b - b*||_F, the Frobenius distance to the true coefficients."""
    return np.sqrt(((coef - problem.truth) ** 2).sum(axis=(-2, -1)))


@metric("training_error", better=None, title="training error", requires=("rows",))
def training_error(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """Mean over tasks of the mean squared residual on the rows fitted to."""
    return _mean_squared_residual(problem.X, problem.y, coef)


@metric("test_error", better="lower", title="test error", requires=("test_rows",))
def test_error(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """Mean over tasks of the mean squared residual on the rows held out."""
    return _mean_squared_residual(problem.X_test, problem.y_test, coef)


def _mean_squared_residual(X, y, coef: np.ndarray) -> np.ndarray:
    return np.mean(
        [
            ((yj - coef[..., j] @ Xj.T) ** 2).mean(axis=-1)
            for j, (Xj, yj) in enumerate(zip(X, y, strict=True))
        ],
        axis=0,
    )
