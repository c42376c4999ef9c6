"""Experiments with protocol ``tradeoff``: shipped algorithms, claims, figures, seconds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import yaml
from experiment_parts import message
from kept_registry import kept_registry
from tradeoff_lab import halving, promise

import greedyexp
from greedyexp.claims.entries import compile_claim
from greedyexp.claims.judging import evaluate_claims
from greedyexp.claims.setting import setting_of
from greedyexp.config import load
from greedyexp.core import registry
from greedyexp.experiment.parameters import Parameters
from greedyexp.report import draw
from greedyexp.results.records import records
from greedyexp.runner import seeds

DATA = {"generator": "rademacher", "n_samples": 60, "p": 12, "sparsity": 4, "noise_std": 0.3}
ASKED = {
    "steps": 500,
    "points": 6,
    "dense": 4,
    "epsilons": [1e-1, 1e-2, 1e-3, 1e-8],
    "references": ["l1_ball", "support"],
}


def settings(**more) -> dict:
    return {
        "name": "trade",
        "seed": 5,
        "protocol": {"tradeoff": ASKED},
        "data": DATA,
        "trials": 6,
        "algorithms": [
            "fully_corrective",
            "forward_greedy",
            {"replacement_steps": {"features": 2}},
        ],
        **more,
    }


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    out = tmp_path_factory.mktemp("trade")
    return greedyexp.run(settings(), out=out, engine="serial"), out / "trade" / "quick"


def judged(ran, test, config=None, **claim):
    frame, _ = ran
    design = load(config or settings()).design
    words = setting_of(design, design.measured, frame.columns)
    entry = {"id": "one", "quote": "q", "test": test, **claim}
    return evaluate_claims([compile_claim(entry, words, "1")], frame, words).judged[0]


def test_a_run_writes_its_rows_and_keeps_its_seconds_apart(ran):
    frame, folder = ran
    assert (frame["status"] == "ok").all()
    steps = records(frame, "step", ["step", "features", "risk", "l1_norm"])
    marked = sorted(steps["step"].unique())
    assert marked[:5] == [0, 1, 2, 3, 4]
    assert marked[-1] == 500
    assert steps.groupby(["algorithm", "replicate"])["step"].nunique().eq(len(marked)).all()
    bounds = records(frame, "bound", ["theorem", "reference", "step", "excess"])
    assert set(bounds["reference"]) == {"l1_ball", "support"}
    own = bounds.groupby("algorithm")["theorem"].unique().map(set)
    assert {"T3"} <= own["fully_corrective"]
    assert {"T2", "T2-termination"} <= own["forward_greedy"]
    records(frame, "reference", ["reference", "reference_features", "reference_risk"])
    assert "fit_seconds" not in frame.columns
    timings = pd.read_csv(folder / "timings.csv")
    assert (len(timings), timings["fit_seconds"].gt(0).all()) == (18, True)


def test_the_steps_of_a_greedy_run_are_those_of_a_plain_one(ran):
    frame, _ = ran
    rows = records(frame, "epsilon", ["epsilon"])
    rows = rows[(rows["algorithm"] == "fully_corrective") & (rows["theorem"] == "T3")]
    generator = registry.find("generator", "rademacher")
    params = Parameters(generator).read_all({k: v for k, v in DATA.items() if k != "generator"})
    for replicate in range(2):
        stream = seeds.data_stream(5, "rademacher", params, replicate)
        problem = generator.function(stream, **params)
        X, y, truth = problem.X[0], problem.y[0], problem.truth[:, 0]
        risks = plain_greedy(X, y, 12)
        kept = np.flatnonzero(truth)
        fitted = np.linalg.lstsq(X[:, kept], y, rcond=None)[0]
        best = ((y - X[:, kept] @ fitted) ** 2).mean() / 2
        of = rows[(rows["replicate"] == replicate) & (rows["reference"] == "support")]
        for epsilon, steps in zip(of["epsilon"], of["steps"], strict=True):
            assert steps == np.flatnonzero(risks - best <= epsilon)[0]


def plain_greedy(X, y, most) -> np.ndarray:
    """The risk after 0, 1, ... features of forward selection by the objective."""
    support, risks = [], [(y**2).mean() / 2]
    for _ in range(most):
        tried = {}
        for j in set(range(X.shape[1])) - set(support):
            coef = np.linalg.lstsq(X[:, support], y, rcond=None)[0] if support else np.zeros(0)
            left = y - X[:, support] @ coef
            tried[j] = (X[:, j] @ left) ** 2 / (X[:, j] @ X[:, j])
        support.append(max(tried, key=tried.get))
        columns = X[:, support]
        left = y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0]
        risks.append((left**2).mean() / 2)
    return np.array(risks)


def test_no_run_is_above_its_bounds(ran):
    frame, _ = ran
    rows = records(frame, "bound", ["theorem", "excess"]).dropna(subset=["excess_bound"])
    assert len(rows) > 300
    assert (rows["excess"] <= rows["excess_bound"] + 1e-12).all()
    known = frame[frame["record"] == "epsilon"].dropna(subset=["within"])
    assert len(known) > 50
    assert (known["within"] == 1).all()
    # Theorem 5 asks for more than two features, so that replacements have no bound here.
    where = {"algorithm": ["fully_corrective", "forward_greedy"]}
    found = judged(ran, "always(excess <= excess_bound + 1e-12)", where=where)
    assert [test.evidence.violations for test in found.tests] == [0] * 2


def test_claims_choose_theorems_references_and_accuracies(ran):
    frame, _ = ran
    where = {"theorem": "T3", "reference": "l1_ball", "epsilon": 0.01}
    found = judged(ran, "mean(fully_corrective, steps) < 500", where=where)
    (test,) = found.tests
    assert test.group == {"record": "epsilon", **where}
    rows = frame[(frame["record"] == "epsilon") & (frame["algorithm"] == "fully_corrective")]
    for name, value in where.items():
        rows = rows[rows[name] == value]
    assert len(rows) == 6
    assert test.estimate == pytest.approx(rows["steps"].mean())
    features = judged(ran, "mean(forward_greedy, features) <= 4", where={"step": 4})
    assert [test.group for test in features.tests] == [{"record": "step", "step": 4}]


def test_algorithms_of_other_theorems_are_compared_at_an_accuracy(ran):
    frame, _ = ran
    test = "mean(fully_corrective, features_needed) < mean(forward_greedy, features_needed)"
    where = {"reference": "l1_ball", "epsilon": 1e-2}
    found = judged(ran, test, where={"record": "accuracy", **where})
    assert found.verdict.value == "supported"
    assert [one.group for one in found.tests] == [{"record": "accuracy", **where}]
    rows = records(frame, "accuracy", ["reference", "epsilon"])
    assert rows["theorem"].isna().all()
    chosen = rows[(rows["reference"] == "l1_ball") & (rows["epsilon"] == 1e-2)]
    means = chosen.groupby("algorithm")["features_needed"].mean()
    difference = means["fully_corrective"] - means["forward_greedy"]
    assert found.tests[0].estimate == pytest.approx(difference)
    apart = judged(ran, test, where={"record": "epsilon", "theorem": "T3", **where})
    assert apart.verdict.value == "inconclusive"
    own = {"record": "accuracy", "reference": "l1_ball"}
    kept = judged(ran, "always(excess_at_end <= epsilon)", where=own)
    outcomes = [
        (test.evidence.violations, test.evidence.replicates, test.reason) for test in kept.tests
    ]
    assert outcomes == [(0, 6, "")] * 3
    # An accuracy of 1e-8 was not reached by all.
    assert rows.groupby("epsilon")["excess_at_end"].count()[1e-8] < 18
    less = judged(ran, "always(excess_at_end <= epsilon / 10)", where=own)
    assert less.verdict.value == "refuted"


def test_no_excess_is_above_its_certificate(ran):
    where = {"algorithm": "forward_greedy", "reference": "l1_ball"}
    found = judged(ran, "always(excess <= gap + 1e-12)", where=where)
    assert [(test.evidence.violations, test.trials) for test in found.tests] == [(0, 6)]
    rows = records(ran[0], "bound", ["theorem", "reference", "step"])
    rows = rows[(rows["algorithm"] == "forward_greedy") & (rows["reference"] == "l1_ball")]
    assert rows["gap"].notna().all()
    broken = judged(ran, "always(gap <= excess / 2)", where=where)
    assert [test.evidence.violations for test in broken.tests] == [6]


def test_an_accuracy_that_was_not_reached_has_no_mean_and_no_bound(ran):
    where = {"reference": "l1_ball", "theorem": "T2", "epsilon": 1e-8}
    lost = judged(ran, "mean(forward_greedy, steps) < 1e9", where=where)
    assert lost.verdict.value == "inconclusive"
    assert "not reached in 6 of 6 replicates" in lost.tests[0].reason
    unknown = judged(
        ran, "always(steps <= steps_bound)", where={**where, "algorithm": "forward_greedy"}
    )
    assert unknown.verdict.value == "inconclusive"
    assert "not reached" in unknown.tests[0].reason
    near = {**where, "epsilon": [1e-1, 1e-2]}
    assert judged(ran, "always(steps <= steps_bound)", where=near).tests[0].evidence.violations == 0


def test_a_share_of_replicates_is_of_those_that_tell(ran):
    where = {"theorem": "T3", "reference": "support"}
    near = judged(
        ran, "proportion(fully_corrective, within) > 0.2", where={**where, "epsilon": 0.1}
    )
    assert near.tests[0].estimate == 1.0
    far = judged(
        ran, "proportion(fully_corrective, within) > 0.2", where={**where, "epsilon": 1e-8}
    )
    assert far.verdict.value == "inconclusive"
    assert far.tests[0].reason == "6 of 6 replicates have no within"
    own = {**where, "algorithm": "fully_corrective"}
    every = judged(ran, "always(within >= 1)", where=own).tests
    assert {test.evidence.violations for test in every} == {0}


def test_steps_grow_as_a_power_of_the_accuracy():
    """Twice the accuracy takes twice the steps: a slope of -1."""
    frame = pd.DataFrame(
        [
            {"replicate": r, "algorithm": "t_power", "status": "ok", "record": "epsilon",
             "theorem": "H", "reference": "truth", "epsilon": 10.0**-m,
             "log_steps": m * (1 + 0.001 * (r - 3.5))}
            for r in range(8) for m in range(1, 6)
        ]
    )  # fmt: skip
    with kept_registry():

        @registry.algorithm("t_power")
        def power(problem, *, steps: int = 1, grid=None):
            """Made up."""

        config = settings(algorithms=["t_power"])
        test = "slope(mean(t_power, log_steps), log(epsilon) / log(10)) == -1"
        found = judged((frame, None), test, config, margin=0.05)
    assert found.verdict.value == "supported"
    assert found.tests[0].estimate == pytest.approx(-1.0)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({"reference": "best"}, "no row has reference = 'best'."),
        ({"epsilon": 0.5}, "no row has epsilon = 0.5."),
        ({"step": 7}, "no row has step = 7."),
        ({"record": "step"}, "have no steps"),
    ],
)
def test_a_choice_that_no_row_has_is_refused_before_the_run(where, said):
    claim = {"id": "a", "quote": "q", "test": "mean(forward_greedy, steps) < 9", "where": where}
    assert said in message(settings(claims=[claim]))


def test_figures_tell_theorems_and_references_apart(ran):
    for panel in ("theorem", "reference"):
        load(settings(figures=[{"accuracy_curve": {"panel": panel}}]))
    for name in ("epsilon", "steps", "record"):
        asked = settings(figures=[{"accuracy_curve": {"panel": name}}])
        assert f"panels by '{name}', which is a result" in message(asked)
    _, folder = ran
    config = yaml.safe_load((folder / "config.yaml").read_text())
    figures = [{"accuracy_curve": {"panel": "theorem", "where": {"reference": "l1_ball"}}}]
    (folder / "config.yaml").write_text(yaml.safe_dump({**config, "figures": figures}))
    assert {path.name for path in draw(folder)} == {"accuracy_curve.png", "accuracy_curve.pdf"}


def test_a_promise_may_be_broken_and_a_claim_sees_it(tmp_path):
    with kept_registry():

        @registry.algorithm(
            "t_halving", theorems=lambda path, reference, **_: [promise("F", 0.3, 16.0)]
        )
        def registered(problem, *, steps: int = 1, grid=None):
            """Halves the distance to the truth, and says that it does twice as well."""
            return halving(problem, grid=grid)

        config = settings(
            data={**DATA, "noise_std": 0.0},
            protocol={"tradeoff": {**ASKED, "references": ["truth"], "steps": 30}},
            algorithms=["t_halving"],
        )
        frame = greedyexp.run(config, out=tmp_path, engine="serial")
        bound = judged((frame, None), "always(excess <= excess_bound)", config)
        share = judged(
            (frame, None), "proportion(t_halving, within) < 0.5", config, where={"epsilon": 1e-8}
        )
    assert bound.verdict.value == "refuted"
    assert bound.tests[0].evidence.violations == 6
    assert (share.verdict.value, share.tests[0].estimate) == ("supported", 0.0)
