"""Proximal gradient and proximal coordinate descent against plain loops and the Lasso."""

import numpy as np
import pytest
from descent_oracles import (
    gauss_southwell,
    greatest_difference,
    iterates,
    one_task,
    smoothness_l1,
    smoothness_l2,
    soft,
    value,
)
from sklearn.linear_model import Lasso

from greedyexp.algorithms.matching_pursuit.coordinate_descent import (
    proximal_gs_coordinate_descent,
    rmp,
)
from greedyexp.algorithms.matching_pursuit.gradient_descent import (
    gradient_descent,
    proximal_gradient,
)
from greedyexp.core.errors import ConfigError
from greedyexp.problems.problem import Problem, as_problem

SHAPES = [(30, 12), (20, 80), (10, 2100)]


def steepest_model(lam, smoothness):
    """One step of proximal coordinate descent, by comparing the models as they are written."""

    def step(coef, grad):
        best = soft(coef - grad / smoothness, lam / smoothness)
        change = best - coef
        model = grad * change + smoothness / 2 * change**2 + lam * (np.abs(best) - np.abs(coef))
        i = np.argmin(model)
        moved = coef.copy()
        moved[i] = best[i]
        return moved

    return step


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("start", [False, True])
@pytest.mark.parametrize("lam", [0.0, 0.02, 0.5])
def test_proximal_gradient_is_its_plain_loop(shape, start, lam):
    problem = one_task(sum(shape), *shape, start=start)
    l2 = smoothness_l2(problem)
    path = iterates(problem, lambda coef, grad: soft(coef - grad / l2, lam / l2), 300)
    assert greatest_difference(proximal_gradient(problem, lam=lam), path) < 1e-12


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("start", [False, True])
@pytest.mark.parametrize("smoothness", ["l1", "l2"])
@pytest.mark.parametrize("lam", [0.0, 0.02, 0.5])
def test_proximal_coordinate_descent_is_its_plain_loop(shape, start, smoothness, lam):
    problem = one_task(sum(shape) + 1, *shape, start=start)
    constant = smoothness_l1(problem) if smoothness == "l1" else smoothness_l2(problem)
    path = iterates(problem, steepest_model(lam, constant), 300)
    iteration = proximal_gs_coordinate_descent(problem, lam=lam, smoothness=smoothness)
    assert greatest_difference(iteration, path) < 1e-11


@pytest.mark.parametrize("method", [proximal_gradient, proximal_gs_coordinate_descent, rmp])
@pytest.mark.parametrize("shape", [(50, 20), (30, 60)])
def test_the_end_is_the_lasso_of_scikit_learn(method, shape):
    problem, lam = one_task(sum(shape) + 2, *shape, start=True), 0.1
    iteration = method(problem, lam=lam)
    iteration.advance(30_000)
    peer = Lasso(alpha=lam, fit_intercept=False, tol=1e-15, max_iter=10**6)
    peer.fit(problem.X[0], problem.y[0])
    assert iteration.coef == pytest.approx(peer.coef_, abs=1e-9)
    assert np.array_equal(np.flatnonzero(iteration.coef), np.flatnonzero(peer.coef_))
    assert iteration.objective <= value(problem, peer.coef_, lam) + 1e-14
    # It is a fixed point: many more steps lead nowhere.
    reached = iteration.coef
    iteration.advance(40_000)
    assert iteration.coef == pytest.approx(reached, abs=1e-12)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        (proximal_gradient, {}),
        (proximal_gs_coordinate_descent, {"smoothness": "l1"}),
        (proximal_gs_coordinate_descent, {"smoothness": "l2"}),
        (rmp, {}),
    ],
)
@pytest.mark.parametrize("shape", [(40, 15), (15, 40)])
@pytest.mark.parametrize("lam", [0.0, 0.05, 2.0])
def test_no_step_ascends(method, params, shape, lam):
    for seed in range(5):
        problem = one_task(seed, *shape, start=seed % 2 == 1 or lam > 1)
        iteration = method(problem, lam=lam, **params)
        values = []
        for k in range(250):
            iteration.advance(k)
            values.append(iteration.objective)
        assert np.all(np.diff(values) <= 1e-14 * values[0])
        assert values[-1] < values[0]


def test_no_penalty_leaves_the_plain_methods():
    problem = one_task(9, 25, 40)
    plain, proximal = gradient_descent(problem), proximal_gradient(problem, lam=0.0)
    for k in (1, 7, 200):
        plain.advance(k)
        proximal.advance(k)
        assert proximal.coef == pytest.approx(plain.coef, abs=1e-12)
    path = iterates(problem, gauss_southwell(smoothness_l1(problem)), 200)
    for method in (proximal_gs_coordinate_descent, rmp):
        assert greatest_difference(method(problem, lam=0.0), path) < 1e-12


def test_a_column_of_zeros_shrinks_to_zero():
    problem = one_task(3, 20, 6)
    problem.X[0][:, 4] = 0.0
    start = np.zeros((6, 1))
    start[4] = 0.3
    for method in (proximal_gradient, proximal_gs_coordinate_descent, rmp):
        iteration = method(Problem(problem.X, problem.y, start=start), lam=0.2)
        iteration.advance(500)
        assert iteration.coef[4] == 0.0


@pytest.mark.parametrize("method", [proximal_gradient, proximal_gs_coordinate_descent, rmp])
def test_impossible_parameters_are_refused(method):
    problem = one_task(0, 10, 4)
    for lam in (-0.1, np.nan, np.inf):
        with pytest.raises(ConfigError, match="lam must be at least 0 and finite"):
            method(problem, lam=lam)
    with pytest.raises(ConfigError, match="takes one task; the data have 2"):
        method(as_problem(np.ones((4, 2)), np.ones((4, 2))), lam=0.1)


def test_an_unknown_smoothness_is_refused():
    with pytest.raises(ConfigError, match="smoothness must be 'l1' or 'l2'; it is 'l3'"):
        proximal_gs_coordinate_descent(one_task(0, 10, 4), lam=0.1, smoothness="l3")
