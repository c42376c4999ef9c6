"""Values of a column that print alike are refused."""

import itertools

import pytest

from greedyexp.config import load
from greedyexp.core.errors import ConfigError

ALIKE = 0.1 + 0.2


def experiment(data, algorithms=("omp",)):
    return {
        "name": "own",
        "data": data,
        "algorithms": list(algorithms),
        "metrics": ["sign_support"],
    }


def gaussian(**given):
    return {"generator": "gaussian", **given}


REFUSED = {
    "a list": experiment(gaussian(sweep={"noise_std": [0.3, 0.7, ALIKE]})),
    "a zip": experiment(
        gaussian(sweep={"zip": {"noise_std": [0.3, ALIKE], "n_samples": [20, 40]}})
    ),
    "four digits": experiment(gaussian(sweep={"noise_std": [1.23456, 1.23457]})),
    "a range": experiment(gaussian(sweep={"noise_std": {"from": 1, "to": 1.001, "num": 50}})),
    "two blocks": experiment(
        [gaussian(label="a", noise_std=0.3), gaussian(label="b", noise_std=ALIKE)]
    ),
    "an algorithm": experiment(gaussian(), [{"lasso": {"sweep": {"lam_min_ratio": [0.3, ALIKE]}}}]),
    "two algorithms": experiment(
        gaussian(),
        [
            {"lasso": {"sweep": {"lam_min_ratio": [0.3, 0.5]}}},
            {"group_lasso": {"sweep": {"lam_min_ratio": [ALIKE, 0.6]}}},
        ],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_values_that_are_not_told_apart_in_print_are_refused(case):
    with pytest.raises(ConfigError, match=r"has .* and .*, which look the same in print"):
        load(REFUSED[case])


@pytest.mark.parametrize(
    "sweep",
    [
        {"noise_std": [0.3, 0.31, 0.3001]},
        {"noise_std": {"from": 0.1, "to": 1.2, "step": 0.1}},
        {"noise_std": {"from": 1e-4, "to": 10, "num": 60, "scale": "log"}},
        {"n_samples": [100000, 100001]},
        {"zip": {"noise_std": [0.3, 0.3, 0.4], "n_samples": [20, 40, 40]}},
    ],
)
def test_other_values_are_not_refused(sweep):
    points = load(experiment(gaussian(sweep=sweep))).points
    assert len(points) > 1
    # Each point is found again by the values that --only reads.
    for one, other in itertools.combinations(points, 2):
        assert one.params != other.params


def test_a_choice_takes_one_point_of_a_sweep():
    given = experiment(gaussian(sweep={"noise_std": [0.3, 0.30001, 0.3002, 0.31]}))
    with pytest.raises(ConfigError, match=r"0\.3 and 0\.30001"):
        load(given)
    given["data"]["sweep"]["noise_std"] = [0.3, 0.3002, 0.31]
    for value in (0.3, 0.3002, 0.31):
        (point,) = load(given, only=[f"noise_std={value}"]).points
        assert point.params["noise_std"] == value
