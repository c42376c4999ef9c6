import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from moments_cases import TRUTH, all_signs, cases, copied, dense

from greedyexp.losses.loss import PlainFit
from greedyexp.losses.population import PopulationSquaredLoss
from greedyexp.losses.squared import SquaredLoss
from greedyexp.problems.moments import DenseMoments, Moments, SpreadMoments

CASES = pytest.mark.parametrize(
    ("X", "y", "moments"), [pytest.param(*case[1:], id=case[0]) for case in cases()]
)
RIDGES = pytest.mark.parametrize("ridge", [0.0, 0.3])


def label_moments(d, B1):
    a = 1 / B1
    return SpreadMoments(np.full(d, 1 - a * a), np.full(d, a), np.full(d, a), 1.0)


def uneven(d, seed=0):
    """Features of unequal size around a hidden variable; the risk of the best is 0.1."""
    rng = np.random.default_rng(seed)
    alpha, u = rng.uniform(0.1, 0.5, d), rng.uniform(-0.7, 0.7, d)
    w = rng.standard_normal(d) * (rng.random(d) < 0.3)
    matrix = np.diag(alpha) + np.outer(u, u)
    return SpreadMoments(alpha, u, matrix @ w, w @ matrix @ w + 0.2), matrix, w


@CASES
@RIDGES
def test_risk_is_that_of_equally_likely_rows(X, y, moments, ridge):
    risk, mean = PopulationSquaredLoss(moments, ridge=ridge), SquaredLoss(X, y, ridge=ridge)
    d = X.shape[1]
    params = np.random.default_rng(1).standard_normal(d)
    assert (risk.shape, risk.n_dense, risk.n_samples) == ((d, 1), 0, 1)
    assert (risk.beta, risk.rho, risk.largest_feature) == (1.0, np.inf, 1.0)
    assert risk.scale == pytest.approx(mean.scale, rel=1e-14)
    assert risk.value(params) == risk.unsmoothed(params)
    assert risk.value(params) == pytest.approx(mean.value(params), rel=1e-14)
    np.testing.assert_allclose(risk.gradient(params), mean.gradient(params), atol=1e-14)
    value, gradient = risk.value_and_gradient(params)
    assert value == pytest.approx(risk.value(params), rel=1e-15)
    np.testing.assert_array_equal(gradient, risk.gradient(params))
    np.testing.assert_allclose(risk.smoothness, mean.smoothness, rtol=1e-14)
    for ours, theirs in zip(
        risk.coordinate_minima(params), mean.coordinate_minima(params), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        risk.removal_costs(params, [3, 0]), mean.removal_costs(params, [3, 0]), atol=1e-14
    )
    for support in ([], [2], [1, 3, 0], range(d)):
        assert risk.strong_convexity(support) == pytest.approx(
            mean.strong_convexity(support), abs=1e-14
        )


@CASES
@RIDGES
def test_minimiser_is_that_over_the_rows(X, y, moments, ridge):
    risk, mean = PopulationSquaredLoss(moments, ridge=ridge), SquaredLoss(X, y, ridge=ridge)
    for support in ([], [2], [1, 3, 0], range(X.shape[1])):
        found, expected = risk.minimise(support), mean.minimise(support)
        np.testing.assert_allclose(found.params, expected.params, atol=1e-13)
        assert found.value == pytest.approx(expected.value, abs=1e-14)
        np.testing.assert_allclose(found.gradient, expected.gradient, atol=1e-14)
        assert found.converged


@CASES
@RIDGES
def test_fit_takes_and_drops_as_that_of_the_rows(X, y, moments, ridge):
    risk, mean = PopulationSquaredLoss(moments, ridge=ridge), SquaredLoss(X, y, ridge=ridge)
    ours, theirs = risk.fit(), mean.fit()
    rng, d = np.random.default_rng(3), X.shape[1]
    for _ in range(40):
        outside = np.setdiff1d(np.arange(d), ours.support)
        if len(outside) and (not ours.support or rng.random() < 0.6):
            change, features = "add", [int(rng.choice(outside))]
        else:
            change, features = "remove", [int(rng.choice(ours.support))]
        getattr(ours, change)(features)
        getattr(theirs, change)(features)
        assert ours.support == theirs.support
        np.testing.assert_allclose(ours.params, theirs.params, atol=1e-13)
        assert ours.value == pytest.approx(theirs.value, abs=1e-14)
        np.testing.assert_allclose(ours.gradient, theirs.gradient, atol=1e-14)
        np.testing.assert_allclose(ours.gains(), theirs.gains(), atol=1e-14)
        np.testing.assert_allclose(ours.removal_costs(), theirs.removal_costs(), atol=1e-14)
        assert ours.converged


@pytest.mark.parametrize("form", ["spread", "dense", "other"])
@RIDGES
def test_long_fits_stay_exact(form, ridge):
    spread, matrix, _ = uneven(60)
    moments = {
        "spread": spread,
        "dense": DenseMoments(matrix, spread.cross, spread.power),
        "other": Anything(spread),
    }
    fit = PopulationSquaredLoss(moments[form], ridge=ridge).fit()
    assert isinstance(fit, PlainFit) == (form == "other")
    rng = np.random.default_rng(5)
    for _ in range(150):
        if not fit.support or (len(fit.support) < 60 and rng.random() < 0.65):
            fit.add([fit.best_gain()[0]])
        else:
            fit.remove([int(rng.choice(fit.support))])
        held = fit.support
        block = matrix[np.ix_(held, held)] + ridge * np.eye(len(held))
        coef = np.linalg.solve(block, spread.cross[held])
        np.testing.assert_allclose(fit.params[held], coef, rtol=1e-10, atol=1e-12)
        assert fit.value == pytest.approx((spread.power - coef @ spread.cross[held]) / 2, rel=1e-12)
        assert fit.converged
        assert set(np.flatnonzero(fit.params)) <= set(held)


class Anything(Moments):
    """Moments of an unknown structure."""

    def __init__(self, inner):
        self.inner, self.cross, self.power = inner, inner.cross, inner.power
        self.diagonal = inner.diagonal

    def times(self, vector):
        return self.inner.times(vector)

    def column(self, index):
        return self.inner.column(index)

    def solve(self, support, right, ridge=0.0):
        return self.inner.solve(support, right, ridge)

    def smallest_eigenvalue(self, support):
        return self.inner.smallest_eigenvalue(support)


@pytest.mark.parametrize("as_dense", [False, True])
def test_copies_are_left_out_until_the_first_goes(as_dense):
    X, y, moments = copied(4, TRUTH[:4], 0.4)
    fit = PopulationSquaredLoss(dense(X, y) if as_dense else moments).fit()
    fit.add([4, 3])
    fit.add([0, 5])
    assert fit.support == [4, 3]
    assert fit.message == "features in the span of those selected were left out: 0, 5."
    assert fit.gradient[0] == fit.gains()[5] == 0.0
    assert fit.params[4] == pytest.approx(TRUTH[0], rel=1e-14)
    fit.remove([4])
    assert fit.message == ""
    fit.add([5])
    assert fit.support == [3, 5]
    assert fit.params[5] == pytest.approx(-TRUTH[0], rel=1e-14)


@pytest.mark.parametrize("as_dense", [False, True])
def test_features_of_zeros_are_never_taken(as_dense):
    X, y, _ = all_signs(3, np.array([0.5, 0.0, 0.2]), 0.1)
    X[:, 1] = 0.0
    moments = SpreadMoments([1.0, 0.0, 1.0], np.zeros(3), [0.5, 0.0, 0.2], float(y @ y) / len(y))
    risk = PopulationSquaredLoss(dense(X, y) if as_dense else moments)
    fit = risk.fit()
    fit.add([1, 2])
    assert (fit.support, fit.message) == ([2], "")
    assert risk.coordinate_minima(np.ones(3))[1][1] == 0.0


def test_a_response_without_features_has_a_scale():
    assert PopulationSquaredLoss(SpreadMoments([0.25], [0.0], [0.0], 4.0)).scale == 1.0
    assert PopulationSquaredLoss(SpreadMoments([0.0], [0.0], [0.0], 4.0)).scale == 1.0


@pytest.mark.parametrize("size", [1e-4, 1e-8, 1e-12])
def test_risk_keeps_its_digits_near_zero(size):
    d = 1000
    truth = np.linspace(-1.0, 1.0, d)
    a = 0.25
    spread = SpreadMoments(np.full(d, 1 - a), np.full(d, np.sqrt(a)), np.zeros(d), 1.0)
    cross = spread.times(truth)
    moments = SpreadMoments(spread.alpha, spread.u, cross, float(truth @ cross))
    risk = PopulationSquaredLoss(moments)
    params = truth.copy()
    params[[3, 500]] += size
    apart = params[[3, 500]] - truth[[3, 500]]
    expected = ((1 - a) * (apart @ apart) + a * apart.sum() ** 2) / 2
    assert risk.value(params) == pytest.approx(expected, rel=1e-10 * max(1, 1e-5 / size))
    assert risk.value(moments.predictor) == 0.0


@pytest.mark.parametrize(("d", "B1"), [(1000, 5), (4000, 3), (4000, 10)])
def test_spread_label_risks_have_their_closed_form(d, B1):
    moments = label_moments(d, B1)
    alpha, u = Fraction(moments.alpha[0]), Fraction(moments.u[0])
    fit = PopulationSquaredLoss(moments).fit()
    for size in (1, 10, 100, d // 2, d):
        fit.add(range(len(fit.support), size))
        # The moments as rounded, with nothing rounded after.
        exact = 1 - u * u * size / (alpha + u * u * size)
        assert 2 * fit.value == pytest.approx(float(exact), rel=2e-12)
        a = 1 / B1
        assert 2 * fit.value == pytest.approx((1 - a * a) / (1 - a * a + a * a * size), rel=2e-11)
        assert fit.params[0] == pytest.approx(float(u / (alpha + u * u * size)), rel=1e-14)
        assert fit.converged


def test_risk_is_the_mean_over_a_sample():
    rng, d, n = np.random.default_rng(7), 8, 200_000
    # Signs that copy a hidden sign with probability (1 + c) / 2 have correlations c^2.
    c = 0.6
    hidden = rng.choice([-1.0, 1.0], n)
    X = hidden[:, None] * np.where(rng.random((n, d)) < (1 + c) / 2, 1.0, -1.0)
    truth = np.linspace(-0.5, 1.0, d)
    y = X @ truth + 0.5 * rng.standard_normal(n)
    spread = SpreadMoments(np.full(d, 1 - c * c), np.full(d, c), np.zeros(d), 1.0)
    cross = spread.times(truth)
    moments = SpreadMoments(spread.alpha, spread.u, cross, float(truth @ cross) + 0.25)
    params = rng.standard_normal(d)
    errors = (X @ params - y) ** 2 / 2
    margin = 4 * errors.std() / math.sqrt(n)
    assert abs(PopulationSquaredLoss(moments).value(params) - errors.mean()) < margin
    assert margin < 0.02 * errors.mean()


def test_fit_to_many_features_needs_vectors_only():
    d = 100_000
    moments = label_moments(d, 10)
    tracemalloc.start()
    fit = PopulationSquaredLoss(moments).fit()
    for _ in range(3):
        fit.add([fit.best_gain()[0]])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert fit.support == [0, 1, 2]
    assert peak < 50 * 8 * d
