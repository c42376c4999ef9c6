"""The tightness protocol: features that accuracies take, against enumerated distributions."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from experiment_parts import message

import greedyexp
from greedyexp.claims.entries import compile_claim
from greedyexp.claims.judging import evaluate_claims
from greedyexp.claims.setting import setting_of
from greedyexp.config import load
from greedyexp.core import registry
from greedyexp.core.errors import DataError
from greedyexp.core.parts import Algorithm
from greedyexp.estimates.path import Path
from greedyexp.experiment.parameters import Parameters
from greedyexp.losses.population import PopulationSquaredLoss
from greedyexp.protocols.base import Setup, Status
from greedyexp.protocols.tradeoff import tightness as tightness_errors
from greedyexp.protocols.tradeoff.tightness import columns, tightness
from greedyexp.theory.sign_sums import Mean
from greedyexp.theory.spread_label import mean_absolute_error


def spread_problem(**params):
    part = registry.find("generator", "spread_label")
    return part.function(np.random.default_rng(0), **Parameters(part).read_all(params))


# Nine features, so that all of their signs can be listed.
SMALL = {"truth_l1_norm": 1.5, "accuracy": 0.25}


def listed_error(weights, l1_norm, error) -> float:
    """E of (<w, x> - y)^2 or |<w, x> - y| over all signs z = x y, each 1 with (1 + a) / 2."""
    chance = (1 + 1 / l1_norm) / 2
    total = 0.0
    for z in itertools.product((1, -1), repeat=len(weights)):
        agreeing = z.count(1)
        p = chance**agreeing * (1 - chance) ** (len(z) - agreeing)
        off = abs(np.dot(weights, z) - 1)
        total += p * (off**2 if error == "squared" else off)
    return total


def follow(problem, weights, **asked):
    """The outcome where the estimate after k steps is ``weights[k]``, the last one beyond."""
    weights = np.asarray(weights, dtype=float)

    def known(problem, *, steps, grid):
        at = np.minimum(grid["steps"], len(weights) - 1)
        coef = weights[at][:, :, None]
        loss = PopulationSquaredLoss(problem.moments)
        risk = np.array([loss.value(w) for w in coef[:, :, 0]])
        return Path(coef, grid, risk, np.ones(len(at), bool), loss=loss, facts={"steps": at})

    part = Algorithm("known", known)
    setup = Setup("none", 5, (), np.random.default_rng(0))
    given = Parameters(registry.find("protocol", "tightness")).read_all(asked)
    return tightness(problem, part, {"steps": 1}, setup, **given)


@pytest.mark.parametrize("kind", ["equal", "geometric"])
def test_what_is_needed_is_what_a_list_of_all_signs_says(kind):
    problem = spread_problem(**SMALL)
    d = problem.n_features
    assert d == 9
    weights = np.zeros((d + 1, d))
    for k in range(1, d + 1):
        own = np.ones(k) if kind == "equal" else 0.6 ** np.arange(k)
        # The multiple with the least squared error.
        signs = np.eye(k) * (1 - 1 / 2.25) + 1 / 2.25
        weights[k, :k] = own * (own.sum() / 1.5) / (own @ signs @ own)
    for error in ("squared", "absolute"):
        errors = np.array([listed_error(w, 1.5, error) for w in weights])
        epsilons = sorted({float(round(e, 6)) for e in errors[[1, 2, 4, 7]] * 1.01}, reverse=True)
        found = follow(problem, weights, steps=20, epsilons=[*epsilons, 1e-3], errors=[error])
        assert found.status is Status.OK
        for row in found.rows:
            hits = np.flatnonzero(errors <= row["epsilon"])
            expected = int(hits[0]) if hits.size else None
            assert row["needed"] == row["steps"] == expected
    # Absolute errors of squares are no squares of absolute errors.
    assert errors[2] != pytest.approx(listed_error(weights[2], 1.5, "squared") ** 0.5)


def test_steps_are_not_features():
    problem = spread_problem(**SMALL)
    weights = np.zeros((6, 9))
    # One feature is fitted better and better.
    weights[:, 0] = np.linspace(0.0, 2 / 3, 6)
    best = listed_error(weights[-1], 1.5, "squared")
    found = follow(problem, weights, steps=9, epsilons=[best + 1e-9], errors=["squared"])
    (row,) = found.rows
    assert (row["steps"], row["needed"], row["exact"]) == (5, 1, 1.0)


def test_an_error_near_the_accuracy_is_computed_again(monkeypatch):
    asked = []

    def doubtful(weights, l1_norm, tolerance):
        asked.append(tolerance)
        # Off by as much as it may be, to the wrong side.
        return Mean(weights[0] - 0.9 * tolerance, tolerance)

    monkeypatch.setattr(tightness_errors.spread_label, "mean_absolute_error", doubtful)
    monkeypatch.setattr(tightness_errors, "absolute_between", lambda *_: (0.0, math.inf))
    estimates = np.array([[0.5], [0.1004], [0.05]])
    assert tightness_errors.first_absolute(estimates, 3.0, [0.1]) == [2]
    assert asked == [pytest.approx(part * 0.1) for part in (1e-2, 1e-2, 1e-3, 1e-2)]


@pytest.mark.parametrize("l1_norm", [1.0, 1.2, 3.0, 20.0])
def test_bounds_from_moments_hold_for_listed_signs(l1_norm):
    rng = np.random.default_rng(3)
    wide = []
    for d in (1, 2, 5, 10):
        for _ in range(15):
            weights = rng.standard_normal(d) * rng.choice([0.02, 0.3, 1.0, 4.0])
            weights += rng.choice([0.0, l1_norm / d])
            low, high = tightness_errors.absolute_between(weights, l1_norm)
            exact = listed_error(weights, l1_norm, "absolute")
            assert low * (1 - 1e-12) <= exact <= high * (1 + 1e-12)
            wide.append((high - low) / exact)
    assert tightness_errors.absolute_between(np.zeros(3), l1_norm) == (1.0, 1.0)
    assert np.median(wide) < 1.0


def test_few_errors_are_computed_and_none_that_decides_is_left_out(monkeypatch):
    rng = np.random.default_rng(5)
    # The errors of a path of draws rise and fall.
    draws = rng.integers(0, 600, 300)
    path = np.cumsum(np.eye(600)[draws], axis=0) * 3.0 / np.arange(1, 301)[:, None]
    exact = [mean_absolute_error(weights, 3.0).value for weights in path]
    assert (np.diff(exact) > 0).sum() > 10
    asked = []

    def counted(*given):
        asked.append(given)
        return mean_absolute_error(*given)

    monkeypatch.setattr(tightness_errors.spread_label, "mean_absolute_error", counted)
    epsilons = [0.5, 0.3, 0.2, 0.01]
    found = tightness_errors.first_absolute(path, 3.0, epsilons)
    hits = [np.flatnonzero(np.array(exact) <= epsilon) for epsilon in epsilons]
    assert found == [int(hit[0]) if hit.size else None for hit in hits]
    assert found[-2:] != [None, None]
    assert 0 < len(asked) < 0.5 * len(path)


def test_the_exact_numbers_are_those_of_equal_weights():
    problem = spread_problem(**SMALL)
    for error in ("squared", "absolute"):
        best = [1.0]
        for k in range(1, 7):
            # Piecewise linear or quadratic in the weight: a fine grid is enough.
            tried = np.linspace(0.0, 1.0, 2001)
            sums = np.arange(-k, k + 1, 2)
            chances = [
                math.comb(k, (k + s) // 2) * (5 / 6) ** ((k + s) // 2) * (1 / 6) ** ((k - s) // 2)
                for s in sums
            ]
            off = np.abs(np.outer(tried, sums) - 1)
            best.append(((off**2 if error == "squared" else off) @ chances).min())
        epsilons = [0.5 * (best[2] + best[3]), best[5] + 1e-3]
        found = follow(problem, np.zeros((1, 9)), steps=1, epsilons=epsilons, errors=[error])
        assert [row["exact"] for row in found.rows] == [
            float(np.argmax(np.array(best) <= epsilon)) for epsilon in epsilons
        ]
        assert [row["needed"] for row in found.rows] == [None, None]


def test_bounds_are_those_of_the_theorems():
    problem = spread_problem(truth_l1_norm=3.0, accuracy=0.02)
    dense = (1 - 1 / 9) / (problem.n_features / 9)
    found = follow(problem, problem.truth.T, steps=1, epsilons=[0.2, 0.1, 0.05, 0.01])
    rows = {(row["error"], row["epsilon"]): row for row in found.rows}
    assert len(rows) == 8
    squared, absolute = rows["squared", 0.05], rows["absolute", 0.05]
    assert squared["lower_bound"] == squared["lower_bound_printed"] == pytest.approx(9 / 0.4)
    assert absolute["lower_bound"] == pytest.approx(9 / (200 * 0.0025))
    assert absolute["lower_bound_printed"] == pytest.approx(9 / (45 * 0.0025))
    for row in rows.values():
        bounds = [row["lower_bound"], row["lower_bound_printed"]]
        assert (bounds == [None, None]) == (row["epsilon"] > 0.1)
        assert all(bound <= row["exact"] for bound in bounds if bound is not None)
    assert squared["l1_upper"] == math.ceil(36 / (0.05 - dense) * (1 - 1e-12))
    assert rows["absolute", 0.2]["l1_upper"] == math.ceil(36 / (0.04 - dense) * (1 - 1e-12))
    assert (rows["squared", 0.01]["l1_upper"], absolute["l1_upper"]) == (None, None)
    below = spread_problem(truth_l1_norm=1.9, accuracy=0.1)
    (row,) = follow(below, below.truth.T, steps=1, epsilons=[0.1], errors=["squared"]).rows
    assert (row["lower_bound"], row["lower_bound_printed"]) == (None, None)


def test_what_is_wrong_with_estimates_is_told():
    problem = spread_problem(**SMALL)
    with np.errstate(invalid="ignore"):
        found = follow(problem, np.full((1, 9), np.inf), steps=1, epsilons=[0.1])
    assert found.status is Status.NONFINITE
    plain = replace(problem, facts={})
    with pytest.raises(DataError, match="needs the distribution of generator 'spread_label'"):
        follow(plain, np.zeros((1, 9)), steps=1, epsilons=[0.1])


def test_columns_say_what_they_are():
    described = {one.name: one for one in columns((), epsilons=[0.1], errors=["absolute"])}
    keys = [name for name, one in described.items() if one.kind == "key"]
    assert keys == ["record", "error", "epsilon"]
    assert [name for name in keys if described[name].apart] == ["error"]
    assert {name for name, one in described.items() if one.open_ended} == {"steps", "needed"}
    for wrong in ({"epsilons": [0.1, 0.1], "errors": ["absolute"]},
                  {"epsilons": [0.1], "errors": ["squared", "squared"]}):  # fmt: skip
        with pytest.raises(ValueError, match="duplicate value"):
            columns((), **wrong)


def settings(**more) -> dict:
    return {
        "name": "tight",
        "protocol": {"tightness": {"steps": 400, "epsilons": [0.5, 0.2, 0.1, 0.01]}},
        "data": {"generator": "spread_label", "accuracy": 0.05, "sweep": {"truth_l1_norm": [3, 5]}},
        "trials": 1,
        "algorithms": [{"fully_corrective": {"risk": "population"}}],
        **more,
    }


def test_greedy_selection_takes_what_the_best_predictor_takes(tmp_path):
    frame = greedyexp.run(settings(), out=tmp_path, engine="serial")
    assert (frame["status"] == "ok").all()
    squared = frame[(frame["error"] == "squared") & frame["needed"].notna()]
    # All features are alike, so that the best ones are any, and a fit gives them equal weights.
    assert len(squared) == 6
    assert (squared["needed"] == squared["exact"]).all()
    assert (squared["needed"] <= squared["l1_upper"]).all()
    # The dense predictor has an error of nearly 0.05, so that 0.01 is out of reach.
    assert frame.loc[frame["epsilon"] == 0.01, "needed"].isna().all()
    design = load(settings()).design
    words = setting_of(design, design.measured, frame.columns)

    def judged(test, **where):
        entry = {"id": "one", "quote": "q", "test": test, "where": where}
        return evaluate_claims([compile_claim(entry, words, "1")], frame, words).judged[0].tests[0]

    near = {"epsilon": [0.5, 0.2, 0.1], "error": "squared"}
    assert judged("always(needed >= exact)", **near).evidence.violations == 0
    assert judged("always(needed < exact)", **near).evidence.violations == 2
    assert "not reached" in judged("always(needed >= exact)").reason
    mean = judged(
        "mean(fully_corrective, needed) < 99", error="squared", epsilon=0.5, truth_l1_norm=5
    )
    assert mean.estimate == 24.0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"data": {"generator": "rademacher"}},
            "protocol 'tightness' needs a label spread over all features but generator"
            " 'rademacher' makes none",
        ),
        (
            {"algorithms": ["omp"], "data": {"generator": "spread_label", "n_samples": 20}},
            "for protocol 'tightness': it has no parameter 'steps'",
        ),
        ({"protocol": {"tightness": {"steps": 9}}}, "needs a value for 'epsilons'"),
    ],
)
def test_what_cannot_be_followed_is_refused_before_any_work(changes, said):
    assert said in message(settings(**changes))
