"""How near an estimate is to the best one that knows the true support."""

from __future__ import annotations

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.core.registry import metric
from greedyexp.estimates.path import Path
from greedyexp.losses.squared import SquaredLoss
from greedyexp.problems.problem import Problem


@metric("f_measure", better="higher", title="F-measure", requires=("truth",))
def f_measure(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """2 |F and F*| / (|F| + |F*|) of the nonzero entries F and the true ones F*; 1 without any.

    The harmonic mean of precision and recall, in [0, 1]. Liu, Fujimaki & Ye (2014), Section 5.
    """
    found, true = coef != 0, problem.truth != 0
    both = (found & true).sum(axis=(-2, -1))
    sizes = found.sum(axis=(-2, -1)) + true.sum()
    return np.where(sizes == 0, 1.0, 2.0 * both / np.maximum(sizes, 1))


@metric("relative_error", better="lower", title="relative error", requires=("truth",), of="path")
def relative_error(problem: Problem, path: Path) -> np.ndarray:
    """||b - bbar|| / ||bbar||, where bbar minimises the path's loss over the true support.

    The dense coefficients of a loss are left out of both norms. An algorithm that names no loss is
    compared with least squares. Liu, Fujimaki & Ye (2014), Section 5.

    Raises
    ------
    DataError
        When bbar is zero, as without any true feature, and b is not.
    """
    best = _on_true_support(problem, path)
    distance = np.sqrt(((path.coef - best) ** 2).sum(axis=(-2, -1)))
    norm = np.sqrt((best**2).sum())
    if norm == 0.0 and distance.any():
        raise DataError(
            "relative_error is of no meaning here: the best coefficients on the true support are "
            "all zero.",
            remedy="Use frobenius_error, or f_measure.",
        )
    return np.where(distance == 0, 0.0, distance / (norm or 1.0))


def _on_true_support(problem: Problem, path: Path) -> np.ndarray:
    """The minimiser over the true support, shape (p, r)."""
    true = problem.truth != 0
    if path.loss is not None:
        found = path.loss.minimise(np.flatnonzero(true))
        return found.params[: path.loss.size].reshape(true.shape)
    columns = [
        SquaredLoss(X, y).minimise(np.flatnonzero(true[:, j])).params
        for j, (X, y) in enumerate(zip(problem.X, problem.y, strict=True))
    ]
    return np.column_stack(columns)
