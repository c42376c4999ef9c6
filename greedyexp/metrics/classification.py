"""How well regressions on class indicators classify the rows held out.

A prediction is read on the scale of its task's response, from 0 at the lower of its two values to
1 at the higher. One against the rest decides for the class above 1/2; among all tasks the largest
prediction decides, the first of equals.
"""

from __future__ import annotations

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.core.registry import metric
from greedyexp.problems.problem import Problem

NEEDS = ("test_rows", "labels")


@metric("one_vs_rest_error", better="lower", title="one-against-rest error", requires=NEEDS)
def one_vs_rest_error(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """Mean over tasks of the share of test rows on the wrong side of the midpoint."""
    return _task_errors(problem, coef).mean(axis=-1)


@metric(
    "one_vs_rest_variance",
    better=None,
    title="variance of the one-against-rest error",
    requires=(*NEEDS, "multi_task"),
)
def one_vs_rest_variance(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """Variance over the r tasks of their one-against-rest errors, with divisor r - 1."""
    return _task_errors(problem, coef).var(axis=-1, ddof=1)


@metric(
    "argmax_error",
    better="lower",
    title="classification error",
    requires=(*NEEDS, "multi_task"),
)
def argmax_error(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """Share of test rows whose largest prediction is not that of their class."""
    wrong, _ = wrong_rows(problem, coef)
    return wrong.mean(axis=-1)


@metric(
    "argmax_variance",
    better=None,
    title="variance of the classification error",
    requires=(*NEEDS, "multi_task"),
)
def argmax_variance(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """Variance over the r classes of the error on the rows of each, with divisor r - 1."""
    wrong, labels = wrong_rows(problem, coef)
    errors = [wrong[..., labels == task].mean(axis=-1) for task in range(problem.n_tasks)]
    return np.stack(errors, axis=-1).var(axis=-1, ddof=1)


def _task_errors(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """Share of wrongly decided test rows of each task, shape (..., r)."""
    errors = [
        ((_score(problem, coef, task) > 0.5) != (_truth(problem, task) > 0.5)).mean(axis=-1)
        for task in range(problem.n_tasks)
    ]
    return np.stack(errors, axis=-1)


def wrong_rows(problem: Problem, coef: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether each test row is wrongly classified, shape (..., n), and its class, shape (n,).

    Raises
    ------
    DataError
        When tasks do not share the test rows, or these are not of one class each, all met.
    """
    if any(X is not problem.X_test[0] for X in problem.X_test):
        raise DataError("the classes of a row can be compared only when all tasks share the rows.")
    members = np.stack([_truth(problem, task) > 0.5 for task in range(problem.n_tasks)])
    if (members.sum(axis=0) != 1).any() or not members.any(axis=1).all():
        raise DataError("every test row must be of one class, and every class must have one.")
    labels = members.argmax(axis=0)
    scores = [_score(problem, coef, task) for task in range(problem.n_tasks)]
    return np.argmax(scores, axis=0) != labels, labels


def _score(problem: Problem, coef: np.ndarray, task: int) -> np.ndarray:
    """Predictions for the test rows of a task, shape (..., n)."""
    return _on_scale(problem, task, coef[..., task] @ problem.X_test[task].T)


def _truth(problem: Problem, task: int) -> np.ndarray:
    return _on_scale(problem, task, problem.y_test[task])


def _on_scale(problem: Problem, task: int, values: np.ndarray) -> np.ndarray:
    """Values such that the two of the response fitted to are 0 and 1."""
    low, high = problem.y[task].min(), problem.y[task].max()
    if not low < high:
        raise DataError(f"the response of task {task} is constant: there are no two classes.")
    return (values - low) / (high - low)
