"""The trajectory protocol: exact hits, exact gaps, and what it says of troubles."""

import re
import tracemalloc

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

import greedyexp
from greedyexp.core import registry
from greedyexp.core.errors import DataError, PluginError
from greedyexp.estimates.iteration import SteppedIteration
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.protocols.base import Status, recording_schedule
from greedyexp.protocols.trajectory._course import drive
from greedyexp.protocols.trajectory._optimum import optimum
from greedyexp.protocols.trajectory.trajectory import columns, trajectory

DEFAULTS = {
    name: field.default
    for name, field in registry.find("protocol", "trajectory").parameters.model_fields.items()
}


def plain_descent(X, y, steps):
    coef, n = np.zeros(X.shape[1]), len(y)
    scale = np.linalg.norm(X, 2) ** 2 / n
    for _ in range(steps + 1):
        yield coef
        coef = coef - X.T @ (X @ coef - y) / (n * scale)


def plain_coordinates(X, y, steps):
    coef, n = np.zeros(X.shape[1]), len(y)
    scale = (X**2).sum(axis=0).max() / n
    for _ in range(steps + 1):
        yield coef
        slope = X.T @ (X @ coef - y) / n
        i = np.argmax(np.abs(slope))
        coef = coef.copy()
        coef[i] -= slope[i] / scale


@pytest.mark.parametrize(
    ("name", "plain"),
    [("gradient_descent", plain_descent), ("gs_coordinate_descent", plain_coordinates)],
)
@pytest.mark.parametrize(("n", "p"), [(30, 12), (12, 30)])
@pytest.mark.parametrize("accuracy", ["absolute", "relative"])
def test_every_accuracy_is_reached_at_the_first_such_iterate_of_a_plain_loop(
    name, plain, n, p, accuracy
):
    problem = gaussian_problem(n, p)
    X, y = problem.X[0], problem.y[0]
    epsilons = [10.0, *(10.0**-k for k in range(11)), 3e-4]
    steps = 120
    # The gap from F* by orthogonality: a sum of squares, not a difference.
    fit = X @ np.linalg.lstsq(X, y, rcond=None)[0]
    gaps = np.array([np.sum((X @ b - fit) ** 2) / (2 * n) for b in plain(X, y, steps)])
    unit = gaps[0] if accuracy == "relative" else 1.0
    expected = [
        int(np.argmax(gaps <= unit * e)) if (gaps <= unit * e).any() else None for e in epsilons
    ]
    part = registry.find("algorithm", name)
    asked = {"iterations": steps, "epsilons": epsilons, "accuracy": accuracy}
    for points, dense in ((0, 0), (7, 0), (0, steps)):
        found = trajectory(problem, part, {}, SETUP, points=points, dense=dense, **asked)
        assert found.status is Status.OK
        rows = of_kind(found, "epsilon")
        assert [row["epsilon"] for row in rows] == epsilons
        assert [row["iterations"] for row in rows] == expected
    assert expected[0] == 0
    if (name, n) == ("gs_coordinate_descent", 12):
        assert None in expected
    measured = [row["gap"] for row in of_kind(found, "iteration")]
    assert measured == pytest.approx(gaps, rel=1e-8, abs=1e-28)


def test_gaps_keep_their_digits_far_below_the_part_of_the_response_out_of_reach():
    # F* is about 1e4 here: as a difference a gap of 1e-14 would be lost.
    problem = gaussian_problem(200, 5)
    noisy = as_problem(problem.X[0], problem.y[0] + 100 * np.random.default_rng(1).random(200))
    X, y = noisy.X[0], noisy.y[0]
    n, part = 200, registry.find("algorithm", "gradient_descent")
    found = trajectory(noisy, part, {}, SETUP, iterations=60, epsilons=[1e-14], dense=60, points=0)
    values, vectors = np.linalg.eigh(X.T @ X / n)
    shrink = (1 - values / values[-1])[None] ** np.arange(61)[:, None]
    away = vectors.T @ np.linalg.lstsq(X, y, rcond=None)[0]
    gaps = (values * (shrink * away) ** 2).sum(axis=1) / 2
    assert [r["gap"] for r in of_kind(found, "iteration")] == pytest.approx(gaps, rel=1e-6)
    assert of_kind(found, "epsilon")[0]["iterations"] == np.argmax(gaps <= 1e-14) > 0


def test_the_first_iterate_counts_and_an_accuracy_out_of_reach_is_an_empty_cell():
    found = follow(
        shrinking_problem(), lambda _: Shrinking(3, 0.5), iterations=10, points=0,
        epsilons=[1.5, 1.4, 1.5 * 0.25**10, 1e-9],
    )  # fmt: skip
    assert found.status is Status.OK
    assert [row["iterations"] for row in found.rows] == [0, 1, 10, None]


def test_targets_are_met_in_any_order_and_marks_do_not_move_them():
    epsilons = [1e-6, 1e-1, 1e-3]
    expected = [int(np.ceil(np.log(e / 1.5) / np.log(0.81))) for e in epsilons]
    for points in (0, 4, 50):
        found = follow(
            shrinking_problem(), lambda _: Shrinking(3, 0.9), epsilons=epsilons, points=points
        )
        assert [row["iterations"] for row in of_kind(found, "epsilon")] == expected


@pytest.mark.parametrize(
    ("asked", "steps"),
    [
        ({"points": 0, "epsilons": [1e-3]}, 4),
        ({"points": 3, "epsilons": [1e-3]}, 500),
        ({"points": 0, "dense": 2, "epsilons": [1e-3]}, 4),
        ({"points": 0, "dense": 9, "epsilons": [1e-3]}, 9),
        ({"points": 0, "epsilons": [1e-3], "rate": True}, 16),
    ],
)
def test_a_run_goes_as_far_as_asked_and_no_further(asked, steps):
    # The gap 1.5 * 0.16^k is below 1e-3 from k = 4 on.
    runs = []

    def begin(_):
        runs.append(Shrinking(3, 0.4))
        return runs[-1]

    follow(shrinking_problem(), begin, iterations=500, **asked)
    # The second run finds the middle of the first.
    assert [run.iteration for run in runs] == [steps, *([steps // 2] if "rate" in asked else [])]


def test_marks_are_dense_then_spaced_and_end_with_the_last_iteration():
    assert recording_schedule(1000, 0, 0).tolist() == []
    assert recording_schedule(1000, 0, 3).tolist() == [0, 1, 2, 3]
    assert recording_schedule(1000, 4, 0).tolist() == [0, 1, 10, 100, 1000]
    assert recording_schedule(1000, 4, 2).tolist() == [0, 1, 2, 10, 100, 1000]
    assert recording_schedule(1000, 1, 0).tolist() == [0, 1000]
    assert recording_schedule(5, 100, 50).tolist() == [0, 1, 2, 3, 4, 5]
    assert recording_schedule(1, 3, 0).tolist() == [0, 1]
    for iterations in (7, 999, 10**6, 123_457):
        spaced = recording_schedule(iterations, 200, 0)
        assert spaced[-1] == iterations
        assert (np.diff(spaced) > 0).all()
        assert len(spaced) <= 201


def test_iterations_tell_gap_support_and_norm():
    problem = gaussian_problem(20, 40)
    found = follow(problem, proximal, {"lam": 0.2}, iterations=30, points=0, dense=30)
    assert found.status is Status.OK
    X, y = problem.X[0], problem.y[0]
    run = Proximal(X, y, 0.2)
    best = optimum(problem, 0.2)
    for k, row in enumerate(of_kind(found, "iteration")):
        assert row["iteration"] == k
        assert row["gap"] == pytest.approx(run.objective - best.value, rel=1e-10, abs=1e-14)
        assert row["support_size"] == np.count_nonzero(run.coef)
        assert row["l1_norm"] == pytest.approx(np.abs(run.coef).sum())
        run.advance(k + 1)
    assert len(found.rows) == 31


def test_coordinates_are_those_that_grow_largest():
    problem = gaussian_problem(20, 40)
    asked = {"iterations": 50, "points": 4, "dense": 5}
    found = follow(problem, proximal, {"lam": 0.2}, coordinates=3, **asked)
    run = Proximal(problem.X[0], problem.y[0], 0.2)
    way = {}
    for k in range(51):
        run.advance(k)
        way[k] = run.coef
    ks = [0, 1, 2, 3, 4, 5, 14, 50]
    peak = np.max([np.abs(way[k]) for k in ks], axis=0)
    wanted = sorted(np.argsort(-peak)[:3])
    rows = of_kind(found, "coordinate")
    assert [(row["coordinate"], row["iteration"]) for row in rows] == [
        (i, k) for i in wanted for k in ks
    ]
    for row in rows:
        assert row["coefficient"] == pytest.approx(
            way[row["iteration"]][row["coordinate"]], abs=1e-13
        )
    everything = follow(problem, proximal, {"lam": 0.2}, coordinates=1000, **asked)
    assert len(of_kind(everything, "coordinate")) == 40 * len(ks)


def test_troubles_and_missing_certificates_are_not_converged():
    problem = shrinking_problem()
    asked = {"iterations": 50, "points": 0, "dense": 50, "epsilons": [1e-2, 1e-25]}
    found = follow(
        problem, lambda _: Shrinking(3, 0.5, stuck=8, trouble="step 9 has no certificate"), **asked
    )
    assert found.status is Status.NOT_CONVERGED
    assert found.message == "step 9 has no certificate"
    assert [row["iterations"] for row in of_kind(found, "epsilon")] == [4, None]
    assert [row["iteration"] for row in of_kind(found, "iteration")] == list(range(9))

    # Columns equal to six digits, with a penalty below their difference.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 20))
    X = np.hstack([X, X + 1e-6 * rng.standard_normal((30, 20))])
    hard = as_problem(X, rng.standard_normal(30))
    found = follow(hard, proximal, {"lam": 1e-9}, iterations=5)
    assert found.status is Status.NOT_CONVERGED
    assert re.fullmatch(
        r"the optimum is known only to .*e-.., which is not a certificate", found.message
    )
    assert len(found.rows) == 6

    found = follow(hard, proximal, {"lam": 0.01}, iterations=5, epsilons=[1e-16], points=0)
    assert found.status is Status.NOT_CONVERGED
    assert "too coarse for an accuracy of 1.0e-16" in found.message


def test_objectives_that_are_not_finite_leave_no_rows():
    problem = shrinking_problem()
    for asked in ({"points": 0, "epsilons": [1e-9]}, {"points": 0, "dense": 9}):
        for spoiled in (0, 5):
            found = follow(
                problem, lambda _, s=spoiled: Shrinking(3, 0.9, spoiled=s), iterations=20, **asked
            )
            assert found.status is Status.NONFINITE
            assert found.rows == []


def test_what_is_no_iteration_and_several_tasks_are_refused():
    problem = shrinking_problem()
    with pytest.raises(PluginError, match="'tried' returned a ndarray, not an Iteration"):
        follow(problem, lambda _: np.zeros(3))
    X, y = problem.X[0], problem.y[0]
    with pytest.raises(DataError, match="takes one task but the data have 2"):
        follow(Problem((X, X), (y, y)), lambda _: Shrinking(3, 0.5))


def test_a_method_that_stops_without_saying_why_is_reported():
    found = follow(
        shrinking_problem(), lambda _: Shrinking(3, 0.5, stuck=8), iterations=20, points=0, dense=20
    )
    assert found.status is Status.NOT_CONVERGED
    assert found.message == "the method stopped by itself after 8 iterations"


def test_memory_does_not_grow_with_the_iterations():
    run = Shrinking(1000, 0.9999)
    tracemalloc.start()
    drive(run, recording_schedule(20_000, 10, 0), [1e-3], iterations=20_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Twenty estimates of 8 bytes for each coefficient.
    assert peak < 20 * 8 * 1000


def test_the_start_of_the_problem_is_where_the_run_begins():
    problem = gaussian_problem(10, 30)
    start = np.random.default_rng(3).standard_normal((30, 1))
    begun = Problem(problem.X, problem.y, start=start)
    part = registry.find("algorithm", "gradient_descent")
    found = trajectory(begun, part, {}, SETUP, iterations=3, points=0, dense=3)
    residual = problem.X[0] @ start[:, 0] - problem.y[0]
    assert found.rows[0]["gap"] == pytest.approx(residual @ residual / 20)
    assert found.rows[0]["l1_norm"] == pytest.approx(np.abs(start).sum())


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({}, "iteration gap support_size l1_norm"),
        ({"points": 0, "epsilons": [1.0]}, "epsilon iterations"),
        ({"points": 0, "rate": True}, "rate predicted_rate"),
        (
            {"guarantees": True, "local": True},
            "iteration gap guarantee prediction local_guarantee support_size l1_norm",
        ),
        (
            {"dense": 5, "points": 0, "coordinates": 2, "epsilons": [1.0]},
            "epsilon iteration coordinate iterations gap support_size l1_norm coefficient",
        ),
    ],
)
def test_columns_are_those_asked_for(asked, names):
    found = columns([], **{**DEFAULTS, **asked})
    assert [column.name for column in found] == ["record", *names.split()]
    keys = {column.name for column in found if column.kind == "key"}
    assert keys == {"record", "epsilon", "iteration", "coordinate"} & {c.name for c in found}
    outcome = follow(
        shrinking_problem(),
        lambda _: Watched(np.eye(3) * 3**0.5, np.full(3, 3**0.5)),
        declared={"guarantee": halving, "prediction": lambda n, p: 0.5},
        **{"iterations": 9, **asked},
    )
    assert {name for row in outcome.rows for name in row} == {column.name for column in found}


class Watched(SteppedIteration):
    """Halves the distance to one."""

    def step(self, coef):
        return (coef + 1) / 2


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"points": 0}, "nothing is requested"),
        ({"epsilons": [0.1, 0.1]}, "duplicate value in 'epsilons'"),
        ({"points": 0, "rate": True, "coordinates": 3}, "'coordinates' needs recorded"),
        ({"points": 0, "rate": True, "guarantees": True}, "'guarantees' needs recorded"),
        ({"points": 0, "epsilons": [0.1], "local": True}, "'local' needs recorded"),
    ],
)
def test_parameters_that_make_no_sense_together_are_refused(asked, words):
    with pytest.raises(ValueError, match=words):
        columns([], **{**DEFAULTS, **asked})


def test_an_experiment_writes_the_rows(tmp_path):
    experiment = {
        "name": "way",
        "data": {"generator": "gaussian", "n_samples": 20, "p": 30, "sparsity": 4},
        "trials": 2,
        "algorithms": ["gradient_descent", "gs_coordinate_descent"],
        "protocol": {
            "trajectory": {"iterations": 200, "epsilons": [0.1, 1e-3], "points": 5, "rate": True}
        },
    }
    table = greedyexp.run(experiment, out=tmp_path, engine="serial")
    assert (table["status"] == "ok").all()
    counts = table.groupby(["replicate", "algorithm"])["record"].value_counts().unstack()
    assert (counts["epsilon"] == 2).all()
    assert (counts["iteration"] == 6).all()
    assert (counts["rate"] == 1).all()
    reached = table[table["record"] == "epsilon"].groupby("epsilon")["iterations"].mean()
    assert reached[1e-3] > reached[0.1] >= 1
