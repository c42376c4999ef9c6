"""Designs with many features: no Gram matrices, and sizes that no memory holds."""

import tracemalloc

import numpy as np
import pytest

import greedyexp
from greedyexp.core.errors import DataError
from greedyexp.problems import checks, problem

GB = 10**9


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 300))
    return X, X[:, :2].sum(axis=1) + 0.1 * rng.standard_normal(40)


def test_a_gram_matrix_that_does_not_fit_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr(checks, "available_memory", lambda: GB // 10)
    designs = [np.eye(3, 5000), np.eye(3, 5000)]
    with pytest.raises(DataError, match=r"5000 features.* 2 tasks would take 0.4 GB of memory"):
        _ = problem.as_problem(designs, [np.arange(3.0) - 1] * 2).gram


def test_a_gram_matrix_on_which_blas_may_crash_is_refused():
    with pytest.raises(DataError, match=r"a Gram matrix of 20000 features is not formed"):
        _ = problem.as_problem(np.eye(3, 20_000), np.arange(3.0) - 1).gram


@pytest.fixture
def three_features(monkeypatch):
    """A design whose Gram matrix does not fit, and a response that gains 1/6, 1/6 and 1/24."""
    monkeypatch.setattr(checks, "available_memory", lambda: 3 * GB)
    X = np.zeros((3, 20_000))
    X[:, :3] = np.eye(3)
    return X, np.array([1.0, -1.0, 0.5])


@pytest.mark.parametrize(("name", "stop"), [("foba_gdt", "max_features"), ("omp", "n_atoms")])
def test_greedy_algorithms_form_no_gram_matrix(three_features, name, stop):
    assert greedyexp.solve(name, *three_features, **{stop: 2}).support.tolist() == [0, 1]


def test_the_greedy_dirty_model_forms_no_gram_matrix(three_features):
    X, y = three_features
    fit = greedyexp.solve("greedy_dirty", X, np.stack([y, y], axis=1), w=1.5, max_support=4)
    assert np.argwhere(fit.coef).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]


def test_a_basis_that_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(checks, "_SMALL", 0)
    monkeypatch.setattr(checks, "available_memory", lambda: 10**6)
    X = np.random.default_rng(0).standard_normal((300, 5000))
    with pytest.raises(DataError, match=r"a pursuit of 2 of 5000 features would take .* n_atoms"):
        greedyexp.solve("omp", X, X[:, 0] - X[:, 1], n_atoms=2)


def test_rows_that_do_not_fit_are_refused(monkeypatch):
    monkeypatch.setattr(checks, "_SMALL", 0)
    monkeypatch.setattr(checks, "available_memory", lambda: 10**5)
    X = np.random.default_rng(0).standard_normal((300, 5000))
    with pytest.raises(DataError, match=r"for a support of 4 would take .* smaller max_support"):
        greedyexp.solve("greedy_dirty", X, X[:, :2] - X[:, 2:4], max_support=2)


def test_a_path_that_does_not_fit_is_refused(data, monkeypatch):
    X, y = data
    monkeypatch.setattr(checks, "_SMALL", 0)
    monkeypatch.setattr(checks, "available_memory", lambda: 10_000)
    # A task has at most as many atoms as rows.
    with pytest.raises(DataError, match=r"a path of 41 estimates would take .* n_atoms"):
        greedyexp.solve("omp", X, y, n_atoms=40)
    monkeypatch.setattr(checks, "available_memory", lambda: 8 * 300**2)
    with pytest.raises(DataError, match=r"a path of [0-9]+ estimates would take .* values of lam"):
        greedyexp.solve("lasso", X, y, n_lams=400)
    assert greedyexp.solve("omp", X, y, n_atoms=2).support.tolist() == [0, 1]


def test_a_copy_of_a_view_that_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(checks, "available_memory", lambda: GB)
    X = np.broadcast_to(np.arange(20_000.0), (10**6, 20_000))
    y = np.zeros(10**6)
    singles = np.broadcast_to(np.float32(1.0), X.shape)
    for design in (X, singles, X.T):
        rows = y[: len(design)]
        with pytest.raises(DataError, match=r"a copy of X in double precision would take .* GB"):
            greedyexp.solve("lasso", design, rows)
    with pytest.raises(DataError, match=r"a copy of y in double precision would take .* GB"):
        greedyexp.solve("lasso", np.ones((10**6, 2)), X)


def test_data_far_from_centred_are_described_without_a_copy():
    X = np.random.default_rng(0).standard_normal((100, 20_000)) + 10.0
    data = problem.as_problem(X, np.arange(100.0) - 49.5)
    assert data.columns
    tracemalloc.start()
    try:
        assert "feature" in checks.far_from_centred(data.X, data.y, data.columns)
        assert tracemalloc.get_traced_memory()[1] < X.nbytes / 8
    finally:
        tracemalloc.stop()


def test_a_basis_or_a_model_that_does_not_fit_is_refused(data, monkeypatch):
    monkeypatch.setattr(checks, "_SMALL", 0)
    monkeypatch.setattr(checks, "available_memory", lambda: 30_000)
    message = r"a basis for up to 32 features would take .* max_features"
    for name in ("foba_gdt", "forward_obj"):
        assert len(greedyexp.solve(name, *data, max_features=16).support) == 16
        with pytest.raises(DataError, match=message):
            greedyexp.solve(name, *data, max_features=17)
    with pytest.raises(DataError, match=r"the Gram matrix of 300 features would take"):
        greedyexp.solve("l1_path", *data, n_lams=5)
    labels = np.where(data[1] > 0, 1.0, -1.0)
    with pytest.raises(DataError, match=r"a model of [0-9]+ coefficients would take .* lam"):
        greedyexp.solve("l1_path", data[0], labels, loss="logistic", n_lams=5)


def test_paths_need_room_for_one_at_a_time(data, monkeypatch):
    X, y = data
    monkeypatch.setattr(checks, "_SMALL", 0)
    monkeypatch.setattr(checks, "available_memory", lambda: 8 * 300**2)
    lams = np.linspace(0.5, 0.4, 80).tolist()
    tasks = np.stack([y, y], axis=1)
    assert len(greedyexp.solve("dirty_lasso", X, tasks, lam=lams, ratio=1.5).history) == 80
    assert len(greedyexp.solve("dirty_lasso", X, tasks, lam=lams, ratio=[1.5, 1.6]).history) == 160


def test_memory_that_runs_out_is_a_sentence(data, monkeypatch):
    def too_much(*_):
        raise MemoryError("Unable to allocate 2 PiB")

    monkeypatch.setattr(problem, "_gram", too_much)
    with pytest.raises(DataError, match=r"there is not enough memory \(Unable to allocate 2 PiB"):
        greedyexp.solve("lasso", *data)


def test_memory_is_asked_of_the_system_or_not_judged(monkeypatch):
    assert 0 < checks.available_memory() <= checks.physical_memory()
    monkeypatch.setattr(checks, "available_memory", lambda: None)
    checks.require_memory(1e30, "it")


@pytest.mark.deep
@pytest.mark.parametrize("name", ["omp", "lasso", "group_lasso"])
def test_twenty_thousand_features_are_fitted(name):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 20_000))
    y = X[:, :3] @ [1.0, -1.0, 1.0] + 0.1 * rng.standard_normal(500)
    stop = {"n_atoms": 3} if name == "omp" else {"max_support": 3}
    assert set(greedyexp.solve(name, X, y, **stop).support[:3].tolist()) == {0, 1, 2}
