"""Errors of classification.

Regressions on class indicators: a prediction is rescaled to 0 at the lower of the two values of
its task's response and 1 at the higher. The score of a loss of labels is rescaled so that -1 and 1
become 0 and 1. One-against-rest predicts the class if the result is above 1/2. The classification
error predicts the class with the largest prediction, the first if tied.

Two classes, -1 and 1: the predicted class is the sign of the margin, which is the prediction of a
row with its intercept. Without an intercept, a row without any selected feature has margin 0. It
counts as half an error, or is assigned to the class of most training rows.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.core.registry import metric
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem

_LABELLED_TEST = ("test_rows", "labels")
_SEVERAL_CLASSES = (*_LABELLED_TEST, "multi_task")
_TWO_CLASSES = ("labels", "one_response")
_TWO_CLASSES_TEST = ("test_rows", *_TWO_CLASSES)

_predicted = partial(metric, better="lower", of="path", share_of_rows=True)
_variance = partial(metric, better=None, requires=_SEVERAL_CLASSES, of="path")
_training = partial(metric, better=None, requires=_TWO_CLASSES, of="path")
_held_out = partial(
    metric, better="lower", requires=_TWO_CLASSES_TEST, of="path", share_of_rows=True
)


@_predicted("one_vs_rest_error", title="one-against-rest error", requires=_LABELLED_TEST)
def one_vs_rest_error(problem: Problem, path: Path) -> np.ndarray:
    """Mean over tasks of the share of test rows on the wrong side of the midpoint."""
    return _task_errors(problem, path).mean(axis=-1)


@_variance("one_vs_rest_variance", title="variance of the one-against-rest error")
def one_vs_rest_variance(problem: Problem, path: Path) -> np.ndarray:
    """Variance over the r tasks of their one-against-rest errors, with divisor r - 1."""
    return _task_errors(problem, path).var(axis=-1, ddof=1)


@_predicted("argmax_error", title="classification error", requires=_SEVERAL_CLASSES)
def argmax_error(problem: Problem, path: Path) -> np.ndarray:
    """Share of test rows for which the largest prediction is not that of the row's class."""
    wrong, _ = wrong_rows(problem, path)
    return wrong.mean(axis=-1)


@_variance("argmax_variance", title="variance of the classification error")
def argmax_variance(problem: Problem, path: Path) -> np.ndarray:
    """Variance over the r classes of the error on the rows of each, with divisor r - 1."""
    wrong, labels = wrong_rows(problem, path)
    errors = [wrong[..., labels == task].mean(axis=-1) for task in range(problem.n_tasks)]
    return np.stack(errors, axis=-1).var(axis=-1, ddof=1)


def _task_errors(problem: Problem, path: Path) -> np.ndarray:
    """Return the share of wrongly classified test rows of each task, shape (..., r)."""
    errors = [
        ((_score(problem, path, task) > 0.5) != (_truth(problem, task) > 0.5)).mean(axis=-1)
        for task in range(problem.n_tasks)
    ]
    return np.stack(errors, axis=-1)


def wrong_rows(problem: Problem, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return which test rows are misclassified, shape (..., n), and their classes, shape (n,).

    Raises
    ------
    DataError
        If the tasks do not share the test rows, a row has no class or several, or a class has no
        row.
    """
    if any(X is not problem.X_test[0] for X in problem.X_test):
        raise DataError("the classes of a row can be compared only if all tasks share the rows.")
    members = np.stack([_truth(problem, task) > 0.5 for task in range(problem.n_tasks)])
    if (members.sum(axis=0) != 1).any() or not members.any(axis=1).all():
        raise DataError("every test row must belong to one class, and every class needs a row.")
    labels = members.argmax(axis=0)
    scores = [_score(problem, path, task) for task in range(problem.n_tasks)]
    return np.argmax(scores, axis=0) != labels, labels


def _score(problem: Problem, path: Path, task: int) -> np.ndarray:
    """Return the rescaled predictions for the test rows of a task, shape (m, n)."""
    predicted = path.predictions(problem.X_test[task], task)
    if path.loss is not None and path.loss.scores:
        return (predicted + 1) / 2
    return _rescaled(problem, task, predicted)


def _truth(problem: Problem, task: int) -> np.ndarray:
    return _rescaled(problem, task, problem.y_test[task])


def _rescaled(problem: Problem, task: int, values: np.ndarray) -> np.ndarray:
    """Rescale values so that the two values of the training response become 0 and 1."""
    low, high = problem.y[task].min(), problem.y[task].max()
    if not low < high:
        raise DataError(f"the response of task {task} is constant: there are no two classes.")
    return (values - low) / (high - low)


@_training("training_sign_error", title="training error, ties half")
def training_sign_error(problem: Problem, path: Path) -> np.ndarray:
    """Mean of |sign(margin) - y| / 2 over the training rows."""
    return row_errors(problem, path, held_out=False).mean(axis=1)


@_held_out("test_sign_error", title="test error, ties half")
def held_out_sign_error(problem: Problem, path: Path) -> np.ndarray:
    """Mean of |sign(margin) - y| / 2 over the test rows."""
    return row_errors(problem, path, held_out=True).mean(axis=1)


@_training("training_majority_error", title="training error, ties to the majority")
def training_majority_error(problem: Problem, path: Path) -> np.ndarray:
    """Share of misclassified training rows; margin 0 is assigned to the larger training class.

    If both classes have equally many training rows, it is assigned to -1.
    """
    return row_errors(problem, path, held_out=False, tie=_majority(problem)).mean(axis=1)


@_held_out("test_majority_error", title="test error, ties to the majority")
def held_out_majority_error(problem: Problem, path: Path) -> np.ndarray:
    """Share of misclassified test rows; margin 0 is assigned to the larger training class.

    If both classes have equally many training rows, it is assigned to -1.
    """
    return row_errors(problem, path, held_out=True, tie=_majority(problem)).mean(axis=1)


def row_errors(problem: Problem, path: Path, *, held_out: bool, tie: int = 0) -> np.ndarray:
    """Return the error of every row, shape (m, n): 0, 1, or 1/2 if margin and ``tie`` are 0.

    Parameters
    ----------
    tie : {-1, 0, 1}
        Sign assigned to a margin of 0.

    Raises
    ------
    DataError
        If the problem has several tasks, or labels other than -1 and 1.
    """
    labels = labels_of(problem, held_out=held_out)
    X = problem.X_test[0] if held_out else problem.X[0]
    decided = np.sign(path.predictions(X, 0))
    decided[decided == 0] = tie
    return np.abs(decided - labels) / 2


def labels_of(problem: Problem, *, held_out: bool) -> np.ndarray:
    """Return the labels (n,) of the test rows if ``held_out``, else of the training rows.

    Raises
    ------
    DataError
        If there are several responses, or a label is neither -1 nor 1.
    """
    if problem.n_tasks != 1:
        raise DataError(
            f"an error of two classes needs one response, but the data have {problem.n_tasks}."
        )
    labels = (problem.y_test if held_out else problem.y)[0]
    others = labels[np.abs(labels) != 1]
    if others.size:
        raise DataError(
            f"an error of two classes needs labels -1 and 1, but a row has {others[0]:g}.",
            remedy="Recode the response.",
        )
    return labels


def _majority(problem: Problem) -> int:
    return 1 if labels_of(problem, held_out=False).sum() > 0 else -1
