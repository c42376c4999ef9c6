"""Error and share of every class on the rows held out, and what classes and features are called."""

from __future__ import annotations

import numpy as np

from greedyexp.estimates.path import Path
from greedyexp.metrics.classification import labels_of, row_errors, wrong_rows
from greedyexp.metrics.word_errors import wrong_words
from greedyexp.problems.chains import classes_of
from greedyexp.problems.problem import Problem


def class_errors(problem: Problem, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Mean error on the test rows of each class, and its share of these rows.

    Of chains the share of words whose most probable label is wrong; of one response with labels
    -1 and 1 by the sign of the margin, where 0 counts half; of several responses, indicators of
    their classes, by the largest prediction.

    Returns
    -------
    errors : array (m, classes)
        In [0, 1]; nan for a class without rows.
    shares : array (classes,)
        They sum to 1.

    Raises
    ------
    DataError
        When the responses are no classes, or the algorithm has no model of chains.
    """
    if problem.chains_test is not None:
        labels = classes_of(problem.y_test)
        wrong, count = wrong_words(problem, path, held_out=True), problem.n_tasks
    elif problem.n_tasks == 1:
        labels = (labels_of(problem, held_out=True) > 0).astype(int)
        wrong, count = row_errors(problem, path, held_out=True), 2
    else:
        wrong, labels = wrong_rows(problem, path.coef)
        count = problem.n_tasks
    members = (labels == np.arange(count)[:, None]).astype(float)
    with np.errstate(invalid="ignore"):
        # Shares, not whether any row is wrong, which a product of truth values would be.
        errors = wrong.astype(float) @ members.T / members.sum(axis=1)
    return errors, members.mean(axis=1)


def class_labels(problem: Problem) -> list[str]:
    """What the classes are called: -1 and 1 of one response, else their names or numbers from 0."""
    if problem.n_tasks == 1:
        return ["-1", "1"]
    return list(problem.class_names) or [str(task) for task in range(problem.n_tasks)]


def feature_labels(problem: Problem) -> list[str]:
    """What the features are called: their names, or numbers from 0."""
    return list(problem.feature_names) or [str(i) for i in range(problem.n_features)]
