"""The tradeoff protocol: what its rows tell of known runs, and what it refuses."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from experiment_parts import message
from kept_registry import kept_registry
from tradeoff_lab import (
    TRUTH,
    follow,
    halving,
    part_of,
    promise,
    rows_of,
    signs_problem,
)

from greedyexp.config import load
from greedyexp.core import registry
from greedyexp.core.errors import DataError, PluginError
from greedyexp.protocols.base import Status
from greedyexp.protocols.tradeoff._run import search_steps
from greedyexp.protocols.tradeoff.tradeoff import columns

POWER = float((TRUTH**2).sum() / 2)


def first_step(epsilon: float) -> int:
    """The least k with 4^-k ||truth||^2 / 2 <= epsilon."""
    return max(0, math.ceil(math.log(POWER / epsilon) / math.log(4.0)))


def test_recorded_steps_tell_what_estimates_cost_and_achieve():
    found = follow(steps=10, points=0, dense=2, references=["truth"])
    assert found.status is Status.OK
    rows = rows_of(found, "step")
    assert [row["step"] for row in rows] == [0, 1, 2]
    assert [row["features"] for row in rows] == [0, 2, 2]
    assert [row["risk"] for row in rows] == pytest.approx([POWER, POWER / 4, POWER / 16])
    assert [row["l1_norm"] for row in rows] == pytest.approx([0.0, 0.375, 0.5625])
    assert [row["gap"] for row in rows] == [None] * 3
    assert not rows_of(found, "epsilon")
    (reference,) = rows_of(found, "reference")
    assert (reference["reference_features"], reference["reference_l1_norm"]) == (2, 0.75)


def test_an_accuracy_is_reached_at_the_first_step_with_so_small_an_excess():
    epsilons = [1.0, 1e-2, 1e-9, 1e-40]
    found = follow(steps=20, points=0, epsilons=epsilons, references=["truth"])
    rows = {row["epsilon"]: row for row in rows_of(found, "epsilon")}
    assert {epsilon: row["steps"] for epsilon, row in rows.items()} == {
        1.0: 0, 1e-2: first_step(1e-2), 1e-9: first_step(1e-9), 1e-40: None,
    }  # fmt: skip
    assert [rows[epsilon]["features_needed"] for epsilon in epsilons] == [0, 2, 2, None]
    assert rows[1e-9]["log_steps"] == pytest.approx(math.log10(first_step(1e-9)))
    assert (rows[1.0]["log_steps"], rows[1e-40]["log_steps"]) == (0.0, None)
    assert {row["theorem"] for row in rows.values()} == {"none"}
    assert {row["steps_bound"] for row in rows.values()} == {None}


def test_beyond_the_fine_steps_the_first_one_looked_at_counts():
    found = follow(steps=400, points=0, epsilons=[1e-9], references=["truth"], fine=3, resolution=2)
    (row,) = rows_of(found, "epsilon")
    looked = search_steps(400, 3, 2)
    assert row["steps"] == min(step for step in looked if step >= first_step(1e-9))
    assert first_step(1e-9) < row["steps"]


@pytest.mark.parametrize(
    ("steps", "fine", "resolution", "expected"),
    [
        (5, 1000, 20, [0, 1, 2, 3, 4, 5]),
        (1000, 0, 1, [0, 1, 10, 100, 1000]),
        (100, 3, 1, [0, 1, 2, 3, 17, 100]),
        (1, 0, 3, [0, 1]),
    ],
)
def test_the_steps_at_which_accuracies_are_sought(steps, fine, resolution, expected):
    assert search_steps(steps, fine, resolution).tolist() == expected


def test_steps_far_apart_are_close_in_the_logarithm():
    looked = search_steps(10**12, 50, 20)
    assert (looked[0], looked[-1]) == (0, 10**12)
    assert (np.diff(looked) > 0).all()
    beyond = looked[looked >= 50]
    assert (beyond[1:] / beyond[:-1]).max() <= 10 ** (1 / 20) * 1.02


def test_bounds_stand_beside_what_they_bound():
    part = part_of(theorems=lambda path, reference, **_: [promise(factor=POWER)])
    asked = {"steps": 30, "points": 0, "dense": 3, "epsilons": [1e-3, 1e-40]}
    found = follow(part=part, references=["truth"], **asked)
    rows = rows_of(found, "bound", theorem="H", reference="truth")
    expected = POWER / 4.0 ** np.arange(4)
    assert [row["excess"] for row in rows] == pytest.approx(expected)
    assert [row["excess_bound"] for row in rows] == pytest.approx(expected)
    assert {row["reference_features"] for row in rows} == {2}
    near, far = rows_of(found, "epsilon")
    assert (near["steps"], near["steps_bound"], near["within"]) == (first_step(1e-3),) * 2 + (1,)
    # The bound is beyond the budget: what happens there is not known.
    assert (far["steps"], far["within"]) == (None, None)
    assert far["steps_bound"] > 30
    assert far["log_steps_bound"] == pytest.approx(math.log10(far["steps_bound"]))


def test_a_bound_that_is_false_is_told():
    part = part_of(theorems=lambda path, reference, **_: [promise(factor=POWER, base=16.0)])
    found = follow(part=part, references=["truth"], steps=30, dense=3, epsilons=[1e-3])
    (row,) = rows_of(found, "epsilon")
    assert row["steps_bound"] == math.ceil(math.log(POWER / 1e-3) / math.log(16.0))
    assert row["within"] == 0
    assert row["steps"] > row["steps_bound"]
    (last,) = rows_of(found, "bound", step=3)
    assert last["excess"] > last["excess_bound"]


def test_theorems_are_asked_with_the_run_its_reference_and_the_budget():
    seen = []

    def theorems(path, reference, **params):
        seen.append((len(path), reference.name, reference.value, reference.n_features, params))
        return [promise("A"), replace(promise("B"), constants={"beta": 3.0})]

    part = part_of(theorems=theorems)
    params = {"steps": 2, "other": 7}

    def function(problem, *, steps, other, grid):
        assert (steps, other) == (9, 7)
        return halving(problem, grid=grid)

    part = replace(part, function=function)
    both = ["truth", "l1_ball"]
    found = follow(part=part, params=params, steps=9, points=2, references=both, radius=0.25)
    assert [entry[1] for entry in seen] == both
    assert [entry[4] for entry in seen] == [{"steps": 9, "other": 7}] * 2
    assert seen[0][2] == pytest.approx(0.0, abs=1e-15)
    # The nearest point of a ball so small has one coefficient: R = (0.25^2 + 0.25^2) / 2.
    assert seen[1][2:4] == (pytest.approx(0.0625), 1)
    constants = rows_of(found, "theorem", theorem="B", reference="truth")
    assert [(row["smoothness"], row["strong_convexity"]) for row in constants] == [(3.0, None)]
    kept = follow(part=part, params=params, steps=9, points=2, theorems=["B", "C"])
    assert {row["theorem"] for row in rows_of(kept, "bound")} == {"B"}
    assert {row["theorem"] for row in rows_of(found, "bound")} == {"A", "B"}


def test_a_theorem_that_promises_nothing_is_left_out_and_told_when_asked_for():
    def theorems(path, reference, **_):
        empty = replace(promise("T4"), excess=lambda k: k + np.inf, steps=lambda e: e + np.inf)
        return [replace(empty, unmet="it needs a ridge"), promise("T3")]

    asked = {"steps": 9, "points": 2, "epsilons": [0.1]}
    part = part_of(theorems=theorems)
    assert {row["theorem"] for row in rows_of(follow(part=part, **asked), "bound")} == {"T3"}
    why = "T4 has no finite bound here: it needs a ridge"
    both = follow(part=part, theorems=["T3", "T4"], references=["l1_ball", "truth"], **asked)
    assert (both.status, both.message) == (Status.OK, why)
    assert {row["theorem"] for row in rows_of(both, "epsilon")} == {"T3"}
    with pytest.raises(DataError, match=f"no requested theorem is left: {why}"):
        follow(part=part, theorems=["T4"], **asked)
    other = follow(part=part, theorems=["T9"], **asked)
    assert {row["theorem"] for row in rows_of(other, "epsilon")} == {"none"}


def test_an_algorithm_with_a_certificate_is_run_for_each_accuracy():
    asked = []

    def certified(problem, *, steps, epsilon, grid):
        asked.append({name: np.array(values) for name, values in grid.items()})
        most, target = grid["steps"], grid["epsilon"]
        # The gap is four times the excess, 4^-k: steps until it is at most the target.
        with np.errstate(divide="ignore"):
            needed = np.ceil(np.log(4 * POWER / target) / math.log(4.0))
        made = np.minimum(most, needed).astype(int)
        path = halving(problem, grid={"steps": made})
        gap = 4 * POWER / 4.0**made
        facts = {"steps": made, "gap": gap}
        return replace(path, grid=grid, converged=gap <= target, facts=facts, message="short")

    part = part_of(certified, lambda path, reference, **_: [promise(factor=4 * POWER)])
    params = {"steps": 1, "epsilon": 0.0}
    epsilons = [5e-2, 1e-2, 1e-30]
    found = follow(
        part=part, params=params, steps=20, points=0, dense=2, epsilons=epsilons,
        references=["truth"],
    )  # fmt: skip
    first, again = asked
    assert first["steps"].tolist() == [0, 1, 2, 20, 20, 20]
    assert first["epsilon"].tolist() == [0.0, 0.0, 0.0, *epsilons]
    _, near, far = rows_of(found, "epsilon")
    ended = math.ceil(math.log(4 * POWER / 1e-2) / math.log(4.0))
    assert (near["steps"], near["features_needed"]) == (ended, 2)
    assert (far["steps"], far["features_needed"]) == (None, None)
    # Steps of the bound, told the accuracy as well, though two steps were recorded without it.
    assert again["steps"].tolist() == [2, ended]
    assert again["epsilon"].tolist() == [5e-2, 1e-2]
    assert near["within"] == 1
    assert [row["gap"] for row in rows_of(found, "step")] == pytest.approx(
        [4 * POWER, POWER, POWER / 4]
    )
    assert [row["gap"] for row in rows_of(found, "bound")] == pytest.approx(
        [4 * POWER, POWER, POWER / 4]
    )
    # Estimates after the recorded steps are unfinished by design, and their gaps are in the rows.
    assert (found.status, found.message) == (Status.OK, "")
    followed = follow(part=part, params={"steps": 1, "epsilon": 1e-3}, steps=20, epsilons=[1e-2])
    assert (followed.status, followed.message) == (Status.OK, "")


def test_a_random_algorithm_has_one_stream_in_both_of_its_runs():
    drawn = []

    def random(problem, *, steps, grid, rng=None):
        drawn.append(rng.random())
        return halving(problem, grid=grid)

    part = part_of(random, lambda path, reference, **_: [promise(factor=POWER)])
    asked = {"steps": 30, "points": 0, "epsilons": [1e-3], "references": ["truth"]}
    for seed in (3, 3, 4):
        found = follow(part=part, seed=seed, fine=0, resolution=1, **asked)
        assert rows_of(found, "epsilon")[0]["within"] == 1
    assert len(drawn) == 6
    assert drawn[0] == drawn[1] == drawn[2] == np.random.default_rng(3).random()
    assert drawn[4] == drawn[5] != drawn[0]
    # All steps were looked at: there is nothing to run again for.
    assert rows_of(follow(part=part, **asked), "epsilon")[0]["within"] == 1
    assert len(drawn) == 7


def test_estimates_without_proof_or_beyond_numbers_are_told():
    def doubtful(problem, *, steps, grid):
        path = halving(problem, grid=grid)
        converged = path.converged.copy()
        converged[-1] = False
        return replace(path, converged=converged, message="It ended early.")

    found = follow(part=part_of(doubtful), steps=4, points=0, dense=4)
    assert found.status is Status.NOT_CONVERGED
    assert found.message == "1 of 5 estimates lack their certificate: It ended early"

    def infinite(problem, *, steps, grid):
        path = halving(problem, grid=grid)
        return replace(path, estimates=path.coef * np.inf)

    with np.errstate(invalid="ignore"):
        assert follow(part=part_of(infinite), steps=4).status is Status.NONFINITE


def test_a_path_that_is_not_what_was_asked_for_is_an_error_of_its_author():
    def short(problem, *, steps, grid):
        return halving(problem, grid=grid).take([0])

    def silent(problem, *, steps, grid):
        return replace(halving(problem, grid=grid), loss=None)

    with pytest.raises(
        PluginError, match="was asked for 5 points of 'steps' and returned other points"
    ):
        follow(part=part_of(short), steps=4, points=0, dense=4)
    with pytest.raises(PluginError, match="returned a path without its loss"):
        follow(part=part_of(silent), steps=4)


def test_columns_say_which_rows_they_belong_to():
    asked = {
        "steps": 100, "points": 2, "dense": 1, "epsilons": [0.1, 0.01],
        "references": ["truth"], "theorems": None, "features": "refuse",
    }  # fmt: skip
    described = {one.name: one for one in columns((), **asked)}
    assert described["record"].values == (
        "step", "bound", "epsilon", "accuracy", "theorem", "reference",
    )  # fmt: skip
    assert described["step"].values == (0, 1, 100)
    assert described["epsilon"].values == (0.1, 0.01)
    keys = {name for name, one in described.items() if one.kind == "key"}
    assert keys == {"record", "theorem", "reference", "step", "epsilon"}
    assert {name for name, one in described.items() if one.apart} == {"theorem", "reference"}
    assert {name for name, one in described.items() if one.open_ended} == {
        "steps", "log_steps", "features_needed",
    }  # fmt: skip
    assert described["within"].kind == "success"
    assert described["excess"].only == {"record": ("bound",)}
    assert described["steps_bound"].only == {"record": ("epsilon",)}
    no_points = {one.name for one in columns((), **{**asked, "points": 0, "dense": 0})}
    assert not {"step", "risk", "excess"} & no_points
    for wrong, said in (
        ({"epsilons": [0.1, 0.1]}, "duplicate value in 'epsilons'"),
        ({"references": ["truth", "truth"]}, "duplicate value in 'references'"),
        ({"theorems": ["T2", "T2"]}, "duplicate value in 'theorems'"),
        ({"points": 0, "dense": 0, "epsilons": []}, "nothing is requested"),
    ):
        with pytest.raises(ValueError, match=said):
            columns((), **{**asked, **wrong})


@pytest.fixture
def parts():
    with kept_registry():

        @registry.generator("t_untold")
        def untold(rng):
            """Data whose truth is not known."""
            return replace(signs_problem(), truth=None)

        @registry.algorithm("t_halving")
        def registered(problem, *, steps: int = 1, grid=None):
            """Halves the distance."""
            return halving(problem, steps=steps, grid=grid)

        yield


def settings(algorithm, generator="rademacher", **asked) -> dict:
    return {
        "name": "trade",
        "protocol": {"tradeoff": {"steps": 5, **asked}},
        "data": {"generator": generator},
        "trials": 1,
        "algorithms": [algorithm],
    }


def test_a_theorem_that_is_none_is_refused_unless_a_plugin_may_have_it(parts):
    load(settings("forward_greedy", theorems=["T2", "T3"]))
    known = "unknown theorem '{}' in protocol 'tradeoff'."
    error = message(settings("forward_greedy", theorems=["T2", "T1-lipshitz"]))
    assert error.endswith(known.format("T1-lipshitz") + " Did you mean 'T1-lipschitz'?")
    other = settings("forward_greedy", theorems=["T2"])
    other["profiles"] = {"paper": {"protocol": {"tradeoff": {"steps": 5, "theorems": ["Euclid"]}}}}
    load(other)
    error = message(settings("forward_greedy", theorems=["Euclid"]))
    assert known.format("Euclid") + " Known: C2, " in error

    @registry.algorithm("t_proved", theorems=lambda path, reference, **_: [promise("Euclid")])
    def proved(problem, *, steps: int = 1, grid=None):
        """Halves the distance."""

    load(settings("t_proved", theorems=["Euclid"]))


@pytest.mark.parametrize(
    ("experiment", "said"),
    [
        (settings("omp"), "for protocol 'tradeoff': it has no parameter 'steps'"),
        (
            settings("t_halving", "t_untold", references=["support"]),
            "protocol 'tradeoff' needs the true coefficients but generator 't_untold' does not",
        ),
        (settings("t_halving", points=0), "nothing is requested"),
        (settings("t_halving", epsilons=[0.0]), "must be more than 0, but is 0"),
        (settings("t_halving", references=["best"]), "references"),
        (settings({"t_halving": {"tuning": "oracle"}}), "protocol 'tradeoff' tunes no algorithm"),
    ],
)
def test_what_cannot_be_followed_is_refused_before_any_work(parts, experiment, said):
    assert said in message(experiment)
