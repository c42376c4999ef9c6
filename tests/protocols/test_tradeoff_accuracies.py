"""Rows of protocol ``tradeoff`` that tell what an accuracy takes, whatever theorems say."""

from __future__ import annotations

import numpy as np
import pytest
from tradeoff_lab import TRUTH, follow, part_of, promise, risk_at, rows_of

from greedyexp.core import registry
from greedyexp.experiment.parameters import Parameters
from greedyexp.problems.problem import Problem


def test_an_accuracy_has_one_row_for_each_reference_whatever_theorems_say():
    theorems = [promise("A"), promise("B", 2.0)]
    asked = {"steps": 20, "points": 0, "epsilons": [1e-2, 1e-9, 1e-40]}
    both = ["truth", "l1_ball"]
    part = part_of(theorems=lambda path, reference, **_: theorems)
    found = follow(part=part, references=both, radius=0.25, **asked)
    rows = rows_of(found, "accuracy")
    assert [(row["reference"], row["epsilon"]) for row in rows] == [
        (name, epsilon) for name in both for epsilon in asked["epsilons"]
    ]
    assert not any("theorem" in row for row in rows)
    truth = [(row["steps"], row["features_needed"]) for row in rows[:3]]
    assert truth == [(2, 2), (14, 2), (None, None)]
    # The best of a ball so small has risk 1 / 16: 4^-k 5 / 32 is less after one step.
    assert [row["steps"] for row in rows[3:]] == [1, 1, 1]
    for row in rows:
        for theorem in "AB":
            keys = {"theorem": theorem, "reference": row["reference"], "epsilon": row["epsilon"]}
            (same,) = rows_of(found, "epsilon", **keys)
            assert {name: same[name] for name in row if name != "record"} == {
                name: value for name, value in row.items() if name != "record"
            }
    alone = follow(part=part_of(), references=both, radius=0.25, **asked)
    assert rows_of(alone, "accuracy") == rows


def test_the_excess_at_the_end_is_that_after_the_steps_that_count():
    found = follow(steps=20, points=0, epsilons=[1e-2, 1e-9, 1e-40], references=["truth"])
    for record in ("epsilon", "accuracy"):
        near, fine, far = rows_of(found, record)
        for row in (near, fine):
            expected = risk_at(TRUTH * (1.0 - 2.0 ** -row["steps"]))
            assert row["excess_at_end"] == pytest.approx(expected, abs=1e-15)
        assert far["excess_at_end"] is None


@pytest.mark.parametrize(("reading", "above"), [("corrected", False), ("2009", True)])
def test_a_smoothed_run_is_judged_by_the_loss_before_smoothing(reading, above):
    """One feature where the gap at zero is just epsilon: the printed reading ends above it."""
    epsilon, share = 0.1, 0.25
    near = np.arange(8) < 8 * share
    length = (1 - share / 4) * epsilon / (1 - share) * (1 - 1e-9)
    x = np.where(near, epsilon / 2, length)
    y = np.where(near, epsilon / 2, 10.0)
    part = registry.find("algorithm", "smoothed_forward_greedy")
    given = {"loss": "absolute", "radius": 1.0, "epsilon": epsilon, "reading": reading}
    params = Parameters(part).read_all(given)
    problem = Problem((x[:, None],), (y,))
    found = follow(problem, part, params, steps=20_000, points=2, epsilons=[epsilon])
    rows = [*rows_of(found, "epsilon"), *rows_of(found, "accuracy")]
    assert len(rows) > 1
    for row in rows:
        if above:
            assert row["steps"] == 0
            assert row["excess_at_end"] == pytest.approx((1 + share / 4) * epsilon)
        else:
            assert row["steps"] > 0
            assert -1e-12 <= row["excess_at_end"] <= epsilon
