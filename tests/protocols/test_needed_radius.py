"""A radius that nothing tells: refused before any work starts, with where to give it."""

from __future__ import annotations

import pytest
from experiment_parts import message

from greedyexp.config import load

BALLS = ["forward_greedy", "smoothed_forward_greedy", "randomized_sparsification"]


@pytest.fixture
def table(tmp_path):
    """A file of data, which tells no true coefficients."""
    path = tmp_path / "rows.csv"
    rows = "\n".join(f"{(-1) ** i},{i % 3 - 1},{(-1) ** (i // 2)}" for i in range(12))
    path.write_text(f"y,a,b\n{rows}\n")
    return {"generator": "file", "path": str(path), "standardize": False}


def settings(data, algorithm, **protocol) -> dict:
    return {
        "name": "needed",
        "seed": 1,
        "trials": 1,
        "protocol": {"tradeoff": {"steps": 9, "points": 2, **protocol}},
        "data": data,
        "algorithms": [algorithm],
    }


@pytest.mark.parametrize("name", BALLS)
def test_an_algorithm_on_a_ball_needs_its_radius(table, name):
    said = message(settings(table, name, radius=1.0))
    assert f"algorithm '{name}' needs the true coefficients" in said
    assert f"Give radius of algorithm '{name}'." in said
    load(settings(table, {name: {"radius": 1.0}}))


def test_the_minimiser_over_a_ball_needs_it_too(table):
    asked = {**settings(table, "l1_ball"), "protocol": "recovery", "metrics": ["objective"]}
    assert "Give radius of algorithm 'l1_ball'." in message(asked)


def test_a_radius_is_no_remedy_for_a_start_from_the_truth(table):
    said = message(settings(table, {"randomized_sparsification": {"start": "truth"}}))
    assert "needs the true coefficients" in said
    assert "Give radius" not in said


def test_a_reference_needs_the_radius_of_the_protocol(table):
    said = message(settings(table, "fully_corrective"))
    who = "protocol 'tradeoff' with algorithm 'fully_corrective'"
    assert f"{who} needs the true coefficients" in said
    assert "Give radius of protocol 'tradeoff'." in said
    load(settings(table, "fully_corrective", radius=1.0))
    load(settings({"generator": "rademacher"}, "fully_corrective"))
