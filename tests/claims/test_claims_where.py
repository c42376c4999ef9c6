"""The rows that a claim chooses: an error on loading if no run can have them."""

from __future__ import annotations

import copy

import pytest
from claims_trajectories import course, judge
from trajectory_runs import follow, gaussian_problem, proximal

from greedyexp.config import load
from greedyexp.core.errors import ConfigError
from greedyexp.protocols.trajectory.trajectory import columns

ASKED = {"iterations": 50, "epsilons": [1e-2, 1e-4], "points": 5, "coordinates": 3}


def settings(test, where, *, profiles=None, **asked):
    return {
        "name": "chosen",
        "seed": 1,
        "trials": 2,
        "data": {"generator": "gaussian", "n_samples": 10, "p": 6, "sparsity": 2},
        "protocol": {"trajectory": ASKED | asked},
        "algorithms": ["gradient_descent", {"rmp": {"sweep": {"lam": [0, 0.1]}}}],
        "claims": [{"id": "one", "quote": "q", "test": test, "where": where}],
        "profiles": profiles or {},
    }


HITS, GAP = "mean(rmp, iterations) < 5", "mean(rmp, gap) < 5"


@pytest.mark.parametrize(
    ("test", "where"),
    [
        (HITS, {"record": "epsilon", "epsilon": 1e-2}),
        (HITS, {"epsilon": [0.01 * (1 + 1e-12), 1e-4]}),
        (GAP, {"record": ["epsilon", "iteration"], "iteration": 50}),
        (GAP, {"record": "iteration", "lam": 0.1, "algorithm": "rmp"}),
        (GAP, {"epsilon": None, "coordinate": None}),
        ("mean(rmp, coefficient) < 5", {"coordinate": 2, "iteration": 1}),
        ("always(coefficient <= 5)", {"algorithm": "rmp"}),
        ("decreasing(mean(rmp, gap), iteration)", {"algorithm": ["rmp", "gradient_descent"]}),
    ],
)
def test_rows_that_a_run_has_are_chosen(test, where):
    assert load(settings(test, where)).claims[0].where == where


@pytest.mark.parametrize(
    ("test", "where", "words"),
    [
        (HITS, {"record": "epsilom"}, ("no row has record = 'epsilom'", "'epsilon', 'iteration'")),
        (HITS, {"record": 3}, ("no row has record = 3",)),
        (HITS, {"record": "rate"}, ("no row has record = 'rate'",)),
        (HITS, {"epsilon": 1e-7}, ("no row has epsilon = 1e-07", "It takes: 0.01, 0.0001.")),
        (HITS, {"epsilon": []}, ("the list for 'epsilon' is empty",)),
        (GAP, {"iteration": 49}, ("no row has iteration = 49", "50")),
        (GAP, {"iteration": [50, "x"]}, ("no row has iteration = 'x'",)),
        (GAP, {"lam": 0.3}, ("no row has lam = 0.3", "It takes: 0.0, 0.1.")),
        (GAP, {"algorithm": "gradient_descent"}, ("the test names 'rmp'", "'algorithm'")),
        (GAP, {"record": "epsilon"}, ("the rows with record = epsilon have no gap", "iteration")),
        (HITS, {"coordinate": 2}, ("the rows with coordinate have no iterations", "epsilon")),
        (GAP, {"record": "iteration", "epsilon": 1e-2}, ("record = iteration have no epsilon",)),
        ("always(gap <= epsilon)", {"algorithm": "rmp"}, ("with epsilon have no gap",)),
        ("slope(mean(rmp, gap), log(epsilon)) < 0", {}, ("with epsilon have no gap",)),
    ],
)
def test_rows_that_no_run_has_are_refused(test, where, words):
    with pytest.raises(ConfigError) as caught:
        load(settings(test, where))
    said = str(caught.value)
    assert said.startswith("claims[0]")
    assert all(word in said for word in words), said
    assert "more mistake" not in said


def test_the_nearest_of_many_values_is_suggested():
    with pytest.raises(ConfigError, match=r"no row has iteration = 47\. The nearest is 45\."):
        load(settings(GAP, {"iteration": 47}, points=2, dense=45))


def test_rows_of_another_profile_are_valid():
    shorter = {"smoke": {"protocol": {"trajectory": {"iterations": 9, "epsilons": [1e-1]}}}}
    for test, where in [(GAP, {"iteration": 50}), (HITS, {"epsilon": 1e-4})]:
        given = settings(test, where, profiles=shorter)
        assert load(given, profile="smoke").claims[0].where == where
    fewer = {"smoke": {"algorithms": [{"rmp": {"sweep": {"lam": [0, 0.2]}}}]}}
    load(settings(GAP, {"lam": 0.1}, profiles=fewer), profile="smoke")
    with pytest.raises(ConfigError, match=r"lam = 0\.3"):
        load(settings(GAP, {"lam": 0.3}, profiles=fewer), profile="smoke")


def test_a_change_on_the_command_line_drops_no_claim_of_the_file():
    given = settings(GAP, {"iteration": 50})
    changed = load(copy.deepcopy(given), overrides=["protocol.iterations=20"])
    assert [claim.id for claim in changed.claims] == ["one"]


def test_the_protocol_declares_its_keys_and_the_rows_of_each_column():
    asked = {
        "iterations": 40,
        "epsilons": [1e-1, 1e-3],
        "accuracy": "absolute",
        "points": 6,
        "dense": 3,
        "coordinates": 2,
        "guarantees": True,
        "local": True,
        "rate": True,
    }
    described = {one.name: one for one in columns([], **asked)}
    rows = follow(gaussian_problem(20, 8), proximal, {"lam": 0.1}, **asked).rows
    for name in ("record", "epsilon", "iteration"):
        assert {row[name] for row in rows if name in row} == set(described[name].values)
    for row in rows:
        for name in row.keys() - {"record"}:
            assert row["record"] in described[name].only["record"]
    many = columns([], **asked | {"iterations": 10**9, "dense": 10**9})
    assert {one.name: one.values for one in many}["iteration"] is None


@pytest.mark.parametrize("unknown", ["typo", 5])
def test_an_edited_algorithm_is_inconclusive(unknown):
    rows = course([1.0, 0.5])
    judged = judge(rows, "always(gap <= 2)", where={"algorithm": ["gd", unknown]})
    tests = {test.group["algorithm"]: test for test in judged.tests}
    assert "no rows of" in tests[str(unknown)].reason
    assert tests["gd"].verdict.value == "inconclusive"  # one data set is too few
