import itertools

import numpy as np
import pytest
from scipy.special import expit

from greedyexp.losses.quasi_newton import append, descend, inverse_hessian, remove


def hessian(m, seed=0, condition=1e4):
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.standard_normal((m, m)))[0]
    return (vectors * np.geomspace(1.0, condition, m)) @ vectors.T


def quadratic(matrix, best):
    def function(x):
        slope = matrix @ (x - best)
        return 0.5 * (x - best) @ slope + 1.0, slope

    return function


def logistic(seed=0, n=60, m=8, ridge=1e-3):
    A = np.random.default_rng(seed).standard_normal((n, m)) * np.geomspace(0.1, 10, m)

    def function(x):
        value = np.logaddexp(0.0, -A @ x).mean() + 0.5 * ridge * x @ x
        return value, -A.T @ expit(-A @ x) / n + ridge * x

    return function


def test_a_variable_enters_the_inverse_exactly():
    H = hessian(7)
    grown = append(np.linalg.inv(H[:6, :6]), H[:6, 6], H[6, 6])
    np.testing.assert_allclose(grown, np.linalg.inv(H), rtol=1e-8)


def test_a_variable_leaves_the_inverse_exactly():
    H = hessian(7, seed=1)
    keep = [0, 1, 3, 4, 5, 6]
    reduced = remove(np.linalg.inv(H), 2)
    np.testing.assert_allclose(reduced, np.linalg.inv(H[np.ix_(keep, keep)]), rtol=1e-8)


def test_a_variable_that_repeats_others_keeps_the_inverse_positive():
    H = hessian(4, seed=2)
    column = H @ [1.0, -2.0, 0.0, 1.0]
    curvature = column @ [1.0, -2.0, 0.0, 1.0]
    grown = append(np.linalg.inv(H), column, curvature * (1.0 - 1e-12))
    assert np.linalg.eigvalsh(grown).min() > 0.0


def test_the_exact_inverse_needs_one_step():
    H, best = hessian(9, condition=10.0), np.arange(9.0)
    found = descend(quadratic(H, best), np.zeros(9), 1e-10, np.linalg.inv(H))
    assert (found.converged, found.iterations, found.evaluations) == (True, 1, 2)
    np.testing.assert_allclose(found.x, best, atol=1e-9)


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6])
def test_an_ill_conditioned_quadratic_is_solved(condition):
    H, best = hessian(12, condition=condition), np.ones(12)
    found = descend(quadratic(H, best), np.zeros(12), 1e-9)
    assert found.converged
    np.testing.assert_allclose(found.x, best, atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_gradients_fall_below_what_values_can_tell(seed):
    """Near the minimum the value is flat to 16 digits while the gradient still has 1e-9 to lose."""
    function = logistic(seed)
    found = descend(function, np.zeros(8), 1e-14)
    assert found.converged
    assert np.abs(function(found.x)[1]).max() <= 1e-14


@pytest.mark.parametrize("seed", range(5))
def test_values_that_rise_by_rounding_do_not_stop_the_descent(seed):
    """Each value is a little larger than the one before, which only derivatives see through."""
    function, calls = logistic(seed), itertools.count()

    def rising(x):
        value, gradient = function(x)
        return value + 1e4 + 2e-12 * next(calls), gradient

    found = descend(rising, np.zeros(8), 1e-13)
    plain = descend(function, np.zeros(8), 1e-13)
    assert found.converged
    assert found.evaluations <= plain.evaluations + 5
    np.testing.assert_allclose(found.x, plain.x, atol=1e-9)


def test_a_misleading_inverse_does_no_harm():
    found = descend(logistic(), np.zeros(8), 1e-12, 1e9 * np.diag([1, 1e-12] * 4))
    plain = descend(logistic(), np.zeros(8), 1e-12)
    assert found.converged
    np.testing.assert_allclose(found.x, plain.x, atol=1e-8)


def test_the_limit_is_told():
    found = descend(logistic(), np.zeros(8), 1e-12, limit=2)
    assert not found.converged
    assert found.iterations == 2


def test_differences_give_the_inverse_hessian():
    H = hessian(6, condition=100.0)
    function = quadratic(H, np.zeros(6))
    where = descend(function, np.ones(6), 1e6)
    inverse = inverse_hessian(function, where, 1e-5, 0.0)
    np.testing.assert_allclose(inverse, np.linalg.inv(H), atol=1e-7)


def test_noise_in_a_hessian_does_not_become_a_direction():
    """Along the kernel of a singular Hessian the inverse goes by the least known curvature."""
    H = np.diag([4.0, 2.0, 0.0])
    function = quadratic(H, np.zeros(3))
    where = descend(function, np.ones(3), 1e6)
    inverse = inverse_hessian(function, where, 1e-5, 0.1)
    np.testing.assert_allclose(np.diag(inverse), [0.25, 0.5, 10.0], rtol=1e-7)
