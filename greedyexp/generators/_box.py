"""Features scaled into [-1, 1], where the theorems on accuracy and sparsity have them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from scipy import sparse

from greedyexp.problem import Problem

Box = Annotated[
    Literal["none", "features", "common"],
    Field(description="scale into [-1, 1]: each feature by its own largest size, or all by one"),
]


def scaled_to_box(problem: Problem, box: str) -> Problem:
    """The problem with features in [-1, 1] on the rows that are fitted to.

    Parameters
    ----------
    box : {"none", "features", "common"}
        Nothing is scaled; every feature is divided by its largest size, in each task; or all
        features of all tasks by one number. Centred features stay centred, and a feature that is
        zero everywhere stays so. Rows held out are divided by the same numbers, the truth and the
        start multiplied, so that predictions stay what they were.

    Returns
    -------
    Problem
        With the fact ``largest_feature``, the largest size of a feature before. The moments of a
        distribution are dropped when something is scaled.
    """
    sizes = _by_design(problem.X, _sizes)
    largest = max(float(size.max(initial=0.0)) for size in sizes)
    facts = {**problem.facts, "largest_feature": largest}
    if box == "none":
        return replace(problem, facts=facts)
    if box == "common":
        sizes = [np.full_like(size, largest) for size in sizes]
    factors = [np.where(size > 0.0, size, 1.0) for size in sizes]
    table = np.stack(factors, axis=1)
    return replace(
        problem,
        X=_divided(problem.X, factors),
        X_test=_divided(problem.X_test, factors),
        truth=None if problem.truth is None else problem.truth * table,
        start=None if problem.start is None else problem.start * table,
        facts=facts,
        moments=None,
    )


def _by_design(designs: tuple, tell) -> list:
    """What is told of each task's design, once for one that tasks share."""
    if all(X is designs[0] for X in designs):
        return [tell(designs[0])] * len(designs)
    return [tell(X) for X in designs]


def _sizes(X) -> np.ndarray:
    """Largest size of each feature, shape (p,)."""
    if sparse.issparse(X):
        return abs(X).max(axis=0).toarray().ravel()
    return np.abs(X).max(axis=0)


def _divided(designs: tuple, factors: list[np.ndarray]) -> tuple:
    """Each task's design by its factors; tasks that share a design share what it becomes."""
    if not designs:
        return ()
    if all(X is designs[0] for X in designs):
        return (_by(designs[0], factors[0]),) * len(designs)
    return tuple(_by(X, factor) for X, factor in zip(designs, factors, strict=True))


def _by(X, factor: np.ndarray):
    if not sparse.issparse(X):
        return X / factor
    scaled = X.copy()
    scaled.data = X.data / factor[X.indices]
    return scaled
