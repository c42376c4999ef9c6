"""Upper ends of parameters: values that no arithmetic or memory holds are refused when read."""

from __future__ import annotations

import numpy as np
import pytest
from experiment_parts import message

from greedyexp.config import load
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.experiment.parameters import Parameters

SIGNS = ["rademacher", "correlated", "duplicated"]


def settings(data: dict) -> dict:
    return {
        "name": "limits",
        "seed": 1,
        "trials": 1,
        "data": data,
        "algorithms": ["omp"],
        "metrics": ["f_measure"],
    }


@pytest.mark.parametrize(
    ("kind", "part", "name", "most", "beyond"),
    [
        ("protocol", "tradeoff", "points", 1_000_000, 1_000_001),
        ("protocol", "tradeoff", "radius", 1e75, 1e76),
        ("algorithm", "forward_greedy", "radius", 1e75, 1e76),
        ("algorithm", "l1_ball", "ridge", 1e150, 1e151),
        ("algorithm", "foba_obj", "ridge", 1e150, 1e151),
        *(("generator", name, "noise_std", 1e75, 1e76) for name in SIGNS),
        *(("generator", name, "truth_l1_norm", 1e75, 1e76) for name in SIGNS),
    ],
)
def test_a_value_beyond_what_can_be_computed_with_is_refused(kind, part, name, most, beyond):
    parameters = Parameters(registry.find(kind, part))
    given = {"steps": 1} if part == "tradeoff" else {}
    assert parameters.read_all({**given, name: most})[name] == most
    with pytest.raises(ConfigError, match=name):
        parameters.read_all({**given, name: beyond})


@pytest.mark.parametrize("name", SIGNS)
def test_designs_beyond_what_is_drawn_are_refused(name):
    said = message(settings({"generator": name, "p": 10**400, "sparsity": 1}))
    assert "more than 10000000 features in all" in said
    said = message(settings({"generator": name, "n_samples": 10**8, "p": 100, "sparsity": 1}))
    assert "more than 2e+09 values of " in said
    load(settings({"generator": name, "n_samples": 1000, "p": 1000, "sparsity": 1}))


def test_copies_count_as_features():
    data = {"generator": "duplicated", "n_samples": 2, "p": 10_000, "copies": 1001}
    assert "more than 10000000 features in all" in message(settings(data))
    load(settings({**data, "copies": 100}))


@pytest.mark.parametrize("name", SIGNS)
def test_the_largest_truth_and_noise_make_finite_problems(name):
    function = registry.find("generator", name).function
    options = {"n_samples": 20, "p": 5, "sparsity": 2, "truth_l1_norm": 1e75, "noise_std": 1e75}
    with np.errstate(all="raise"):
        made = function(np.random.default_rng(0), **options)
        assert np.isfinite(made.y[0] ** 2).all()
        assert np.isfinite(made.moments.power)
