"""Randomized sparsification against its law, closed forms and Theorem 1."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sparsification_law import squared_excess

from greedyexp.algorithms.sparsity.l1_ball import l1_ball
from greedyexp.algorithms.sparsity.randomized_sparsification import (
    SINGLE,
    Draws,
    randomized_sparsification,
    theorems,
)
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.problems.moments import SpreadMoments
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.theory.theorems import Reference


def data(seed=0, n=80, d=10, classes=False):
    rng = np.random.default_rng(seed)
    X = np.sign(rng.standard_normal((n, d)))
    truth = np.zeros(d)
    truth[:4] = 1.0, -0.5, 0.25, 0.25
    y = X @ truth + 0.3 * rng.standard_normal(n)
    return as_problem(X, np.where(y > 0, 1.0, -1.0) if classes else y, truth=truth)


def at(problem, steps, seed, **params):
    grid = {"steps": np.atleast_1d(steps)}
    rng = np.random.default_rng(seed)
    return randomized_sparsification(problem, grid=grid, rng=rng, **params)


def excesses(problem, steps, runs, *, radius=None, start="l1_ball", **params):
    """R(w_k) - R(w*) of independent runs after each number of steps, (len(steps), runs)."""
    if start == "l1_ball":
        # Minimise once, and start every run there.
        problem = replace(problem, truth=l1_ball(problem, radius=radius, **params).coef[0])
    found = np.empty((len(steps), runs))
    for seed in range(runs):
        path = at(problem, steps, seed, start="truth", **params)
        found[:, seed] = path.objective - path.facts["start_risk"]
    return found


def reference(path, problem):
    w = path.loss.minimise(()).params
    return Reference("truth", w, path.loss.value(w), 0.0, path.loss.unsmoothed(w))


def test_an_estimate_is_the_norm_over_k_times_whole_signed_counts():
    problem = data()
    start = l1_ball(problem).coef[0, :, 0]
    norm = np.abs(start).sum()
    path = at(problem, np.arange(30), 3)
    assert not path.coef[0].any()
    before = np.zeros(10)
    for k in range(1, 30):
        counts = path.coef[k, :, 0] * k / norm
        assert counts == pytest.approx(np.rint(counts), abs=1e-9)
        assert (np.sign(counts) == np.where(np.rint(counts) != 0, np.sign(start), 0)).all()
        assert np.abs(counts).sum() == pytest.approx(k)
        # Nested: each step adds one draw to those before.
        assert np.abs(counts - before).sum() == pytest.approx(1.0)
        before = counts
    assert path.facts["start_norm"] == pytest.approx(norm)
    assert path.facts["steps"].tolist() == list(range(30))
    assert path.converged.all()


def test_features_are_drawn_in_proportion_to_their_coefficients():
    shares = np.array([0.5, 0.3, 0.15, 0.05])
    for steps in (2000, SINGLE, SINGLE + 5001):
        counts = Draws(3.0 * shares, np.random.default_rng(1)).counts(steps)
        assert counts.sum() == steps
        assert stats.chisquare(counts, steps * shares).pvalue > 0.01


def test_numbers_of_draws_beyond_single_ones_have_the_same_law():
    shares = np.array([0.7, 0.3])
    steps = SINGLE + 4000
    found = [Draws(shares, np.random.default_rng(seed)).counts(steps)[0] for seed in range(400)]
    spread = (np.array(found) - 0.7 * steps) / math.sqrt(steps * 0.21)
    assert stats.kstest(spread, "norm").pvalue > 0.01
    # Of the draws beyond alone, that what went before is kept.
    draws = Draws(shares, np.random.default_rng(0))
    first, second = draws.counts(SINGLE), draws.counts(steps)
    assert (second >= first).all()
    assert second.sum() == steps


def test_where_a_run_is_looked_at_does_not_change_it():
    problem = data()
    fine = at(problem, np.arange(0, 60), 5)
    rough = at(problem, [40, 7, 59, 7], 5)
    assert rough.coef == pytest.approx(fine.coef[[40, 7, 59, 7]], abs=0)
    assert rough.grid["steps"].tolist() == [40, 7, 59, 7]


def test_a_thousand_million_draws_are_close_to_what_they_sparsify():
    problem = data()
    path = randomized_sparsification(problem, steps=10**9)
    assert path.grid["steps"][-1] == 10**9
    start = l1_ball(problem).coef[0]
    assert path.coef[-1] == pytest.approx(start, abs=5 * 2.0 / math.sqrt(10**9))
    excess = path.objective[-1] - path.facts["start_risk"][-1]
    assert 0 <= excess < 1e-7


@pytest.mark.parametrize("ridge", [0.0, 0.4])
@pytest.mark.parametrize("start", ["l1_ball", "truth"])
def test_the_mean_excess_of_least_squares_is_its_closed_form(start, ridge):
    problem = data(1)
    X = problem.X[0]
    probe = at(problem, 5, 0, start=start, ridge=ridge)
    w = l1_ball(problem, ridge=ridge).coef[0, :, 0] if start == "l1_ball" else problem.truth[:, 0]
    exact = squared_excess(w, (X**2).mean(axis=0), float(((X @ w) ** 2).mean()), ridge)
    counts = (1, 5, 40)
    runs = excesses(problem, counts, 1500, start=start, ridge=ridge)
    for k, found in zip(counts, runs, strict=True):
        assert abs(found.mean() - exact / k) <= 3.5 * stats.sem(found)
        # The test has teeth: it would see a tenth.
        assert stats.sem(found) * 3.5 < 0.1 * exact / k or start == "truth"
    norm = probe.facts["start_norm"][0]
    assert exact <= (1.0 + ridge) * norm**2 / 2


def test_the_closed_form_holds_for_a_distribution():
    alpha, u, cross = np.full(6, 0.6), np.full(6, 0.5), np.linspace(0.1, 0.3, 6)
    moments = SpreadMoments(alpha, u, cross, 1.0)
    problem = Problem((np.zeros((0, 6)),), (np.zeros(0),), moments=moments)
    w = l1_ball(problem, risk="population", radius=0.3).coef[0, :, 0]
    exact = squared_excess(w, moments.diagonal, moments.quadratic(w))
    (found,) = excesses(problem, (7,), 1500, risk="population", radius=0.3)
    assert abs(found.mean() - exact / 7) <= 3.5 * stats.sem(found)


@pytest.mark.parametrize(
    ("name", "beta", "ridge"),
    [
        ("squared", None, 0.0),
        ("logistic", None, 0.0),
        ("logistic", None, 0.2),
        ("absolute", 2.0, 0.0),
        ("hinge", 2.0, 0.0),
        ("absolute", None, 0.0),
        ("hinge", None, 0.3),
    ],
)
def test_theorem_1_holds_of_every_loss(name, beta, ridge):
    problem = data(2, classes=name in ("logistic", "hinge"))
    params = {"loss": name, "beta": beta, "ridge": ridge, "radius": 1.5}
    probe = at(problem, 1, 0, **params)
    promises = theorems(probe, reference(probe, problem), **params)
    names = [promise.theorem for promise in promises]
    expected = [] if beta is None and name in ("absolute", "hinge") else ["T1"]
    if name != "squared":
        expected += ["T1-lipschitz"] + ["T1-lipschitz-printed"] * (ridge == 0.0)
    assert names == expected
    epsilon = 0.2
    counts = [3, 50, *(int(promise.steps(np.array([epsilon]))[0]) for promise in promises)]
    runs = excesses(problem, counts, 300, **params)
    for place, promise in enumerate(promises):
        assert promise.original == (beta is None and name in ("absolute", "hinge"))
        for k, found in zip(counts[:2], runs, strict=False):
            assert found.min() >= -1e-9
            assert found.mean() - 3 * stats.sem(found) <= promise.excess(np.array([k]))[0]
        reached = (runs[2 + place] <= epsilon).sum()
        assert stats.binomtest(int(reached), 300, 0.5, alternative="less").pvalue > 0.01


def test_the_steps_of_theorem_1_need_a_minimiser():
    # <x, w> = w_1 - w_2 and a far away response: R is almost linear, and a rare draw of the second
    # feature pays for frequent ones of the first.
    X = np.tile([1.0, -1.0], (4, 1))
    problem = as_problem(X, np.full(4, -1e3), truth=np.array([0.9, 0.1]))
    probe = at(problem, 1, 0, start="truth")
    assert probe.facts["start_gap"][0] > 1.0
    w = problem.truth[:, 0]
    known = Reference("truth", w, probe.loss.value(w), 0.0, probe.loss.value(w))
    (promise,) = theorems(probe, known, ridge=0.0)
    assert promise.excess(np.array([2]))[0] == pytest.approx(0.25)
    assert np.isinf(promise.steps(np.array([0.5]))).all()
    # As printed: with k = 2 >= 1 / epsilon an excess of at most 1/2 in every second run.
    (found,) = excesses(problem, (2,), 400, start="truth")
    assert (found <= 0.5).mean() < 0.25
    # The mean is as Lemma 3 has it.
    assert found.mean() - 3 * stats.sem(found) <= 0.25


def test_a_start_that_minimises_over_its_ball_has_steps():
    problem = data()
    w = problem.truth[:, 0]
    exact = as_problem(problem.X[0], problem.X[0] @ w, truth=w)
    probe = at(exact, 1, 0, start="truth")
    known = Reference("truth", w, 0.0, 0.0, 0.0)
    (promise,) = theorems(probe, known, ridge=0.0)
    assert promise.steps(np.array([0.1]))[0] == 40.0


def test_nothing_is_promised_against_what_is_better_than_the_start():
    problem = data()
    probe = at(problem, 1, 0, radius=0.5)
    w = l1_ball(problem, radius=1.5).coef[0, :, 0]
    better = Reference("l1_ball", w, probe.loss.value(w), 0.0, probe.loss.value(w))
    assert theorems(probe, better, ridge=0.0) == []


def test_repeats_take_the_best_sequence_at_each_point():
    problem = data(3)
    steps = np.array([1, 2, 4, 9])
    one = at(problem, steps, 7)
    five = at(problem, steps, 7, repeats=5)
    six = at(problem, steps, 7, repeats=6)
    assert (five.objective <= one.objective).all()
    assert (six.objective <= five.objective).all()
    assert (five.objective < one.objective).any()
    for coef, value in zip(five.coef, five.objective, strict=True):
        assert five.loss.value(coef[:, 0]) == pytest.approx(value, rel=1e-14)


def test_repeats_keep_the_promise_of_their_number():
    # Three draws of two opposite columns: one sequence in four is all of one sign.
    X = np.array([[1.0, -1.0], [1.0, -1.0]])
    problem = as_problem(X, np.zeros(2), truth=np.array([0.5, 0.5]))
    for repeats in (1, 2, 4):
        found = np.empty(400)
        for seed in range(400):
            path = at(problem, 3, seed, start="truth", repeats=repeats)
            found[seed] = path.objective[0]
        failed = int((found > 1.0 / 3.0).sum())
        assert stats.binomtest(failed, 400, 0.25**repeats).pvalue > 0.01


def test_kinks_tell_the_risk_before_smoothing():
    problem = data(4)
    path = at(problem, [0, 4, 100], 1, loss="absolute")
    lost = [np.abs(problem.X[0] @ coef[:, 0] - problem.y[0]).mean() for coef in path.coef]
    assert path.objective == pytest.approx(lost)
    assert path.facts["risk"] == pytest.approx(lost)
    assert "risk" not in at(problem, 4, 1, loss="absolute", beta=3.0).facts


def test_the_stream_is_fixed_by_default():
    problem = data()
    one, other = (randomized_sparsification(problem, steps=20) for _ in range(2))
    assert (one.coef == other.coef).all()
    assert registry.find("algorithm", "randomized_sparsification").takes_rng


def test_what_cannot_be_sparsified_is_refused():
    problem = data()
    nothing = as_problem(problem.X[0], np.zeros(80), truth=np.zeros(10))
    with pytest.raises(DataError, match="zero"):
        randomized_sparsification(nothing, radius=1.0)
    with pytest.raises(DataError, match="zero"):
        randomized_sparsification(nothing, start="truth")
    with pytest.raises(ConfigError, match="leave radius out"):
        randomized_sparsification(problem, start="truth", radius=1.0)
    with pytest.raises(ConfigError, match="true coefficients"):
        randomized_sparsification(as_problem(problem.X[0], problem.y[0]), start="truth")
    with pytest.raises(ConfigError, match="steps"):
        randomized_sparsification(problem, grid={"lam": np.ones(2)})
    part = registry.find("algorithm", "randomized_sparsification")
    given = {"start": "truth", "risk": "population", "loss": "squared"}
    assert part.requirements_of(given) == ("moments", "truth")
