import numpy as np
import pytest
import scipy.sparse
from logistic_problems import classes, curvature, plain_value
from scipy.optimize import linprog

from greedyexp.kernels.logistic_lines import best_line, gain_bound
from greedyexp.losses.logistic import LogisticLoss
from greedyexp.losses.loss import PlainFit

designs = pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
ridges = pytest.mark.parametrize("ridge", [0.0, 1e-4, 0.01, 1.0])


@designs
@ridges
@pytest.mark.parametrize("intercept", [False, True])
def test_growing_and_shrinking_ends_where_a_fresh_search_does(form, ridge, intercept):
    X, y = classes(1, n=120, p=20)
    loss = LogisticLoss(form(X), y, ridge=ridge, intercept=intercept)
    fit, plain = loss.fit(), PlainFit(loss)
    rng = np.random.default_rng(2)
    for _ in range(25):
        outside = [j for j in range(20) if j not in fit.support]
        remove = len(fit.support) > 10 or (bool(fit.support) and rng.random() < 0.4)
        count = 1 if remove else int(rng.integers(1, 3))
        some = rng.choice(fit.support if remove else outside, count, replace=False)
        for one in (fit, plain):
            (one.remove if remove else one.add)(some)
        assert fit.support == plain.support
        assert fit.converged
        np.testing.assert_allclose(fit.params, plain.params, rtol=1e-6, atol=1e-8)
        assert fit.value == pytest.approx(loss.value(fit.params), rel=1e-14)
        gradient = loss.gradient(fit.params)[:20]
        assert np.abs(gradient[fit.support]).max(initial=0.0) <= 1e-10 * loss.scale
        gradient[fit.support] = 0.0
        np.testing.assert_allclose(fit.gradient, gradient, atol=1e-15)
        np.testing.assert_allclose(fit.gains(), plain.gains(), rtol=1e-7, atol=1e-15)
        np.testing.assert_allclose(
            fit.removal_costs(), plain.removal_costs(), rtol=1e-6, atol=1e-14
        )


@ridges
def test_removal_costs_are_differences_of_the_loss_written_out(ridge):
    X, y = classes(3)
    loss = LogisticLoss(X, y, ridge=ridge, intercept=True)
    fit = loss.fit()
    fit.add([4, 0, 3])
    expected = []
    for feature in fit.support:
        without = fit.params
        without[12] += X[:, feature].mean() * without[feature]
        without[feature] = 0.0
        expected.append(plain_value(X, y, ridge, True, without) - fit.value)
    np.testing.assert_allclose(fit.removal_costs(), expected, atol=1e-14)


@ridges
@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_removal_costs_above_a_limit_are_lower_bounds_above_it(ridge, scale):
    X, y = classes(5, n=200, p=15)
    loss = LogisticLoss(scale * X, y, ridge=ridge * scale**2, intercept=True)
    fit = loss.fit()
    fit.add(range(12))
    exact = fit.removal_costs()
    bounded = 0
    for limit in [0.0, *np.sort(exact), 2.0 * exact.max()]:
        costs = fit.removal_costs(limit)
        replaced = costs != exact
        assert (costs[replaced] > limit).all()
        assert (costs <= exact).all()
        bounded += replaced.sum()
    assert bounded > 12


def first_of_largest(gains):
    return int(np.flatnonzero(gains >= gains.max() * (1 - 1e-10))[0])


@designs
@ridges
@pytest.mark.parametrize("seed", range(6))
def test_best_gain_is_the_largest_of_all_gains(form, ridge, seed):
    X, y = classes(seed, n=60, p=40, binary=seed % 2 == 1)
    X[:, 30] = X[:, 2]  # ties
    X[:, 31] = -X[:, 0]
    X[:, 32] = 0.0
    loss = LogisticLoss(form(X), y, ridge=ridge, intercept=seed % 3 == 0)
    fit = loss.fit()
    for _ in range(6):
        gains = fit.gains()
        feature, gain = fit.best_gain()
        assert feature == first_of_largest(gains)
        assert gain == gains[feature]
        assert (feature, gain) == PlainFit.best_gain(fit)
        fit.add([feature])
        if not fit.converged:
            break


def test_few_lines_are_searched_for_the_best():
    X, y = classes(4, n=200, p=300)
    loss = LogisticLoss(X, y, ridge=0.01)
    fit = loss.fit()
    fit.add([0, 3])
    bends = curvature(X, fit.params)
    parts = fit.gradient, bends, np.abs(X).max(axis=0)
    feature, gain, searched = best_line(
        loss.columns.columns, y * (X @ fit.params), *parts, 0.01, 1e-10
    )
    assert (feature, gain) == pytest.approx(fit.best_gain())
    assert 1 <= searched < 60


@pytest.mark.parametrize("ridge", [0.0, 1e-6, 0.1])
@pytest.mark.parametrize("seed", range(20))
def test_no_gain_exceeds_its_bound(ridge, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 40))
    X = rng.standard_normal((n, 5)) * 10.0 ** rng.uniform(-2, 2, 5)
    X *= rng.random((n, 5)) < rng.random(5)
    loss = LogisticLoss(X, rng.choice([-1.0, 1.0], n), ridge=ridge)
    params = rng.standard_normal(5) * rng.choice([0.0, 0.1, 3.0])
    slopes, bends = loss.gradient(params), curvature(X, params)
    gains = loss.coordinate_minima(params)[1]
    bounds = [
        gain_bound(*each, ridge) for each in zip(slopes, bends, np.abs(X).max(axis=0), strict=True)
    ]
    assert (gains <= bounds).all()


def test_the_bound_is_tight_for_samples_of_one_size_all_on_one_side():
    """exp(-m) for margins far beyond zero, in which Bach's bound is an equality."""
    loss = LogisticLoss(np.r_[np.ones(9), -1.0][:, None] + 0.0, np.ones(10))
    gain = loss.coordinate_minima(np.full(1, 0.0))[1][0]
    bound = gain_bound(loss.gradient(np.zeros(1))[0], 0.25, 1.0, 0.0)
    assert np.isinf(bound)
    near = np.log(9.0) - 0.05
    gain = loss.coordinate_minima(np.full(1, near))[1][0]
    bend = curvature(np.ones((10, 1)), np.full(1, near))[0]
    bound = gain_bound(loss.gradient(np.full(1, near))[0], bend, 1, 0)
    assert gain < bound < 1.1 * gain


def is_separated(X, y, intercept):
    """Konis's linear program."""
    atoms = y[:, None] * np.column_stack([X, np.ones((len(y), int(intercept)))])
    found = linprog(-atoms.sum(axis=0), A_ub=-atoms, b_ub=np.zeros(len(y)), bounds=(-1, 1))
    return -found.fun > 1e-7


def test_a_minimum_is_found_exactly_when_the_classes_are_not_separated():
    counts = [0, 0]
    for seed in range(160):
        rng = np.random.default_rng(seed)
        n, k, intercept = int(rng.integers(4, 30)), int(rng.integers(1, 7)), seed % 4 > 1
        X = rng.integers(-1, 2, (n, k)) * 1.0 if seed % 2 else rng.standard_normal((n, k))
        y = rng.choice([-1.0, 1.0], n)
        found = LogisticLoss(X, y, intercept=intercept).minimise(range(k))
        separated = is_separated(X, y, intercept)
        assert found.converged is not separated
        assert np.abs(found.params).max() < 1e3
        counts[separated] += 1
        if separated:
            assert "separate" in found.message or "same" in found.message
    assert min(counts) >= 20


@pytest.mark.parametrize("intercept", [False, True])
def test_the_features_that_separate_are_named(intercept):
    X, y = classes(5)
    rng = np.random.default_rng(6)
    X[:, 5] = y * rng.random(80)  # wholly
    X[:, 6] = np.where(rng.random(80) < 0.1, y, 0.0)  # where it is not zero
    X[:, 8] = y * rng.random(80) - X[:, 7]  # with another
    loss = LogisticLoss(X, y, intercept=intercept)
    endings = {
        (0, 5): "feature 5 separates the two classes",
        (6, 3): "feature 6 separates the two classes",
        (8, 0, 7): "features 7, 8 separate the two classes",
    }
    for support, words in endings.items():
        fit = loss.fit()
        fit.add([support[1]] if support[1] != 5 else [0])
        before = fit.params
        fit.add([j for j in support if j not in fit.support])
        assert not fit.converged
        assert fit.message == f"{words}; without a ridge no minimum exists."
        np.testing.assert_allclose(fit.params, before, rtol=1e-14)
        assert fit.value == pytest.approx(loss.value(before), rel=1e-14)
        np.testing.assert_allclose(fit.full_gradient, loss.gradient(before), atol=1e-13)
        assert LogisticLoss(X, y, ridge=1e-6, intercept=intercept).minimise(support).converged


def test_an_intercept_alone_may_separate():
    """All values of one sign, and an intercept that turns them into a threshold."""
    x = np.array([1.0, 2.0, 3.0, 4.0])[:, None]
    y = np.array([-1.0, -1.0, 1.0, 1.0])
    assert LogisticLoss(x, y).minimise([0]).converged
    found = LogisticLoss(x, y, intercept=True).minimise([0])
    assert found.message.startswith("feature 0 separates the two classes")


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_one_class_has_no_best_intercept(ridge):
    X, _ = classes(7)
    for support in ([], [2, 3]):
        found = LogisticLoss(X, np.ones(80), ridge=ridge, intercept=True).minimise(support)
        assert not found.converged
        assert found.message == "all labels are equal; there is no optimal intercept."
        assert not found.params.any()
    assert LogisticLoss(X, np.ones(80), ridge=ridge).minimise([2, 3]).converged


@pytest.mark.parametrize("against", [1e-2, 1e-6, 1e-9])
def test_a_far_minimum_is_not_taken_for_separation(against):
    """Ten samples of one against one of -v: their slopes balance near log(20 / v)."""
    x = np.r_[np.ones(10), -against][:, None]
    loss = LogisticLoss(x, np.ones(11))
    found = loss.minimise([0])
    assert found.converged
    step, gain = (each[0] for each in loss.coordinate_minima(np.zeros(1)))
    balance = 10 * np.exp(-step) / (1 + np.exp(-step)) - against / (1 + np.exp(-against * step))
    assert abs(balance) < 1e-9 * against
    assert found.params[0] == pytest.approx(step, abs=2e-9 / against)
    assert found.value <= np.log(2) - gain + 1e-9


def test_a_far_sample_is_not_taken_for_separation():
    X, y = classes(8)
    X[0] *= 1e4
    found = LogisticLoss(X, y).minimise([0, 3])
    assert found.converged
    assert np.abs(y * (X @ found.params[:12])).max() > 30


def test_fits_do_not_share_their_gradients():
    X, y = classes(9)
    loss = LogisticLoss(X, y)
    fit = loss.fit()
    np.testing.assert_allclose(fit.full_gradient, loss.gradient(np.zeros(12)), atol=1e-15)
    fit.full_gradient[0] = 7.0
    np.testing.assert_allclose(loss.fit().full_gradient, loss.gradient(np.zeros(12)), atol=1e-15)
    fit.add([2])
    np.testing.assert_allclose(fit.full_gradient, loss.gradient(fit.params), atol=1e-15)
