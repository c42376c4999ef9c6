"""Intercepts and standardised columns, against scikit-learn and least squares by LAPACK."""

import numpy as np
import pytest
import scipy.sparse
from kept_registry import kept_registry
from sklearn import linear_model
from sklearn.preprocessing import StandardScaler

from greedyexp import algorithm, solve
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.problems import checks
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.problems.scaling import scaled

RNG = np.random.default_rng(8)
SCALES = np.geomspace(0.1, 100.0, 10)
X = (RNG.standard_normal((80, 10)) + 2.0) * SCALES
Y = X @ (np.r_[3.0, -2.0, np.zeros(8)] / SCALES) + 7.0 + 0.1 * RNG.standard_normal(80)
BOTH = np.stack([Y, 1.0 - 2.0 * Y + X[:, 2] / SCALES[2]], axis=1)


def least_squares(design, y):
    found = np.linalg.lstsq(np.column_stack([design, np.ones(len(y))]), y, rcond=None)[0]
    return found[:-1], found[-1]


@pytest.mark.parametrize(
    ("name", "limit"),
    [("omp", "n_atoms"), ("foba_gdt", "max_features"), ("fully_corrective", "steps")],
)
@pytest.mark.parametrize("standardize", [False, True])
def test_the_fit_on_a_support_is_least_squares_with_an_intercept(name, limit, standardize):
    found = solve(name, X, Y, intercept=True, standardize=standardize, **{limit: 2})
    coef, intercept = least_squares(X[:, found.support], Y)
    assert len(found.support) == 2
    np.testing.assert_allclose(found.coef[found.support], coef, rtol=1e-9)
    np.testing.assert_allclose(found.intercept, intercept, rtol=1e-9)


def test_each_task_has_its_intercept():
    found = solve("group_omp", X, BOTH, intercept=True, n_rows=3)
    rows = np.flatnonzero(found.coef.any(axis=1))
    coef, intercept = least_squares(X[:, rows], BOTH)
    np.testing.assert_allclose(found.coef[rows], coef, rtol=1e-9)
    np.testing.assert_allclose(found.intercept, intercept, rtol=1e-9)


def test_tasks_with_designs_of_their_own_are_centred_by_their_own_rows():
    designs, responses = [X, X[:50] + 1.0], [BOTH[:, 0], BOTH[:50, 1]]
    found = solve("omp", designs, responses, intercept=True, n_atoms=2)
    for j, (design, y) in enumerate(zip(designs, responses, strict=True)):
        one = solve("omp", design, y, intercept=True, n_atoms=2)
        np.testing.assert_allclose(found.coef[:, j], one.coef, rtol=1e-9)
        np.testing.assert_allclose(found.intercept[j], one.intercept, rtol=1e-9)


@pytest.mark.parametrize("name", ["lasso", "l1_path", "group_lasso", "rmp"])
def test_a_standardised_lasso_is_that_of_scikit_learn_in_original_units(name):
    found = solve(name, X, Y, intercept=True, standardize=True, lam=0.1)
    scaler = StandardScaler().fit(X)
    theirs = linear_model.Lasso(alpha=0.1, tol=1e-13, max_iter=100_000)
    theirs.fit(scaler.transform(X), Y)
    np.testing.assert_allclose(
        found.coef * SCALES, theirs.coef_ * SCALES / scaler.scale_, atol=1e-5
    )
    predicted = theirs.predict(scaler.transform(X))
    np.testing.assert_allclose(X @ found.coef + found.intercept, predicted, atol=1e-5)


def test_columns_are_divided_without_being_centred_if_there_is_no_intercept():
    found = solve("lasso", X, Y - 7.0, standardize=True, lam=0.1)
    theirs = linear_model.Lasso(alpha=0.1, fit_intercept=False, tol=1e-13, max_iter=100_000)
    theirs.fit(X / X.std(axis=0), Y - 7.0)
    np.testing.assert_allclose(found.coef * X.std(axis=0), theirs.coef_, atol=1e-6)
    assert found.intercept == 0.0


def test_held_out_rows_do_not_enter_the_means_and_scales_of_a_fold():
    few, y = X[:12], Y[:12]
    grid = np.geomspace(1.0, 0.01, 5)
    found = solve(
        "lasso", few, y, intercept=True, standardize=True, tuning="cv", folds=3, seed=2,
        lam=grid.tolist(),
    )  # fmt: skip
    folds = np.array_split(np.random.default_rng(2).permutation(12), 3)
    errors = np.zeros(5)
    for fold in folds:
        rest = np.setdiff1d(np.arange(12), fold)
        scaler = StandardScaler().fit(few[rest])
        for k, lam in enumerate(grid):
            theirs = linear_model.Lasso(alpha=lam, tol=1e-13, max_iter=100_000)
            theirs.fit(scaler.transform(few[rest]), y[rest])
            errors[k] += np.mean((y[fold] - theirs.predict(scaler.transform(few[fold]))) ** 2)
    assert found.history["lam"][found.history["chosen"]].tolist() == [grid[np.argmin(errors)]]


def test_a_sparse_design_is_scaled_but_not_centred():
    rng = np.random.default_rng(0)
    thin = scipy.sparse.csr_array(np.where(rng.random((60, 8)) < 0.3, 5 * rng.random((60, 8)), 0))
    y = thin @ np.arange(8.0)
    on_sparse = solve("foba_gdt", thin, y, intercept=True, standardize=True, max_features=3)
    on_dense = solve(
        "foba_gdt", thin.toarray(), y, intercept=True, standardize=True, max_features=3
    )
    np.testing.assert_allclose(on_sparse.coef, on_dense.coef, atol=1e-9)
    changed, scaling = scaled(as_problem(thin, y), centre=False, scale=True)
    np.testing.assert_allclose(scaling.scales[0], thin.toarray().std(axis=0), rtol=1e-12)
    np.testing.assert_allclose(changed.X[0].toarray(), thin.toarray() / scaling.scales[0])
    with pytest.raises(DataError, match="a sparse design is not centred"):
        solve("fully_corrective", thin, y, intercept=True)


def test_a_constant_column_is_never_selected_with_an_intercept():
    almost = np.where(np.arange(80) % 3, 0.3, 0.1 + 0.2)
    assert almost.std() > 0
    design = np.column_stack([almost, X, np.full(80, -1e9)])
    changed, scaling = scaled(as_problem(design, Y), centre=True, scale=True)
    assert not changed.X[0][:, [0, -1]].any()
    assert scaling.scales[0][[0, -1]].tolist() == [1.0, 1.0]
    found = solve("omp", design, Y, intercept=True, n_atoms=11)
    assert not found.coef[[0, -1]].any()


def test_a_loss_that_cannot_be_centred_is_refused():
    sentence = (
        "algorithm 'forward_greedy' fits no intercept with loss 'hinge'. Centre the features."
    )
    with pytest.raises(ConfigError, match=sentence):
        solve("forward_greedy", X, np.sign(Y), loss="hinge", beta=1.0, radius=1.0, intercept=True)


@pytest.mark.parametrize("setting", ["intercept", "standardize"])
def test_settings_are_true_or_false(setting):
    with pytest.raises(ConfigError, match=f"{setting} must be true or false"):
        solve("omp", X, Y, **{setting: "perhaps"})


def test_the_warning_about_means_names_the_remedy_and_follows_it():
    with pytest.warns(UserWarning, match="give intercept=True"):
        solve("omp", X, Y, n_atoms=1)
    assert not solve("omp", X, Y, n_atoms=1, intercept=True).message


@pytest.mark.filterwarnings("ignore:No intercept is fitted")
def test_an_algorithm_keeps_its_own_defaults_of_these_settings():
    with kept_registry():

        @algorithm("t_own_intercept")
        def own(problem, *, intercept: bool = True, standardize: bool = True):
            return np.full((problem.n_features, 1), 2.0 * intercept + standardize)

        assert solve("t_own_intercept", X, Y).coef[0] == 3.0
        assert solve("t_own_intercept", X, Y, intercept=False).coef[0] == 1.0
        assert solve("t_own_intercept", X, Y, standardize=False).coef[0] == 2.0


def test_a_copy_that_does_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr(checks, "available_memory", lambda: 10**8)
    design = np.broadcast_to(X[0], (2_000_000, 10))
    known = Problem((design[:80],), (Y,)).columns
    large = Problem((design,), (np.broadcast_to(1.0, 2_000_000),))
    vars(large)["columns"] = known
    with pytest.raises(DataError, match=r"a centred or scaled copy of X would take 0.16 GB"):
        scaled(large, centre=True, scale=False)
