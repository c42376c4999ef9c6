"""Rows of protocol ``tradeoff`` that tell what an accuracy takes, whatever theorems say."""

from __future__ import annotations

from tradeoff_lab import follow, part_of, promise, rows_of


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
