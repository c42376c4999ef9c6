"""Forward greedy selection against plain steps, a conic solver and what is proved of it."""

import itertools

import numpy as np
import pytest
from frank_wolfe_oracle import BETA, LOSSES, Risk, data
from hypothesis import given, settings
from hypothesis import strategies as st

import greedyexp
from greedyexp.algorithms.sparsity import _frank_wolfe as frank_wolfe
from greedyexp.algorithms.sparsity._frank_wolfe import Walk
from greedyexp.algorithms.sparsity._risk import step_grid
from greedyexp.algorithms.sparsity.forward_greedy import forward_greedy
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.losses.risk import bind_risk
from greedyexp.problems.moments import DenseMoments, SpreadMoments
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.protocols.base import Setup, Status
from greedyexp.protocols.recovery import recovery
from greedyexp.theory.theorems import Reference

STEPS = ("paper", "line_search")


def fit(risk, **options):
    beta = BETA[risk.loss] if risk.loss in ("absolute", "hinge") else None
    problem = as_problem(risk.X, risk.y)
    options = {"radius": risk.radius, **options}
    return forward_greedy(problem, loss=risk.loss, beta=beta, ridge=risk.ridge, **options)


def posed(loss, seed=0, radius=2.0, ridge=0.0, **shape):
    return Risk(loss, *data(loss, seed, **shape), radius, ridge)


def every(steps):
    return {"steps": np.arange(steps + 1)}


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_iterate_is_that_of_plain_steps(loss, step, ridge):
    for seed, scale in ((0, 1.0), (1, 2.0)):
        risk = posed(loss, seed, ridge=ridge, scale=scale)
        path = fit(risk, step=step, grid=every(60))
        plain = risk.run(step, 60)
        ended = path.facts["steps"][-1]
        assert path.coef[:, :, 0] == pytest.approx(plain, abs=1e-9)
        assert path.objective == pytest.approx([risk.value(w) for w in plain], abs=1e-10)
        gaps = [risk.gap(w) for w in path.coef[:, :, 0]]
        assert path.facts["gap"] == pytest.approx(gaps, abs=1e-13)
        assert (path.facts["steps"] == np.minimum(np.arange(61), ended)).all()


@pytest.mark.parametrize("step", STEPS)
def test_rows_computed_when_needed_and_a_gram_matrix_are_one_method(step, monkeypatch):
    risk = posed("squared", 2, ridge=0.1)
    kept = fit(risk, step=step, grid=every(200))
    monkeypatch.setattr(frank_wolfe, "MOST_KEPT", 0)
    passed = fit(risk, step=step, grid=every(200))
    assert passed.coef == pytest.approx(kept.coef, abs=1e-10)
    assert not np.array_equal(passed.coef, kept.coef)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("loss", LOSSES)
def test_gap_bounds_the_distance_from_the_minimum_that_a_conic_solver_finds(loss, step):
    for seed, ridge, radius in ((0, 0.0, 1.0), (1, 0.2, 3.0)):
        risk = posed(loss, seed, radius, ridge)
        path = fit(risk, step=step, grid=every(300))
        excess = path.objective - risk.least()
        assert (excess >= -1e-9).all()
        assert (excess <= path.facts["gap"] + 1e-9).all()
        assert path.facts["gap"].min() < 0.2 * path.facts["gap"][0]


@pytest.mark.parametrize("loss", LOSSES)
def test_line_search_goes_to_the_lowest_point_of_the_line(loss):
    risk = posed(loss, 5, ridge=0.05)
    path = fit(risk, step="line_search", grid=every(40))
    for before, after in itertools.pairwise(path.coef[:, :, 0]):
        along = risk.vertex(before) - before
        other = min(risk.value(before + eta * along) for eta in np.linspace(0, 1, 201))
        least = min(other, risk.value(risk.paper(before)))
        assert risk.value(after) <= least + 1e-14


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    loss=st.sampled_from(LOSSES),
    step=st.sampled_from(STEPS),
    seed=st.integers(0, 10**6),
    shape=st.tuples(st.integers(2, 30), st.integers(1, 10)),
    radius=st.floats(0.2, 5.0),
    ridge=st.sampled_from([0.0, 0.1, 2.0]),
    scale=st.sampled_from([0.3, 1.0, 3.0]),
)
def test_theorem_2_holds_of_every_step(loss, step, seed, shape, radius, ridge, scale):
    risk = posed(loss, seed, radius, ridge, n=shape[0], d=shape[1], scale=scale)
    if loss in ("logistic", "hinge") and len(set(risk.y)) == 1:
        risk.y[0] *= -1.0
    size = 8.0 * risk.beta * radius**2
    path = fit(risk, step=step, grid=every(200))
    rounding = 1e-13 * max(1.0, path.objective[0])
    assert (np.diff(path.objective) <= rounding).all()
    # The minimum is at least what the gap leaves of any value.
    sure = fit(risk, step="line_search", steps=3000)
    above = (sure.objective - sure.facts["gap"]).max()
    k = np.arange(1, 201)
    excess = path.objective[1:] - max(above, (path.objective - path.facts["gap"]).max())
    unsure = sure.facts["gap"].min()
    assert (excess <= size / (k + 3) + unsure + rounding).all()
    # Lemma 6 in terms of the gap, of which the excess is a lower bound.
    gap, drop = path.facts["gap"][:-1], -np.diff(path.objective)
    made = np.diff(path.facts["steps"]) == 1
    least = np.where(gap <= size / 2, gap**2 / size, gap - size / 4)
    assert (drop >= least - rounding)[made].all()
    # Both ends: what is proved, with the number of steps that a gap takes.
    for share in (0.5, 0.1, 0.03):
        ends = fit(risk, step=step, epsilon=share * size / 8, steps=int(16 * 8 / share) + 1)
        assert ends.converged[-1]
        assert ends.facts["steps"][-1] <= np.ceil(2 * 8 / share)


def cube(d):
    return np.array(list(itertools.product([-1.0, 1.0], repeat=d)))


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("ridge", [0.0, 0.4])
def test_population_risk_takes_the_steps_of_a_sample_that_is_all_of_it(step, ridge):
    X = cube(6)
    y = X @ [1.0, -0.5, 0.25, 0.1, 0.05, 0.0] + 0.3 * X[:, 0] * X[:, 1]
    cross, power = X.T @ y / len(y), y @ y / len(y)
    options = {"radius": 1.5, "ridge": ridge, "step": step, "grid": every(100)}
    sample = forward_greedy(as_problem(X, y), **options)
    rows = np.zeros((0, 6)), np.zeros(0)
    for moments in (
        SpreadMoments(np.ones(6), np.zeros(6), cross, power),
        DenseMoments(np.eye(6), cross, power),
    ):
        problem = Problem((rows[0],), (rows[1],), moments=moments)
        path = forward_greedy(problem, risk="population", **options)
        assert path.coef == pytest.approx(sample.coef, abs=1e-9)
        assert path.facts["gap"] == pytest.approx(sample.facts["gap"], abs=1e-9)
        assert path.objective == pytest.approx(sample.objective, abs=1e-12)


@pytest.mark.parametrize("step", STEPS)
def test_spread_moments_take_the_steps_of_their_matrix(step):
    rng = np.random.default_rng(3)
    alpha, u, w = rng.uniform(0.2, 0.6, 9), rng.uniform(-0.6, 0.6, 9), rng.standard_normal(9)
    matrix = np.diag(alpha) + np.outer(u, u)
    cross, power = matrix @ w, w @ matrix @ w + 0.1
    paths = []
    for moments in (SpreadMoments(alpha, u, cross, power), DenseMoments(matrix, cross, power)):
        problem = Problem((np.zeros((0, 9)),), (np.zeros(0),), moments=moments)
        options = {"risk": "population", "radius": 2.0, "ridge": 0.1, "step": step}
        paths.append(forward_greedy(problem, grid=every(150), **options))
    assert paths[0].coef == pytest.approx(paths[1].coef, abs=1e-9)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("loss", LOSSES)
def test_one_run_gives_every_point_as_a_run_of_its_own_would(loss, step):
    risk = posed(loss, 7, ridge=0.01)
    gaps = fit(risk, step=step, grid=every(2500)).facts["gap"]
    # Accuracies that are gaps of this very run are where rounding would tell runs apart.
    epsilon = np.array([gaps[40], 0.0, gaps[300], gaps[1201], gaps[40], 1e-3, 10.0, gaps[2000]])
    counts = np.array([3000, 1500, 2600, 3000, 17, 0, 5, 2200])
    joint = fit(risk, step=step, grid={"steps": counts, "epsilon": epsilon})
    for place, (k, end) in enumerate(zip(counts, epsilon, strict=True)):
        alone = fit(risk, step=step, grid={"steps": [k], "epsilon": [end]})
        assert np.array_equal(alone.coef[0], joint.coef[place])
        assert alone.converged[0] == joint.converged[place]
        for name, values in joint.facts.items():
            assert alone.facts[name][0] == values[place]
    assert joint.facts["steps"][5] == joint.facts["steps"][6] == 0
    first = int(np.flatnonzero(gaps <= epsilon[2])[0])
    assert joint.facts["steps"][2] == first


def test_points_without_a_grid_are_powers_of_two_and_the_end():
    risk = posed("squared", 1)
    path = fit(risk, steps=20)
    assert path.grid["steps"].tolist() == [0, 1, 2, 4, 8, 16, 20]
    epsilon = fit(risk, grid={"steps": [11]}).facts["gap"][0]
    path = fit(risk, steps=20, epsilon=epsilon)
    assert path.grid["steps"].tolist() == [0, 1, 2, 4, 8, 11]
    # Before the end no accuracy is asked for; a grid may ask it of every point.
    assert path.converged.all()
    assert not path.message
    grid = {"steps": path.grid["steps"], "epsilon": np.full(6, epsilon)}
    assert fit(risk, grid=grid).converged.tolist() == [False] * 5 + [True]
    again = fit(risk, grid=path.grid, epsilon=epsilon)
    assert np.array_equal(again.coef, path.coef)


def test_an_accuracy_that_is_not_reached_is_said():
    path = fit(posed("squared", 1), steps=20, epsilon=1e-9)
    assert path.converged.tolist() == [True] * 6 + [False]
    assert path.message == "After 20 steps the gap is 0.256, not as small as requested."
    path = fit(posed("squared", 1), grid={"steps": [1, 2], "epsilon": [1e-9, 10.0]})
    assert path.message == "1 of 2 points did not reach the requested gap."


def test_a_run_that_uses_up_its_steps_is_not_converged():
    risk = posed("squared", 1)
    path = fit(risk, steps=20)
    assert path.converged.tolist() == [True] * 6 + [False]
    assert path.message == (
        "After all 20 steps the gap is 0.256. Give epsilon > 0 to end at an accuracy."
    )
    # Estimates that are asked for before the end of the run are unfinished by design.
    assert fit(risk, steps=20, grid={"steps": [4, 19]}).converged.all()
    assert not fit(risk, grid={"steps": [20], "epsilon": [0.0]}).converged[0]
    solution = greedyexp.solve("forward_greedy", risk.X, risk.y, radius=2.0, steps=20)
    assert not solution.converged
    assert "After all 20 steps the gap is 0.256" in solution.message
    # Only rounding is left of the gap: there is no smaller accuracy to ask for.
    X = cube(3)
    corner = forward_greedy(as_problem(X, 3.0 * X[:, 1]), radius=2.0, step="line_search")
    assert corner.converged.all()
    assert not corner.message


@pytest.mark.parametrize("step", STEPS)
def test_estimates_stay_in_the_ball_and_have_no_more_features_than_steps(step):
    for loss in LOSSES:
        path = fit(posed(loss, 4, d=30), step=step, grid=every(25))
        coef = path.coef[:, :, 0]
        assert (np.count_nonzero(coef, axis=1) <= path.facts["steps"]).all()
        assert (np.abs(coef).sum(axis=1) <= 2.0 + 1e-14).all()
        assert not np.signbit(coef[coef == 0.0]).any()


def test_rounding_does_not_add_up_over_many_steps():
    risk = posed("squared", 6, radius=1.5, d=25)
    problem = as_problem(risk.X, risk.y)
    walk = Walk(bind_risk("squared", problem), problem, 1.5, False)
    for until in (100_000, 300_000, 1_000_000):
        walk.advance(until, 0.0)
        kept, doubted = walk._run.gap, walk._run.doubt
        # Without fresh ones these gradients would be as far off as 9e-15.
        assert walk._run.grad == pytest.approx(risk.gradient(walk.coef), abs=2.5e-15)
        assert kept == pytest.approx(risk.gap(walk.coef), abs=0.01 * doubted)
        assert kept > 10 * doubted
        assert np.abs(walk.coef).sum() <= 1.5 * (1.0 + 1e-12)


@pytest.mark.parametrize("kept", [0, 2048])
@pytest.mark.parametrize("step", STEPS)
def test_a_minimum_inside_the_ball_is_reached_to_rounding(step, kept, monkeypatch):
    monkeypatch.setattr(frank_wolfe, "MOST_KEPT", kept)
    rng = np.random.default_rng(0)
    X, w = np.linalg.qr(rng.standard_normal((30, 4)))[0], np.array([0.3, -0.2, 0.1, 0.4])
    X /= np.abs(X).max()
    problem = as_problem(X, X @ w)
    path = forward_greedy(problem, radius=4.0, steps=10**6, step=step)
    assert path.facts["steps"][-1] < 10**6
    assert path.facts["gap"][-1] < 1e-14
    assert path.coef[-1, :, 0] == pytest.approx(w, abs=1e-6)
    asked = forward_greedy(problem, radius=4.0, grid={"steps": [10**6], "epsilon": [1e-30]})
    assert not asked.converged[0]
    assert "change no digit" in asked.message
    # The run ends before its budget, and between two of the points that nobody asked for.
    path = forward_greedy(problem, radius=4.0, steps=10**6, step=step, epsilon=1e-30)
    assert path.grid["steps"][-1] < 10**6
    assert path.converged.tolist() == [True] * (len(path) - 1) + [False]


def test_a_minimum_at_a_corner_is_found_in_one_step():
    X = cube(3)
    path = forward_greedy(as_problem(X, 3.0 * X[:, 1]), radius=2.0, step="line_search")
    assert path.facts["steps"].tolist() == [0, 1]
    assert path.coef[-1, :, 0].tolist() == [0.0, 2.0, 0.0]
    assert path.facts["gap"][-1] == 0.0


@pytest.mark.parametrize("kept", [0, 2048])
def test_a_whole_step_leaves_one_feature_and_plain_zeros(kept, monkeypatch):
    monkeypatch.setattr(frank_wolfe, "MOST_KEPT", kept)
    signs = cube(2)
    X, y = signs * [np.sqrt(10.0), 0.1], signs @ [-2.0 / np.sqrt(10.0), 19.0]
    problem = as_problem(X, y)
    path = forward_greedy(problem, radius=1.0, step="line_search", grid=every(2))
    assert path.coef[1, :, 0] == pytest.approx([-0.2, 0.0])
    assert path.coef[2, :, 0].tolist() == [0.0, 1.0]
    assert not np.signbit(path.coef[2]).any()


def test_ties_go_to_the_lowest_feature():
    X = cube(4)
    y = X.sum(axis=1)
    for sign in (1.0, -1.0):
        path = forward_greedy(as_problem(X, sign * y), radius=1.0, grid=every(4))
        entered = [np.flatnonzero(coef).tolist() for coef in path.coef[:, :, 0]]
        assert entered == [[], [0], [0, 1], [0, 1, 2], [0, 1, 2, 3]]


def test_no_slope_ends_before_the_first_step():
    X = cube(3)
    path = forward_greedy(as_problem(X, np.prod(X, axis=1)), radius=1.0, epsilon=0.1)
    assert path.facts["steps"].tolist() == [0]
    assert path.facts["gap"].tolist() == [0.0]
    assert path.converged.all()
    assert not path.coef.any()


def test_radius_is_by_default_that_of_the_truth():
    X, y = data("squared", 0)
    problem = as_problem(X, y, truth=np.r_[2.0, -1.0, 0.5, np.zeros(9)])
    path = forward_greedy(problem, steps=3)
    assert path.facts["radius"].tolist() == [3.5] * len(path)
    assert np.array_equal(path.coef, forward_greedy(problem, steps=3, radius=3.5).coef)


def test_theorems_speak_of_references_in_the_ball():
    risk = posed("logistic", 0, ridge=0.5, scale=2.0)
    path = fit(risk)
    theorems = registry.find("algorithm", "forward_greedy").theorems
    inside = Reference("truth", np.r_[-2.0, np.zeros(11)], 0.0, 0.0, 0.0)
    excess, ends = theorems(path, inside, loss="logistic")
    assert (excess.theorem, ends.theorem) == ("T2", "T2-termination")
    size = 8.0 * (0.25 * 4.0 + 0.5) * 4.0
    assert excess.steps(np.array([0.1])) == pytest.approx(size / 0.1, abs=1.0)
    assert ends.steps(np.array([0.1])) == pytest.approx(2 * size / 0.1, abs=1.0)
    outside = Reference("truth", np.r_[-2.0, 0.1, np.zeros(10)], 0.0, 0.0, 0.0)
    assert theorems(path, outside, loss="logistic") == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"radius": -1.0}, "radius must be at least 1e-75"),
        ({"radius": np.inf}, "radius must be finite"),
        ({"epsilon": -0.1, "radius": 1.0}, "epsilon must be at least 0"),
        ({"steps": 0, "radius": 1.0}, "steps must be at least 1"),
        ({"steps": 2**60, "radius": 1.0}, r"at most 2\^53 can be counted"),
        ({"radius": 1e80}, "at most 1e\\+75"),
        ({"loss": "hinge", "radius": 1.0}, r"the hinge loss is not smooth\. Give beta"),
        ({"beta": 2.0, "radius": 1.0}, r"the squared loss is already smooth\. Leave beta out"),
        ({"step": "long", "radius": 1.0}, "step"),
        ({}, "needs the true coefficients, .* Give radius of algorithm 'forward_greedy'"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(options, sentence):
    with pytest.raises(ConfigError, match=sentence):
        greedyexp.solve("forward_greedy", *data("squared", 0), **options)


@pytest.mark.parametrize(
    ("grid", "sentence"),
    [
        ({"epsilon": [0.1]}, "must hold values of steps, and may hold values of epsilon"),
        ({"steps": [1], "lam": [1]}, "must hold values of steps"),
        ({"steps": [1.5]}, "whole numbers"),
        ({"steps": [-1]}, "numbers >= 0"),
        ({"steps": [np.nan]}, "numbers >= 0"),
        ({"steps": []}, "numbers >= 0"),
        ({"steps": ["many"]}, "numbers >= 0"),
        ({"steps": [1e300]}, r"at most 2\^53"),
        ({"steps": [1, 2], "epsilon": [0.1]}, "2 values of steps and 1 of epsilon"),
        ({"steps": [1], "epsilon": [-0.1]}, "grid of epsilon must hold numbers >= 0"),
    ],
)
def test_bad_grids_are_refused_in_a_sentence(grid, sentence):
    with pytest.raises(ConfigError, match=sentence):
        step_grid(grid, 10, 0.0)


def test_a_grid_of_accuracies_is_for_algorithms_that_have_one():
    with pytest.raises(ConfigError, match=r"must hold values of steps\.$"):
        step_grid({"steps": [1], "epsilon": [0.1]}, 10)
    points = step_grid({"steps": [3, 1]}, 10)
    assert points.steps.tolist() == [3, 1]
    assert list(points.grid) == ["steps"]
    assert not points.epsilon.any()
    assert points.until(2) is points


@pytest.mark.parametrize("kept", [0, 2048])
@pytest.mark.parametrize("step", STEPS)
def test_extreme_units_neither_overflow_nor_end_early(step, kept, monkeypatch):
    monkeypatch.setattr(frank_wolfe, "MOST_KEPT", kept)
    X, y = data("squared", 0)
    plain = forward_greedy(as_problem(X, y), radius=2.0, step=step, grid=every(30))
    for size in (1e60, 1e-60):
        path = forward_greedy(as_problem(X, size * y), radius=2.0 * size, step=step, grid=every(30))
        assert path.coef / size == pytest.approx(plain.coef, abs=1e-9)
    for size in (1e74, 1e-74):
        path = forward_greedy(as_problem(size * X, y), radius=1e75, ridge=1e140, step=step)
        assert np.isfinite(path.coef).all()
        assert np.isfinite(path.facts["gap"]).all()


@pytest.mark.parametrize("tuning", ["oracle", "cv"])
def test_estimates_before_the_end_are_no_lack_of_accuracy_to_protocols(tuning):
    rng = np.random.default_rng(0)
    truth = np.array([1.0, -0.5, 0.0, 0.0, 0.0])
    X = rng.uniform(-1.0, 1.0, (60, 5))
    problem = Problem((X,), (X @ truth + 0.1 * rng.standard_normal(60),), truth[:, None])
    part = registry.find("algorithm", "forward_greedy")
    for steps, status in ((2000, Status.OK), (3, Status.NOT_CONVERGED)):
        setup = Setup(
            tuning, 5, (registry.find("metric", "relative_error"),), np.random.default_rng(0)
        )
        params = {"radius": 1.0, "epsilon": 0.05, "steps": steps}
        assert recovery(problem, part, params, setup).status is status
