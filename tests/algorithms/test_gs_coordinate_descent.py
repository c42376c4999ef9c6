"""Gauss-Southwell coordinate descent against a plain loop, iterate by iterate."""

import numpy as np
import pytest
from descent_oracles import (
    gauss_southwell,
    gradient,
    greatest_difference,
    iterates,
    one_task,
    smoothness_l1,
    value,
)

from greedyexp.algorithms.matching_pursuit.coordinate_descent import (
    gs_coordinate_descent,
)
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.kernels.coordinate_descent import GAUSS_SOUTHWELL, REFRESH, Descent
from greedyexp.problems.problem import Problem, as_problem


# 2100 features are more than the Gram matrix is kept for.
@pytest.mark.parametrize("shape", [(40, 15), (20, 60), (12, 12), (10, 2100)])
@pytest.mark.parametrize("start", [False, True])
def test_every_iterate_is_that_of_a_plain_loop(shape, start):
    problem = one_task(sum(shape), *shape, start=start)
    path = iterates(problem, gauss_southwell(smoothness_l1(problem)), 1200)
    assert greatest_difference(gs_coordinate_descent(problem), path) < 1e-12


def test_small_losses_are_known_to_relative_precision():
    # With y in the range of P the loss falls to nothing, and what was rounding becomes all.
    problem = one_task(4, 30, 10, noise=0.0)
    path = iterates(problem, gauss_southwell(smoothness_l1(problem)), 400)
    iteration = gs_coordinate_descent(problem)
    for k in range(0, 401, 20):
        iteration.advance(k)
        assert iteration.objective == pytest.approx(value(problem, path[k], 0.0), rel=1e-6)
    assert iteration.objective < 1e-15


def test_the_least_squares_solution_is_the_end():
    problem = one_task(5, 60, 12)
    iteration = gs_coordinate_descent(problem)
    iteration.advance(20_000)
    exact = np.linalg.lstsq(problem.X[0], problem.y[0], rcond=None)[0]
    assert iteration.coef == pytest.approx(exact, abs=1e-13)


def test_ties_go_to_the_lowest_feature():
    iteration = gs_coordinate_descent(as_problem(np.eye(3), np.ones(3)))
    for k in range(1, 4):
        iteration.advance(k)
        assert iteration.coef == pytest.approx([1.0] * k + [0.0] * (3 - k))
    column = np.random.default_rng(0).standard_normal((9, 1))
    twins = gs_coordinate_descent(as_problem(np.hstack([column, column, -column]), np.arange(9.0)))
    twins.advance(50)
    assert not twins.coef[1:].any()


def test_a_column_of_zeros_is_left_alone():
    problem = one_task(6, 20, 5, start=True)
    problem.X[0][:, 2] = 0.0
    iteration = gs_coordinate_descent(problem)
    iteration.advance(300)
    assert iteration.coef[2] == problem.start[2, 0]
    with pytest.raises(DataError, match="all columns of the design are zero"):
        gs_coordinate_descent(as_problem(np.zeros((4, 2)), np.ones(4)))


def test_impossible_data_are_refused():
    X = np.ones((4, 2))
    with pytest.raises(ConfigError, match="takes one task; the data have 2"):
        gs_coordinate_descent(as_problem(X, np.ones((4, 2))))
    with pytest.raises(DataError, match="too large to be squared"):
        gs_coordinate_descent(Problem((1e200 * X,), (np.ones(4),)))
    with pytest.raises(DataError, match="not finite"):
        gs_coordinate_descent(Problem((X,), (np.array([1.0, np.nan, 0.0, 0.0]),)))
    with pytest.raises(DataError, match="the start has 3 coefficients; the data need 2"):
        gs_coordinate_descent(Problem((X,), (np.ones(4),), start=np.zeros((3, 1))))


def state_of(problem, start):
    P, n = problem.X[0], len(problem.y[0])
    atoms, gram = np.ascontiguousarray(P.T), P.T @ P / n
    return Descent(atoms, gram, problem.y[0], 0.0, smoothness_l1(problem), start)


def test_errors_of_the_kept_gradient_do_not_last():
    problem = one_task(8, 40, 15)
    state = state_of(problem, np.zeros(15))
    state.grad[3] += 1e-6
    state.residual[5] += 1e-6
    state.descend(GAUSS_SOUTHWELL, REFRESH, -1.0)
    assert state.grad == pytest.approx(gradient(problem, state.coef), abs=1e-14)
    assert state.residual == pytest.approx(problem.X[0] @ state.coef - problem.y[0], abs=1e-13)


def test_errors_made_far_away_do_not_stay():
    problem = one_task(8, 300, 5, noise=0.0)
    state = state_of(problem, np.full(5, 1e12))
    state.descend(GAUSS_SOUTHWELL, REFRESH - 1, -1.0)
    # Rounding at the start is 1e-4 in the gradient; it must not be there any more.
    assert state.grad == pytest.approx(gradient(problem, state.coef), abs=1e-9)
