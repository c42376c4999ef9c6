import numpy as np
import pytest
import scipy.sparse
from logistic_problems import classes, curvature, plain_value
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from greedyexp.losses.logistic import LogisticLoss

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
    centred = X - X.mean(axis=0) if intercept else X
    atoms = np.column_stack([centred, np.ones((80, int(intercept)))])
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
            if intercept:
                moved[12] -= a * X[:, j].mean()
            return plain_value(X, y, ridge, intercept, moved)

        best = minimize_scalar(along, bracket=(-1, 1), tol=1e-12)
        assert steps[j] == pytest.approx(best.x, abs=1e-6)
        assert gains[j] == pytest.approx(along(0.0) - best.fun, abs=1e-14)


def plain_minima(X, y, ridge, params):
    """Steps and gains by root finding on the slope, written out."""
    margins, found = y * (X @ params), []
    for j, column in enumerate((X * y[:, None]).T):

        def slope(a, z=column, b=params[j]):
            return ridge * (b + a) - (z * expit(-(margins + a * z))).mean()

        side = 1.0
        while slope(side) < 0 or slope(-side) > 0:
            side *= 2
        a = brentq(slope, -side, side, xtol=1e-15, rtol=1e-14)
        moved = params.copy()
        moved[j] += a
        gain = plain_value(X, y, ridge, False, params) - plain_value(X, y, ridge, False, moved)
        found.append((a, gain))
    return np.array(found).T


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("away", [1.0, 60.0])
def test_minima_along_coordinates_of_any_size(size, away):
    X, y = classes(5)
    X[3, 1] *= 300.0  # one far sample
    params = np.zeros(12)
    params[0] = away
    steps, gains = LogisticLoss(X * size, y, ridge=0.0).coordinate_minima(params / size)
    expected_steps, expected_gains = plain_minima(X, y, 0.0, params)
    np.testing.assert_allclose(steps * size, expected_steps, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(gains, expected_gains, rtol=1e-9, atol=1e-14)


def test_gains_near_a_minimum_keep_their_digits():
    """g^2 / (2 h), which is 1e-16 of the loss here."""
    X, y = classes(6)
    loss = LogisticLoss(X, y, ridge=0.01)
    params = loss.minimise(range(12)).params
    params[4] += 1e-8
    gains = loss.coordinate_minima(params)[1]
    bend = curvature(X, params) + 0.01
    expected = loss.gradient(params)[4] ** 2 / bend[4] / 2
    assert gains[4] == pytest.approx(expected, rel=1e-5)
    assert 0 < gains[4] < 1e-15


def test_a_column_of_one_sign_falls_to_its_infimum():
    X, y = classes(7)
    X[:, 2] = np.where(y > 0, X[:, 2] ** 2, 0.0)
    X[:, 9] = -y
    params = np.zeros(12)
    params[0] = 1.0
    steps, gains = LogisticLoss(X, y).coordinate_minima(params)
    assert steps[[2, 9]].tolist() == [np.inf, -np.inf]
    margins = y * (X @ params)
    each = np.logaddexp(0.0, -margins)
    assert gains[2] == pytest.approx(each[y > 0].sum() / 80, rel=1e-13)
    assert gains[9] == pytest.approx(each.mean(), rel=1e-13)
    assert np.isfinite(LogisticLoss(X, y, ridge=1e-3).coordinate_minima(params)[0]).all()


def test_a_zero_column_gains_nothing_but_its_ridge():
    X, y = classes(8)
    X[:, 5] = 0.0
    params = np.zeros(12)
    params[5] = 3.0
    steps, gains = LogisticLoss(X, y, ridge=0.1).coordinate_minima(params)
    assert (steps[5], gains[5]) == pytest.approx((-3.0, 0.45))
    steps, gains = LogisticLoss(X, y).coordinate_minima(params)
    assert (steps[5], gains[5]) == (0.0, 0.0)


@pytest.mark.parametrize("ridge", [0.0, 0.01])
def test_twin_columns_share_one_minimum(ridge):
    X, y = classes(9)
    X[:, 7] = X[:, 0]
    loss = LogisticLoss(X, y, ridge=ridge)
    alone, both = loss.minimise([0, 3]), loss.minimise([0, 3, 7])
    assert both.converged
    if ridge:
        assert both.params[0] == pytest.approx(both.params[7], abs=1e-8)
        assert both.value < alone.value - 1e-4
    else:
        assert both.value == pytest.approx(alone.value, rel=1e-14)
        assert np.abs(both.params).max() <= np.abs(alone.params).max() * (1 + 1e-6)


def test_a_constant_column_beside_an_intercept_changes_nothing():
    X, y = classes(10)
    X[:, 5] = 2.0
    loss = LogisticLoss(X, y, intercept=True)
    alone, both = loss.minimise([0, 3]), loss.minimise([0, 3, 5])
    assert both.converged
    assert both.value == pytest.approx(alone.value, rel=1e-14)
    assert loss.minimise([1, 5]).converged


@settings
def test_columns_of_very_different_sizes(ridge, intercept):
    X, y = classes(11)
    sizes = np.ones(12)
    sizes[[0, 3, 6]] = 1e6, 1e-6, 1e-3
    if ridge:
        sizes = sizes[0] * np.ones(12)
    support = [0, 3, 6, 1]
    plain = LogisticLoss(X, y, ridge=ridge, intercept=intercept).minimise(support)
    loss = LogisticLoss(
        X * sizes, y, ridge=ridge * sizes[0] ** 2 if ridge else 0.0, intercept=intercept
    )
    found = loss.minimise(support)
    assert found.converged
    np.testing.assert_allclose(found.params[:12] * sizes, plain.params[:12], rtol=1e-6, atol=1e-9)
    assert found.value == pytest.approx(plain.value, rel=1e-13)


def test_a_sparse_design_is_never_made_dense():
    """Dense it would take 160 GB."""
    rng = np.random.default_rng(12)
    places = rng.integers(0, 100_000, 40_000), rng.integers(0, 200_000, 40_000)
    X = scipy.sparse.csr_array((rng.random(40_000), places), shape=(100_000, 200_000))
    y = rng.choice([-1.0, 1.0], 100_000)
    fit = LogisticLoss(X, y, ridge=1e-3, intercept=True).fit()
    fit.add([fit.best_gain()[0]])
    assert fit.converged
