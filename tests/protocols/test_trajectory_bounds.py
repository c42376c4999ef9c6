"""Rates, guarantees and predictions of the trajectory protocol."""

import numpy as np
import pytest
from trajectory_runs import (
    SETUP,
    Proximal,
    Shrinking,
    follow,
    gaussian_problem,
    halving,
    of_kind,
    proximal,
    shrinking_problem,
)

from greedyexp.core import registry
from greedyexp.estimates.iteration import SteppedIteration
from greedyexp.problems.problem import as_problem
from greedyexp.protocols.base import Status
from greedyexp.protocols.trajectory._optimum import optimum
from greedyexp.protocols.trajectory.trajectory import trajectory


@pytest.mark.parametrize(("c", "iterations"), [(0.9, 10_000), (0.999, 500), (0.5, 1)])
def test_the_rate_is_the_contraction_of_the_gap(c, iterations):
    declared = {"prediction": lambda n, p: n / p / 4}
    found = follow(
        shrinking_problem(),
        lambda _: Shrinking(3, c),
        declared=declared,
        iterations=iterations,
        points=0,
        rate=True,
    )
    (row,) = found.rows
    assert row == {"record": "rate", "rate": pytest.approx(c**2, rel=1e-6), "predicted_rate": 0.25}


def test_the_rate_is_of_the_second_half_and_above_the_floor():
    # Two modes: a fast large one and a slow one at 1e-6 of it.
    X = np.sqrt(2) * np.diag([1.0, 0.1])
    problem = as_problem(X, X @ [1.0, 0.01])
    part = registry.find("algorithm", "gradient_descent")
    found = trajectory(problem, part, {}, SETUP, points=0, rate=True, epsilons=[1e-17])
    rate, hit = of_kind(found, "rate")[0]["rate"], of_kind(found, "epsilon")[0]["iterations"]
    assert rate == pytest.approx(0.99**2, rel=1e-9)
    # The run for the rate is cut at 1e-12 of the gap 1/2, where the accuracy asks for more.
    assert hit == np.ceil(np.log(2e-17 / 1e-6) / np.log(0.99**2))
    begun = follow(shrinking_problem(), lambda _: Shrinking(3, 0.0), points=0, rate=True)
    assert begun.rows[0]["rate"] == 0
    there = follow(
        shrinking_problem(), lambda _: Shrinking(3, 0.5, found=True), points=0, rate=True
    )
    assert there.rows[0]["rate"] is None
    still = follow(shrinking_problem(), lambda _: Shrinking(3, 1.0), points=0, rate=True)
    assert still.rows[0]["rate"] == 1


def test_guarantees_and_predictions_stand_beside_the_gap():
    problem = shrinking_problem()
    asked = {"iterations": 20, "points": 0, "dense": 20, "guarantees": True}
    declared = {"guarantee": halving, "prediction": lambda n, p: 0.3}
    found = follow(problem, lambda _: Shrinking(3, 0.5), declared=declared, **asked)
    for k, row in enumerate(found.rows):
        assert row["gap"] == pytest.approx(1.5 * 0.25**k, rel=1e-9)
        assert row["guarantee"] == pytest.approx(1.5 * 0.5**k)
        assert row["prediction"] == pytest.approx(1.5 * 0.3**k)
    without = follow(problem, lambda _: Shrinking(3, 0.5), **asked)
    assert all(row.get("guarantee") is None for row in without.rows)
    assert all(row.get("prediction") is None for row in without.rows)


def test_the_local_bound_begins_once_the_support_stays_inside():
    problem = gaussian_problem(40, 80)
    run, best = Proximal(problem.X[0], problem.y[0], 0.15), optimum(problem, 0.15)
    outside, gaps = [], []
    for k in range(401):
        run.advance(k)
        outside.append(run.coef[best.coef == 0].any())
        gaps.append(run.objective - best.value)
    last = np.flatnonzero(outside)[-1]
    assert 3 < last < 300
    found = follow(
        problem, proximal, {"lam": 0.15}, declared={"guarantee": halving},
        iterations=400, points=30, local=True,
    )  # fmt: skip
    rows = of_kind(found, "iteration")
    begin = next(row["iteration"] for row in rows if row["iteration"] > last)
    factor = (1 - np.count_nonzero(best.coef) / 1000) ** 2
    for row in rows:
        k = row["iteration"]
        if k < begin:
            assert row["local_guarantee"] is None
        else:
            expected = gaps[begin] * factor ** (k - begin)
            assert row["local_guarantee"] == pytest.approx(expected, rel=1e-6, abs=1e-14)
    short = follow(
        problem, proximal, {"lam": 0.15}, declared={"guarantee": halving},
        iterations=int(last), points=5, local=True,
    )  # fmt: skip
    assert all(row.get("local_guarantee") is None for row in short.rows)


class Straying(SteppedIteration):
    """Halves its distance from (0.9, 0.9, 0), and is off in the third coordinate at step 15."""

    def step(self, coef):
        following = (coef + np.array([0.9, 0.9, 0.0])) / 2
        following[2] = 1e-3 if self.iteration == 14 else 0.0
        return following


def test_the_local_bound_of_recorded_iterations_does_not_depend_on_where_the_run_ends():
    problem = as_problem(np.sqrt(3) * np.eye(3), np.sqrt(3) * np.array([1.0, 1.0, 0.0]))

    def rows(**more):
        found = follow(
            problem,
            lambda problem, lam: Straying(problem.X[0], problem.y[0], lam),
            {"lam": 0.1},
            declared={"guarantee": halving},
            iterations=100, points=0, local=True, **more,
        )  # fmt: skip
        return of_kind(found, "iteration")

    short = rows(dense=12)
    assert all(row["local_guarantee"] > 0 for row in short)
    # The gap falls to 1e-12 after the step that strays, which no recorded iteration sees.
    assert rows(dense=12, epsilons=[1e-12]) == short
    longer = rows(dense=20)
    assert [row["iteration"] for row in longer if row["local_guarantee"] is not None] == [
        16, 17, 18, 19, 20,
    ]  # fmt: skip


METHODS = {
    "gradient_descent": {},
    "gs_coordinate_descent": {},
    "proximal_gradient": {"lam": 0.1},
    "proximal_gs_coordinate_descent": {"lam": 0.1, "smoothness": "l1"},
    "rmp": {"lam": 0.1},
    "ultimate": {"lam": 0.1},
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(("n", "p"), [(30, 8), (10, 25)])
def test_no_method_breaks_its_guarantees_or_undercuts_the_optimum(name, n, p):
    problem, part = gaussian_problem(n, p, seed=7), registry.find("algorithm", name)
    found = trajectory(
        problem, part, METHODS[name], SETUP,
        iterations=300, points=40, dense=20, guarantees=True, local=True,
    )  # fmt: skip
    assert found.status is Status.OK
    first = found.rows[0]["gap"]
    bounded = 0
    for row in found.rows:
        assert row["gap"] >= -1e-14
        for bound in (row["guarantee"], row.get("local_guarantee")):
            if bound is not None:
                assert row["gap"] <= bound * (1 + 1e-9) + 1e-14
                bounded += bound < first
    # Not every method has a rate, but all have one where columns are independent.
    assert bounded or p > n
