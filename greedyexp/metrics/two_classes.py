"""How well the sign of a margin tells two classes, -1 and 1, apart; by two readings of a zero.

The margin of a row is its prediction, the intercept included. A row without any selected feature
has margin 0 when there is no intercept: it counts half an error, or as the class of most training
rows.
"""

from __future__ import annotations

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.core.registry import metric
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem

LABELLED = ("labels", "one_response")
HELD_OUT = ("test_rows", *LABELLED)


@metric(
    "training_sign_error",
    better=None,
    title="training error, ties half",
    requires=LABELLED,
    of="path",
)
def training_sign_error(problem: Problem, path: Path) -> np.ndarray:
    """Mean of |sign(margin) - y| / 2 over the rows fitted to."""
    return row_errors(problem, path, held_out=False).mean(axis=1)


@metric(
    "test_sign_error", better="lower", title="test error, ties half", requires=HELD_OUT, of="path"
)
def held_out_sign_error(problem: Problem, path: Path) -> np.ndarray:
    """Mean of |sign(margin) - y| / 2 over the rows held out."""
    return row_errors(problem, path, held_out=True).mean(axis=1)


@metric(
    "training_majority_error",
    better=None,
    title="training error, ties to the majority",
    requires=LABELLED,
    of="path",
)
def training_majority_error(problem: Problem, path: Path) -> np.ndarray:
    """Share of wrong rows among those fitted to; margin 0 means the class of most of them.

    Of two classes with as many training rows it means -1.
    """
    return row_errors(problem, path, held_out=False, tie=_majority(problem)).mean(axis=1)


@metric(
    "test_majority_error",
    better="lower",
    title="test error, ties to the majority",
    requires=HELD_OUT,
    of="path",
)
def held_out_majority_error(problem: Problem, path: Path) -> np.ndarray:
    """Share of wrong rows among those held out; margin 0 means the class of most training rows.

    Of two classes with as many training rows it means -1.
    """
    return row_errors(problem, path, held_out=True, tie=_majority(problem)).mean(axis=1)


def row_errors(problem: Problem, path: Path, *, held_out: bool, tie: int = 0) -> np.ndarray:
    """How wrong every row is, shape (m, n): 0, 1, or 1/2 where margin and ``tie`` are 0.

    Parameters
    ----------
    tie : {-1, 0, 1}
        What a margin of 0 is taken for.

    Raises
    ------
    DataError
        When the problem has several tasks, or labels other than -1 and 1.
    """
    labels = labels_of(problem, held_out=held_out)
    X = problem.X_test[0] if held_out else problem.X[0]
    margins = (X @ path.coef[:, :, 0].T).T
    if path.dense is not None and path.dense.size:
        margins = margins + path.dense
    decided = np.sign(margins)
    decided[decided == 0] = tie
    return np.abs(decided - labels) / 2


def labels_of(problem: Problem, *, held_out: bool) -> np.ndarray:
    """The labels (n,) of the rows fitted to or held out.

    Raises
    ------
    DataError
        When there are several responses, or a label is neither -1 nor 1.
    """
    if problem.n_tasks != 1:
        raise DataError(
            f"an error of two classes needs one response but the data have {problem.n_tasks}."
        )
    labels = (problem.y_test if held_out else problem.y)[0]
    others = labels[np.abs(labels) != 1]
    if others.size:
        raise DataError(
            f"an error of two classes needs labels -1 and 1 but a row has {others[0]:g}.",
            remedy="Recode the response.",
        )
    return labels


def _majority(problem: Problem) -> int:
    return 1 if labels_of(problem, held_out=False).sum() > 0 else -1
