"""The dirty model against a conic solver, its optimality conditions and its two limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_oracles import (
    awkward_problem,
    conic_optimum,
    kkt_violation,
    objective,
    penalty,
    random_problem,
)

from greedyexp.algorithms.dirty.dirty_lasso import dirty_lasso, split, theory_grid
from greedyexp.algorithms.lasso.group_lasso import group_lasso
from greedyexp.algorithms.lasso.lasso import lasso
from greedyexp.core.errors import ConfigError
from greedyexp.problems.problem import as_problem

SETTINGS = settings(deadline=None, derandomize=True, max_examples=30)


def points(path):
    return zip(path.coef, path.grid["lam"], path.grid["ratio"], path.objective, strict=True)


@pytest.mark.parametrize(
    ("n", "p", "r"), [(20, 8, 2), (10, 15, 3), ([6, 12], 10, 2), ([5, 9, 14, 7], 6, 4)]
)
def test_reaches_the_optimum_of_a_conic_solver(n, p, r):
    problem = random_problem(p, n, p, r)
    path = dirty_lasso(problem, n_lams=4, lam_min_ratio=0.02)
    null = objective(problem, np.zeros((p, r)), 1, 1)
    for coef, lam, ratio, _ in points(path):
        best = conic_optimum(problem, lam, ratio * lam)
        assert objective(problem, coef, lam, ratio * lam) == pytest.approx(best, abs=1e-9 * null)


@pytest.mark.parametrize(
    ("n", "p", "r", "ratio"),
    [(60, 200, 2, None), (150, 100, 4, [1.3, 2.0, 3.6]), (25, 100, 6, [2.0, 4.5])],
)
def test_every_point_is_optimal_to_rounding(n, p, r, ratio):
    problem = random_problem(n + p, n, p, r, support=15)
    path = dirty_lasso(problem, n_lams=20, ratio=ratio)
    assert path.converged.all()
    for coef, lam, rho, value in points(path):
        assert kkt_violation(problem, coef, lam, rho * lam) < 1e-9
        assert value == pytest.approx(objective(problem, coef, lam, rho * lam), rel=1e-12)


@pytest.mark.parametrize("r", [2, 5])
def test_limits_are_the_group_lasso_and_the_lasso(r):
    problem = random_problem(r, 40, 30, r, support=6)
    group = group_lasso(problem, n_lams=20)
    at_one = dirty_lasso(problem, ratio=1.0, n_lams=20)
    assert np.array_equal(at_one.grid["lam"], group.grid["lam"])
    assert np.array_equal(at_one.coef, group.coef)
    alone = lasso(problem, n_lams=20)
    at_r = dirty_lasso(problem, ratio=float(r), n_lams=20)
    assert at_r.grid["lam"] == pytest.approx(alone.grid["lam"])
    assert at_r.coef == pytest.approx(alone.coef, abs=1e-10)
    assert at_r.objective == pytest.approx(alone.objective, rel=1e-12)


@pytest.mark.parametrize("ratio", [1.0, 1.4, 2.0, 2.5, 3.0])
def test_path_starts_at_the_exact_largest_lam(ratio):
    problem = random_problem(3, 30, 15, 3)
    largest = dirty_lasso(problem, ratio=ratio).grid["lam"][0]
    at, below = dirty_lasso(problem, ratio=ratio, lam=[largest, largest * (1 - 1e-7)]).coef
    assert not at.any()
    assert below.any()


def test_default_ratios_spread_over_the_interval():
    path = dirty_lasso(random_problem(4, 20, 6, 3), n_lams=2)
    assert np.unique(path.grid["ratio"]) == pytest.approx([1.2, 1.6, 2.0, 2.4, 2.8])


def test_grid_gives_back_exactly_its_points_in_any_order():
    problem = random_problem(5, 30, 40, 2, support=8)
    path = dirty_lasso(problem, n_lams=12)
    again = dirty_lasso(problem, grid=path.grid)
    assert np.array_equal(path.coef, again.coef)
    mix = np.random.default_rng(0).permutation(len(path))
    mixed = dirty_lasso(problem, grid={name: v[mix] for name, v in path.grid.items()})
    assert np.array_equal(mixed.coef, path.coef[mix])
    assert np.array_equal(mixed.objective, path.objective[mix])
    for name, values in path.grid.items():
        assert np.array_equal(mixed.grid[name], values[mix])


def test_max_support_cuts_each_ratio_alone():
    problem = random_problem(6, 30, 40, 2, support=10)
    full, cut = dirty_lasso(problem), dirty_lasso(problem, max_support=10)
    for ratio in np.unique(full.grid["ratio"]):
        whole, part = (path.coef[path.grid["ratio"] == ratio] for path in (full, cut))
        sizes = np.count_nonzero(whole, axis=(1, 2))
        assert len(part) == np.argmax(sizes > 10) + 1
        assert np.array_equal(part, whole[: len(part)])
    assert f"{len(full) - len(cut)} points early" in cut.message


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.integers(0, 10**6), st.integers(2, 6), st.floats(0, 1), st.booleans())
def test_split_costs_no_more_than_the_penalty(seed, r, part, whole):
    rng = np.random.default_rng(seed)
    ratio = 1 + (r - 1) * part
    ratio = float(round(ratio)) if whole else ratio
    coef = rng.integers(-3, 4, (7, r)) * (rng.random((7, r)) if seed % 2 else 1.0)
    S, B = split(coef, ratio)
    assert np.allclose(S + B, coef, rtol=0, atol=1e-15)
    cost = np.abs(S).sum() + ratio * np.abs(B).max(axis=1).sum()
    assert cost == pytest.approx(penalty(coef, 1.0, ratio), abs=1e-12)


def test_split_of_the_limits_has_one_part_only():
    coef = np.array([[3.0, -1.0, 0.0], [0.0, 0.0, 0.0], [2.0, 2.0, -2.0]])
    S, B = split(coef, 1.0)
    assert not S.any()
    assert np.array_equal(B, coef)
    S, B = split(coef, 3.0)
    assert not B.any()
    assert np.array_equal(S, coef)


def test_shared_rows_and_single_entries_are_told_apart():
    rng = np.random.default_rng(7)
    X = [rng.standard_normal((80, 20)) for _ in range(2)]
    truth = np.zeros((20, 2))
    truth[:4] = 1.0
    truth[10, 0] = truth[11, 1] = 1.0
    problem = as_problem(X, [D @ b for D, b in zip(X, truth.T, strict=True)])
    S, B = split(dirty_lasso(problem, ratio=1.5, lam=0.05).coef[0], 1.5)
    assert set(np.flatnonzero(B.any(axis=1))) == {0, 1, 2, 3}
    assert S[10, 0] > 0.5
    assert S[11, 1] > 0.5


@SETTINGS
@given(st.integers(0, 10**6), st.integers(2, 4), st.floats(0, 1))
def test_order_and_signs_of_columns_and_tasks_do_not_matter(seed, r, part):
    problem = random_problem(seed, 14, 10, r)
    rng = np.random.default_rng(seed)
    order, tasks = rng.permutation(10), rng.permutation(r)
    signs = rng.choice([-1.0, 1.0], (r, 10))
    ratio = 1 + (r - 1) * part
    base = dirty_lasso(problem, n_lams=8, ratio=ratio)
    designs = [problem.X[j][:, order] * signs[j] for j in tasks]
    turned = dirty_lasso(as_problem(designs, [problem.y[j] for j in tasks]), n_lams=8, ratio=ratio)
    expected = base.coef[:, order][:, :, tasks] * signs[tasks].T
    assert turned.coef == pytest.approx(expected, abs=1e-8)


@SETTINGS
@given(st.integers(0, 10**6), st.floats(1e-5, 1e5), st.floats(1e-5, 1e5))
def test_units_of_data_do_not_matter(seed, x_unit, y_unit):
    problem = random_problem(seed, 15, 12, 2)
    base = dirty_lasso(problem, lam=0.15, ratio=1.4).coef
    scaled = as_problem([x_unit * X for X in problem.X], [y_unit * y for y in problem.y])
    coef = dirty_lasso(scaled, lam=0.15 * x_unit * y_unit, ratio=1.4).coef * x_unit / y_unit
    assert coef == pytest.approx(base, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_dependent_duplicate_and_zero_columns(seed):
    rng = np.random.default_rng(seed)
    X = [rng.integers(-1, 2, (6, 12)).astype(float) for _ in range(3)]
    for design in X:
        design[:, 3] = design[:, 7]
        design[:, 10] = 0
    X[1][:, 2] = 0
    problem = as_problem(X, [rng.integers(-2, 3, 6).astype(float) for _ in range(3)])
    path = dirty_lasso(problem, n_lams=25, lam_min_ratio=1e-3, ratio=[1.5, 2.0, 2.3])
    assert path.converged.all()
    assert not path.coef[:, 10].any()
    assert not path.coef[:, 2, 1].any()
    for coef, lam, ratio, _ in points(path):
        assert kkt_violation(problem, coef, lam, ratio * lam) < 1e-8


# The first four have rows whose entries weigh 1 and 1e-6 in more columns than samples (directions
# that are null but for rounding), and rows that vanish while an entry joins them.
@pytest.mark.parametrize("seed", [166, 229, 2384, 2459, *range(40)])
def test_awkward_data_are_solved_to_rounding(seed):
    problem, tuning = awkward_problem(seed)
    path = dirty_lasso(problem, **tuning)
    assert path.converged.all()
    for coef, lam, ratio, _ in points(path):
        violation = kkt_violation(problem, coef, lam, ratio * lam)
        assert violation * lam < 1e-11 * path.grid["lam"].max()


def test_identical_tasks_share_everything():
    problem = random_problem(8, 30, 15, 1)
    twice = as_problem(problem.X[0], np.column_stack([problem.y[0]] * 2))
    path = dirty_lasso(twice, ratio=1.5, n_lams=20)
    assert path.coef[..., 0] == pytest.approx(path.coef[..., 1], abs=1e-12)
    # Two equal tasks under lam_b = 1.5 lam are one Lasso at 0.75 lam.
    alone = lasso(problem, lam=0.75 * path.grid["lam"])
    assert path.coef[..., 0] == pytest.approx(alone.coef[..., 0], abs=1e-9)


def test_shared_design_equals_copies_of_it():
    problem = random_problem(9, 30, 20, 3, shared=True)
    copies = as_problem([X.copy() for X in problem.X], list(problem.y))
    assert problem.shared_design
    assert not copies.shared_design
    one, many = dirty_lasso(problem, n_lams=10), dirty_lasso(copies, n_lams=10)
    assert one.coef == pytest.approx(many.coef, abs=1e-10)


@pytest.mark.parametrize("ratio", [0.9, 2.1, float("nan"), [], [1.5, 3.0]])
def test_ratio_outside_the_interval_is_refused(ratio):
    with pytest.raises(ConfigError, match="ratio must lie between 1 and the number of tasks, 2"):
        dirty_lasso(random_problem(0, 10, 4, 2), ratio=ratio)


def test_theory_cuts_the_ratio_to_the_interval():
    problem = random_problem(10, 60, 30, 2)
    grid = theory_grid(problem)
    lam_s, lam_b = np.log(60), 2 * (2 * np.log(2) + np.log(30))
    assert grid["ratio"] == pytest.approx([min(np.sqrt(lam_b / lam_s), 2)])
    assert dirty_lasso(problem, grid=grid).converged.all()
    tiny = random_problem(11, 20, 2, 4, support=2)
    assert theory_grid(tiny)["ratio"][0] == pytest.approx(
        min(4.0, np.sqrt(4 * (4 * np.log(2) + np.log(2)) / np.log(8)))
    )
