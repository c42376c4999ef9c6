"""The exact optimum against other solvers, closed forms and the conditions of optimality."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_oracles import conic_optimum, kkt_violation, random_problem
from sklearn.linear_model import Lasso, lars_path

from greedyexp.estimates.path import Path
from greedyexp.problems.problem import as_problem
from greedyexp.protocols.trajectory import _optimum as reference
from greedyexp.protocols.trajectory._optimum import certified, optimum, projected
from greedyexp.solvers.lasso_active_set import duality_gap, minimise

SETTINGS = settings(deadline=None, derandomize=True, max_examples=40)


def sparse_problem(n, p, seed=0, support=8):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    truth = np.zeros(p)
    truth[rng.choice(p, support, replace=False)] = rng.choice([-1.0, 1.0], support)
    return projected(as_problem(X, X @ truth + 0.5 * rng.standard_normal(n)))


def centred_problem(n, p, seed=0):
    """Columns and response of mean zero: rank n - 1 where p >= n."""
    rng = np.random.default_rng(seed)
    X = rng.standard_gamma(0.3, (n, 3 * p))[:, :p]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return projected(as_problem(X, X[:, :5].sum(axis=1) + rng.standard_normal(n)))


def value_at(problem, coef, lam):
    X, y = problem.X[0], problem.y[0]
    return np.sum((X @ coef - y) ** 2) / (2 * len(y)) + lam * np.abs(coef).sum()


@pytest.mark.parametrize("lam", [1e-7, 1e-5, 1e-3, 0.07, 0.4])
@pytest.mark.parametrize("shape", [(50, 500), (20, 50), (50, 50), (50, 30), (200, 150)])
def test_the_lasso_is_certified_and_meets_its_conditions(shape, lam):
    problem = sparse_problem(*shape)
    best = optimum(problem, lam)
    scale = problem.y[0] @ problem.y[0] / (2 * shape[0])
    assert best.gap <= 2e-14 * scale
    assert certified(best, problem)
    assert best.value == pytest.approx(value_at(problem, best.coef, lam), rel=1e-12, abs=1e-16)
    # The gradient is computed with an error of the size eps |X|^T (|y| + |X| |b|) / n.
    X, y, coef = problem.X[0], problem.y[0], best.coef
    sizes = np.abs(X.T) @ (np.abs(y) + np.abs(X) @ np.abs(coef))
    rounding = np.finfo(float).eps * sizes.max() / shape[0]
    assert kkt_violation(problem, coef[:, None], lam, lam) < 1e-9 + rounding / lam
    assert np.count_nonzero(best.coef) <= min(shape)


@pytest.mark.parametrize("lam", [1e-7, 1e-3, 0.2])
@pytest.mark.parametrize(("n", "p"), [(72, 500), (72, 60)])
def test_a_centred_design_of_deficient_rank_is_solved(n, p, lam):
    problem = centred_problem(n, p)
    best = optimum(problem, lam)
    assert best.gap <= 1e-13
    assert np.count_nonzero(best.coef) <= min(n - 1, p)


@pytest.mark.parametrize(("n", "p"), [(30, 20), (20, 60)])
@pytest.mark.parametrize("lam", [1e-3, 0.1])
def test_agrees_with_a_conic_solver(n, p, lam):
    problem = sparse_problem(n, p, seed=3)
    assert optimum(problem, lam).value == pytest.approx(conic_optimum(problem, lam, lam), rel=1e-8)


@pytest.mark.parametrize(("n", "p"), [(60, 20), (30, 80)])
@pytest.mark.parametrize("lam", [0.01, 0.2])
def test_agrees_with_scikit_learn(n, p, lam):
    problem = sparse_problem(n, p, seed=5)
    peer = Lasso(alpha=lam, fit_intercept=False, tol=1e-14, max_iter=10**6)
    peer.fit(problem.X[0], problem.y[0])
    best = optimum(problem, lam)
    assert best.coef == pytest.approx(peer.coef_, abs=1e-6)
    assert best.value <= value_at(problem, peer.coef_, lam) + 1e-14


def test_no_point_lies_below_the_certified_value():
    # The homotopy reaches the optimum too: whoever is lower by more than the gap would refute it.
    problem = sparse_problem(50, 500, seed=1)
    for lam in (1e-5, 1e-3, 0.05):
        X, y = problem.X[0], problem.y[0]
        _, _, way = lars_path(X, y, method="lasso", alpha_min=lam)
        best = optimum(problem, lam)
        peer = value_at(problem, way[:, -1], lam)
        assert best.value - best.gap <= peer
        assert best.value == pytest.approx(peer, rel=1e-9)


@SETTINGS
@given(st.integers(0, 10**6), st.sampled_from([1e-6, 1e-3, 0.1, 1.0]))
def test_the_active_set_needs_no_guess_whatever_the_columns(seed, lam):
    # Whole numbers, copies and negated copies: ties everywhere and dependent supports.
    rng = np.random.default_rng(seed)
    half = rng.integers(-1, 2, (8, 9)).astype(float)
    X = np.hstack([half, half, -half])
    X[:, 4] = 0
    problem = projected(as_problem(X, rng.integers(-2, 3, 8).astype(float)))
    y = problem.y[0]
    alone = minimise(X, y, lam, np.zeros(27), 1e-14)
    far = minimise(X, y, lam, rng.standard_normal(27), 1e-14)
    assert max(alone.gap, far.gap) <= 1e-12
    assert alone.value == pytest.approx(optimum(problem, lam).value, abs=2e-12)
    # Distinct columns of a solution from zero are independent.
    support = np.flatnonzero(alone.coef)
    assert not support.size or np.linalg.matrix_rank(X[:, support]) == support.size


@SETTINGS
@given(st.integers(0, 10**6), st.floats(1e-3, 1.0))
def test_the_gap_bounds_the_distance_from_the_optimum(seed, lam):
    problem = random_problem(seed, 12, 20, 1)
    X, y = problem.X[0], problem.y[0]
    rng = np.random.default_rng(seed)
    best = optimum(problem, lam)
    coef = best.coef + 10.0 ** rng.uniform(-8, 0) * rng.standard_normal(20)
    there = duality_gap(X, y, lam, coef)
    assert there.value == pytest.approx(value_at(problem, coef, lam), rel=1e-12)
    # The textbook gap: primal minus dual at the scaled residual.
    residual = y - X @ coef
    theta = residual / max(1.0, np.abs(X.T @ residual).max() / (12 * lam))
    dual = (y @ y - (y - theta) @ (y - theta)) / 24
    assert there.gap == pytest.approx(there.value - dual, rel=1e-6, abs=1e-13)
    assert there.gap >= there.value - best.value - best.gap


def test_large_penalties_give_zero_at_once():
    problem = sparse_problem(20, 30)
    X, y = problem.X[0], problem.y[0]
    largest = np.abs(X.T @ y).max() / 20
    assert not optimum(problem, 1.0000001 * largest).coef.any()
    assert optimum(problem, 1.0000001 * largest).gap == 0
    assert np.count_nonzero(optimum(problem, 0.999 * largest).coef) == 1


def test_a_response_without_signal_has_the_optimum_zero():
    problem = as_problem(np.eye(4)[:, :2], np.zeros(4))
    for lam in (0.0, 0.1):
        best = optimum(projected(problem), lam)
        assert (best.value, best.gap) == (0, 0)
        assert not best.coef.any()


@pytest.mark.parametrize(("n", "p", "rank"), [(40, 15, 15), (15, 40, 15), (40, 30, 8)])
def test_least_squares_is_the_projection(n, p, rank):
    rng = np.random.default_rng(rank)
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, p))
    problem = as_problem(X, rng.standard_normal(n))
    best = optimum(problem, 0.0)
    coef, *_ = np.linalg.lstsq(X, problem.y[0], rcond=1e-12)
    assert best.coef == pytest.approx(coef, abs=1e-10)
    assert best.value == pytest.approx(value_at(problem, coef, 0.0), rel=1e-10, abs=1e-25)
    assert best.gap < 1e-24
    # Of least norm: orthogonal to the kernel.
    kernel = np.eye(p) - np.linalg.pinv(X, rcond=1e-12) @ X
    assert np.abs(kernel @ best.coef).max() < 1e-11


def test_projecting_shifts_the_objective_and_keeps_the_gradient():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 15))
    problem = as_problem(X, rng.standard_normal(40))
    flat = projected(problem)
    assert optimum(flat, 0.0).value < 1e-29
    shift = optimum(problem, 0.0).value
    for coef in rng.standard_normal((5, 15)):
        assert value_at(problem, coef, 0.3) == pytest.approx(value_at(flat, coef, 0.3) + shift)
        slopes = [X.T @ (X @ coef - one.y[0]) for one in (problem, flat)]
        assert slopes[0] == pytest.approx(slopes[1], abs=1e-12)
    assert optimum(problem, 0.3).coef == pytest.approx(optimum(flat, 0.3).coef, abs=1e-12)


def test_a_design_of_full_row_rank_keeps_its_response():
    rng = np.random.default_rng(0)
    problem = replace(
        as_problem(rng.standard_normal((10, 30)), rng.standard_normal(10)), facts={"a": 1}
    )
    assert projected(problem) is problem
    centred = projected(as_problem(problem.X[0] - problem.X[0].mean(axis=0), problem.y[0]))
    assert abs(centred.y[0].sum()) < 1e-13


def test_a_guess_that_is_far_off_is_mended(monkeypatch):
    problem = sparse_problem(20, 50)
    best = optimum(problem, 1e-3)
    zero = Path(np.zeros((1, 50, 1)), {}, np.zeros(1), np.zeros(1, bool))
    monkeypatch.setattr(reference, "follow", lambda *_: zero)
    alone = optimum(problem, 1e-3)
    assert np.count_nonzero(alone.coef) >= 15
    assert alone.gap <= 1e-14 * problem.y[0] @ problem.y[0] / 40
    assert alone.coef == pytest.approx(best.coef, abs=1e-9)


def test_what_rounding_hides_is_not_certified():
    # Columns equal to six digits and a penalty below their difference: residuals of the size of
    # lam cannot be computed from coefficients of the size of a million.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 20))
    X = np.hstack([X, X + 1e-6 * rng.standard_normal((30, 20))])
    problem = projected(as_problem(X, rng.standard_normal(30)))
    best = optimum(problem, 1e-9)
    assert not certified(best, problem)
    assert certified(optimum(problem, 1e-6), problem)


def test_a_small_penalty_is_certified_in_spite_of_rounded_coefficients():
    # Coefficients of 60 and a penalty of 8e-4: rounding them moves the residual by 1e-11 lam.
    X = np.array(
        [
            [1, -1, 2, -2, 1],
            [-1, 1, 0, 1, 2],
            [-1, 2, 2, 0, -1],
            [1, -1, -2, 2, 2],
            [1, -1, 1, -1, 1],
        ]
    )
    problem = projected(as_problem(X.astype(float), np.array([0.0, 1.0, 0.0, 0.0, -3.0])))
    best = optimum(problem, 8e-4)
    assert best.coef == pytest.approx([43.624, 58.968, -32.092, -34.592, 10.136], rel=1e-12)
    assert best.gap <= 1e-13
    assert certified(best, problem)


@SETTINGS
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_whole_numbers_are_certified_at_small_penalties(seed, decades):
    rng = np.random.default_rng(seed)
    n, p = rng.integers(2, 9), rng.integers(1, 14)
    X, y = rng.integers(-2, 3, (n, p)).astype(float), rng.integers(-3, 4, n).astype(float)
    problem = projected(as_problem(X, y))
    lam = 10.0**-decades * np.abs(X.T @ y).max() / n
    if lam > 0:
        assert certified(optimum(problem, lam), problem)


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_certificates_do_not_depend_on_units(unit):
    problem = sparse_problem(20, 30)
    scaled = replace(problem, y=(unit * problem.y[0],))
    best = optimum(scaled, 0.1 * unit)
    assert certified(best, scaled)
    X, y = scaled.X[0], scaled.y[0]
    for part in (0.0, 0.999, 1 + 1e-7):
        assert not certified(duality_gap(X, y, 0.1 * unit, part * best.coef), scaled)
