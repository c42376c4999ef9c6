import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import minimize, minimize_scalar
from sklearn.linear_model import LogisticRegression

from greedyexp.losses.logistic import LogisticLoss


def classes(seed=0, n=80, p=12, binary=False):
    """Noisy labels of a sparse model, columns of different sizes."""
    rng = np.random.default_rng(seed)
    if binary:
        X = (rng.random((n, p)) < 0.3).astype(float)
    else:
        X = rng.standard_normal((n, p)) * rng.uniform(0.5, 2.0, p)
    margins = 2.0 * X[:, 0] - X[:, 3] + rng.logistic(size=n)
    return X, np.where(margins > np.median(margins), 1.0, -1.0)


def plain_value(X, y, ridge, intercept, params):
    """The loss written out, with the intercept last."""
    coef, shift = (params[:-1], params[-1]) if intercept else (params, 0.0)
    margins = y * (X @ coef + shift)
    return np.logaddexp(0.0, -margins).mean() + 0.5 * ridge * coef @ coef


SETTINGS = [(0.0, False), (0.0, True), (0.01, False), (0.01, True)]
settings = pytest.mark.parametrize(("ridge", "intercept"), SETTINGS)
designs = pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])


@settings
@designs
def test_value_and_derivatives_by_differences(ridge, intercept, form):
    X, y = classes(1)
    loss = LogisticLoss(form(X), y, ridge=ridge, intercept=intercept)
    params = np.random.default_rng(2).standard_normal(12 + intercept)

    def value(at):
        return plain_value(X, y, ridge, intercept, at)

    assert loss.value(params) == pytest.approx(value(params), rel=1e-14)
    steps = np.eye(len(params))
    slopes = [(value(params + 1e-5 * e) - value(params - 1e-5 * e)) / 2e-5 for e in steps]
    np.testing.assert_allclose(loss.gradient(params), slopes, atol=1e-9)
    bends = [
        (loss.gradient(params + 1e-5 * e) - loss.gradient(params - 1e-5 * e)) @ e / 2e-5
        for e in steps
    ]
    np.testing.assert_allclose(loss.curvature(params), bends, atol=1e-9)
    atoms = np.column_stack([X, np.ones((80, int(intercept)))])
    expected = (atoms**2).mean(axis=0) / 4 + ridge * (np.arange(len(params)) < 12)
    np.testing.assert_allclose(loss.smoothness, expected, rtol=1e-13)


@settings
@designs
def test_minimum_over_a_support_equals_scikit_learn(ridge, intercept, form):
    X, y = classes(3)
    loss = LogisticLoss(form(X), y, ridge=ridge, intercept=intercept)
    support = [7, 0, 3]
    found = loss.minimise(support)
    penalty = {"C": 1 / (80 * ridge)} if ridge else {"C": np.inf}
    peer = LogisticRegression(**penalty, fit_intercept=intercept, tol=1e-13, max_iter=10000)
    peer.set_params(solver="newton-cholesky").fit(X[:, support], y)
    np.testing.assert_allclose(found.params[support], peer.coef_[0], atol=1e-8)
    if intercept:
        assert found.params[-1] == pytest.approx(peer.intercept_[0], abs=1e-8)
    assert found.converged
    assert np.delete(found.params[:12], support).any() == 0
    free = [*support, 12] if intercept else support
    assert np.abs(loss.gradient(found.params)[free]).max() <= 1e-10 * loss.scale
    tight = minimize(
        lambda b: plain_value(X[:, support], y, ridge, intercept, b),
        np.zeros(3 + intercept),
        method="BFGS",
        options={"gtol": 1e-9},
    )
    assert found.value <= tight.fun + 1e-15
    assert found.value == pytest.approx(tight.fun, abs=1e-12)


@settings
@designs
def test_minima_along_coordinates_equal_scalar_search(ridge, intercept, form):
    X, y = classes(4)
    loss = LogisticLoss(form(X), y, ridge=ridge, intercept=intercept)
    params = np.zeros(12 + intercept)
    params[[0, 5]] = 0.7, -3.0
    steps, gains = loss.coordinate_minima(params)
    for j in range(12):

        def along(a, j=j):
            moved = params.copy()
            moved[j] += a
            return plain_value(X, y, ridge, intercept, moved)

        best = minimize_scalar(along, bracket=(-1, 1), tol=1e-12)
        assert steps[j] == pytest.approx(best.x, abs=1e-6)
        assert gains[j] == pytest.approx(along(0.0) - best.fun, abs=1e-14)
