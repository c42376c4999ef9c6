"""Paths on working sets against paths on the whole Gram matrix, scikit-learn and a conic solver."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_oracles import awkward_problem, conic_optimum, objective, random_problem
from scipy import sparse
from sklearn.linear_model import MultiTaskLasso, lasso_path

import greedyexp
from greedyexp.algorithms.dirty.dirty_lasso import dirty_lasso
from greedyexp.algorithms.lasso.group_lasso import group_lasso, group_lasso_l2
from greedyexp.algorithms.lasso.lasso import lasso
from greedyexp.core.errors import DataError
from greedyexp.problems import checks, problem
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.solvers import row_paths, working_set
from greedyexp.solvers.row_penalties import DirtyPenalty, EuclideanPenalty
from greedyexp.solvers.working_set import Attempt, TaskDesigns, WorkingSet

SETTINGS = settings(deadline=None, derandomize=True, max_examples=40)
METHODS = [lasso, group_lasso, group_lasso_l2, dirty_lasso]
MANY = problem.LARGEST_GRAM + 104


def on_working_set(method, data, few=2, **options):
    """Return the path of a small problem, as if it had many features."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_paths, "LARGEST_GRAM", 0)
        patch.setattr(row_paths, "FEW_FEATURES", 0)
        patch.setattr(working_set, "FEW", few)
        patch.setattr(Problem, "gram", property(lambda _: pytest.fail("a Gram matrix is formed")))
        return method(data, **options)


def null(data):
    return sum(y @ y / len(y) for y in data.y) / 2


def designs(kind, r):
    rng = np.random.default_rng(len(kind) + r)
    n, p = (120, 40) if kind == "tall" else (40, 90)
    X = rng.standard_normal((r, n, p))
    if kind == "correlated":
        X = np.sqrt(0.9) * rng.standard_normal((r, n, 1)) + np.sqrt(0.1) * X
    elif kind == "copies":
        X[:, :, 60:] = X[:, :, :30]
        X[:, :, 30:33] = -X[:, :, :3]
    elif kind == "zeros":
        X[:, :, 5:50] = 0.0
        X[0, :, 0] = 0.0
    truth = np.zeros((p, r))
    truth[:4] = rng.choice([-1.0, 1.0], (4, r))
    y = [D @ b + 0.3 * rng.standard_normal(n) for D, b in zip(X, truth.T, strict=True)]
    if kind == "shared":
        return as_problem(X[0], np.stack(y, axis=1))
    return as_problem(list(X), y)


def test_one_path_of_more_than_1024_features_needs_no_gram_matrix(monkeypatch):
    data = random_problem(3, 30, 1025, 2, support=4, shared=True)
    several = np.linspace(1.0, 2.0, row_paths.MANY_PATHS)
    assert isinstance(row_paths.data_of(data), TaskDesigns)
    monkeypatch.setattr(Problem, "gram", property(lambda _: pytest.fail("a Gram matrix is formed")))
    for method in METHODS[:3]:
        assert method(data, n_lams=5).converged.all()
    assert dirty_lasso(data, n_lams=5, ratio=several[1:]).converged.all()
    with pytest.raises(pytest.fail.Exception, match="a Gram matrix is formed"):
        dirty_lasso(data, n_lams=5, ratio=several)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["wide", "tall", "shared", "correlated", "copies", "zeros"])
def test_agrees_with_the_path_on_the_gram_matrix(method, kind):
    data = designs(kind, 3)
    whole, part = method(data, n_lams=25), on_working_set(method, data, n_lams=25)
    assert part.converged.all()
    assert np.array_equal(part.grid["lam"], whole.grid["lam"])
    assert part.objective == pytest.approx(whole.objective, abs=1e-9 * null(data))
    if kind != "copies":
        # The minimiser is unique.
        assert np.abs(part.coef - whole.coef).max() < 1e-6
        assert np.array_equal(np.abs(part.coef) > 1e-6, np.abs(whole.coef) > 1e-6)


@SETTINGS
@given(seed=st.integers(0, 10**6), method=st.sampled_from(METHODS))
def test_agrees_on_awkward_data(seed, method):
    data, options = awkward_problem(seed)
    if method is not dirty_lasso:
        options.pop("ratio")
    if method is group_lasso_l2:
        options["lam_min_ratio"] = max(options["lam_min_ratio"], 1e-3)
    whole, part = method(data, **options), on_working_set(method, data, **options)
    assert part.objective == pytest.approx(whole.objective, abs=1e-7 * null(data))
    assert (part.converged | ~whole.converged).all()


@pytest.mark.parametrize(("n", "p", "r"), [(20, 8, 2), (10, 15, 3), ([5, 9, 14, 7], 6, 4)])
def test_reaches_the_optimum_of_a_conic_solver(n, p, r):
    data = random_problem(p, n, p, r)
    path = on_working_set(dirty_lasso, data, n_lams=4, ratio=[1.0, 1.5, r], lam_min_ratio=0.02)
    points = zip(path.objective, path.grid["lam"], path.grid["ratio"], strict=True)
    for value, lam, ratio in points:
        assert value == pytest.approx(conic_optimum(data, lam, ratio * lam), abs=1e-9 * null(data))


def test_many_features_agree_with_coordinate_descent_of_scikit_learn(monkeypatch):
    monkeypatch.setattr(problem, "_gram", lambda _: pytest.fail("a Gram matrix is formed"))
    data = random_problem(0, 100, MANY, 1, support=10)
    path = lasso(data, n_lams=30, lam_min_ratio=0.05)
    lams = path.grid["lam"]
    _, peer, _ = lasso_path(data.X[0], data.y[0], alphas=lams, tol=1e-10, max_iter=10**5)
    for coef, other, lam, value in zip(path.coef, peer.T, lams, path.objective, strict=True):
        assert value == pytest.approx(objective(data, coef, lam, lam), rel=1e-12)
        reached = objective(data, other[:, None], lam, lam)
        assert reached - 1e-9 * null(data) < value < reached + 1e-12
        assert np.array_equal(np.flatnonzero(coef[:, 0]), np.flatnonzero(np.abs(other) > 1e-7))


def test_many_rows_agree_with_scikit_learn():
    data = random_problem(1, 60, MANY, 3, support=8, shared=True)
    path = group_lasso_l2(data, n_lams=6, lam_min_ratio=0.2)
    for coef, lam in zip(path.coef[1:], path.grid["lam"][1:], strict=True):
        peer = MultiTaskLasso(alpha=lam, fit_intercept=False, tol=1e-12, max_iter=10**5)
        peer.fit(data.X[0], np.stack(data.y, axis=1))
        assert np.abs(coef - peer.coef_.T).max() < 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_many_features_converge(method):
    data = random_problem(2, [50, 40], MANY, 2, support=10)
    path = method(data, n_lams=10, lam_min_ratio=0.05)
    assert path.converged.all()
    assert path.coef[-1].any()


@pytest.mark.parametrize(
    ("penalty", "value"),
    [(DirtyPenalty(1.6), lambda b: b[0] + 0.6 * b[1]), (EuclideanPenalty(), np.linalg.norm)],
)
def test_the_gap_is_that_of_the_whole_problem(penalty, value):
    data = random_problem(3, [30, 20], 25, 2)
    working = WorkingSet(TaskDesigns.of(data, np.array([25, 20])))
    working.add(np.array([13, 11, 17]))
    rng = np.random.default_rng(0)
    small = 0.1 * rng.standard_normal((4, 3, 2)) * (rng.random((4, 3, 2)) < 0.7)
    lams = np.array([3.0, 0.5, 0.3, 0.1])
    tried = Attempt.at(working, penalty, lams, small)
    for k, lam in enumerate(lams):
        coef = np.zeros((25, 2))
        coef[[13, 11, 17]] = small[k]
        left = [y - X @ b for X, y, b in zip(data.X, data.y, coef.T, strict=True)]
        grad = np.stack([X.T @ u / len(u) for X, u in zip(data.X, left, strict=True)])
        priced = sum(value(-np.sort(-np.abs(row))) for row in coef)
        primal = sum(u @ u / (2 * len(u)) for u in left) + lam * priced
        if isinstance(penalty, EuclideanPenalty):
            steepest = np.linalg.norm(grad, axis=0).max() / lam
        else:
            steepest = max(np.abs(grad).max(), np.abs(grad).sum(axis=0).max() / 1.6) / lam
        t = 1 / max(1, steepest)
        dual = sum(
            (y @ y - (y - t * u) @ (y - t * u)) / (2 * len(y))
            for y, u in zip(data.y, left, strict=True)
        )
        assert tried.objective[k] == pytest.approx(primal, rel=1e-12)
        assert tried.gap[k] == pytest.approx(primal - dual, rel=1e-10)
        assert tried.grad[k] == pytest.approx(grad, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_values_of_lam_in_any_order(method):
    data = random_problem(4, [30, 40], 60, 2, support=6)
    largest = method(data).grid["lam"].max()
    lams = largest * np.array([0.2, 1.5, 0.01, 0.2, 1e-4, 1.0, 0.5])
    options = {"ratio": 1.5} if method is dirty_lasso else {}
    whole = method(data, lam=lams, **options)
    with np.errstate(divide="raise", invalid="raise"):
        path = on_working_set(method, data, lam=lams, **options)
    assert np.array_equal(path.grid["lam"], lams)
    assert path.converged.all()
    assert not path.coef[[1, 5]].any()
    assert path.coef[0] == pytest.approx(path.coef[3], abs=1e-12)
    assert path.objective == pytest.approx(whole.objective, abs=1e-10 * null(data))
    alone = on_working_set(method, data, lam=lams[2], **options)
    assert alone.objective[0] == pytest.approx(whole.objective[2], abs=1e-10 * null(data))


@pytest.mark.parametrize("method", METHODS)
def test_max_support_ends_the_automatic_path_only(method):
    data = random_problem(5, 40, 60, 2, support=10)
    options = {"ratio": 1.3} if method is dirty_lasso else {}
    full = on_working_set(method, data, **options)
    sizes = np.count_nonzero(full.coef, axis=(1, 2))
    cut = on_working_set(method, data, max_support=14, **options)
    assert len(cut) == np.argmax(sizes > 14) + 1
    assert np.array_equal(cut.coef, full.coef[: len(cut)])
    assert f"{50 - len(cut)} points early" in cut.message
    kept = on_working_set(method, data, lam=full.grid["lam"], max_support=14, **options)
    assert len(kept) == 50


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("y", [np.zeros(20), np.ones(20)])
def test_constant_responses(method, y):
    X = np.random.default_rng(0).standard_normal((20, 30))
    data = as_problem(X, np.stack([y, y], axis=1))
    path = on_working_set(method, data, n_lams=8)
    assert path.converged.all()
    assert path.objective == pytest.approx(method(data, n_lams=8).objective, abs=1e-12)


def test_a_limit_of_rounds_is_reported():
    data = random_problem(6, 40, 60, 2, support=10)
    path = on_working_set(dirty_lasso, data, ratio=1.5, max_sweeps=1, lam_min_ratio=1e-3)
    assert not path.converged.all()
    best = dirty_lasso(data, ratio=1.5, lam_min_ratio=1e-3).objective
    assert (path.objective - best < 1e-7 * null(data))[path.converged].all()
    assert "did not reach a duality gap" in path.message


@pytest.mark.parametrize("method", METHODS)
def test_sparse_designs_give_the_same_path(method):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 80)) * (rng.random((50, 80)) < 0.2)
    y = X[:, :4] @ rng.standard_normal((4, 2)) + 0.1 * rng.standard_normal((50, 2))
    dense = on_working_set(method, as_problem(X, y), n_lams=10)
    thin = on_working_set(method, as_problem(sparse.csr_array(X), y), n_lams=10)
    assert thin.coef == pytest.approx(dense.coef, abs=1e-9)


def test_what_does_not_fit_is_refused(monkeypatch):
    data = random_problem(7, 40, 60, 1, support=10)
    monkeypatch.setattr(checks, "_SMALL", 0)
    monkeypatch.setattr(checks, "available_memory", lambda: 60_000)
    with pytest.raises(DataError, match=r"a working set of \d+ features would take .* max_support"):
        on_working_set(lasso, data, n_lams=5, few=100)
    monkeypatch.setattr(checks, "available_memory", lambda: 20_000)
    with pytest.raises(DataError, match=r"the gradients of 10 estimates would take"):
        on_working_set(lasso, data, n_lams=5)


@pytest.mark.parametrize("name", ["lasso", "group_lasso", "group_lasso_l2", "dirty_lasso"])
def test_no_square_matrix_of_all_features_is_needed(monkeypatch, name):
    monkeypatch.setattr(checks, "available_memory", lambda: 10**9)
    X = np.zeros((3, 20_000))
    X[:, :3] = np.eye(3)
    fit = greedyexp.solve(name, X, [[1.0, -1.0, 0.5]] * 2, lam=0.01)
    assert set(np.flatnonzero(fit.coef.any(axis=1))) == {0, 1, 2}


class TestStarts:
    """Kernels that begin with an estimate."""

    @pytest.mark.parametrize(
        "penalty", [DirtyPenalty(1.0), DirtyPenalty(1.7), DirtyPenalty(3.0), EuclideanPenalty()]
    )
    @pytest.mark.parametrize("shared", [False, True])
    def test_any_start_leads_to_the_same_minimum(self, penalty, shared):
        data = row_paths.data_of(random_problem(8, 40, 60, 3, support=8, shared=shared)).moments
        lam = penalty.largest(data.correlation) * np.array([0.5, 0.3, 0.05])
        limit = np.full(3, 180)
        points = row_paths.Points(lam, limit, 1e-9, 1000)
        coef = penalty.estimates(data, points)[0]
        for start, start_lam in zip(coef, lam, strict=True):
            again, _, gap, _ = penalty.estimates(data, points.part(1, 2), start, start_lam)
            assert gap[0] <= 1e-9
            assert again[0] == pytest.approx(coef[1], abs=1e-7)

    def test_a_start_at_the_minimum_needs_one_round(self):
        data = row_paths.data_of(random_problem(9, 40, 60, 3, support=8)).moments
        for penalty in (*map(DirtyPenalty, (1.0, 1.7, 2.0, 3.0)), EuclideanPenalty()):
            lam = np.geomspace(1.0, 0.1, 8) * penalty.largest(data.correlation)
            points = row_paths.Points(lam, np.full(8, 180), 1e-12, 1000)
            coef = penalty.estimates(data, points)[0]
            last = row_paths.Points(lam[-1:], np.full(1, 180), 1e-12, 1)
            again, _, gap, _ = penalty.estimates(data, last, coef[-1], lam[-1])
            assert gap[0] < 1e-12
            assert again[0] == pytest.approx(coef[-1], abs=1e-12)
