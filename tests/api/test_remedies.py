"""Refusals that say what to write instead."""

from __future__ import annotations

import numpy as np
import pytest
from experiment_parts import message

from greedyexp.core.errors import DataError
from greedyexp.problems.problem import as_problem
from greedyexp.protocols.tradeoff._run import in_unit_box

SIGNS = {"generator": "rademacher", "n_samples": 60, "p": 5, "sparsity": 2}


def settings(algorithm, data=SIGNS) -> dict:
    return {
        "name": "remedies",
        "seed": 1,
        "trials": 1,
        "protocol": {"tradeoff": {"steps": 9, "points": 2}},
        "data": data,
        "algorithms": [algorithm],
    }


@pytest.mark.parametrize(
    ("asked", "remedy"),
    [
        (settings("l1_ball"), "l1_ball is one of the references"),
        (settings("omp"), "fully_corrective, replacement_steps and randomized_sparsification have"),
        (
            settings({"replacement_steps": {"sweep": {"features": [1, 2]}}}),
            "named 'features'. Write one entry for each value, each with a label.",
        ),
        (
            settings(
                {"fully_corrective": {"risk": "population"}}, {**SIGNS, "response": "classes"}
            ),
            "Use risk: sample, or data with moments, such as response: linear.",
        ),
    ],
)
def test_what_is_refused_names_what_to_write(asked, remedy):
    assert remedy in message(asked)


def test_features_beyond_one_may_come_from_standardizing():
    with pytest.raises(DataError, match=r"'features: scale'.*'standardize: false'"):
        in_unit_box(as_problem(np.full((3, 1), 2.0), np.ones(3)), "refuse")
