"""Minimisers over l1 balls against a conic solver, closed forms and their own certificate."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from greedyexp.algorithms.sparsity.l1_ball import l1_ball
from greedyexp.api import solve
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.losses.absolute import AbsoluteLoss
from greedyexp.losses.hinge import HingeLoss
from greedyexp.losses.logistic import LogisticLoss
from greedyexp.losses.population import PopulationSquaredLoss
from greedyexp.losses.squared import SquaredLoss
from greedyexp.problems.moments import DenseMoments, SpreadMoments
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.solvers.l1_ball import duality_gap, minimise_over_ball
from greedyexp.solvers.l1_ball_face import newton_on_face
from greedyexp.solvers.l1_ball_starts import conic_start

TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
NAMES = ("squared", "logistic", "absolute", "hinge")


def data(seed, n, d, noise=0.5):
    rng = np.random.default_rng(seed)
    X = np.sign(rng.standard_normal((n, d)))
    y = X[:, :3] @ [2.0, -1.0, 0.5][: min(3, d)] if d >= 3 else 2.0 * X[:, 0]
    y = y + noise * rng.standard_normal(n)
    labels = np.where(y + rng.standard_normal(n) > 0, 1.0, -1.0)
    labels[:2] = 1.0, -1.0
    return X, y, labels


def bound(name, X, y, labels, ridge=0.0, beta=1.0):
    if name == "squared":
        return SquaredLoss(X, y, ridge=ridge)
    if name == "logistic":
        return LogisticLoss(X, labels, ridge=ridge)
    if name == "absolute":
        return AbsoluteLoss(X, y, ridge=ridge, beta=beta)
    return HingeLoss(X, labels, ridge=ridge, beta=beta)


def conic(name, X, y, labels, radius, ridge=0.0, beta=1.0):
    """The least risk over the ball, by another formulation of the smoothed losses."""
    n, d = X.shape
    w, v = cp.Variable(d), cp.Variable(n)
    if name == "squared":
        loss = cp.sum_squares(X @ w - y) / (2 * n)
    elif name == "logistic":
        loss = cp.sum(cp.logistic(-cp.multiply(labels, X @ w))) / n
    elif name == "absolute":
        loss = (beta / 2 * cp.sum_squares(v) + cp.norm1(X @ w - v - y)) / n
    else:
        short = 1 - cp.multiply(labels, X @ w - v)
        loss = (beta / 2 * cp.sum_squares(v) + cp.sum(cp.pos(short))) / n
    problem = cp.Problem(cp.Minimize(loss + ridge / 2 * cp.sum_squares(w)), [cp.norm1(w) <= radius])
    problem.solve(solver=cp.CLARABEL, **TIGHT)
    return problem.value


def certified(loss, radius):
    """The minimiser, after what must be true of it whatever the problem."""
    found = minimise_over_ball(loss, radius)
    gradient = loss.gradient(found.params)
    assert found.converged, found.message
    assert np.abs(found.params).sum() <= radius * (1 + 1e-14)
    assert found.value == pytest.approx(loss.value(found.params), rel=1e-14)
    own = gradient @ found.params + radius * np.abs(gradient).max()
    known = [max(own, 0.0), found.value]
    if (convexity := loss.strong_convexity(range(loss.size))) > 0.0:
        known.append(gradient @ gradient / (2.0 * convexity))
    assert found.gap >= min(known) - 1e-14
    assert min(abs(found.gap - gap) for gap in known) <= 1e-14
    return found


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15, derandomize=True, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(3, 25),
    d=st.integers(1, 12),
    radius=st.sampled_from([0.01, 0.5, 2.0, 5.0, 100.0]),
    ridge=st.sampled_from([0.0, 0.2]),
    beta=st.sampled_from([0.3, 1.0, 20.0]),
)
def test_small_problems_agree_with_a_conic_solver(name, seed, n, d, radius, ridge, beta):
    X, y, labels = data(seed, n, d)
    found = certified(bound(name, X, y, labels, ridge, beta), radius)
    assert found.gap <= 1e-9
    peer = conic(name, X, y, labels, radius, ridge, beta)
    assert found.value == pytest.approx(peer, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("n", "d"), [(120, 40), (40, 120)])
@pytest.mark.parametrize("name", NAMES)
def test_middle_problems_reach_rounding(name, n, d):
    X, y, labels = data(7, n, d)
    for radius in (0.05, 2.0, 6.0, 60.0):
        loss = bound(name, X, y, labels, beta=5.0)
        found = certified(loss, radius)
        assert found.gap <= 1e-13 * max(1.0, radius)
        peer = conic(name, X, y, labels, radius, beta=5.0)
        assert found.value <= peer + 1e-8
        assert found.value == pytest.approx(peer, abs=1e-6)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("name", ["absolute", "hinge"])
def test_losses_that_are_smoothed_very_little_are_certified(name, ridge):
    X, y, labels = data(3, 60, 80)
    for radius in (0.1, 3.0, 30.0):
        found = certified(bound(name, X, y, labels, ridge, beta=1e4), radius)
        assert found.gap <= 1e-9
        peer = conic(name, X, y, labels, radius, ridge, beta=1e4)
        assert found.value == pytest.approx(peer, abs=1e-6)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("name", ["absolute", "hinge"])
def test_the_way_out_by_an_interior_point_method_is_close(name, ridge):
    X, y, labels = data(5, 50, 90)
    for beta in (1.0, 1e3):
        loss = bound(name, X, y, labels, ridge, beta=beta)
        for radius in (0.1, 3.0, 30.0):
            w = conic_start(loss, radius, np.zeros(90))
            assert np.abs(w).sum() <= radius * (1 + 1e-14)
            best = minimise_over_ball(loss, radius)
            assert best.value - 1e-12 <= loss.value(w) <= best.value + 1e-8


@pytest.mark.deep
@pytest.mark.parametrize("name", NAMES)
def test_large_problems_are_certified(name):
    X, y, labels = data(1, 2000, 500)
    for radius in (1.0, 4.0, 20.0):
        assert certified(bound(name, X, y, labels, beta=10.0), radius).gap <= 1e-12


def test_no_point_of_the_ball_is_better_than_the_gap_allows():
    X, y, labels = data(11, 30, 10)
    rng = np.random.default_rng(0)
    for name in NAMES:
        loss = bound(name, X, y, labels)
        for _ in range(200):
            w, v = rng.laplace(size=(2, 10)) * (rng.random((2, 10)) < 0.5)
            w, v = (2.0 * u / max(np.abs(u).sum(), 1e-9) for u in (w, v))
            gap = duality_gap(w, loss.gradient(w), 2.0)
            assert loss.value(v) >= loss.value(w) - gap - 1e-12


def test_beyond_the_norm_of_least_squares_the_ball_does_not_matter():
    X, y, _ = data(5, 50, 8)
    free = np.linalg.lstsq(X, y, rcond=None)[0]
    norm = np.abs(free).sum()
    assert certified(SquaredLoss(X, y), 1.01 * norm).params == pytest.approx(free, abs=1e-12)
    tight = certified(SquaredLoss(X, y), 0.99 * norm)
    assert np.abs(tight.params).sum() == pytest.approx(0.99 * norm, rel=1e-13)


def projected(c, radius):
    """The projection on the l1 ball, by bisection of the threshold."""
    low, high = 0.0, np.abs(c).max()
    for _ in range(200):
        middle = 0.5 * (low + high)
        if np.maximum(np.abs(c) - middle, 0).sum() > radius:
            low = middle
        else:
            high = middle
    return np.sign(c) * np.maximum(np.abs(c) - high, 0)


@pytest.mark.parametrize("form", ["spread", "dense", "rows"])
def test_independent_features_give_the_projection_on_the_ball(form):
    rng = np.random.default_rng(2)
    d = 16
    c = rng.standard_normal(d) / 8
    if form == "rows":
        X = np.sqrt(d) * np.linalg.qr(rng.standard_normal((d, d)))[0]
        loss = SquaredLoss(X, X @ c)
    elif form == "spread":
        loss = PopulationSquaredLoss(SpreadMoments(np.ones(d), np.zeros(d), c, 1.0))
    else:
        loss = PopulationSquaredLoss(DenseMoments(np.eye(d), c, 1.0))
    radius = 0.4 * np.abs(c).sum()
    assert certified(loss, radius).params == pytest.approx(projected(c, radius), abs=1e-13)


@pytest.mark.parametrize("ridge", [0.0, 0.05])
def test_shared_features_agree_with_their_matrix_and_a_conic_solver(ridge):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        d = 12
        alpha, u = rng.uniform(0.05, 0.5, d), 0.7 * rng.uniform(-1, 1, d)
        cross = 0.3 * u + 0.05 * rng.standard_normal(d)
        matrix = np.diag(alpha) + np.outer(u, u)
        spread = PopulationSquaredLoss(SpreadMoments(alpha, u, cross, 4.0), ridge=ridge)
        dense = PopulationSquaredLoss(DenseMoments(matrix, cross, 4.0), ridge=ridge)
        for radius in (0.01, 0.2, 0.5, 50.0):
            own, other = certified(spread, radius), certified(dense, radius)
            assert own.gap <= 1e-14 * (1 + radius)
            assert own.params == pytest.approx(other.params, abs=1e-12)
            w = cp.Variable(d)
            form = cp.quad_form(w, cp.psd_wrap(matrix + ridge * np.eye(d))) / 2 - cross @ w
            peer = cp.Problem(cp.Minimize(form), [cp.norm1(w) <= radius])
            peer.solve(solver=cp.CLARABEL, **TIGHT)
            assert own.value == pytest.approx(peer.value + 2.0, abs=1e-9)


@pytest.mark.parametrize("d", [5_000, pytest.param(20_000, marks=pytest.mark.deep)])
def test_a_label_spread_over_many_features_has_equal_coefficients(d):
    a = 0.1
    moments = SpreadMoments(np.full(d, 1 - a**2), np.full(d, a), np.full(d, a), 1.0)
    found = certified(PopulationSquaredLoss(moments), 8.0)
    assert found.params == pytest.approx(np.full(d, 8.0 / d), rel=1e-12)
    assert found.gap <= 1e-12


@pytest.mark.parametrize("apart", [1e-6, 1e-9, 1e-12])
def test_features_that_are_all_but_copies_are_certified(apart):
    d, rho = 50, 1.0 - apart
    truth = np.zeros(d)
    truth[:5] = 0.3, -0.2, 0.2, 0.2, -0.1
    cross = apart * truth + rho * truth.sum()
    moments = SpreadMoments(np.full(d, apart), np.full(d, rho**0.5), cross, truth @ cross + 0.01)
    loss = PopulationSquaredLoss(moments)
    for radius in (0.1, 0.7, 1.0, 5.0):
        found = certified(loss, radius)
        assert found.gap <= 1e-14
        if radius >= 1.0:
            assert found.value == pytest.approx(0.005, abs=1e-14)


@pytest.mark.parametrize("ridge", [1e-12, 1e-8])
def test_copies_with_a_tiny_ridge_are_certified(ridge):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        alpha, u = rng.uniform(0, 0.5, 7) * (rng.random(7) < 0.5), rng.uniform(-0.7, 0.7, 7)
        truth = rng.standard_normal(7)
        cross = alpha * truth + u * (u @ truth)
        loss = PopulationSquaredLoss(
            SpreadMoments(alpha, u, cross, truth @ cross + 0.01), ridge=ridge
        )
        for radius in (0.3, 3.0, 1e3):
            certified(loss, radius)


def test_no_matrix_is_formed_beyond_what_is_told():
    X, y, _ = data(5, 50, 8)
    start = np.full(8, 0.01)
    loss = SquaredLoss(X, y)
    assert newton_on_face(loss, start, 1.0, 0.0, most=7) == pytest.approx(start, abs=0)
    assert loss.value(newton_on_face(loss, start, 1.0, 0.0, most=8)) < loss.value(start)


@pytest.mark.parametrize("radius", [1e9, 1e12, 1e16, 1e20])
def test_a_ball_far_larger_than_the_minimiser_is_certified_without_it(radius):
    X, y, _ = data(5, 50, 8)
    loss = SquaredLoss(X, y)
    found = minimise_over_ball(loss, radius)
    assert found.converged
    assert found.gap <= 1e-9 * loss.value(np.zeros(8))
    free = np.linalg.lstsq(X, y, rcond=None)[0]
    assert found.params == pytest.approx(free, abs=1e-12)


def test_a_gap_that_rounding_makes_useless_is_not_called_proof():
    # Copies leave no strong convexity, so that nothing but the ball can certify.
    X, y, _ = data(5, 50, 8)
    loss = SquaredLoss(np.hstack([X, X]), y)
    found = minimise_over_ball(loss, 1e16)
    assert not found.converged
    assert "gap" in found.message
    assert found.gap <= found.value


def test_the_risk_itself_is_a_gap():
    # Nothing is left of the response, and the ball is so large that it certifies nothing.
    X = np.random.default_rng(5).standard_normal((50, 8))
    loss = SquaredLoss(np.hstack([X, X]), X @ np.linspace(0.1, 1.0, 8))
    found = minimise_over_ball(loss, 1e18)
    assert duality_gap(found.params, loss.gradient(found.params), 1e18) > 1e-3
    assert found.converged
    assert found.gap <= found.value <= 1e-25


@pytest.mark.parametrize("own", [1e-2, 1e-6, 1e-10])
def test_features_that_hardly_differ_keep_the_digits_of_their_minimiser(own):
    rng = np.random.default_rng(0)
    d = 200
    alpha, u = own * rng.uniform(0.5, 1, d), 0.9 * rng.uniform(-1, 1, d)
    best = rng.standard_normal(d) / d
    cross = alpha * best + u * (u @ best)
    loss = PopulationSquaredLoss(SpreadMoments(alpha, u, cross, float(best @ cross) + 0.1))
    found = certified(loss, 0.3 * np.abs(best).sum())
    assert 10 < np.count_nonzero(found.params) < d
    assert found.gap <= 1e-13


def test_copies_of_one_hidden_variable_are_certified():
    # alpha = 0: features are equal, and all minimisers that agree on their sum are as good.
    moments = SpreadMoments(np.zeros(6), np.ones(6), np.full(6, 0.8), 1.0)
    found = certified(PopulationSquaredLoss(moments), 0.5)
    assert found.value == pytest.approx((1 - 0.64 + 0.3**2) / 2, abs=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_duplicated_features_leave_the_minimum_as_it_is(name):
    X, y, labels = data(9, 40, 10)
    for radius in (0.5, 3.0, 40.0):
        one = certified(bound(name, X, y, labels), radius)
        two = certified(bound(name, np.hstack([X, X]), y, labels), radius)
        assert two.value == pytest.approx(one.value, abs=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_of_the_response_do_not_matter(scale):
    X, y, _ = data(4, 40, 60)
    one = certified(SquaredLoss(X, y), 2.0)
    other = certified(SquaredLoss(X, scale * y), scale * 2.0)
    assert other.params == pytest.approx(scale * one.params, abs=1e-10 * scale)


def test_sparse_designs_give_the_same():
    X, y, labels = data(6, 40, 15)
    X = X * (np.random.default_rng(0).random(X.shape) < 0.4)
    for name in NAMES:
        dense = certified(bound(name, X, y, labels), 1.5)
        thin = certified(bound(name, sparse.csr_array(X), y, labels), 1.5)
        assert thin.params == pytest.approx(dense.params, abs=1e-10)


def test_separable_classes_stop_at_the_ball():
    X, _, labels = data(2, 20, 40)
    found = certified(LogisticLoss(X, labels), 12.0)
    assert np.abs(found.params).sum() == pytest.approx(12.0, rel=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_the_face_is_found_from_one_feature(name):
    X, y, labels = data(3, 80, 30)
    for radius in (0.5, 3.0):
        loss = bound(name, X, y, labels)
        start = np.zeros(30)
        start[-1] = radius
        w = newton_on_face(loss, start, radius, 0.0)
        assert duality_gap(w, loss.gradient(w), radius) <= 1e-13


def test_nothing_to_predict_leaves_zero():
    X, _, _ = data(1, 20, 5)
    assert not certified(SquaredLoss(X, np.zeros(20)), 1.0).params.any()


def test_what_has_no_ball_is_refused():
    X, y, _ = data(1, 20, 5)
    with pytest.raises(DataError, match="outside"):
        minimise_over_ball(SquaredLoss(X, y, intercept=True), 1.0)
    for radius in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ConfigError, match="radius"):
            minimise_over_ball(SquaredLoss(X, y), radius)


def test_the_algorithm_tells_the_risk_its_gap_and_the_norm_of_the_truth():
    X, y, _ = data(8, 60, 12)
    truth = np.zeros(12)
    truth[:2] = 1.0, -0.5
    path = l1_ball(as_problem(X, y, truth=truth))
    found = minimise_over_ball(SquaredLoss(X, y), 1.5)
    assert path.facts["radius"] == 1.5
    assert path.coef[0, :, 0] == pytest.approx(found.params, abs=1e-15)
    assert path.objective == pytest.approx(found.value)
    assert path.facts["gap"][0] <= 1e-12
    assert path.converged.all()
    with pytest.raises(ConfigError, match="radius"):
        l1_ball(as_problem(X, y))


def test_the_algorithm_takes_kinks_as_they_are_without_beta():
    X, y, labels = data(8, 60, 12)
    for name, response in (("absolute", y), ("hinge", labels)):
        own = solve("l1_ball", X, response, loss=name, radius=1.0)
        smooth = solve("l1_ball", X, response, loss=name, radius=1.0, beta=1e5)
        assert own.converged
        assert smooth.converged
        assert smooth.objective <= own.objective <= smooth.objective + 0.5e-5 + 1e-12
    with pytest.raises(ConfigError, match="Leave beta out"):
        solve("l1_ball", X, y, radius=1.0, beta=2.0)


def test_the_algorithm_takes_a_distribution_without_rows():
    moments = SpreadMoments(np.ones(5), np.zeros(5), np.full(5, 0.2), 1.0)
    problem = Problem((np.zeros((0, 5)),), (np.zeros(0),), moments=moments)
    path = l1_ball(problem, risk="population", radius=0.5)
    assert path.coef[0, :, 0] == pytest.approx(0.1, abs=1e-15)
    with pytest.raises(ConfigError, match="population"):
        l1_ball(problem, radius=0.5)
