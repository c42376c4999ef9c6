"""Was the support found? Success and error counts against the true coefficients."""

from __future__ import annotations

import numpy as np

from greedyexp.core.registry import metric
from greedyexp.problems.problem import Problem


@metric(
    "sign_support", better="higher", binary=True, title="exact sign support", requires=("truth",)
)
def sign_support(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """1 when every coefficient has the true sign (zero included), else 0."""
    return (np.sign(coef) == np.sign(problem.truth)).all(axis=(-2, -1)).astype(int)


@metric("support", better="higher", binary=True, title="exact support", requires=("truth",))
def support(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """1 when exactly the true entries are nonzero, else 0."""
    return ((coef != 0) == (problem.truth != 0)).all(axis=(-2, -1)).astype(int)


@metric("row_support", better="higher", binary=True, title="exact row support", requires=("truth",))
def row_support(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """1 when exactly the rows with a true nonzero have a nonzero, else 0."""
    found = (coef != 0).any(axis=-1)
    return (found == (problem.truth != 0).any(axis=-1)).all(axis=-1).astype(int)


@metric("false_positives", better="lower", title="false positives", requires=("truth",))
def false_positives(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """Number of nonzero entries that are truly zero."""
    return ((coef != 0) & (problem.truth == 0)).sum(axis=(-2, -1))


@metric("false_negatives", better="lower", title="false negatives", requires=("truth",))
def false_negatives(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """Number of zero entries that are truly nonzero."""
    return ((coef == 0) & (problem.truth != 0)).sum(axis=(-2, -1))
