"""The selection protocol: the errors of single classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from selection_lab import path_of, problem_of, select

from greedyexp.core.errors import DataError
from greedyexp.losses.crf import CrfLoss
from greedyexp.problems.problem import Problem


def classes_problem(**more) -> Problem:
    X_test = np.zeros((5, 6))
    X_test[:, 1] = [1.0, -1.0, 1.0, 0.0, 2.0]
    y_test = np.array([1.0, 1.0, -1.0, -1.0, 1.0])
    y = np.repeat([-1.0, 1.0], 4)
    more = {"X_test": (X_test,), "y_test": (y_test,), **more}
    return replace(problem_of(), y=(y,), **more)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_each_of_two_classes_has_its_error(kind):
    problem = classes_problem(X_test=(kind(classes_problem().X_test[0]),))
    found = select(path_of((), (1,)), problem, sizes=[1], classes_at=[0, 1])
    errors = {
        (row["size"], row["class"]): row["class_error"]
        for row in found.rows
        if row["record"] == "class"
    }
    # Margins (1, -1, 1, 0, 2) for labels (1, 1, -1, -1, 1); a margin of 0 counts half.
    expected = {(0, "-1"): 0.5, (0, "1"): 0.5, (1, "-1"): 0.75, (1, "1"): 1 / 3}
    assert errors == pytest.approx(expected)
    assert [row["class_share"] for row in found.rows[1:]] == [0.4, 0.6] * 2


def test_a_class_that_no_row_held_out_is_of_has_no_error():
    found = select(
        path_of((), (1,)), classes_problem(y_test=(np.ones(5),)), sizes=[1], classes_at=[1]
    )
    assert [row["class_error"] for row in found.rows[1:]] == [None, pytest.approx(0.3)]
    assert [row["class_share"] for row in found.rows[1:]] == [0.0, 1.0]


class Decoder(CrfLoss):
    """The last coefficients are the labels."""

    def __init__(self):
        pass

    def decode(self, X, chains, params, how="marginal"):
        return params[-len(X) :].astype(int)


def test_each_class_of_chains_has_its_share_of_wrong_words():
    labels = np.array([0, 2, 2, 1, 2, 1, 2])
    X_test = np.zeros((7, 6))
    problem = problem_of(
        3,
        X_test=(X_test,) * 3,
        y_test=tuple((labels == k).astype(float) for k in range(3)),
        chains=np.array([8]),
        chains_test=np.array([3, 4]),
        class_names=("rest", "walk", "sleep"),
    )
    path = path_of(
        (), tasks=3, loss=Decoder(), dense=np.array([[0.0, 2.0, 1.0, 0.0, 0.0, 2.0, 1.0]])
    )
    found = select(path, problem, sizes=[0], by="rows", classes_at=[0])
    errors = {row["class"]: row["class_error"] for row in found.rows if row["record"] == "class"}
    assert errors == {"rest": 0.0, "walk": 1.0, "sleep": 0.75}
    shares = [row["class_share"] for row in found.rows if row["record"] == "class"]
    assert shares == pytest.approx([1 / 7, 2 / 7, 4 / 7])


def test_several_responses_are_told_apart_by_the_largest():
    labels = np.array([0, 1, 2, 1, 1])
    X_test = np.zeros((5, 6))
    X_test[np.arange(5), [0, 1, 1, 2, 0]] = 1.0
    problem = replace(
        problem_of(3),
        y=tuple((np.arange(8) % 3 == k).astype(float) for k in range(3)),
        X_test=(X_test,) * 3,
        y_test=tuple((labels == k).astype(float) for k in range(3)),
    )
    path = path_of([(0, 0), (1, 1), (2, 2)], tasks=3)
    found = select(path, problem, sizes=[3], classes_at=[3])
    assert [row["class_error"] for row in found.rows[1:]] == pytest.approx([0.0, 2 / 3, 1.0])
    assert [row["class_share"] for row in found.rows[1:]] == pytest.approx([0.2, 0.6, 0.2])
    assert [row["class"] for row in found.rows[1:]] == ["0", "1", "2"]


def test_errors_of_classes_need_rows_held_out():
    with pytest.raises(DataError, match="rows held out"):
        select(path_of(()), sizes=[1], classes_at=[1])
