"""The l1/l2 group lasso against scikit-learn, a conic solver, optimality conditions, the Lasso."""

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_oracles import awkward_problem, random_problem
from scipy import sparse
from sklearn.linear_model import Lasso, MultiTaskLasso

from greedyexp.algorithms.lasso.group_lasso import group_lasso_l2, theory_grid_l2
from greedyexp.algorithms.lasso.lasso import lasso
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.theory.noise import largest_row_l2

SETTINGS = settings(deadline=None, derandomize=True, max_examples=30)


def objective(problem, coef, lam):
    value = lam * np.linalg.norm(coef, axis=1).sum()
    for X, y, b in zip(problem.X, problem.y, coef.T, strict=True):
        value += np.sum((y - X @ b) ** 2) / (2 * len(y))
    return value


def kkt_violation(problem, coef, lam):
    """How far the rows of the gradient are from the subdifferential, in units of lam."""
    pairs = zip(problem.X, problem.y, coef.T, strict=True)
    grad = np.stack([X.T @ (y - X @ b) / len(y) for X, y, b in pairs], axis=1)
    worst = 0.0
    for b, g in zip(coef, grad / lam, strict=True):
        size = np.linalg.norm(b)
        worst = max(worst, np.linalg.norm(g - b / size) if size else np.linalg.norm(g) - 1)
    return worst


def conic_optimum(problem, lam):
    """Optimal value with one second-order cone for each row, by an interior-point method."""
    p, r, n = problem.n_features, problem.n_tasks, problem.n_samples
    entries, total = p * r, int(n.sum())
    none = sparse.csc_matrix
    fit = sparse.hstack(
        [sparse.block_diag(problem.X), none((total, p)), sparse.identity(total)]
    )  # variables: b task by task, row norms, residuals
    cones = []
    for i in range(p):
        pick = sparse.lil_matrix((r + 1, entries + p + total))
        pick[0, entries + i] = -1
        for j in range(r):
            pick[1 + j, j * p + i] = -1
        cones.append(pick)
    curvature = np.concatenate([np.zeros(entries + p), np.repeat(1 / n, n)])
    prices = np.concatenate([np.zeros(entries), np.full(p, lam), np.zeros(total)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solver = clarabel.DefaultSolver(
        sparse.diags(curvature).tocsc(),
        prices,
        sparse.vstack([fit, *cones]).tocsc(),
        np.concatenate([*problem.y, np.zeros(p * (r + 1))]),
        [clarabel.ZeroConeT(total)] + [clarabel.SecondOrderConeT(r + 1)] * p,
        settings,
    )
    return solver.solve().obj_val


@pytest.mark.parametrize(
    ("n", "p", "r"), [(20, 8, 2), (10, 15, 3), ([6, 12], 10, 2), ([5, 9, 14, 7], 6, 4)]
)
def test_reaches_the_optimum_of_a_conic_solver(n, p, r):
    problem = random_problem(p, n, p, r)
    path = group_lasso_l2(problem, n_lams=6, lam_min_ratio=0.02)
    null = objective(problem, np.zeros((p, r)), 1)
    for coef, lam in zip(path.coef, path.grid["lam"], strict=True):
        best = conic_optimum(problem, lam)
        assert objective(problem, coef, lam) == pytest.approx(best, abs=1e-9 * null)


@pytest.mark.parametrize(("n", "p", "r"), [(60, 20, 3), (30, 50, 4)])
def test_agrees_with_the_multi_task_lasso_of_scikit_learn(n, p, r):
    problem = random_problem(n, n, p, r, shared=True)
    path = group_lasso_l2(problem, n_lams=6, lam_min_ratio=0.05)
    for coef, lam in zip(path.coef, path.grid["lam"], strict=True):
        peer = MultiTaskLasso(alpha=lam, fit_intercept=False, tol=1e-14, max_iter=10**6)
        peer.fit(problem.X[0], np.stack(problem.y, axis=1))
        assert coef == pytest.approx(peer.coef_.T, abs=1e-6)
        assert objective(problem, coef, lam) <= objective(problem, peer.coef_.T, lam) + 1e-13


@pytest.mark.parametrize(("n", "p"), [(60, 20), (30, 80)])
def test_one_task_is_the_lasso(n, p):
    problem = random_problem(n, n, p, 1)
    group, alone = group_lasso_l2(problem), lasso(problem)
    assert group.grid["lam"] == pytest.approx(alone.grid["lam"], rel=1e-14)
    assert group.coef == pytest.approx(alone.coef, abs=1e-7)
    lam = group.grid["lam"][25]
    peer = Lasso(alpha=lam, fit_intercept=False, tol=1e-14, max_iter=10**6)
    peer.fit(problem.X[0], problem.y[0])
    assert group.coef[25, :, 0] == pytest.approx(peer.coef_, abs=1e-6)


@pytest.mark.parametrize(
    ("n", "p", "r", "shared"),
    [(60, 200, 2, False), (150, 100, 4, False), (25, 100, 6, False), (80, 150, 8, True)],
)
def test_every_point_is_optimal_to_rounding(n, p, r, shared):
    problem = random_problem(n + p, n, p, r, support=15, shared=shared)
    path = group_lasso_l2(problem, n_lams=25)
    assert path.converged.all()
    for coef, lam, value in zip(path.coef, path.grid["lam"], path.objective, strict=True):
        assert kkt_violation(problem, coef, lam) < 1e-8
        assert value == pytest.approx(objective(problem, coef, lam), rel=1e-11)


def test_correlated_columns():
    rng = np.random.default_rng(8)
    factors = rng.standard_normal((60, 5)) @ rng.standard_normal((5, 120))
    X = factors + 0.1 * rng.standard_normal((60, 120))
    y = np.eye(4)[rng.integers(0, 4, 60)] - 0.25
    problem = as_problem(X, y)
    path = group_lasso_l2(problem, lam_min_ratio=1e-3, max_sweeps=30)
    assert path.converged.all()
    for coef, lam in zip(path.coef, path.grid["lam"], strict=True):
        assert kkt_violation(problem, coef, lam) < 1e-8


def test_separate_copies_of_a_design_are_a_shared_one():
    shared = random_problem(9, 40, 30, 3, shared=True)
    copies = as_problem([shared.X[0].copy() for _ in range(3)], list(shared.y))
    one, many = group_lasso_l2(shared), group_lasso_l2(copies)
    assert many.coef == pytest.approx(one.coef, abs=1e-8)


def test_orthogonal_columns_of_unequal_size_have_a_closed_form():
    # Row 0: curvatures 1 and 1, so b = (1 - lam / ||z||) z; row 1 sees task 1 only.
    X = [np.diag([1.0, 0.0]) * np.sqrt(2), np.diag([1.0, 2.0]) * np.sqrt(2)]
    y = [np.array([3.0, 0.0]) * np.sqrt(2), np.array([4.0, 3.0]) * np.sqrt(2)]
    coef = group_lasso_l2(as_problem(X, y), lam=1.0).coef[0]
    assert coef[0] == pytest.approx([3 * 0.8, 4 * 0.8])
    assert coef[1] == pytest.approx([0.0, (6 - 1) / 4])


def test_path_starts_at_the_exact_largest_lam():
    problem = random_problem(3, 30, 15, 3)
    largest = group_lasso_l2(problem).grid["lam"][0]
    at, below = group_lasso_l2(problem, lam=[largest, largest * (1 - 1e-7)]).coef
    assert not at.any()
    assert below.any()


def test_grid_gives_back_exactly_its_points_in_any_order():
    problem = random_problem(4, 30, 40, 2)
    path = group_lasso_l2(problem, n_lams=15)
    mix = np.random.default_rng(0).permutation(15)
    again = group_lasso_l2(problem, grid={"lam": path.grid["lam"][mix]}, max_support=1)
    assert np.array_equal(path.coef[mix], again.coef)
    assert np.array_equal(path.grid["lam"][mix], again.grid["lam"])


def test_a_single_far_point_equals_the_end_of_a_path():
    problem = random_problem(6, 40, 60, 3, support=10)
    path = group_lasso_l2(problem)
    alone = group_lasso_l2(problem, lam=float(path.grid["lam"][-1]))
    assert alone.coef[0] == pytest.approx(path.coef[-1], abs=1e-8)


def test_max_support_keeps_the_first_point_beyond_it():
    problem = random_problem(5, 30, 40, 2, support=10)
    full, cut = group_lasso_l2(problem), group_lasso_l2(problem, max_support=10)
    sizes = np.count_nonzero(full.coef, axis=(1, 2))
    assert len(cut) == np.argmax(sizes > 10) + 1
    assert np.array_equal(cut.coef, full.coef[: len(cut)])
    assert f"{50 - len(cut)} points early" in cut.message


@SETTINGS
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_order_of_columns_and_turns_of_tasks_do_not_matter(seed, r):
    problem = random_problem(seed, 14, 10, r, shared=True)
    rng = np.random.default_rng(seed)
    order, turn = rng.permutation(10), np.linalg.qr(rng.standard_normal((r, r)))[0]
    base = group_lasso_l2(problem, n_lams=8)
    y = np.stack(problem.y, axis=1) @ turn
    turned = group_lasso_l2(as_problem(problem.X[0][:, order], y), n_lams=8)
    assert turned.coef == pytest.approx(base.coef[:, order] @ turn, abs=1e-7)


@SETTINGS
@given(st.integers(0, 10**6), st.floats(1e-5, 1e5), st.floats(1e-5, 1e5))
def test_units_of_data_do_not_matter(seed, x_unit, y_unit):
    problem = random_problem(seed, 15, 12, 2)
    base = group_lasso_l2(problem, lam=0.15).coef
    scaled = as_problem([x_unit * X for X in problem.X], [y_unit * y for y in problem.y])
    coef = group_lasso_l2(scaled, lam=0.15 * x_unit * y_unit).coef * x_unit / y_unit
    assert coef == pytest.approx(base, abs=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_dependent_duplicate_and_zero_columns(seed):
    rng = np.random.default_rng(seed)
    X = [rng.integers(-1, 2, (6, 12)).astype(float) for _ in range(3)]
    for design in X:
        design[:, 3] = design[:, 7]
        design[:, 10] = 0
    X[1][:, 2] = 0
    problem = as_problem(X, [rng.integers(-2, 3, 6).astype(float) for _ in range(3)])
    path = group_lasso_l2(problem, n_lams=25, lam_min_ratio=1e-3)
    assert path.converged.all()
    assert not path.coef[:, 10].any()
    assert not path.coef[:, 2, 1].any()
    for coef, lam in zip(path.coef, path.grid["lam"], strict=True):
        assert kkt_violation(problem, coef, lam) < 1e-7


@pytest.mark.parametrize("seed", range(20))
def test_awkward_data_converge(seed):
    problem, tuning = awkward_problem(seed)
    del tuning["ratio"]
    path = group_lasso_l2(problem, **tuning)
    assert path.converged.all()


def test_very_small_lam_interpolates():
    problem = random_problem(7, 20, 50, 2)
    path = group_lasso_l2(problem, n_lams=15, lam_min_ratio=1e-8)
    assert path.converged.all()
    residual = problem.y[0] - problem.X[0] @ path.coef[-1, :, 0]
    assert np.abs(residual).max() < 1e-5


@pytest.mark.parametrize("ratio", [1e-12, 1e-16, 1e-20])
def test_vanishing_lam_of_duplicate_columns_is_close_to_least_squares(ratio):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 12))
    y = X[:, :3] @ [3.0, -2.0, 1.0] + 0.1 * rng.standard_normal(30)
    least = ((y - X @ np.linalg.lstsq(X, y)[0]) ** 2).sum() / 60
    path = group_lasso_l2(as_problem(np.hstack([X, X, -X]), y), n_lams=4, lam_min_ratio=ratio)
    assert path.objective[-1] == pytest.approx(least, rel=1e-6)
    assert np.abs(path.coef).max() < 4.0


def test_a_path_that_does_not_converge_is_finite():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 12))
    X[:, 1] = X[:, 0] * (1 + 1e-9) + 1e-9 * X[:, 1]
    problem = as_problem(X, X[:, 2] + 0.1 * rng.standard_normal(30))
    path = group_lasso_l2(problem, n_lams=4, lam_min_ratio=1e-20)
    assert not path.converged.all()
    assert np.isfinite(path.coef).all()
    penalties = path.grid["lam"] * np.linalg.norm(path.coef, axis=2).sum(axis=1)
    for coef, objective, penalty in zip(path.coef, path.objective, penalties, strict=True):
        loss = ((problem.y[0] - X @ coef[:, 0]) ** 2).sum() / 60
        assert objective == pytest.approx(loss + penalty, rel=1e-4)


def test_a_response_without_signal_gives_zero():
    path = group_lasso_l2(as_problem(np.eye(3), np.zeros((3, 2))))
    assert path.coef.shape == (1, 3, 2)
    assert not path.coef.any()
    assert path.converged.all()


def test_too_few_sweeps_are_reported():
    problem = random_problem(7, 40, 80, 2, support=20)
    path = group_lasso_l2(problem, n_lams=5, max_sweeps=1)
    assert not path.converged.all()
    assert "did not reach a duality gap" in path.message


@pytest.mark.parametrize("lam", [0.0, -1.0, float("nan"), float("inf"), []])
def test_impossible_lam_is_refused(lam):
    with pytest.raises(ConfigError, match="lam must be positive"):
        group_lasso_l2(random_problem(0, 10, 4, 2), lam=lam)


def test_data_that_are_not_finite_are_refused():
    X = np.ones((4, 2))
    X[1, 1] = np.nan
    with pytest.raises(DataError, match="not finite"):
        group_lasso_l2(Problem((X,), (np.ones(4),)))


def test_theory_is_twice_the_noise_in_a_row():
    problem = random_problem(6, [50, 80], 30, 2, noise=0.3)
    (lam,) = theory_grid_l2(problem)["lam"]
    norm = max(np.sqrt((X**2).mean(axis=0)).max() for X in problem.X)
    expected = 2 * 0.3 * norm * (np.sqrt(2) + np.sqrt(2 * np.log(30))) / np.sqrt(50)
    assert lam == pytest.approx(expected)


def test_noise_bound_holds_with_the_stated_probability():
    rng = np.random.default_rng(0)
    n, p, r, trials = 40, 60, 2, 2000
    X = rng.standard_normal((n, p))
    X *= np.sqrt(n) / np.linalg.norm(X, axis=0)
    noise = np.einsum("ni,tnr->tir", X, rng.standard_normal((trials, n, r)), optimize=True) / n
    largest = np.linalg.norm(noise, axis=2).max(axis=1)
    a = np.sqrt(2 * np.log(p) / r)
    assert (largest > largest_row_l2(1.0, n, p, r)).mean() <= ((1 + a) * np.exp(-a)) ** r
    # Not vacuous either: within a factor of two.
    assert np.median(largest) > 0.5 * largest_row_l2(1.0, n, p, r)
