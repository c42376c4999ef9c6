import cvxpy
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize_scalar

from greedyexp.kernels import clipped_lines
from greedyexp.kernels.logistic_columns import Columns
from greedyexp.losses.absolute import AbsoluteLoss
from greedyexp.losses.hinge import HingeLoss
from greedyexp.losses.loss import TOLERANCE

LOSSES = {"absolute": AbsoluteLoss, "hinge": HingeLoss}
kinds = pytest.mark.parametrize("kind", LOSSES)
ridges = pytest.mark.parametrize("ridge", [0.0, 0.05])
smoothings = pytest.mark.parametrize("beta", [1e-3, 0.5, 8.0, 1e3, 1e6])
designs = pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])


def data(kind, seed, n=60, p=7):
    """A sparse model with heavy tails, a part of the entries zero."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, p)) * (rng.random((n, p)) < 0.7)
    y = X[:, 0] - 2 * X[:, 2] + 0.3 * rng.standard_t(2, n)
    return X, (np.where(y > 0, 1.0, -1.0) if kind == "hinge" else y)


def plain(kind, X, y, beta, ridge, b):
    """The loss written out."""
    u = np.abs(X @ b - y) if kind == "absolute" else np.maximum(0.0, 1.0 - y * (X @ b))
    losses = np.where(u <= 1 / beta, beta * u**2 / 2, u - 1 / (2 * beta))
    return losses.mean() + ridge / 2 * (b @ b)


def conic(kind, X, y, beta, ridge):
    """The minimum by a conic solver: H(u) = min_v beta v^2 / 2 + |u - v|."""
    b, v = cvxpy.Variable(X.shape[1]), cvxpy.Variable(len(y))
    rest = X @ b - y - v if kind == "absolute" else cvxpy.pos(1 - cvxpy.multiply(y, X @ b) - v)
    losses = beta / 2 * cvxpy.sum_squares(v) + cvxpy.norm1(rest)
    penalty = ridge / 2 * cvxpy.sum_squares(b)
    problem = cvxpy.Problem(cvxpy.Minimize(losses / len(y) + penalty))
    exact = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-12)
    problem.solve(solver="CLARABEL", **exact)
    return problem.value


def dual_value(kind, X, y, beta, ridge):
    """The minimum of two rows by its dual, a quadratic over a square.

    max mean(c t - t^2 / (2 beta)) - ||Z^T t / n||^2 / (2 ridge) over low <= t <= 1, which is where
    its gradient vanishes, or that along an edge, or at a corner.
    """
    n = len(y)
    low, offsets, rows = (-1.0, -y, X) if kind == "absolute" else (0.0, np.ones(n), -y[:, None] * X)
    matrix = rows @ rows.T / (ridge * n**2) + np.eye(n) / (beta * n)

    def dual(t):
        return offsets @ t / n - t @ matrix @ t / 2

    candidates = [np.linalg.solve(matrix, offsets / n)]
    for held in range(n):
        for edge in (low, 1.0):
            free = 1 - held
            t = np.full(n, edge)
            t[free] = (offsets[free] / n - matrix[free, held] * edge) / matrix[free, free]
            candidates.append(t)
    corners = [np.array([a, b]) for a in (low, 1.0) for b in (low, 1.0)]
    inside = [t for t in candidates if (t >= low).all() and (t <= 1.0).all()]
    return max(dual(t) for t in inside + corners)


@kinds
@ridges
@designs
def test_value_and_derivatives_by_differences(kind, ridge, form):
    X, y = data(kind, 1)
    loss = LOSSES[kind](form(X), y, beta=2.0, ridge=ridge)
    b = np.random.default_rng(2).standard_normal(7)
    assert loss.value(b) == pytest.approx(plain(kind, X, y, 2.0, ridge, b), rel=1e-14)
    assert loss.unsmoothed(b) == pytest.approx(plain(kind, X, y, 1e15, ridge, b), rel=1e-13)
    value, gradient = loss.value_and_gradient(b)
    assert value == loss.value(b)
    steps = 1e-5 * np.eye(7)
    slopes = [(loss.value(b + e) - loss.value(b - e)) / 2e-5 for e in steps]
    np.testing.assert_allclose(gradient, slopes, atol=1e-9)
    # No kink is within these steps, so that slopes are linear.
    bends = [(loss.gradient(b + e) - loss.gradient(b - e)) @ e / 2e-10 for e in steps]
    np.testing.assert_allclose(loss.smoothness, 2.0 * (X**2).mean(axis=0) + ridge, rtol=1e-13)
    assert (bends <= loss.smoothness + 1e-9).all()
    assert loss.strong_convexity([0, 1]) == ridge
    assert loss.largest_feature == np.abs(X).max()


@kinds
@ridges
@smoothings
def test_minimum_over_a_support_equals_a_conic_solver(kind, ridge, beta):
    X, y = data(kind, 3)
    support = [6, 0, 2, 3]
    found = LOSSES[kind](X, y, beta=beta, ridge=ridge).minimise(support)
    assert found.converged
    assert found.message == ""
    assert not np.delete(found.params, support).any()
    best = conic(kind, X[:, support], y, beta, ridge)
    assert found.value == pytest.approx(best, rel=1e-8, abs=1e-13)
    assert found.value == pytest.approx(plain(kind, X, y, beta, ridge, found.params), rel=1e-13)


@kinds
@ridges
@smoothings
@designs
def test_the_certificate_is_a_small_gradient(kind, ridge, beta, form):
    X, y = data(kind, 4, n=200, p=20)
    loss = LOSSES[kind](form(X), y, beta=beta, ridge=ridge)
    support = np.arange(0, 20, 2)
    found = loss.minimise(support)
    assert found.converged
    gradient = loss.gradient(found.params)
    np.testing.assert_array_equal(found.gradient, gradient)
    # What rounding of margins leaves grows with beta.
    slack = 1e-15 * beta
    assert np.abs(gradient[support]).max() <= TOLERANCE * loss.scale + slack
    assert np.abs(gradient).max() > 1e4 * TOLERANCE * loss.scale


# Data for which Newton steps go along columns that cancel up to rounding.
CANCELLED = [(255618, 13, 9), (144593, 14, 12), (841198, 5, 4), (56560, 8, 6), (723109, 6, 11)]


@pytest.mark.parametrize(("seed", "n", "k"), CANCELLED)
def test_columns_that_cancel_do_not_move_the_estimate(seed, n, k):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n, k)).astype(float)
    y = np.where(rng.integers(-2, 3, n) > 0, 1.0, -1.0)
    found = HingeLoss(X, y, beta=10.0 ** rng.uniform(-3, 5), ridge=0.0).minimise(range(k))
    assert found.converged
    assert np.abs(found.gradient).max() <= 1e-9
    assert np.abs(found.params).max() < 1e3


@kinds
@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 30), k=st.integers(1, 12))
def test_degenerate_data_have_certified_minima(kind, seed, n, k):
    """Signs and small integers: dependent columns, ties, fewer rows than columns."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n, k)).astype(float)
    y = rng.integers(-2, 3, n).astype(float)
    y = y if kind == "absolute" else np.where(y > 0, 1.0, -1.0)
    beta, ridge = 10.0 ** rng.uniform(-3, 5), rng.choice([0.0, 1e-4, 0.3])
    found = LOSSES[kind](X, y, beta=beta, ridge=ridge).minimise(range(k))
    assert found.converged
    assert np.abs(found.gradient).max() <= 1e-9
    # Convexity: nothing is lower by more than the gradient allows.
    for _ in range(20):
        other = found.params + rng.standard_normal(k) * 10.0 ** rng.uniform(-3, 0)
        assert plain(kind, X, y, beta, ridge, other) >= found.value - 1e-8


@kinds
def test_dependent_columns_change_nothing(kind):
    X, y = data(kind, 5)
    X = np.column_stack([X, X[:, 0], np.zeros(60), 2 * X[:, 2]])
    loss = LOSSES[kind](X, y, beta=5.0)
    alone, all_of_them = loss.minimise([0, 2]), loss.minimise([0, 2, 7, 8, 9])
    assert all_of_them.converged
    assert all_of_them.params[8] == 0.0
    assert all_of_them.value == pytest.approx(alone.value, rel=1e-13)
    ridged = LOSSES[kind](X, y, beta=5.0, ridge=0.1).minimise([0, 7, 8], start=np.ones(10))
    assert ridged.converged
    assert ridged.params[0] == pytest.approx(ridged.params[7], rel=1e-9)
    assert ridged.params[8] == 0.0


@kinds
def test_columns_of_very_different_sizes(kind):
    X, y = data(kind, 6)
    sizes = 10.0 ** np.array([6, -6, 3, 0, -3, 1, 0])
    plain_found = LOSSES[kind](X, y, beta=50.0).minimise(range(7))
    found = LOSSES[kind](X * sizes, y, beta=50.0).minimise(range(7))
    assert plain_found.converged
    assert found.converged
    assert found.value == pytest.approx(plain_found.value, rel=1e-11)


@kinds
@pytest.mark.parametrize("seed", range(4))
def test_a_far_row_among_few_leaves_a_certificate(kind, seed):
    """The eigenvalues of the Hessian are 1e10 apart, and the ridge decides along most of them."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (5, 30))
    X[0] *= 1e5
    X[:, 3] *= 1e-9
    y = rng.standard_normal(5)
    y = y if kind == "absolute" else np.where(y > 0, 1.0, -1.0)
    loss = LOSSES[kind](X, y, beta=1e4, ridge=0.1)
    found = loss.minimise(range(30))
    assert found.converged
    # Margins of the far row are known to 1e-16 of terms of 1e5 b, which beta and the row multiply.
    slack = 1e-15 * 1e4 * 1e5 * 1e5 * np.abs(found.params).max()
    assert np.abs(found.gradient).max() <= TOLERANCE * loss.scale + slack


@kinds
@pytest.mark.parametrize("seed", range(6))
def test_features_far_from_zero_in_few_rows_leave_a_certificate(kind, seed):
    """All columns are nearly the same, the ridge is small, and margins lie on kinks."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (2, 30)) + 100
    y = rng.standard_normal(2)
    y = y if kind == "absolute" else np.where(y > y.mean(), 1.0, -1.0)
    loss = LOSSES[kind](X, y, beta=1e9, ridge=1e-6)
    found = loss.minimise(range(30))
    assert found.converged
    assert found.value == pytest.approx(dual_value(kind, X, y, 1e9, 1e-6), rel=1e-6)


@kinds
def test_a_start_close_to_a_minimum_is_not_taken_for_it(kind):
    X, y = data(kind, 15)
    loss = LOSSES[kind](X, y, beta=1e3)
    found = loss.minimise(range(7))
    again = loss.minimise(range(7), start=found.params + 1e-9)
    assert np.abs(again.gradient).max() <= TOLERANCE * loss.scale


def test_constant_responses_are_fitted_exactly():
    X = np.column_stack([np.ones(9), np.arange(9.0)])
    found = AbsoluteLoss(X, np.full(9, 3.0), beta=20.0).minimise([0, 1])
    assert found.converged
    np.testing.assert_allclose(found.params, [3.0, 0.0], atol=1e-12)
    zero = AbsoluteLoss(X, np.zeros(9), beta=20.0)
    assert zero.scale > 0.0
    assert zero.minimise([0, 1], start=np.ones(2)).value <= 1e-20
    assert not zero.minimise([0, 1]).params.any()


def test_separated_classes_or_one_class_have_a_hinge_of_zero():
    X = data("hinge", 7)[0]
    separated = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 0] += 0.1 * separated
    for labels, column in ((separated, X), (np.ones(60), np.abs(X) + 0.1)):
        found = HingeLoss(column, labels, beta=100.0).minimise([0, 1])
        assert found.converged
        assert found.value == pytest.approx(0.0, abs=1e-20)
        assert (labels * (column @ found.params) >= 1 - 1e-9).all()


def test_a_sharp_absolute_loss_is_least_absolute_deviations():
    X, y = data("absolute", 8, n=40, p=5)
    program = linprog(
        np.concatenate([np.zeros(5), np.full(40, 1 / 40)]),
        A_ub=np.block([[X, -np.eye(40)], [-X, -np.eye(40)]]),
        b_ub=np.concatenate([y, -y]),
        bounds=[(None, None)] * 5 + [(0, None)] * 40,
    )
    loss = AbsoluteLoss(X, y, beta=1e8)
    found = loss.minimise(range(5))
    assert found.converged
    assert loss.unsmoothed(found.params) == pytest.approx(program.fun, abs=1e-8)


@kinds
@ridges
@smoothings
@designs
def test_minima_along_coordinates_equal_scalar_search(kind, ridge, beta, form):
    X, y = data(kind, 9)
    X[:, 5] = 0.0
    X[:, 6] = np.abs(X[:, 6])
    loss = LOSSES[kind](form(X), y, beta=beta, ridge=ridge)
    b = np.array([0.7, 0.0, -3.0, 0.0, 0.0, 1.0, 0.0])
    steps, gains = loss.coordinate_minima(b)
    for j in range(7):

        def along(a, j=j):
            return plain(kind, X, y, beta, ridge, b + a * np.eye(7)[j])

        found = minimize_scalar(along, bracket=(-1, 1), tol=1e-12)
        assert gains[j] == pytest.approx(along(0.0) - found.fun, rel=1e-6, abs=1e-12)
        assert along(steps[j]) <= found.fun + 1e-15
        assert gains[j] == pytest.approx(along(0.0) - along(steps[j]), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("low", [-1.0, 0.0])
@settings(max_examples=150, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 12), power=st.floats(-3, 6))
def test_lines_are_minimised_to_rounding(low, seed, n, power):
    """The slope at every kink, written out, says between which two the minimum is."""
    rng = np.random.default_rng(seed)
    beta, ridge, own = 10.0**power, rng.choice([0.0, 0.2]), rng.standard_normal()
    z, u = rng.integers(-2, 3, n) * 1.0, rng.integers(-3, 4, n) / rng.choice([1.0, beta])

    def slope(a):
        slopes = np.clip(beta * (u + np.multiply.outer(a, z)), low, 1.0)
        return (slopes * z).mean(axis=-1) + ridge * (own + a)

    with np.errstate(divide="ignore", invalid="ignore"):
        kinks = np.concatenate([(low / beta - u) / z, (1 / beta - u) / z])
    kinks = np.unique(np.append(kinks[np.isfinite(kinks)], [-own, 0.0]))
    at = slope(kinks)
    columns = Columns(z[:, None], np.ones(n))
    (step,), (gain,) = clipped_lines.line_minima(columns, u, ridge, np.array([own]), beta, low)
    rounding = 1e-13 * (1 + beta)
    flat = kinks[np.abs(at) <= 1e-14]
    if len(flat):
        assert np.abs(slope(np.array([step]))[0]) <= rounding
    else:
        right = int(np.searchsorted(at, 0.0))
        share = -at[right - 1] / (at[right] - at[right - 1])
        exact = kinks[right - 1] + share * (kinks[right] - kinks[right - 1])
        assert step == pytest.approx(exact, rel=1e-9, abs=1e-12)
    assert gain >= 0.0


@kinds
def test_gains_near_a_minimum_keep_their_digits(kind):
    """g^2 / (2 h), which is 1e-15 of the loss here."""
    X, y = data(kind, 10)
    loss = LOSSES[kind](X, y, beta=1.0, ridge=0.01)
    b = loss.minimise(range(7)).params
    b[4] += 1e-8
    gains = loss.coordinate_minima(b)[1]
    move = 1e-5 * np.eye(7)[4]
    bend = (loss.gradient(b + move) - loss.gradient(b - move))[4] / 2e-5
    expected = loss.gradient(b)[4] ** 2 / bend / 2
    assert gains[4] == pytest.approx(expected, rel=1e-5)
    assert 0 < gains[4] < 1e-15


@kinds
@ridges
def test_removal_costs_are_differences_of_values(kind, ridge):
    X, y = data(kind, 11)
    loss = LOSSES[kind](X, y, beta=3.0, ridge=ridge)
    b = np.array([0.7, 0.0, -3.0, 0.1, 0.0, 1.0, 0.0])
    support = [2, 0, 5, 3]
    expected = [loss.value(np.where(np.arange(7) == j, 0.0, b)) - loss.value(b) for j in support]
    np.testing.assert_allclose(loss.removal_costs(b, support), expected, rtol=1e-10, atol=1e-15)
    assert loss.removal_costs(b, []).shape == (0,)


@kinds
def test_a_fit_follows_its_support(kind):
    X, y = data(kind, 12)
    loss = LOSSES[kind](X, y, beta=10.0, ridge=0.01)
    fit = loss.fit()
    assert fit.value == loss.value(np.zeros(7))
    fit.add([2])
    fit.add([0, 5])
    fit.remove([2])
    assert fit.converged
    assert fit.support == [0, 5]
    assert fit.value == pytest.approx(loss.minimise([0, 5]).value, rel=1e-12)
    feature, gain = fit.best_gain()
    others = [fit.value - loss.minimise([0, 5, j]).value for j in range(7) if j not in (0, 5)]
    assert feature not in (0, 5)
    assert 0 < gain <= max(others) + 1e-14


@kinds
def test_rows_are_judged_by_the_loss_before_smoothing(kind):
    X, y = data(kind, 13)
    loss = LOSSES[kind](X, y, beta=0.5)
    estimates = np.random.default_rng(0).standard_normal((3, 7))
    losses = loss.row_losses(X, y, estimates)
    assert losses.shape == (3, 60)
    values = [loss.unsmoothed(b) for b in estimates]
    np.testing.assert_allclose(losses.mean(axis=1), values, rtol=1e-13)


def test_a_search_that_finds_no_minimum_says_so(monkeypatch):
    X, y = data("absolute", 14)
    loss = AbsoluteLoss(X, y, beta=1e4)
    for name in ("FIRST_STEPS", "MOST_STEPS", "LAST_STEPS"):
        monkeypatch.setattr(f"greedyexp.losses.smoothed.{name}", 1)
    found = loss.minimise(range(7))
    assert not found.converged
    assert found.message == ("the gradient over the support does not reach its tolerance.")
