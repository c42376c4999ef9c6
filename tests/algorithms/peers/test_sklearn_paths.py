"""The paths of scikit-learn are those of its functions called by hand."""

import numpy as np
import pytest
from peer_problems import tasks_of, two_tasks
from sklearn.linear_model import Lasso, OrthogonalMatchingPursuit, Ridge, lars_path, lasso_path
from sklearn.model_selection import LeaveOneOut, cross_val_score

import greedyexp
from greedyexp.algorithms.lasso.adaptive_lasso import adaptive_lasso, ridge
from greedyexp.algorithms.lasso.lasso import lasso
from greedyexp.algorithms.peers.lasso_paths import sklearn_lasso
from greedyexp.algorithms.peers.sklearn_lars import sklearn_lars
from greedyexp.algorithms.peers.sklearn_omp import sklearn_omp
from greedyexp.core import packages, registry
from greedyexp.core.errors import ConfigError
from greedyexp.problems.problem import as_problem
from greedyexp.protocols import fitting

PROBLEM = two_tasks()
LAMS = [0.03, 0.5, 0.1]


def test_lasso_paths_agree():
    path = sklearn_lasso(PROBLEM, lam=LAMS, tol=1e-8)
    for j, X, y in tasks_of(PROBLEM):
        for index, lam in enumerate(LAMS):
            hand = Lasso(lam, fit_intercept=False, tol=1e-12).fit(X, y)
            np.testing.assert_allclose(path.coef[index, :, j], hand.coef_, atol=1e-4)
        order = [1, 2, 0]
        _, exact, _ = lasso_path(X, y, alphas=np.array(LAMS)[order], tol=5e-9, max_iter=100_000)
        np.testing.assert_array_equal(path.coef[order, :, j], exact.T)
    assert path.converged.all()
    assert not sklearn_lasso(PROBLEM, lam=LAMS, max_iter=1).converged.all()
    np.testing.assert_array_equal(sklearn_lasso(PROBLEM).grid["lam"], lasso(PROBLEM).grid["lam"])


@pytest.mark.parametrize("method", ["lar", "lasso"])
def test_lars_is_the_path_between_its_knots(method):
    path = sklearn_lars(PROBLEM, method=method, lam=LAMS)
    for j, X, y in tasks_of(PROBLEM):
        for index, lam in enumerate(LAMS):
            *_, coef = lars_path(X, y, method=method, alpha_min=lam)
            np.testing.assert_allclose(path.coef[index, :, j], coef[:, -1], atol=1e-12)
    assert path.converged.all()
    if method == "lasso":
        np.testing.assert_allclose(path.coef, lasso(PROBLEM, lam=LAMS).coef, atol=1e-5)
    short = sklearn_lars(PROBLEM, method=method, lam=[0.03, 2.0, 0.1], max_iter=2)
    assert _knot(method, 2) < 2.0
    assert short.converged.tolist() == [False, True, False]


def _knot(method, index):
    """Return the largest knot of a task with this index, from 0."""
    return max(lars_path(X, y, method=method)[0][index] for _, X, y in tasks_of(PROBLEM))


def test_only_the_lasso_drops_features():
    problem, lams = two_tasks(12, 15), [0.1, 0.03, 0.01]
    lar, path = (sklearn_lars(problem, method=one, lam=lams).coef for one in ("lar", "lasso"))
    assert np.abs(lar - path).max() > 0.01
    np.testing.assert_allclose(path, lasso(problem, lam=lams, tol=1e-12).coef, atol=1e-8)


@pytest.mark.parametrize("normalize", [True, False])
def test_omp_has_the_atoms_of_scikit_learn(normalize):
    path = sklearn_omp(PROBLEM, n_atoms=6, normalize=normalize)
    for j, X, y in tasks_of(PROBLEM):
        norms = np.linalg.norm(X, axis=0) if normalize else 1.0
        for size in range(1, 7):
            model = OrthogonalMatchingPursuit(n_nonzero_coefs=size, fit_intercept=False)
            coef = model.fit(X / norms, y).coef_ / norms
            np.testing.assert_allclose(path.coef[size, :, j], coef, atol=1e-12)
    assert path.support_sizes.tolist() == [0, 2, 4, 6, 8, 10, 12]
    some = sklearn_omp(PROBLEM, normalize=normalize, grid={"n_atoms": np.array([3, 0])})
    np.testing.assert_array_equal(some.coef, path.coef[[3, 0]])
    with pytest.raises(ConfigError, match="n_atoms = 16 is more than the 15 features"):
        sklearn_omp(PROBLEM, n_atoms=16)


@pytest.mark.deep
def test_the_ridge_has_the_least_leave_one_out_error():
    for _, X, y in tasks_of(two_tasks(12, 15)):
        weights = np.geomspace(1e-8, 10.0, 46) * np.linalg.norm(X, 2) ** 2
        scores = [
            cross_val_score(
                Ridge(weight, fit_intercept=False, solver="svd"),
                X,
                y,
                cv=LeaveOneOut(),
                scoring="neg_mean_squared_error",
            ).mean()
            for weight in weights
        ]
        best = Ridge(weights[np.argmax(scores)], fit_intercept=False, solver="svd").fit(X, y)
        np.testing.assert_allclose(ridge(X, y), best.coef_, atol=1e-10)


@pytest.mark.parametrize("gamma", [1.0, 2.0])
def test_the_adaptive_lasso_is_the_lasso_of_scaled_columns(gamma):
    path = adaptive_lasso(PROBLEM, gamma=gamma, lam=LAMS)
    for j, X, y in tasks_of(PROBLEM):
        scale = np.abs(ridge(X, y)) ** gamma
        for index, lam in enumerate(LAMS):
            hand = Lasso(lam, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X * scale, y)
            np.testing.assert_allclose(path.coef[index, :, j], hand.coef_ * scale, atol=1e-6)
    # Its first-order condition: |x_i^T residual| / n is lam / |b0_i|^gamma where b_i is not zero.
    for j, X, y in tasks_of(PROBLEM):
        coef = path.coef[0, :, j]
        slope = X.T @ (y - X @ coef) / len(y) * np.abs(ridge(X, y)) ** gamma
        np.testing.assert_allclose(slope[coef != 0], LAMS[0] * np.sign(coef[coef != 0]), rtol=1e-6)
        assert (np.abs(slope) <= LAMS[0] * (1 + 1e-9)).all()


@pytest.mark.parametrize("name", ["sklearn_lasso", "sklearn_lars", "sklearn_omp", "adaptive_lasso"])
def test_paths_are_cross_validated_like_ours(name):
    part, rng = registry.find("algorithm", name), np.random.default_rng(0)
    path, chosen = fitting.cross_validated(part, PROBLEM, {}, folds=4, rng=rng)
    assert 0 < chosen < len(path)
    error = np.linalg.norm(path.coef[chosen] - PROBLEM.truth)
    assert error < 0.5 * np.linalg.norm(PROBLEM.truth)


def test_a_missing_package_is_one_sentence(monkeypatch):
    def absent(name):
        raise packages.PackageNotFoundError(name)

    monkeypatch.setattr(packages, "version", absent)
    with pytest.raises(ConfigError) as caught:
        greedyexp.solve("sklearn_omp", PROBLEM.X[0], PROBLEM.y[0])
    assert str(caught.value) == (
        "algorithm 'sklearn_omp' needs the package 'scikit-learn', which is not installed. Install"
        " it, or all packages that greedyexp compares with: pip install 'greedyexp[peers]'."
    )


def test_units_of_the_response_do_not_matter_for_lars():
    X, y = PROBLEM.X[0], PROBLEM.y[0]
    plain, small = (sklearn_lars(as_problem(X, unit * y)) for unit in (1.0, 1e-7))
    np.testing.assert_allclose(small.coef * 1e7, plain.coef, rtol=1e-8, atol=1e-10)
    assert small.converged.all()
