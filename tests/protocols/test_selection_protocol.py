"""The selection protocol: which estimate stands for a size, and what its rows tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from experiment_parts import message
from kept_registry import kept_registry
from selection_lab import DEFAULTS, METRICS, column, path_of, problem_of, select

import greedyexp
from greedyexp.claims.entries import compile_claim
from greedyexp.claims.judging import evaluate_claims
from greedyexp.claims.setting import setting_of
from greedyexp.config import load, reload
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.core.parts import Algorithm, Metric
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem
from greedyexp.protocols.base import Setup, Status
from greedyexp.protocols.selection import columns, selection
from greedyexp.results.records import records, rows_where


def test_a_size_is_the_last_estimate_of_at_most_so_many_features():
    # Size 2 is left and met again; size 3 is passed over.
    path = path_of((), (0,), (0, 1), (1,), (1, 2), (1, 2, 3, 4))
    found = select(path, sizes=[3, 1, 4, 2, 9])
    assert found.status is Status.OK
    assert [row["size"] for row in found.rows] == [3, 1, 4, 2, 9]
    assert column(found, "reached") == {3: 2, 1: 1, 4: 4, 2: 2, 9: 4}
    assert column(found, "support_size") == column(found, "reached")
    objective = registry.find("metric", "objective")
    points = column(select(path, sizes=[1, 2, 3, 4, 9], metrics=(objective,)), "objective")
    assert points == {1: 3.0, 2: 4.0, 3: 4.0, 4: 5.0, 9: 5.0}
    assert {frozenset(row) for row in found.rows} == {
        frozenset({"record", "size", "reached", "support_size", "frobenius_error"})
    }


def test_rows_of_several_tasks_count_once():
    path = path_of((), [(0, 0), (0, 1), (0, 2)], [(0, 0), (0, 1), (3, 2)], tasks=3)
    assert column(select(path, sizes=[1, 2], by="rows"), "support_size") == {1: 3, 2: 3}
    assert column(select(path, sizes=[1, 2], by="rows"), "reached") == {1: 1, 2: 2}
    assert column(select(path, sizes=[1, 3]), "reached") == {1: 0, 3: 3}


def test_what_an_algorithm_does_not_tell_is_an_empty_cell_beside_the_others():
    metrics = [registry.find("metric", name) for name in ("support_size", "removals")]
    metrics.append(registry.find("metric", "total_objective"))
    path = path_of([0], [0, 1])
    outcome = select(path, metrics=metrics, sizes=[1, 2], **DEFAULTS)
    assert outcome.status is Status.OK
    assert column(outcome, "support_size") == {1: 1, 2: 2}
    assert column(outcome, "removals") == column(outcome, "total_objective") == {1: None, 2: None}
    changed = replace(path, facts={"removals": np.array([0.0, np.nan])})
    assert select(changed, metrics=metrics, sizes=[1, 2], **DEFAULTS).status is Status.NONFINITE


def test_which_features_are_used_by_name_or_by_number():
    path = path_of((), (4,), (1, 4))
    found = select(path, sizes=[1], chosen_at=[0, 2])
    chosen = [row for row in found.rows if row["record"] == "feature"]
    assert len(chosen) == 12
    used = {(row["size"], row["feature"]) for row in chosen if row["used"]}
    assert used == {(2, "1"), (2, "4")}
    assert column(found, "reached", "feature") == {0: 0, 2: 2}
    named = problem_of(feature_names=tuple("abcdef"))
    chosen = select(path, named, sizes=[1], chosen_at=[2]).rows[1:]
    assert [row["feature"] for row in chosen if row["used"]] == ["b", "e"]


def test_the_seconds_are_those_of_the_fit_alone():
    now = [10.0]

    def slow(problem, coef):
        now[0] += 100.0
        return np.zeros(len(coef))

    def fit(problem):
        now[0] += 2.5
        return path_of(())

    metric = Metric("slow", slow, better=None)
    setup = Setup("none", 5, (metric,), np.random.default_rng(0), lambda: now[0])
    found = selection(problem_of(), Algorithm("f", fit), {}, setup, sizes=[1])
    assert found.fit_seconds == 2.5


def test_columns_say_which_rows_they_belong_to():
    given = columns(METRICS, sizes=[5, 1], by="rows", classes_at=[7], chosen_at=[1])
    described = {one.name: (one.kind, one.values, dict(one.only)) for one in given}
    assert described == {
        "record": ("key", ("size", "class", "feature"), {}),
        "size": ("key", (1, 5, 7), {}),
        "class": ("key", None, {"record": ("class",)}),
        "feature": ("key", None, {"record": ("feature",)}),
        "reached": ("number", None, {}),
        "support_size": ("number", None, {"record": ("size",)}),
        "frobenius_error": ("number", None, {"record": ("size",)}),
        "class_error": ("number", None, {"record": ("class",)}),
        "class_share": ("number", None, {"record": ("class",)}),
        "used": ("success", None, {"record": ("feature",)}),
        "fit_seconds": ("seconds", None, {}),
    }
    plain = [one.name for one in columns(METRICS, sizes=[1], **DEFAULTS)]
    assert plain == [
        "record", "size", "reached", "support_size", "frobenius_error", "fit_seconds",
    ]  # fmt: skip
    for name in ("sizes", "classes_at", "chosen_at"):
        with pytest.raises(ValueError, match=f"duplicate value in '{name}'"):
            columns(METRICS, **{**DEFAULTS, "sizes": [1], name: [2, 2]})


# Experiments.


@pytest.fixture
def parts():
    with kept_registry():

        @registry.generator("s_data", provides=("truth",), shape=lambda: {"n_features": 6})
        def data(rng):
            """Six features, of which the first three are true."""
            X = rng.standard_normal((30, 6))
            truth = np.zeros((6, 1))
            truth[:3] = 1.0
            return Problem((X,), (X @ truth[:, 0] + rng.standard_normal(30),), truth)

        @registry.algorithm("s_first")
        def first(
            problem,
            *,
            max_features: int | None = None,
            max_groups: int | None = None,
            turned: bool = False,
            grid=None,
        ):
            """Least squares on the first features, or the last, one more at each point."""
            X, y = problem.X[0], problem.y[0]
            order = np.arange(6)[:: -1 if turned else 1]
            coef = np.zeros((1 + (max_features or 6), 6, 1))
            for size in range(1, len(coef)):
                inside = order[:size]
                coef[size, inside, 0] = np.linalg.lstsq(X[:, inside], y, rcond=None)[0]
            objective = ((y - coef[:, :, 0] @ X.T) ** 2).mean(axis=1) / 2
            size = np.arange(len(coef))
            return Path(coef, {"size": size}, objective, np.ones(len(coef), bool))

        yield


def settings(protocol, *algorithms, **more) -> dict:
    return {
        "name": "select",
        "seed": 5,
        "protocol": {"selection": protocol},
        "data": {"generator": "s_data"},
        "trials": 8,
        "algorithms": list(algorithms) or ["s_first"],
        "metrics": ["objective", "f_measure"],
        **more,
    }


@pytest.mark.parametrize(
    ("protocol", "algorithm", "said"),
    [
        (
            {"sizes": [2, 5]},
            {"s_first": {"max_features": 4}},
            "impossible parameters of algorithm 's_first' for protocol 'selection':"
            " max_features = 4 ends the path before size 5.",
        ),
        ({"sizes": [2], "chosen_at": [5]}, {"s_first": {"max_features": 4}}, "before size 5."),
        (
            {"sizes": [3], "by": "rows"},
            {"s_first": {"sweep": {"max_groups": [3, 2]}}},
            "'s_first (max_groups=2)' for protocol 'selection': max_groups = 2 ends",
        ),
        ({"sizes": [2]}, {"s_first": {"tuning": "oracle"}}, "protocol 'selection' tunes no algor"),
        ({"sizes": [2]}, {"s_first": {"folds": 3}}, "tunes no algorithm. Remove 'folds'."),
        ({"sizes": []}, "s_first", "sizes"),
        ({}, "s_first", "needs a value for 'sizes'"),
        ({"sizes": [-1]}, "s_first", "must be at least 0"),
        ({"sizes": [1, 1]}, "s_first", "duplicate value in 'sizes'."),
    ],
)
def test_what_cannot_be_selected_is_refused_before_any_work(parts, protocol, algorithm, said):
    assert said in message(settings(protocol, algorithm))


def test_nothing_is_tuned_and_a_resolved_file_says_no_more(parts):
    rows = {"sizes": [3]}
    experiment = load(settings(rows, {"s_first": {"max_features": 3, "max_groups": 2}}))
    assert [spec.tuning for spec in experiment.algorithms] == ["none"]
    assert experiment.resolved["algorithms"] == [
        {"s_first": {"max_features": 3, "max_groups": 2, "turned": False}}
    ]
    assert reload(experiment.resolved, profile="quick").resolved == experiment.resolved


@pytest.fixture
def ran(parts, tmp_path):
    written = settings(
        {"sizes": [0, 2, 3, 9], "chosen_at": [2]},
        "s_first",
        {"s_first": {"turned": True, "label": "last"}},
    )
    frame = greedyexp.run(written, out=tmp_path, engine="serial")
    return frame, load(written), tmp_path / "select" / "quick"


def judged(ran, test, **claim):
    frame, experiment, _ = ran
    metrics = [registry.find("metric", name) for name in experiment.metrics]
    given = columns(metrics, **experiment.protocol.params)
    words = setting_of(experiment.design, given, frame.columns)
    entry = {"id": "one", "quote": "q", "test": test, **claim}
    return evaluate_claims([compile_claim(entry, words, "1")], frame, words).judged[0]


def test_a_run_writes_its_rows_and_keeps_its_seconds_apart(ran):
    frame, _, folder = ran
    assert (frame["status"] == "ok").all()
    assert frame["record"].value_counts().to_dict() == {"feature": 96, "size": 64}
    sizes = records(frame, "size", ["size", "objective"])
    assert sizes.groupby("size")["reached"].unique().map(list).to_dict() == {
        0: [0], 2: [2], 3: [3], 9: [6],
    }  # fmt: skip
    f_measure = sizes.groupby(["algorithm", "size"])["f_measure"].unique().map(list).to_dict()
    assert f_measure["s_first", 2] == [pytest.approx(0.8)]
    assert f_measure["last", 9] == [pytest.approx(2 / 3)]
    used = records(frame, "feature", ["used"]).groupby(["algorithm", "feature"])["used"].mean()
    assert used["last"].tolist() == [0, 0, 0, 0, 1, 1]
    assert "fit_seconds" not in frame.columns
    timings = pd.read_csv(folder / "timings.csv")
    assert (len(timings), timings["fit_seconds"].gt(0).all()) == (16, True)


def test_claims_speak_of_sizes(ran):
    frame, _, _ = ran
    found = judged(ran, "mean(s_first, objective) < mean(last, objective)", where={"size": 3})
    rows = frame[(frame["size"] == 3) & (frame["record"] == "size")]
    means = rows.groupby("algorithm")["objective"].mean()
    assert [test.group for test in found.tests] == [{"record": "size", "size": 3}]
    estimate = found.tests[0].estimate
    assert estimate == pytest.approx(means["s_first"] - means["last"])
    every = judged(ran, "mean(s_first, f_measure) >= 0")
    assert [test.group["size"] for test in every.tests] == [0, 2, 3, 9]


def test_a_bound_is_asked_of_every_size_and_of_no_other_rows(ran):
    found = judged(ran, "always(objective(s_first) <= objective(last))").tests[0]
    frame, _, _ = ran
    wide = frame[frame["record"] == "size"].pivot(
        index=["replicate", "size"], columns="algorithm", values="objective"
    )
    broken = (wide["s_first"] > wide["last"] * (1 + 1e-9)).groupby("replicate").any()
    assert (found.evidence.replicates, found.evidence.violations) == (8, broken.sum())
    reached = judged(ran, "always(reached <= size)").tests[0]
    assert (reached.evidence.replicates, reached.evidence.violations) == (8, 0)


def test_a_feature_is_a_success_that_claims_can_count(ran):
    found = judged(ran, "proportion(last, used) > 0.5", where={"feature": 5})
    assert found.tests[0].estimate == pytest.approx(1.0)
    # Read back from the table the numbers of features without names are numbers.
    text = judged(ran, "proportion(last, used) > 0.5", where={"feature": "5"})
    assert (text.tests[0].estimate, text.verdict) == (pytest.approx(1.0), found.verdict)
    both = rows_where(ran[0], {"record": "feature", "feature": ["5", 4.0]})
    assert both["feature"].unique().tolist() == [4, 5]
    with pytest.raises(ConfigError, match="sizes in 'classes_at'"):
        records(ran[0].assign(class_error=1.0), "class", ["class_error"])
