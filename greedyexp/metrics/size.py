"""How much an estimate selects."""

from __future__ import annotations

import numpy as np

from greedyexp.problem import Problem
from greedyexp.registry import metric


@metric("support_size", better=None, title="support size")
def support_size(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """Number of nonzero entries over all tasks."""
    return (coef != 0).sum(axis=(-2, -1))


@metric("row_support_size", better=None, title="row support size")
def row_support_size(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """Number of rows with a nonzero entry in some task."""
    return (coef != 0).any(axis=-1).sum(axis=-1)
