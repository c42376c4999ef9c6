"""Parts shared by the iterative methods on least squares: checked arrays and compiled steps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from greedyexp.algorithms._equal_columns import equal_columns, equalise
from greedyexp.algorithms._parameters import enforce
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.core.registry import algorithm
from greedyexp.estimates.iteration import Iteration
from greedyexp.kernels.coordinate_descent import Descent
from greedyexp.problems.problem import Problem
from greedyexp.theory.spectrum import checked_design

# The Gram matrix (at most 32 MB) is kept up to this number of features. It costs as much as p
# steps; each step then costs p instead of n p.
_MOST_GRAM_FEATURES = 2048


def check_single_task(shape: dict, **_) -> None:
    """Raise ValueError if there are several tasks."""
    if shape["n_tasks"] > 1:
        raise ValueError(f"this method takes one task; the data have {shape['n_tasks']}.")


# The decorator of an iterative method.
iterative = partial(algorithm, yields="iterates", check=check_single_task)


@dataclass(frozen=True)
class Task:
    """The arrays of a problem with one task.

    Parameters
    ----------
    design : array (n, p)
        P.
    response : array (n,)
        y.
    start : array (p,)
        The first estimate.
    """

    design: np.ndarray
    response: np.ndarray
    start: np.ndarray


def single_task(problem: Problem) -> Task:
    """Return the arrays of a problem with one task, after a check.

    A column of zeros is allowed. Its coefficient does not enter the loss: without a penalty it does
    not change, with a penalty it shrinks to zero.

    Raises
    ------
    ConfigError
        If there are several tasks.
    DataError
        If the data are not finite, have entries whose squares overflow, or have a design of zeros,
        for which no step length is defined.
    """
    enforce(check_single_task, problem)
    design = np.ascontiguousarray(problem.X[0], dtype=float)
    response = np.ascontiguousarray(problem.y[0], dtype=float)
    p = design.shape[1]
    start = np.zeros(p)
    if problem.start is not None:
        start = np.array(problem.start, dtype=float).reshape(-1)
        if start.shape != (p,):
            raise DataError(f"the start has {start.size} coefficients; the data need {p}.")
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite((design**2).sum()) and np.isfinite(response @ response)
    if not (finite and np.isfinite(start).all()):
        raise DataError("the data hold values that are not finite, or too large to be squared.")
    if not design.any():
        raise DataError(
            "all columns of the design are zero, so no step length is defined.",
            remedy="Give a design with at least one nonzero entry.",
        )
    return Task(checked_design(design), response, start)


def checked_lam(lam: float) -> float:
    """Return the weight of the penalty; raise ConfigError if it is negative or not finite."""
    if not (np.isfinite(lam) and lam >= 0):
        raise ConfigError(f"lam must be at least 0 and finite; it is {lam}.")
    return float(lam)


class CompiledIteration(Iteration):
    """An iteration whose steps are compiled.

    Parameters
    ----------
    task : Task
    rule : int
        The kind of step, a constant of ``kernels.coordinate_descent``.
    lam : float >= 0
    smoothness : float > 0
        Steps have length 1 / smoothness.
    gram : bool
        Whether to keep the Gram matrix if it is small enough; for rules that move few coordinates
        in a step.
    """

    def __init__(self, task: Task, rule: int, lam: float, smoothness: float, *, gram: bool):
        p = task.design.shape[1]
        kept = gram and p <= _MOST_GRAM_FEATURES
        self.lam = lam
        self._rule = rule
        self._descent = Descent(
            np.ascontiguousarray(task.design.T),
            _gram(task.design) if kept else np.empty((0, 0)),
            task.response,
            lam,
            float(smoothness),
            task.start,
        )

    @property
    def coef(self) -> np.ndarray:
        return self._descent.coef.copy()

    @property
    def objective(self) -> float:
        return self._descent.objective()

    def advance(self, until: int, target: float = -np.inf) -> None:
        self._descent.descend(self._rule, until, target)
        self._read_counts()

    def watch(self, inside: np.ndarray) -> None:
        self._descent.watch(~np.asarray(inside, dtype=bool))
        self._read_counts()

    def _read_counts(self) -> None:
        self.iteration = self._descent.iteration
        self.last_outside = self._descent.last_outside


def _gram(design: np.ndarray) -> np.ndarray:
    """Return P^T P / n, in which equal columns have equal entries.

    Derivatives are updated with this matrix; equal entries preserve ties between equal columns.
    """
    gram = design.T @ design / len(design)
    equalise(gram, equal_columns(design.T))
    return gram
