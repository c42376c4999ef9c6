"""Errors in labelling the words of chains."""

from __future__ import annotations

from functools import partial

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.core.registry import metric
from greedyexp.estimates.path import Path
from greedyexp.losses.loss import ChainLoss
from greedyexp.problems.chains import classes_of
from greedyexp.problems.problem import Problem

_training = partial(metric, better=None, requires=("chains",), of="path")
_held_out = partial(metric, better="lower", requires=("chains", "test_rows"), of="path")


@_training("training_word_error", title="training error of words")
def training_word_error(problem: Problem, path: Path) -> np.ndarray:
    """Share of the training words whose most probable label is wrong."""
    return wrong_words(problem, path, held_out=False).mean(axis=1)


@_held_out("test_word_error", title="test error of words")
def held_out_word_error(problem: Problem, path: Path) -> np.ndarray:
    """Share of the test words whose own most probable label is wrong."""
    return wrong_words(problem, path, held_out=True).mean(axis=1)


@_held_out("test_viterbi_error", title="test error of the best sequence")
def held_out_viterbi_error(problem: Problem, path: Path) -> np.ndarray:
    """Share of the test words labelled wrongly by the most probable sequence of labels."""
    return wrong_words(problem, path, held_out=True, how="viterbi").mean(axis=1)


def wrong_words(
    problem: Problem, path: Path, *, held_out: bool, how: str = "marginal"
) -> np.ndarray:
    """Return which words are decoded wrongly, shape (m, n).

    Parameters
    ----------
    how : {"marginal", "viterbi"}
        Decode the most probable label of each word, or the most probable sequence. Ties go to the
        lowest class.

    Raises
    ------
    DataError
        If the model of the path is not a model of chains.
    """
    if not isinstance(path.loss, ChainLoss):
        raise DataError(
            "errors of words need an algorithm with a model of chains.", remedy="Use 'loss: crf'."
        )
    X, chains = (
        (problem.X_test[0], problem.chains_test) if held_out else (problem.X[0], problem.chains)
    )
    labels = classes_of(problem.y_test if held_out else problem.y)
    decoded = [path.loss.decode(X, chains, point, how=how) for point in path.params]
    return np.stack(decoded) != labels
