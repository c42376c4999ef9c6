"""The l1/linf group lasso against a conic solver, its optimality conditions and the Lasso."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_oracles import conic_optimum, kkt_violation, objective, random_problem

from greedyexp.algorithms.lasso.group_lasso import group_lasso, theory_grid
from greedyexp.algorithms.lasso.lasso import lasso
from greedyexp.problems.problem import as_problem

SETTINGS = settings(deadline=None, derandomize=True, max_examples=30)


@pytest.mark.parametrize(
    ("n", "p", "r"), [(20, 8, 2), (10, 15, 3), ([6, 12], 10, 2), ([5, 9, 14, 7], 6, 4)]
)
def test_reaches_the_optimum_of_a_conic_solver(n, p, r):
    problem = random_problem(p, n, p, r)
    path = group_lasso(problem, n_lams=6, lam_min_ratio=0.02)
    null = objective(problem, np.zeros((p, r)), 1, 1)
    for coef, lam in zip(path.coef, path.grid["lam"], strict=True):
        best = conic_optimum(problem, lam, lam)
        assert objective(problem, coef, lam, lam) == pytest.approx(best, abs=1e-9 * null)


@pytest.mark.parametrize(("n", "p", "r"), [(60, 200, 2), (150, 100, 4), (25, 100, 6)])
def test_every_point_is_optimal_to_rounding(n, p, r):
    problem = random_problem(n + p, n, p, r, support=15)
    path = group_lasso(problem, n_lams=25)
    assert path.converged.all()
    for coef, lam, value in zip(path.coef, path.grid["lam"], path.objective, strict=True):
        assert kkt_violation(problem, coef, lam, lam) < 1e-9
        assert value == pytest.approx(objective(problem, coef, lam, lam), rel=1e-12)


def test_largest_sizes_are_tied_exactly():
    path = group_lasso(random_problem(1, 60, 20, 2, support=5))
    sizes = np.abs(path.coef)
    rows = sizes.max(axis=2) > 0
    tied = rows & (sizes[..., 0] == sizes[..., 1])
    assert tied.sum() > 20
    assert (rows & ~tied).sum() > 20


def test_one_task_is_the_lasso():
    problem = random_problem(2, 30, 50, 1)
    group, alone = group_lasso(problem), lasso(problem)
    assert np.array_equal(group.coef, alone.coef)
    assert np.array_equal(group.grid["lam"], alone.grid["lam"])


def test_path_starts_at_the_exact_largest_lam():
    problem = random_problem(3, 30, 15, 3)
    largest = group_lasso(problem).grid["lam"][0]
    at, below = group_lasso(problem, lam=[largest, largest * (1 - 1e-7)]).coef
    assert not at.any()
    assert below.any()


def test_grid_gives_back_exactly_its_points():
    problem = random_problem(4, 30, 40, 2)
    path = group_lasso(problem, n_lams=15)
    again = group_lasso(problem, grid=path.grid, max_support=1)
    assert np.array_equal(path.coef, again.coef)
    assert np.array_equal(path.grid["lam"], again.grid["lam"])


def test_max_support_keeps_the_first_point_beyond_it():
    problem = random_problem(5, 30, 40, 2, support=10)
    full, cut = group_lasso(problem), group_lasso(problem, max_support=10)
    sizes = np.count_nonzero(full.coef, axis=(1, 2))
    assert len(cut) == np.argmax(sizes > 10) + 1
    assert np.array_equal(cut.coef, full.coef[: len(cut)])


@SETTINGS
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_order_and_signs_of_columns_and_tasks_do_not_matter(seed, r):
    problem = random_problem(seed, 14, 10, r)
    rng = np.random.default_rng(seed)
    order, tasks = rng.permutation(10), rng.permutation(r)
    signs = rng.choice([-1.0, 1.0], (r, 10))
    base = group_lasso(problem, n_lams=8)
    turned = group_lasso(
        as_problem(
            [problem.X[j][:, order] * signs[j] for j in tasks], [problem.y[j] for j in tasks]
        ),
        n_lams=8,
    )
    expected = base.coef[:, order][:, :, tasks] * signs[tasks].T
    assert turned.coef == pytest.approx(expected, abs=1e-8)


@SETTINGS
@given(st.integers(0, 10**6), st.floats(1e-5, 1e5), st.floats(1e-5, 1e5))
def test_units_of_data_do_not_matter(seed, x_unit, y_unit):
    problem = random_problem(seed, 15, 12, 2)
    base = group_lasso(problem, lam=0.15).coef
    scaled = as_problem([x_unit * X for X in problem.X], [y_unit * y for y in problem.y])
    coef = group_lasso(scaled, lam=0.15 * x_unit * y_unit).coef * x_unit / y_unit
    assert coef == pytest.approx(base, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_dependent_duplicate_and_zero_columns(seed):
    rng = np.random.default_rng(seed)
    X = [rng.integers(-1, 2, (6, 12)).astype(float) for _ in range(3)]
    for design in X:
        design[:, 3] = design[:, 7]
        design[:, 10] = 0
    X[1][:, 2] = 0
    problem = as_problem(X, [rng.integers(-2, 3, 6).astype(float) for _ in range(3)])
    path = group_lasso(problem, n_lams=25, lam_min_ratio=1e-3)
    assert path.converged.all()
    assert not path.coef[:, 10].any()
    assert not path.coef[:, 2, 1].any()
    for coef, lam in zip(path.coef, path.grid["lam"], strict=True):
        assert kkt_violation(problem, coef, lam, lam) < 1e-8


def test_very_small_lam_interpolates():
    problem = random_problem(7, 20, 50, 2)
    path = group_lasso(problem, n_lams=15, lam_min_ratio=1e-8)
    assert path.converged.all()
    residual = problem.y[0] - problem.X[0] @ path.coef[-1, :, 0]
    assert np.abs(residual).max() < 1e-5


def test_theory_is_twice_the_noise_in_a_row():
    problem = random_problem(6, [50, 80], 30, 2, noise=0.3)
    (lam,) = theory_grid(problem)["lam"]
    norm = max(np.sqrt((X**2).mean(axis=0)).max() for X in problem.X)
    expected = 2 * 0.3 * norm * np.sqrt(2 * 2 * (2 * np.log(2) + np.log(30)) / 50)
    assert lam == pytest.approx(expected)
