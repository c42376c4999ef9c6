"""The adaptive Lasso against scikit-learn, called by hand."""

import numpy as np
import pytest
from peer_problems import tasks_of, two_tasks
from sklearn.linear_model import Lasso, Ridge
from sklearn.model_selection import LeaveOneOut, cross_val_score

import greedyexp
from greedyexp.algorithms.lasso.adaptive_lasso import adaptive_lasso, ridge
from greedyexp.core import packages, registry
from greedyexp.core.errors import ConfigError
from greedyexp.protocols import fitting

PROBLEM = two_tasks()
LAMS = [0.03, 0.5, 0.1]


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


def test_the_adaptive_lasso_is_cross_validated_like_ours():
    part, rng = registry.find("algorithm", "adaptive_lasso"), np.random.default_rng(0)
    path, chosen = fitting.cross_validated(part, PROBLEM, {}, folds=4, rng=rng)
    assert 0 < chosen < len(path)
    error = np.linalg.norm(path.coef[chosen] - PROBLEM.truth)
    assert error < 0.5 * np.linalg.norm(PROBLEM.truth)


def test_a_missing_package_is_one_sentence(monkeypatch):
    monkeypatch.setattr(packages, "version_of", lambda name: None)
    with pytest.raises(ConfigError) as caught:
        greedyexp.solve("celer_lasso", PROBLEM.X[0], PROBLEM.y[0])
    assert str(caught.value) == (
        "algorithm 'celer_lasso' needs the package 'celer', which is not installed. Install it, or"
        " all packages that greedyexp compares with: pip install 'greedyexp[peers]'."
    )
