"""The Lasso against scikit-learn, its optimality conditions and its symmetries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_oracles import kkt_violation, objective, random_problem
from sklearn.linear_model import Lasso, lars_path

from greedyexp.algorithms.lasso.lasso import lasso, theory_grid
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.theory.noise import largest_entry, largest_row

SETTINGS = settings(deadline=None, derandomize=True, max_examples=40)


@pytest.mark.parametrize(("n", "p"), [(60, 20), (30, 80), (12, 12)])
def test_agrees_with_coordinate_descent_of_scikit_learn(n, p):
    problem = random_problem(n, n, p, 1)
    path = lasso(problem, n_lams=6, lam_min_ratio=0.05)
    for coef, lam in zip(path.coef, path.grid["lam"], strict=True):
        peer = Lasso(alpha=lam, fit_intercept=False, tol=1e-14, max_iter=10**6)
        peer.fit(problem.X[0], problem.y[0])
        assert coef[:, 0] == pytest.approx(peer.coef_, abs=1e-6)
        reached = objective(problem, peer.coef_[:, None], lam, lam)
        assert objective(problem, coef, lam, lam) <= reached + 1e-13


def test_agrees_with_the_homotopy_of_scikit_learn():
    problem = random_problem(5, 40, 60, 1, support=8)
    path = lasso(problem, n_lams=20, lam_min_ratio=0.02)
    lams = path.grid["lam"]
    alphas, _, coefs = lars_path(problem.X[0], problem.y[0], method="lasso", alpha_min=lams[-1])
    for i in range(60):
        exact = np.interp(lams, alphas[::-1], coefs[i, ::-1])
        assert path.coef[:, i, 0] == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize(("n", "p", "r"), [(100, 300, 1), (200, 120, 2), (25, 300, 3)])
def test_every_point_is_optimal_to_rounding(n, p, r):
    problem = random_problem(n + p, n, p, r, support=20)
    path = lasso(problem)
    assert path.converged.all()
    for coef, lam, value in zip(path.coef, path.grid["lam"], path.objective, strict=True):
        assert kkt_violation(problem, coef, lam, r * lam) < 1e-9
        assert value == pytest.approx(objective(problem, coef, lam, r * lam), rel=1e-12)


def test_path_starts_at_the_exact_largest_lam():
    problem = random_problem(1, 30, 15, 2)
    largest = lasso(problem).grid["lam"][0]
    at, below = lasso(problem, lam=[largest, largest * (1 - 1e-7)]).coef
    assert not at.any()
    assert below.any()


def test_tasks_are_solved_alone():
    problem = random_problem(2, [30, 20], 25, 2)
    together = lasso(problem, lam=[0.3, 0.05])
    for j in range(2):
        alone = lasso(as_problem(problem.X[j], problem.y[j]), lam=[0.3, 0.05])
        assert np.array_equal(together.coef[:, :, j], alone.coef[:, :, 0])


def test_max_support_ends_the_automatic_path_only():
    problem = random_problem(3, 40, 60, 2, support=10)
    full = lasso(problem)
    sizes = np.count_nonzero(full.coef, axis=(1, 2))
    cut = lasso(problem, max_support=12)
    assert len(cut) == np.argmax(sizes > 12) + 1
    assert np.array_equal(cut.coef, full.coef[: len(cut)])
    assert f"{50 - len(cut)} points early" in cut.message
    assert len(lasso(problem, lam=full.grid["lam"], max_support=12)) == 50


@pytest.mark.parametrize("r", [1, 3])
def test_grid_gives_back_exactly_its_points(r):
    problem = random_problem(4, 30, 40, r)
    path = lasso(problem, n_lams=15)
    again = lasso(problem, grid=path.grid)
    assert np.array_equal(path.coef, again.coef)
    assert np.array_equal(path.grid["lam"], again.grid["lam"])
    shuffled = np.random.default_rng(0).permutation(15)
    mixed = lasso(problem, grid={"lam": path.grid["lam"][shuffled]})
    assert np.array_equal(mixed.coef, path.coef[shuffled])
    assert np.array_equal(mixed.grid["lam"], path.grid["lam"][shuffled])


def test_a_single_far_point_equals_the_end_of_a_path():
    problem = random_problem(6, 40, 100, 1, support=10)
    path = lasso(problem, lam_min_ratio=0.01)
    alone = lasso(problem, lam=float(path.grid["lam"][-1]))
    assert alone.coef[0] == pytest.approx(path.coef[-1], abs=1e-10)


@SETTINGS
@given(st.integers(0, 10**6), st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_units_of_data_do_not_matter(seed, x_unit, y_unit):
    problem = random_problem(seed, 15, 20, 1)
    lam = 0.2
    base = lasso(problem, lam=lam).coef
    scaled = as_problem(x_unit * problem.X[0], y_unit * problem.y[0])
    coef = lasso(scaled, lam=lam * x_unit * y_unit).coef * x_unit / y_unit
    assert coef == pytest.approx(base, abs=1e-9)


@SETTINGS
@given(st.integers(0, 10**6))
def test_order_and_signs_of_columns_do_not_matter(seed):
    problem = random_problem(seed, 15, 20, 1)
    rng = np.random.default_rng(seed)
    order, signs = rng.permutation(20), rng.choice([-1.0, 1.0], 20)
    base = lasso(problem, n_lams=8).coef
    turned = lasso(as_problem(problem.X[0][:, order] * signs, problem.y[0]), n_lams=8).coef
    assert turned[..., 0] == pytest.approx(base[:, order, 0] * signs, abs=1e-9)


@SETTINGS
@given(st.integers(0, 10**6), st.booleans())
def test_duplicate_columns_change_nothing_but_the_share(seed, opposite):
    problem = random_problem(seed, 12, 10, 1)
    sign = -1.0 if opposite else 1.0
    doubled = as_problem(np.hstack([problem.X[0], sign * problem.X[0]]), problem.y[0])
    one, two = lasso(problem, n_lams=10), lasso(doubled, n_lams=10)
    assert two.converged.all()
    assert two.objective == pytest.approx(one.objective, rel=1e-10)
    share = two.coef[:, :10] + sign * two.coef[:, 10:]
    assert share == pytest.approx(one.coef, abs=1e-7)


def test_orthogonal_ties_enter_together():
    X = np.kron(np.eye(4), np.ones((2, 1)))
    path = lasso(as_problem(X, np.ones(8)), lam=[0.2, 0.1])
    # G = 1/4 I and c = 1/4: soft threshold at lam, over 1/4.
    assert path.coef[:, :, 0] == pytest.approx(np.array([[0.2] * 4, [0.6] * 4]))


@pytest.mark.parametrize("seed", range(6))
def test_rank_deficient_whole_numbers_with_a_zero_column(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (8, 24)).astype(float)
    X[:, 5] = 0
    problem = as_problem(X, rng.integers(-2, 3, 8).astype(float))
    path = lasso(problem, n_lams=30, lam_min_ratio=1e-3)
    assert path.converged.all()
    assert not path.coef[:, 5].any()
    for coef, lam in zip(path.coef, path.grid["lam"], strict=True):
        assert kkt_violation(problem, coef, lam, lam) < 1e-8


def test_a_response_without_signal_gives_zero():
    path = lasso(as_problem(np.eye(3), np.zeros(3)))
    assert path.coef.shape == (1, 3, 1)
    assert not path.coef.any()
    assert path.converged.all()


def test_too_few_sweeps_are_reported():
    problem = random_problem(7, 40, 80, 1, support=20)
    path = lasso(problem, n_lams=5, max_sweeps=1)
    assert not path.converged.all()
    assert "did not reach a duality gap" in path.message


@pytest.mark.parametrize("lam", [0.0, -1.0, float("nan"), float("inf"), []])
def test_impossible_lam_is_refused(lam):
    with pytest.raises(ConfigError, match="lam must be positive"):
        lasso(random_problem(0, 10, 4, 1), lam=lam)


def test_data_that_are_not_finite_are_refused():
    X = np.ones((4, 2))
    X[1, 1] = np.nan
    with pytest.raises(DataError, match="not finite"):
        lasso(Problem((X,), (np.ones(4),)))


def test_theory_is_twice_the_noise_and_scales_with_the_columns():
    problem = random_problem(8, [50, 80], 30, 2, noise=0.3)
    (lam,) = theory_grid(problem)["lam"]
    norm = max(np.sqrt((X**2).mean(axis=0)).max() for X in problem.X)
    assert lam == pytest.approx(2 * 0.3 * norm * np.sqrt(2 * np.log(60) / 50))
    silent = as_problem(list(problem.X), list(problem.y))
    with pytest.raises(DataError, match="noise level"):
        theory_grid(silent)


def test_noise_bounds_hold_with_the_stated_probability():
    rng = np.random.default_rng(0)
    n, p, r, trials = 40, 60, 2, 400
    X = rng.standard_normal((n, p))
    X *= np.sqrt(n) / np.linalg.norm(X, axis=0)
    noise = np.abs(np.einsum("ni,tnr->tir", X, rng.standard_normal((trials, n, r))) / n)
    entry = (noise.max(axis=(1, 2)) > largest_entry(1.0, n, p, r)).mean()
    row = (noise.sum(axis=2).max(axis=1) > largest_row(1.0, n, p, r)).mean()
    t = np.sqrt(2 * (r * np.log(2) + np.log(p)))
    assert 0 < entry <= 1 / np.sqrt(np.pi * np.log(p * r))
    assert 0 < row <= 1 / (t * np.sqrt(2 * np.pi))
