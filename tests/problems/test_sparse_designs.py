"""Sparse designs: checked like dense ones, read-only, refused where no algorithm takes them."""

from __future__ import annotations

import numpy as np
import pytest
from coef_paths import path_of_coef
from kept_registry import kept_registry
from scipy import sparse

import greedyexp
from greedyexp.config import load
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError, DataError, PluginError
from greedyexp.metrics.classification import one_vs_rest_error
from greedyexp.problems.checks import constant_columns
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.protocols import fitting
from greedyexp.runner.evaluator import Evaluator
from greedyexp.runner.work import Work


def table(rows: int = 12, seed: int = 0) -> np.ndarray:
    """A design with many zeros, one row and one column of them only."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 5)) * (rng.random((rows, 5)) < 0.5)
    X[3] = X[:, 2] = 0
    return X


def shuffled() -> sparse.csr_array:
    """Two rows; the columns of the first are out of order and one stands there twice."""
    return sparse.csr_array(
        (np.array([1.0, 2.0, 4.0, 8.0]), np.array([3, 0, 3, 1]), np.array([0, 3, 4])), shape=(2, 5)
    )


def _register():
    def problem(X) -> Problem:
        rows = X.shape[0]
        return Problem((X,), (np.where(np.arange(rows) % 2, 1.0, -1.0),))

    @registry.generator("t_sparse", provides=("sparse",))
    def t_sparse(rng):
        """A sparse design."""
        return problem(sparse.csr_array(table()))

    @registry.generator(
        "t_now_and_then", provides=lambda *, density: ("sparse",) if density < 1 else ()
    )
    def t_now_and_then(rng, *, density: float = 1.0):
        """A sparse design when there are zeros."""
        return problem(sparse.csr_array(table()) if density < 1 else table() + 1)

    @registry.generator("t_secret")
    def t_secret(rng):
        """A sparse design that is not told of."""
        return problem(sparse.csr_array(table()))

    @registry.generator("t_shuffled", provides=("sparse",))
    def t_shuffled(rng):
        """Columns out of order."""
        return problem(shuffled())

    @registry.generator("t_columns", provides=("sparse",))
    def t_columns(rng):
        """Another format."""
        return problem(sparse.csc_array(table()))

    @registry.algorithm("t_ridge", takes_sparse=True)
    def t_ridge(problem, *, grid=None):
        """Ridge regression on any design."""
        p = problem.n_features
        return np.linalg.solve(problem.gram[0] + np.eye(p), problem.correlation[0])


@pytest.fixture(autouse=True)
def registered():
    with kept_registry():
        _register()
        yield


def bench(generator: str) -> Evaluator:
    return Evaluator(Work(1, (generator,), "recovery", {}, ("support_size",), (), ()))


def source(algorithm: str, **data) -> dict:
    return {
        "name": "trial",
        "paper": {"key": "liu2014", "figure": "Table 4"},
        "seed": 1,
        "data": data,
        "trials": 1,
        "algorithms": [algorithm],
        "metrics": ["support_size"],
    }


# --- what a problem makes of them -------------------------------------------------------------


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dia"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_any_sparse_form_becomes_a_csr_array_with_the_same_products(form, kind):
    X, y = table(), np.random.default_rng(1).standard_normal((12, 2))
    given = getattr(sparse, f"{form}_{kind}")(X)
    dense, made = as_problem(X, y), as_problem(given, y)
    assert isinstance(made.X[0], sparse.csr_array)
    assert made.X[0].dtype == np.float64
    assert np.array_equal(made.X[0].toarray(), X)
    assert made.shape == dense.shape
    assert (made.sparse_design, dense.sparse_design) == (True, False)
    for name in ("gram", "correlation"):
        assert type(getattr(made, name)) is np.ndarray
        assert np.allclose(getattr(made, name), getattr(dense, name), rtol=0, atol=1e-14)
    keep = [np.array([4, 0, 7])] * 2
    assert np.array_equal(made.rows(keep).X[0].toarray(), X[[4, 0, 7]])
    assert made.rows(keep).shared_design


def test_a_list_may_mix_sparse_and_dense_designs():
    X, other = table(), table(seed=1)
    y = [np.arange(12.0), np.ones(12)]
    made, dense = as_problem([sparse.csr_array(X), other], y), as_problem([X, other], y)
    assert np.allclose(made.gram, dense.gram, rtol=0, atol=1e-14)
    assert np.allclose(made.correlation, dense.correlation, rtol=0, atol=1e-14)
    assert made.sparse_design


def test_columns_are_put_in_order_and_the_callers_array_stays():
    given = shuffled()
    made = as_problem(given, [1.0, 2.0]).X[0]
    assert made.has_canonical_format
    assert np.array_equal(made.toarray(), [[2, 0, 0, 5, 0], [0, 8, 0, 0, 0]])
    assert given.indices.tolist() == [3, 0, 3, 1]
    assert as_problem(sparse.csr_array((2, 3)), [1.0, 2.0]).X[0].toarray().tolist() == [[0] * 3] * 2
    whole = as_problem(sparse.csr_array(np.eye(2, dtype=int)), [1.0, 2.0]).X[0]
    assert whole.dtype == np.float64


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (sparse.csr_array(np.array([[0, np.nan], [1, 0]])), "X.data holds nan"),
        (sparse.csr_array(np.array([[0, np.inf], [1, 0]])), "X.data holds inf"),
        (sparse.csr_array(np.eye(2) * 1j), "X.data holds complex numbers"),
        (sparse.csr_array((2, 0)), "X is empty"),
        (sparse.coo_array(np.ones(2)), "X has 1 dimension"),
        (sparse.csr_array((3, 2)), "X has 3 rows but y has 2"),
    ],
)
def test_bad_sparse_designs_are_refused_in_a_sentence(X, words):
    with pytest.raises(DataError, match=words):
        as_problem(X, [1.0, 2.0])


def test_words_of_chains_are_not_taken_apart():
    X = table()
    chained = Problem((X,), (X[:, 0],), chains=np.array([5, 7]))
    with pytest.raises(DataError, match=r"cannot split chains of words\. Use tuning='end'"):
        chained.rows([np.arange(3)])


def test_rows_keep_the_names():
    X = table()
    named = Problem((X,), (X[:, 0],), feature_names=tuple("abcde"), class_names=("one",))
    kept = named.rows([np.arange(3)])
    assert (kept.feature_names, kept.class_names) == (tuple("abcde"), ("one",))


def test_classes_are_decided_as_with_the_dense_design():
    X, y = table(), np.where(np.arange(12) % 3, 1.0, -1.0)
    coef = np.random.default_rng(2).standard_normal((4, 5, 1))
    dense, thin = (Problem((X,), (y,), X_test=(Z,), y_test=(y,)) for Z in (X, sparse.csr_array(X)))
    assert thin.sparse_design
    path = path_of_coef(coef)
    assert np.array_equal(one_vs_rest_error(thin, path), one_vs_rest_error(dense, path))
    wrong = [np.mean((X @ b[:, 0] > 0) != (y > 0)) for b in coef]
    assert np.allclose(one_vs_rest_error(thin, path), wrong)


# --- who may have one -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["adaptive_lasso", "gs_coordinate_descent"])
def test_solve_refuses_what_an_algorithm_cannot_take(name):
    X, y = sparse.csr_array(table()), np.arange(12.0)
    with pytest.raises(DataError, match=r"does not accept a sparse design\. Give X\.toarray\(\)"):
        greedyexp.solve(name, X, y)


@pytest.mark.parametrize("judge", ["coordinate", "refit"])
@pytest.mark.parametrize("name", ["omp", "group_omp", "greedy_dirty", "lasso", "group_lasso"])
def test_methods_for_regression_find_the_same_in_a_sparse_design(name, judge):
    """With more features than a Gram matrix is formed of."""
    rng = np.random.default_rng(1)
    X = sparse.random_array((80, 4500), density=0.1, rng=rng, data_sampler=rng.standard_normal)
    # A column without entries, and one that occurs twice.
    X = sparse.csr_array(sparse.hstack([X, sparse.csr_array((80, 1)), X[:, [7]]]))
    Y = X[:, [7, 11, 13]] @ rng.standard_normal((3, 2)) + 0.1 * rng.standard_normal((80, 2))
    settings = {"omp": {"n_atoms": 9}, "group_omp": {"n_rows": 9}, "greedy_dirty": {}}.get(
        name, {"n_lams": 6, "lam_min_ratio": 0.2}
    )
    if name in ("omp", "group_omp"):
        settings["judge"] = judge
    thin = greedyexp.solve(name, X, Y, **settings)
    dense = greedyexp.solve(name, X.toarray(), Y, **settings)
    np.testing.assert_allclose(thin.coef, dense.coef, atol=1e-9)
    assert thin.objective == pytest.approx(dense.objective, rel=1e-9)
    if name == "omp":
        again = greedyexp.solve(name, X, Y, n_jobs=2, **settings)
        np.testing.assert_array_equal(again.coef, thin.coef)


def test_solve_gives_it_to_an_algorithm_that_says_so():
    X, y = table(), np.arange(12.0)
    thin, dense = (greedyexp.solve("t_ridge", Z, y) for Z in (sparse.csr_array(X), X))
    expected = np.linalg.solve(X.T @ X / 12 + np.eye(5), X.T @ y / 12)
    assert np.allclose(thin.coef, expected)
    assert np.allclose(dense.coef, expected)


def test_an_experiment_refuses_the_pair_before_any_work():
    words = (
        "algorithm 'adaptive_lasso' does not accept a sparse design but generator 't_sparse' makes"
        " one"
    )
    with pytest.raises(ConfigError, match=words + r"\."):
        load(source("adaptive_lasso", generator="t_sparse"))
    load(source("t_ridge", generator="t_sparse"))


def test_an_experiment_names_the_point_of_a_sweep():
    swept = {"generator": "t_now_and_then", "sweep": {"density": [1.0, 0.5]}}
    with pytest.raises(ConfigError, match=r"makes one at density = 0\.5"):
        load(source("adaptive_lasso", **swept))
    load(source("adaptive_lasso", generator="t_now_and_then"))
    load(source("t_ridge", **swept))


def test_a_sparse_design_must_be_told_of():
    with pytest.raises(PluginError, match="trait 'sparse', but does not provide it"):
        bench("t_secret").problem("t_secret", {}, 0)
    with pytest.raises(PluginError, match="a sparse CSC array, not as a CSR array"):
        bench("t_columns").problem("t_columns", {}, 0)


# --- nobody writes to it ----------------------------------------------------------------------


def test_data_are_read_only_in_every_part():
    problem = bench("t_sparse").problem("t_sparse", {}, 0)
    X = problem.X[0]
    for array in (X.data, X.indices, X.indptr, problem.y[0]):
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    # What algorithms do with a design works all the same.
    dense = table()
    assert np.allclose((X.T @ X).toarray(), dense.T @ dense)
    assert np.allclose(X @ np.ones(5), dense.sum(axis=1))
    assert np.array_equal(X[[1, 5]].toarray(), dense[[1, 5]])
    assert np.array_equal(X[:, [0, 3]].toarray(), dense[:, [0, 3]])
    assert np.array_equal(X.tocsc().toarray(), dense)
    part = registry.find("algorithm", "t_ridge")
    path, _ = fitting.cross_validated(part, problem, {}, folds=3, rng=np.random.default_rng(0))
    assert path.coef.shape == (1, 5, 1)


def test_what_is_out_of_order_is_put_in_order_before_it_is_closed():
    X = bench("t_shuffled").problem("t_shuffled", {}, 0).X[0]
    assert not X.data.flags.writeable
    assert X.has_canonical_format
    assert np.array_equal(X.toarray(), shuffled().toarray())


def test_chains_and_rows_held_out_are_read_only():
    traits = ("sparse", "test_rows", "chains", "multi_task")

    @registry.generator("t_chained", provides=traits)
    def t_chained(rng):
        """Chains of words."""
        X, lengths = sparse.csr_array(table()), np.array([5, 7])
        y = (np.ones(12), np.zeros(12))
        held_out = {"X_test": 2 * (X.copy(),), "y_test": tuple(one.copy() for one in y)}
        return Problem((X, X), y, **held_out, chains=lengths, chains_test=lengths)

    problem = bench("t_chained").problem("t_chained", {}, 0)
    held = problem.X_test[0]
    arrays = (held.data, held.indptr, problem.y_test[0], problem.chains, problem.chains_test)
    assert not any(array.flags.writeable for array in arrays)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_constant_columns_are_those_with_equal_entries(form):
    nearly = 3 + 1e-7 * np.arange(6)
    X = np.column_stack(
        [np.zeros(6), np.full(6, 3.0), nearly, [3, 3, 3, 3, 3, 0], np.full(6, -0.1)]
    )
    assert constant_columns(form(X)).tolist() == [0, 1, 4]
