"""The selection protocol: estimates without a certificate, and where paths end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from selection_lab import METRICS, column, path_of, select

from greedyexp.core import registry
from greedyexp.core.parts import Metric
from greedyexp.problems.problem import Problem
from greedyexp.protocols.base import Setup, Status
from greedyexp.protocols.selection import selection


def test_only_estimates_that_are_measured_need_a_certificate():
    converged = np.array([True, False, True, False])
    path = path_of((), (0,), (0, 1), (0, 1, 2), converged=converged, message="It was hard.")
    assert select(path, sizes=[0, 2]).status is Status.OK
    found = select(path, sizes=[2, 3])
    assert found.status is Status.NOT_CONVERGED
    assert found.message == "1 of 2 estimates lack their certificate: It was hard."
    assert column(found, "reached") == {2: 2, 3: 3}
    assert select(path, sizes=[0], chosen_at=[1]).status is Status.NOT_CONVERGED


def test_where_a_selection_could_not_go_on_its_end_has_a_certificate():
    # The path stands at its end twice: as what size 2 is, and as what stands for sizes beyond.
    converged = np.array([True, True, True, False])
    path = path_of((), (0,), (0, 1), (0, 1), converged=converged, message="Classes are apart.")
    found = select(path, sizes=[1, 2])
    assert (found.status, column(found, "reached")) == (Status.OK, {1: 1, 2: 2})
    assert select(path, sizes=[2], by="rows").status is Status.OK
    found = select(path, sizes=[2, 3])
    assert (found.status, column(found, "reached")) == (Status.NOT_CONVERGED, {2: 2, 3: 2})
    # Another estimate of that size, which has no certificate, is not the one before.
    moved = path_of((), (0,), (0, 1), (0, 2), converged=converged)
    assert select(moved, sizes=[2]).status is Status.NOT_CONVERGED
    # By features a row might have had another one.
    moved = replace(path, grid={"max_features": np.arange(4)})
    assert select(moved, sizes=[2]).status is Status.OK
    assert select(moved, sizes=[2], by="rows").status is Status.NOT_CONVERGED


@pytest.mark.parametrize("name", ["foba_gdt", "foba_obj", "forward_gdt"])
def test_separable_classes_end_in_a_size_that_counts(name):
    y = np.repeat([-1.0, 1.0], 20)
    X = np.random.default_rng(0).standard_normal((40, 6))
    X[:, 4] += 1.5 * y
    X[:, 2] = y - 0.4 * X[:, 4]
    part = registry.find("algorithm", name)
    setup = Setup("none", 5, METRICS, np.random.default_rng(0))
    problem = Problem((X,), (y,), np.ones((6, 1)))

    def at(*sizes):
        params = {"loss": "logistic", "max_features": 3}
        return selection(problem, part, params, setup, sizes=list(sizes))

    found = at(0, 1)
    assert (found.status, column(found, "reached")) == (Status.OK, {0: 0, 1: 1})
    found = at(1, 2)
    assert (found.status, column(found, "reached")) == (Status.NOT_CONVERGED, {1: 1, 2: 1})
    assert "separate the two classes" in found.message


def test_a_path_without_small_or_finite_estimates_fails():
    found = select(path_of((0, 1), (0, 1, 2)), sizes=[4, 1])
    assert (found.status, found.rows) == (Status.ERROR, [])
    assert found.message == "the smallest estimate of the path has size 2, above 1"
    path = path_of((), (0,))
    path.estimates[1, 3] = np.nan
    assert select(path, sizes=[0]).status is Status.OK
    assert select(path, sizes=[2]).status is Status.NONFINITE
    infinite = Metric("far", lambda problem, coef: np.full(len(coef), np.inf), better="lower")
    found = select(path_of(()), sizes=[1], metrics=(infinite,))
    assert (found.status, found.message) == (Status.NONFINITE, "a metric is not finite")
    assert select(path_of(), sizes=[1]).status is Status.ERROR
