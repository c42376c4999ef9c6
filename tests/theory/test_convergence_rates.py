"""No guarantee is ever violated, and the one for gradient descent cannot be improved."""

from functools import partial

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from slow_descent import (
    coordinate_step,
    gaps,
    gradient_step,
    objective,
    pursuit_step,
)

from greedyexp.problems.problem import Problem
from greedyexp.protocols.trajectory._optimum import optimum
from greedyexp.theory import convergence_rates as rates
from greedyexp.theory.constants import SMOOTHNESS, Optimum
from greedyexp.theory.convergence_rates import GapBound

SETTINGS = settings(deadline=None, derandomize=True, max_examples=60)
ITERATIONS = 40


@st.composite
def problems(draw, *, lam_zero=False):
    """Designs of every shape and rank, with columns of unlike lengths, and any start."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, p = draw(st.integers(2, 9)), draw(st.integers(1, 12))
    P = rng.standard_normal((n, p)) * 10.0 ** rng.uniform(-draw(st.sampled_from([0, 1])), 0, p)
    if draw(st.booleans()):
        P -= P.mean(axis=0)
    if draw(st.booleans()) and p > 2:
        P[:, 0] = P[:, 1] + P[:, 2]
    assume(np.abs(P).max() > 1e-3)
    y = rng.standard_normal(n)
    start = rng.standard_normal((p, 1)) if draw(st.booleans()) else None
    correlation = np.abs(P.T @ y).max() / n
    lam = 0.0 if lam_zero else correlation * draw(st.sampled_from([0.0, 0.01, 0.1, 0.5, 1.5]))
    return Problem((P,), (y,), start=start), lam


def start_of(problem):
    return np.zeros(problem.n_features) if problem.start is None else problem.start[:, 0]


def best_of(problem, lam):
    if lam > 0:
        return optimum(problem, lam)
    P, y = problem.X[0], problem.y[0]
    a = np.linalg.lstsq(P, y, rcond=1e-12)[0]
    return Optimum(a, objective(P, y, 0.0, a), 0.0)


def check_never_violated(problem, lam, step, prove):
    P, y = problem.X[0], problem.y[0]
    best = best_of(problem, lam)
    start = start_of(problem)
    found = gaps(step, P, y, lam, start, best.value, ITERATIONS)
    proved = prove(problem, best).bound(np.arange(ITERATIONS + 1), found[0])
    scale = objective(P, y, lam, start) + y @ y / len(y)
    assert (found <= proved * (1 + 1e-9) + 1e-13 * scale).all()


@SETTINGS
@given(problems(lam_zero=True))
def test_gradient_descent_keeps_its_guarantee(drawn):
    check_never_violated(*drawn, gradient_step, rates.gradient_descent)


@SETTINGS
@given(problems(lam_zero=True))
def test_coordinate_descent_keeps_its_guarantee(drawn):
    check_never_violated(*drawn, coordinate_step, rates.gs_coordinate_descent)


@SETTINGS
@given(problems())
def test_proximal_gradient_keeps_its_guarantee(drawn):
    problem, lam = drawn
    prove = partial(rates.proximal_gradient, lam=lam)
    check_never_violated(problem, lam, gradient_step, prove)


@SETTINGS
@given(problems(), st.sampled_from(["l1", "l2"]))
def test_proximal_coordinate_descent_keeps_its_guarantee(drawn, smoothness):
    problem, lam = drawn
    prove = partial(rates.proximal_gs_coordinate_descent, lam=lam, smoothness=smoothness)
    check_never_violated(problem, lam, partial(coordinate_step, smoothness=smoothness), prove)


@SETTINGS
@given(problems())
def test_matching_pursuit_keeps_its_guarantee(drawn):
    problem, lam = drawn
    check_never_violated(problem, lam, pursuit_step, partial(rates.rmp, lam=lam))


@settings(deadline=None, derandomize=True, max_examples=6)
@given(problems())
def test_ultimate_method_keeps_its_guarantee(drawn):

    problem, lam = drawn
    P, y = problem.X[0], problem.y[0]
    n, p = P.shape
    L1 = (P**2).sum(axis=0).max() / n
    best, a = best_of(problem, lam), start_of(problem)
    found = [objective(P, y, lam, a) - best.value]
    for _ in range(8):
        move, rest = cp.Variable(p), cp.Variable(p)
        g = P.T @ (P @ a - y) / n
        model = g @ move + L1 / 2 * cp.square(cp.norm1(move)) + lam * cp.norm1(rest)
        cp.Problem(cp.Minimize(model), [P @ (a + move) == P @ rest]).solve(solver="CLARABEL")
        a = rest.value
        found.append(objective(P, y, lam, a) - best.value)
    proved = rates.ultimate(problem, best, lam=lam).bound(np.arange(9), found[0])
    assert (np.array(found) <= proved + 1e-6 * (1 + found[0])).all()


@pytest.mark.parametrize(("n", "p"), [(8, 5), (5, 8)])
def test_guarantee_of_gradient_descent_is_tight(n, p):
    rng = np.random.default_rng(n)
    P, y = rng.standard_normal((n, p)), rng.standard_normal(n)
    problem = Problem((P,), (y,))
    best = best_of(problem, 0.0)
    iterations = 3000
    found = gaps(gradient_step, P, y, 0.0, np.zeros(p), best.value, iterations)
    guarantee = rates.gradient_descent(problem, best)
    smaller = GapBound(rate=0.9 * guarantee.rate, power=guarantee.power)
    above = found > 1e-12 * found[0]
    k = np.flatnonzero(above)[-1]
    assert found[k] > smaller.bound(k, found[0])
    tail = (found[k] / found[k // 2]) ** (1 / (k - k // 2))
    assert tail == pytest.approx(guarantee.contraction, rel=0.01)


def test_exponent_2k_is_false_for_coordinate_descent():
    # Two orthonormal columns and equal coefficients: every step takes one of them, half the gap.
    P, y = np.sqrt(2.0) * np.eye(2), np.sqrt(2.0) * np.ones(2)
    problem = Problem((P,), (y,))
    guarantee = rates.gs_coordinate_descent(problem, best_of(problem, 0.0))
    found = gaps(coordinate_step, P, y, 0.0, np.zeros(2), 0.0, 1)
    assert found[1] == pytest.approx(guarantee.bound(1, found[0]))
    assert found[1] > 1.9 * found[0] * guarantee.rate**2


def test_linear_rates_are_those_of_the_constants():
    # Orthogonal columns of lengths 2 and 1 with n = 4: L2 = L1 = 1, mu2 = 1/4, mu1 = 1/5.
    P = np.zeros((4, 2))
    P[:, 0], P[:, 1] = 1.0, [0.5, 0.5, -0.5, -0.5]
    problem = Problem((P,), (np.arange(4.0),))
    best = best_of(problem, 0.0)
    assert rates.gradient_descent(problem, best).contraction == pytest.approx((3 / 4) ** 2)
    assert rates.gs_coordinate_descent(problem, best).contraction == pytest.approx(4 / 5)
    lasso = optimum(problem, 0.1)
    gradient = rates.proximal_gradient(problem, lasso, lam=0.1)
    assert gradient.contraction == pytest.approx((3 / 4) ** 2)
    assert gradient.sublinear == pytest.approx((lasso.coef @ lasso.coef) / 2)
    one = rates.proximal_gs_coordinate_descent(problem, lasso, lam=0.1, smoothness="l2")
    assert one.contraction == pytest.approx(7 / 8)
    pursuit = rates.rmp(problem, lasso, lam=0.1)
    assert pursuit.contraction == pytest.approx(4 / 5)
    radius = 14 / 8 / 0.1 + np.abs(lasso.coef).sum()
    assert pursuit.sublinear == pytest.approx(2 * radius**2)
    assert rates.ultimate(problem, lasso, lam=0.1).contraction == pytest.approx(4 / 5)


@pytest.mark.parametrize("lam", [1e-150, 1e-300, 5e-324])
def test_a_tiny_penalty_leaves_no_sublinear_bound(lam):
    problem = Problem((np.eye(3, 5),), (np.arange(1.0, 4.0),))
    found = rates.rmp(problem, Optimum(np.zeros(5), 0.0, 0.0), lam=lam)
    if lam == 1e-150:
        assert found.sublinear == pytest.approx(2 / 3 * (14 / 6 / lam) ** 2)
    else:
        assert found.sublinear is None
    assert (found.bound([0, 1, 10**6], 2.0) == 2.0).all()


def test_the_constant_of_the_steps_is_one_table():
    P = np.random.default_rng(0).standard_normal((6, 4))
    assert SMOOTHNESS["l1"](P).value == pytest.approx((P**2).sum(axis=0).max() / 6)
    assert SMOOTHNESS["l2"](P).value == pytest.approx(np.linalg.norm(P, 2) ** 2 / 6)
    problem = Problem((P,), (np.arange(6.0),))
    best = optimum(problem, 0.1)
    for smoothness, constant in SMOOTHNESS.items():
        proved = rates.proximal_gs_coordinate_descent(problem, best, lam=0.1, smoothness=smoothness)
        mu2 = np.linalg.svd(P, compute_uv=False)[-1] ** 2 / 6
        assert proved.rate == pytest.approx(1 - mu2 / 4 / constant(P).value)
    with pytest.raises(KeyError):
        rates.proximal_gs_coordinate_descent(problem, best, lam=0.1, smoothness="L1")


def test_dependent_columns_leave_a_linear_rate_to_few_methods():
    rng = np.random.default_rng(3)
    problem = Problem((rng.standard_normal((5, 9)),), (rng.standard_normal(5),))
    best = optimum(problem, 0.05)
    for name, parameters in [
        ("proximal_gradient", {}),
        ("proximal_gs_coordinate_descent", {"smoothness": "l1"}),
        ("rmp", {}),
    ]:
        prove = getattr(rates, name)
        assert prove(problem, best, lam=0.05, **parameters).rate is None
        assert prove(problem, best, lam=0.0, **parameters).rate < 1
    assert rates.ultimate(problem, best, lam=0.05).rate < 1
    assert rates.rmp(problem, best, lam=0.0).sublinear is None


def test_local_guarantee_is_that_of_the_columns_of_the_support():
    rng = np.random.default_rng(4)
    P = rng.standard_normal((6, 20))
    problem = Problem((P,), (rng.standard_normal(6),))
    best = optimum(problem, 0.3)
    inside = best.coef != 0
    assert 0 < inside.sum() < 6
    local = rates.proximal_gradient(problem, best, lam=0.3, support=inside)
    values = np.linalg.svd(P[:, inside], compute_uv=False) ** 2
    # The steps keep the length that all columns give them.
    rate = 1 - values[-1] / np.linalg.norm(P, 2) ** 2
    assert local.rate == pytest.approx(rate)
    assert local.sublinear is None
    indices = rates.rmp(problem, best, lam=0.3, support=np.flatnonzero(inside))
    assert indices == rates.rmp(problem, best, lam=0.3, support=inside)
    nothing = rates.rmp(problem, best, lam=0.3, support=np.zeros(20, dtype=bool))
    assert nothing.bound([0, 1], 1.0) == pytest.approx([1.0, 0.0])


def test_bound_is_the_least_of_what_is_proved():
    both = GapBound(rate=0.5, power=2, sublinear=1.0, shift=1)
    assert both.bound(np.array([0, 1, 2, 10]), 1.6) == pytest.approx([1.6, 0.4, 0.1, 1.6 / 4**10])
    assert GapBound(sublinear=3.0).bound([0, 1, 2, 6], 2.0) == pytest.approx([2, 2, 1.5, 0.5])
    assert GapBound().bound([0, 5], 2.0) == pytest.approx([2, 2])
    assert GapBound().contraction is None
    assert both.contraction == 0.25
