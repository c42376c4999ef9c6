"""Gradient descent against its closed form and a plain loop."""

import numpy as np
import pytest
from descent_oracles import (
    beginning,
    greatest_difference,
    iterates,
    one_task,
    smoothness_l2,
)

from greedyexp.algorithms.matching_pursuit.gradient_descent import gradient_descent
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.problems.problem import Problem, as_problem


def closed_form(problem, k):
    """a_k from the eigenvectors of P^T P / n: each coordinate of the error shrinks by itself."""
    P, y, n = problem.X[0], problem.y[0], len(problem.y[0])
    values, vectors = np.linalg.eigh(P.T @ P / n)
    values = np.maximum(values, 0.0)
    kept = 1.0 - values / values[-1]
    start, pull = vectors.T @ beginning(problem), vectors.T @ (P.T @ y) / n
    # Sum over i < k of kept^i, which is k where nothing pulls.
    step = np.full(len(values), k / values[-1])
    moved = values > 1e-12 * values[-1]
    step[moved] = (1.0 - kept[moved] ** k) / values[moved]
    return vectors @ (kept**k * start + step * pull)


@pytest.mark.parametrize("shape", [(40, 15), (20, 60), (12, 12), (60, 1)])
@pytest.mark.parametrize("start", [False, True])
def test_agrees_with_the_closed_form_however_far(shape, start):
    problem = one_task(sum(shape), *shape, start=start)
    iteration = gradient_descent(problem)
    for k in (0, 1, 2, 10, 100, 1000, 10_000):
        iteration.advance(k)
        assert iteration.coef == pytest.approx(closed_form(problem, k), abs=1e-10)


@pytest.mark.parametrize("shape", [(40, 15), (20, 60)])
def test_every_iterate_is_that_of_a_plain_loop(shape):
    problem = one_task(sum(shape) + 1, *shape, start=True)
    length = 1.0 / smoothness_l2(problem)
    path = iterates(problem, lambda coef, grad: coef - length * grad, 500)
    assert greatest_difference(gradient_descent(problem), path) < 1e-12


def test_a_column_of_zeros_is_left_alone():
    problem = one_task(6, 20, 5, start=True)
    problem.X[0][:, 2] = 0.0
    iteration = gradient_descent(problem)
    iteration.advance(300)
    assert iteration.coef[2] == problem.start[2, 0]
    with pytest.raises(DataError, match="all columns of the design are zero"):
        gradient_descent(as_problem(np.zeros((4, 2)), np.ones(4)))


def test_several_tasks_are_refused():
    with pytest.raises(ConfigError, match="takes one task; the data have 2"):
        gradient_descent(as_problem(np.ones((4, 2)), np.ones((4, 2))))


def test_an_estimate_outside_is_noted_between_two_stops():
    # The second coefficient shrinks by 7/16 a step until it rounds to zero.
    problem = Problem((np.diag([4.0, 3.0]),), (np.zeros(2),), start=np.array([[0.0], [1.0]]))
    slow, fast = gradient_descent(problem), gradient_descent(problem)
    outside = []
    for k in range(400):
        slow.advance(k)
        outside.append(slow.coef[1] != 0.0)
    last = np.flatnonzero(outside)[-1]
    assert 10 < last < 300
    fast.watch(np.array([True, False]))
    fast.advance(399)
    assert fast.last_outside == last
