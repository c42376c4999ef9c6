import numpy as np
import pytest
from foba_oracle import LeastSquares, single_costs
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize_scalar
from sklearn.linear_model import Ridge

from greedyexp.losses import squared
from greedyexp.losses.loss import TOLERANCE, PlainFit
from greedyexp.losses.squared import SquaredLoss

KINDS = pytest.mark.parametrize(
    ("ridge", "intercept"), [(0.0, False), (0.0, True), (0.3, False), (0.3, True)]
)


def data(seed, n=40, p=25):
    """A design with a zero, a constant and a dependent column, and a response off zero."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * rng.uniform(0.1, 10, p) + rng.uniform(-1, 1, p)
    X[np.abs(X) < 0.3] = 0.0
    X[:, 3], X[:, 4] = 0.0, 2.0
    X[:, 7] = 2 * X[:, 5] - X[:, 6]
    return X, X[:, 8:12] @ [1.0, -0.5, 0.3, 0.2] + rng.standard_normal(n) + 2


def walk(fit, p, steps, seed):
    """Features added and removed at random, as often as not; yields after each change."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        free = np.flatnonzero(fit.gains() > 0.0)
        if len(free) and (not fit.support or rng.random() < 0.6):
            fit.add([rng.choice(free)])
        else:
            fit.remove([rng.choice(fit.support)])
        yield fit


@KINDS
def test_value_gradient_and_smoothness_agree_with_differences(ridge, intercept):
    X, y = data(0)
    loss = SquaredLoss(X, y, ridge=ridge, intercept=intercept)
    params = np.random.default_rng(1).standard_normal(25 + intercept)
    offset = params[25] if intercept else 0.0
    assert loss.value(params) == pytest.approx(
        LeastSquares(X, y, ridge).value(params[:25], offset), rel=1e-13
    )
    gradient, curvature = loss.gradient(params), loss.smoothness
    for j, move in enumerate(1e-2 * np.eye(len(params))):
        up, down = loss.value(params + move), loss.value(params - move)
        assert gradient[j] == pytest.approx((up - down) / 2e-2, abs=1e-9)
        if intercept and j < 25:
            # Curvature is that along the centred column.
            move[25] = -1e-2 * X[:, j].mean()
            up, down = loss.value(params + move), loss.value(params - move)
        assert curvature[j] == pytest.approx((up + down - 2 * loss.value(params)) / 1e-4, abs=1e-6)
    assert (loss.shape, loss.n_dense, loss.n_samples) == ((25, 1), int(intercept), 40)


@KINDS
def test_coordinate_minima_are_those_of_a_scalar_search(ridge, intercept):
    X, y = data(2)
    loss = SquaredLoss(X, y, ridge=ridge, intercept=intercept)
    params = np.random.default_rng(3).standard_normal(25 + intercept)
    steps, gains = loss.coordinate_minima(params)
    assert steps.shape == gains.shape == (25,)
    for j in range(25):
        if j in (3, 4) and ridge == 0.0 and (j == 3 or intercept):
            assert steps[j] == gains[j] == 0.0
            continue
        unit = np.eye(len(params))[j]
        if intercept:
            unit[25] = -X[:, j].mean()
        found = minimize_scalar(lambda a, unit=unit: loss.value(params + a * unit), tol=1e-12)
        assert steps[j] == pytest.approx(found.x, rel=1e-6, abs=1e-7)
        assert gains[j] == pytest.approx(loss.value(params) - found.fun, rel=1e-9, abs=1e-10)


@KINDS
def test_minimiser_is_the_ridge_fit_of_scikit_learn(ridge, intercept):
    X, y = data(4)
    support = [9, 2, 20, 11]
    loss = SquaredLoss(X, y, ridge=ridge, intercept=intercept)
    expected = Ridge(alpha=40 * ridge, fit_intercept=intercept, solver="svd").fit(X[:, support], y)
    fit = loss.fit()
    fit.add(support)
    for found in (loss.minimise(support), fit):
        np.testing.assert_allclose(found.params[support], expected.coef_, rtol=1e-9)
        assert np.flatnonzero(found.params[:25]).tolist() == sorted(support)
        if intercept:
            assert found.params[25] == pytest.approx(expected.intercept_, rel=1e-9)
        assert found.value == pytest.approx(loss.value(found.params), rel=1e-12)
        assert found.converged
        assert found.message == ""


@KINDS
@pytest.mark.parametrize("kept", [np.asarray, sparse.csr_array])
def test_a_fit_follows_its_support(ridge, intercept, kept):
    X, y = data(5)
    slow = LeastSquares(X, y, ridge, intercept)
    fit = SquaredLoss(kept(X), y, ridge=ridge, intercept=intercept).fit()
    for step, now in enumerate(walk(fit, 25, 60, seed=6)):
        coef, offset, value = slow.minimum(now.support)
        np.testing.assert_allclose(now.params[:25], coef, atol=1e-11)
        if intercept:
            assert now.params[25] == pytest.approx(offset, abs=1e-11)
        assert now.value == pytest.approx(value, rel=1e-12)
        gradient, gains = slow.gradient(coef, offset), slow.single_gains(coef, offset)
        gradient[now.support] = gains[now.support] = 0.0
        np.testing.assert_allclose(now.gradient, gradient, atol=1e-11)
        np.testing.assert_allclose(now.gains(), gains, atol=1e-11)
        if now.support:
            costs = single_costs(slow, coef, offset, now.support)
            np.testing.assert_allclose(now.removal_costs(), costs, atol=1e-11)
            direct = now.loss.removal_costs(now.params, now.support)
            np.testing.assert_allclose(direct, costs, atol=1e-11)
        if step % 6 == 0:
            np.testing.assert_allclose(now.refit_gains(), slow.refit_gains(now.support), atol=1e-11)
            np.testing.assert_allclose(
                now.refit_removal_costs(), slow.refit_costs(now.support), atol=1e-11
            )
        assert now.converged


def test_removal_costs_off_the_minimum_are_differences_of_the_loss():
    X, y = data(7)
    for loss in (SquaredLoss(X, y, ridge=0.2), SquaredLoss(sparse.csr_array(X), y, ridge=0.2)):
        params = np.random.default_rng(8).standard_normal(25)
        slow = super(SquaredLoss, loss).removal_costs(params, [3, 1, 8])
        np.testing.assert_allclose(loss.removal_costs(params, [3, 1, 8]), slow, rtol=1e-10)


@KINDS
def test_a_fit_that_minimises_anew_gives_the_same(ridge, intercept):
    X, y = data(9)
    loss = SquaredLoss(X, y, ridge=ridge, intercept=intercept)
    quick, plain = loss.fit(), PlainFit(loss)
    for now in walk(quick, 25, 20, seed=10):
        for feature in set(plain.support) - set(now.support):
            plain.remove([feature])
        plain.add([i for i in now.support if i not in plain.support])
        np.testing.assert_allclose(now.params, plain.params, atol=1e-11)
        np.testing.assert_allclose(now.gains(), plain.gains(), atol=1e-11)
        assert now.value == pytest.approx(plain.value, rel=1e-12)


def test_thousands_of_changes_leave_no_drift():
    X, y = data(11, n=60, p=40)
    loss = SquaredLoss(X, y, ridge=0.01, intercept=True)
    fit = loss.fit()
    for now in walk(fit, 40, 3000, seed=12):
        assert now.converged
    expected = -loss.gradient(fit.params)[:40]
    outside = np.setdiff1d(np.arange(40), fit.support)
    # Rounding per change is about 1e-16 of the scale of gradients.
    np.testing.assert_allclose(-fit.gradient[outside], expected[outside], atol=1e-12 * loss.scale)
    slow = LeastSquares(X, y, 0.01, True).refit_gains(fit.support)
    np.testing.assert_allclose(fit.refit_gains(), slow, rtol=1e-8, atol=1e-12)


def test_columns_in_the_span_are_left_out_until_a_removal_frees_them():
    X, y = data(13)
    fit = SquaredLoss(X, y).fit()
    fit.add([5, 6])
    assert fit.message == "features in the span of those selected were left out: 7."
    assert fit.gradient[7] == fit.gains()[7] == fit.refit_gains()[7] == 0.0
    before = fit.params
    fit.add([7])
    assert fit.support == [5, 6]
    np.testing.assert_array_equal(fit.params, before)
    fit.remove([5])
    assert fit.message == ""
    assert fit.gains()[7] > 0.0
    fit.add([7])
    assert fit.support == [6, 7]
    assert fit.value == pytest.approx(LeastSquares(X, y).minimum([6, 7])[2], rel=1e-12)


def test_many_columns_left_out_are_counted():
    rng = np.random.default_rng(14)
    x = rng.standard_normal(20)
    fit = SquaredLoss(np.outer(x, np.arange(1.0, 11.0)), rng.standard_normal(20)).fit()
    fit.add([9])
    assert fit.message.endswith("left out: 0, 1, 2, 3, 4, 5 and 3 more.")


def test_zero_and_constant_columns_gain_nothing_and_are_no_news():
    X, y = data(15)
    fit = SquaredLoss(X, y, intercept=True).fit()
    fit.add([3, 4])
    assert (fit.support, fit.message) == ([], "")
    assert not fit.gains()[[3, 4]].any()
    assert not fit.refit_gains()[[3, 4]].any()
    assert SquaredLoss(X, y).fit().gains()[4] > 0.0


def test_as_many_features_as_rows_fit_exactly_and_end():
    rng = np.random.default_rng(16)
    X, y = rng.standard_normal((6, 15)), rng.standard_normal(6)
    fit = SquaredLoss(X, y).fit()
    fit.add(range(6))
    assert fit.value < 1e-25
    assert not fit.gains().any()
    assert not fit.refit_gains().any()
    assert fit.message == ""
    fit.add([8])
    assert fit.support == list(range(6))


def test_with_a_ridge_twins_share_and_more_features_than_rows_are_taken():
    rng = np.random.default_rng(17)
    X, y = rng.standard_normal((6, 30)), rng.standard_normal(6)
    X[:, 1] = X[:, 0]
    fit = SquaredLoss(X, y, ridge=0.1).fit()
    fit.add(range(30))
    assert len(fit.support) == 30
    assert fit.params[0] == pytest.approx(fit.params[1], rel=1e-12)
    expected = np.linalg.solve(X.T @ X / 6 + 0.1 * np.eye(30), X.T @ y / 6)
    np.testing.assert_allclose(fit.params, expected, rtol=1e-10)


@pytest.mark.parametrize("angle", [1e-2, 1e-3, 1e-4])
def test_nearly_dependent_columns_keep_their_digits(angle):
    rng = np.random.default_rng(18)
    Q = np.linalg.qr(rng.standard_normal((50, 4)))[0]
    X = np.column_stack([Q[:, 0], Q[:, 0] + angle * Q[:, 1], Q[:, 2], Q[:, 0] - angle * Q[:, 3]])
    y = Q @ [1.0, 2.0, 0.5, 0.3] + 0.1 * rng.standard_normal(50)
    fit = SquaredLoss(X, y).fit()
    fit.add([0])
    slow = LeastSquares(X, y)
    np.testing.assert_allclose(fit.refit_gains(), slow.refit_gains([0]), rtol=1e-9)
    fit.add([2, 1])
    # The condition of the design is 2 / angle: its square would leave 1e-8 at the smallest.
    expected = np.linalg.lstsq(X[:, :3], y, rcond=None)[0]
    np.testing.assert_allclose(fit.params[:3], expected, rtol=1e-15 * 100 / angle)
    np.testing.assert_allclose(fit.refit_gains(), slow.refit_gains([0, 2, 1]), rtol=1e-9)
    np.testing.assert_allclose(fit.refit_removal_costs(), slow.refit_costs([0, 2, 1]), rtol=1e-9)
    fit.remove([0])
    assert fit.value == pytest.approx(slow.minimum([1, 2])[2], rel=1e-12)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_of_columns_and_response_do_not_matter(factor):
    X, y = data(19)
    scale = np.where(np.arange(25) % 2, factor, 1.0)
    plain, scaled = SquaredLoss(X, y).fit(), SquaredLoss(X * scale, factor * y).fit()
    for support in ([8], [9, 10], [11, 2]):
        plain.add(support)
        scaled.add(support)
        np.testing.assert_allclose(
            scaled.params * scale / factor, plain.params, rtol=1e-9, atol=1e-12
        )
        np.testing.assert_allclose(scaled.gains() / factor**2, plain.gains(), atol=1e-10)
        np.testing.assert_allclose(
            scaled.refit_gains() / factor**2, plain.refit_gains(), atol=1e-10
        )
        assert scaled.converged


def test_columns_far_from_zero_are_fitted_about_their_means():
    X, y = data(20)
    near = SquaredLoss(X, y, intercept=True).fit()
    far = SquaredLoss(X + 1e6, y, intercept=True).fit()
    for fit in (near, far):
        fit.add([8, 9, 10])
    np.testing.assert_allclose(far.params[:25], near.params[:25], rtol=1e-7)
    np.testing.assert_allclose(far.refit_gains(), near.refit_gains(), rtol=1e-6, atol=1e-9)
    assert far.converged


def test_a_response_without_anything_to_fit():
    X, _ = data(21)
    # The mean of 37 times 0.7 is not 0.7 in floating point.
    constant = SquaredLoss(X[:37], np.full(37, 0.7), intercept=True)
    for loss in (SquaredLoss(X, np.zeros(40)), constant):
        fit = loss.fit()
        assert loss.scale == 1.0
        assert fit.value < 1e-30
        assert fit.converged
        assert not fit.gains().any()


def test_an_exact_fit_leaves_nothing_to_gain():
    X, _ = data(24)
    fit = SquaredLoss(X, X[:, 8:11] @ [1.0, 2.0, -1.0]).fit()
    fit.add([8, 9, 10])
    assert np.abs(fit.gradient).max() > 0.0
    assert not fit.gains().any()
    assert not fit.refit_gains().any()


def test_a_zero_column_in_the_support_keeps_a_zero_coefficient():
    X, y = data(25)
    found = SquaredLoss(X, y).minimise([3, 8])
    assert found.params[3] == 0.0
    assert found.params[8] == pytest.approx(X[:, 8] @ y / (X[:, 8] @ X[:, 8]), rel=1e-12)
    assert found.converged


def test_scale_is_the_largest_gradient_without_features():
    X, y = data(22)
    loss = SquaredLoss(X, y, intercept=True)
    slopes = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())) / 40
    assert loss.scale == pytest.approx(slopes.max(), rel=1e-12)
    orthogonal = SquaredLoss(3.0 * np.eye(4)[:, :2], np.array([0.0, 0.0, 1.0, 1.0]))
    assert orthogonal.scale == pytest.approx(3.0 * np.sqrt(2) / 4)


def test_wrong_coefficients_are_corrected_or_reported(monkeypatch):
    right = squared.Basis.coefficients
    monkeypatch.setattr(squared.Basis, "coefficients", lambda basis: right(basis) * (1 + 1e-6))
    X, y = data(23)
    fit = SquaredLoss(X, y).fit()
    fit.add([8, 9])
    assert fit.converged
    np.testing.assert_allclose(fit.params[:25], LeastSquares(X, y).minimum([8, 9])[0], atol=1e-11)
    monkeypatch.setattr(squared, "CORRECTIONS", 0)
    fit.add([10])
    assert not fit.converged
    assert "does not reach its tolerance" in fit.message
    error = np.abs(fit.loss.gradient(fit.params)[fit.support]).max()
    assert error > TOLERANCE * fit.loss.scale


SMALL = st.integers(-2, 2)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_small_integer_designs(draw):
    n, p = draw.draw(st.integers(2, 7)), draw.draw(st.integers(1, 6))
    X = np.array(draw.draw(st.lists(SMALL, min_size=n * p, max_size=n * p)), float).reshape(n, p)
    y = np.array(draw.draw(st.lists(SMALL, min_size=n, max_size=n)), float)
    ridge, intercept = draw.draw(st.sampled_from([0.0, 0.5])), draw.draw(st.booleans())
    loss = SquaredLoss(X, y, ridge=ridge, intercept=intercept)
    slow, fit = LeastSquares(X, y, ridge, intercept), loss.fit()
    ones = np.ones((n, int(intercept)))
    for feature in draw.draw(st.lists(st.integers(0, p - 1), max_size=8)):
        before = list(fit.support)
        if feature in before:
            fit.remove([feature])
            assert fit.support == [i for i in before if i != feature]
        else:
            grown = np.column_stack([ones, X[:, [*before, feature]]])
            independent = ridge > 0 or np.linalg.matrix_rank(grown) == grown.shape[1]
            fit.add([feature])
            assert fit.support == ([*before, feature] if independent else before)
        coef, offset, value = slow.minimum(fit.support)
        assert fit.value == pytest.approx(value, abs=1e-12)
        np.testing.assert_allclose(fit.params[:p], coef, atol=1e-10)
        np.testing.assert_allclose(fit.refit_gains(), slow.refit_gains(fit.support), atol=1e-10)
        gains = slow.single_gains(coef, offset)
        gains[fit.support] = 0.0
        np.testing.assert_allclose(fit.gains(), gains, atol=1e-10)
        if fit.support:
            np.testing.assert_allclose(
                fit.refit_removal_costs(), slow.refit_costs(fit.support), atol=1e-10
            )
        assert fit.converged


@KINDS
def test_strong_convexity_is_that_of_the_profile_over_the_intercept(ridge, intercept):
    X, y = data(21, n=9)
    loss = SquaredLoss(X, y, ridge=ridge, intercept=intercept)
    support = [11, 0, 8, 20]
    atoms = np.column_stack([X[:, support], np.ones((9, int(intercept)))])
    penalty = np.diag([ridge] * 4 + [0.0] * intercept)
    inverse = np.linalg.inv(atoms.T @ atoms / 9 + penalty)
    expected = 1.0 / np.linalg.eigvalsh(inverse[:4, :4])[-1]
    assert loss.strong_convexity(support) == pytest.approx(expected, rel=1e-9)
    assert loss.strong_convexity(range(8, 18 - intercept)) == ridge
    assert loss.strong_convexity(range(8, 17 - intercept)) > ridge
    assert loss.strong_convexity([]) == np.inf


@KINDS
@pytest.mark.parametrize("seed", range(5))
def test_copies_of_a_column_leave_the_ridge(ridge, intercept, seed):
    """Their singular value is rounding, not zero."""
    X, y = data(22 + seed, n=40)
    X[:, 5] = X[:, 2]
    loss = SquaredLoss(X, y, ridge=ridge, intercept=intercept)
    assert loss.strong_convexity([0, 2, 5, 7]) == ridge
    assert loss.strong_convexity([0, 2, 7]) > ridge


@KINDS
def test_losses_of_other_rows_are_squared_residuals(ridge, intercept):
    X, y = data(22)
    loss = SquaredLoss(X[:30], y[:30], ridge=ridge, intercept=intercept)
    params = np.random.default_rng(23).standard_normal((3, 25 + intercept))
    for rows in (X[30:], sparse.csr_array(X[30:])):
        found = loss.row_losses(rows, y[30:], params)
        for one, b in zip(found, params, strict=True):
            residual = y[30:] - X[30:] @ b[:25] - b[25:].sum()
            np.testing.assert_allclose(one, residual**2, rtol=1e-10)


def test_columns_far_from_zero_keep_their_certificate():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 8))
    y = X[:, 0] - 2 * X[:, 1] + 0.3 * rng.standard_normal(50)
    near = SquaredLoss(X, y, intercept=True).minimise([0, 1])
    loss = SquaredLoss(X + 1e4, y, intercept=True)
    far = loss.minimise([0, 1])
    assert far.converged
    np.testing.assert_allclose(far.params[:8], near.params[:8], atol=1e-10)
    np.testing.assert_allclose(far.gradient[:8], near.gradient[:8], atol=1e-10)
    off = far.params + np.append(np.zeros(8), 1e-3)
    np.testing.assert_allclose(loss.gradient(off)[8], 1e-3, rtol=1e-8)
    np.testing.assert_allclose(loss.gradient(off)[:8], 10, rtol=1e-3, atol=3)


def test_a_constant_column_stays_barred_after_removals():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((17, 3))
        X[:, 0] = 1.0
        fit = SquaredLoss(X, rng.standard_normal(17), intercept=True).fit()
        fit.add([1])
        fit.add([2])
        fit.remove([1])
        fit.remove([2])
        assert fit.refit_gains()[0] == 0.0
        fit.add([0])
        assert fit.support == []


def tall(seed, offset, n=5000, p=12):
    """Columns of many sizes and means, and two that are close to each other."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.geomspace(1e-3, 1e3, p) + np.linspace(0, offset, p)
    X[:, 1] = X[:, 0] + 0.05 * X[:, 1] * X[:, 0].std() / X[:, 1].std()
    return X, X[:, ::5] @ (1 / X[:, ::5].std(axis=0)) + rng.standard_normal(n)


@KINDS
def test_fits_of_tall_designs_are_those_of_their_rows(ridge, intercept):
    X, y = tall(3, offset=2e4 if intercept else 0.0)
    loss = SquaredLoss(X, y, ridge=ridge, intercept=intercept)
    fit = loss.fit()
    assert len(fit._data.response) == X.shape[1] + 1
    for walked in walk(fit, X.shape[1], 30, 4):
        exact = loss.minimise(walked.support)
        assert walked.converged
        assert walked.value == pytest.approx(exact.value, rel=1e-9)
        scale = X.std(axis=0)[walked.support]
        fitted, expected = (
            params[walked.support] * scale for params in (walked.params, exact.params)
        )
        np.testing.assert_allclose(fitted, expected, rtol=1e-7, atol=1e-9)
        slopes = np.delete(loss.gradient(walked.params), walked.support)
        found = np.delete(walked.full_gradient, walked.support)
        np.testing.assert_allclose(found, slopes, atol=1e-8 * loss.scale)


@pytest.mark.parametrize("damage", ["dependent", "constant", "exact"])
def test_tall_designs_whose_products_lose_digits_keep_their_rows(damage):
    X, y = tall(5, offset=2e4)
    if damage == "dependent":
        X[:, 4] = X[:, 2] + 1e-5 * X[:, 4]
    elif damage == "constant":
        X[:, 4] = 2.0
    else:
        y = X @ np.arange(12.0)
    loss = SquaredLoss(X, y, intercept=True)
    fit = loss.fit()
    assert len(fit._data.response) == len(y)
    for walked in walk(fit, 12, 20, 6):
        assert walked.value == pytest.approx(loss.value(walked.params), rel=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("seed", range(5))
def test_constant_columns_are_no_features_beside_an_intercept(form, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((3000, 4))
    X[:, 2] = 300.1
    y = X[:, 0] - 2 * X[:, 1] + 1e3
    fit = SquaredLoss(form(X), y, intercept=True).fit()
    fit.add([2, 0, 1])
    assert fit.support == [0, 1]
    assert fit.gains()[2] == 0.0
    np.testing.assert_allclose(fit.params, [1.0, -2.0, 0.0, 0.0, 1e3], atol=1e-9)


@pytest.mark.parametrize("p", [10, 14, 20, 25])
def test_tall_designs_without_small_pivots_may_be_ill_conditioned(p):
    rng = np.random.default_rng(1)
    triangle = np.triu(-np.ones((p, p)), 1) + np.eye(p)
    X = np.linalg.qr(rng.standard_normal((5000, p)))[0] @ triangle
    y = X @ rng.standard_normal(p) + rng.standard_normal(5000) / 70
    loss = SquaredLoss(X, y)
    fit = loss.fit()
    fit.add(range(p))
    assert fit.converged
    assert fit.support == list(range(p))
    np.testing.assert_allclose(fit.params, np.linalg.lstsq(X, y)[0], rtol=1e-6)
    assert np.abs(loss.gradient(fit.params)).max() <= 1e-10 * loss.scale
