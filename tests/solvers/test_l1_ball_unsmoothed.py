"""Losses with kinks over l1 balls against a conic solver, closed forms and their own dual."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from greedyexp.core.errors import ConfigError
from greedyexp.losses.absolute import AbsoluteLoss
from greedyexp.losses.hinge import HingeLoss
from greedyexp.solvers.l1_ball import (
    _Dual,
    minimise_over_ball,
    minimise_unsmoothed_over_ball,
)

TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


def data(seed, n, d):
    rng = np.random.default_rng(seed)
    X = np.sign(rng.standard_normal((n, d)))
    y = 1.5 * X[:, 0] - 0.5 * X[:, -1] + 0.5 * rng.standard_normal(n)
    labels = np.where(y + rng.standard_normal(n) > 0, 1.0, -1.0)
    labels[:2] = 1.0, -1.0
    return X, {"absolute": y, "hinge": labels}


def risk(name, X, y, w, ridge=0.0):
    lost = np.abs(X @ w - y) if name == "absolute" else np.maximum(0.0, 1.0 - y * (X @ w))
    return lost.mean() + 0.5 * ridge * w @ w


def conic(name, X, y, radius, ridge=0.0):
    w = cp.Variable(X.shape[1])
    if name == "absolute":
        loss = cp.norm1(X @ w - y)
    else:
        loss = cp.sum(cp.pos(1 - cp.multiply(y, X @ w)))
    cost = loss / len(y) + ridge / 2 * cp.sum_squares(w)
    problem = cp.Problem(cp.Minimize(cost), [cp.norm1(w) <= radius])
    problem.solve(solver=cp.CLARABEL, **TIGHT)
    return problem.value


def unsmoothed(name, X, y, radius, ridge=0.0, **options):
    kind = AbsoluteLoss if name == "absolute" else HingeLoss
    return minimise_unsmoothed_over_ball(kind(X, y, beta=1.0, ridge=ridge, **options), radius)


def certified(name, X, y, radius, ridge=0.0):
    found = unsmoothed(name, X, y, radius, ridge)
    assert found.converged, found.message
    assert 0.0 <= found.gap <= 1e-9
    assert np.abs(found.params).sum() <= radius * (1 + 1e-14)
    assert found.value == pytest.approx(risk(name, X, y, found.params, ridge), rel=1e-13, abs=1e-14)
    return found


@pytest.mark.parametrize("name", ["absolute", "hinge"])
@settings(max_examples=20, derandomize=True, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 25),
    d=st.integers(1, 12),
    radius=st.sampled_from([0.01, 0.5, 2.0, 100.0]),
    ridge=st.sampled_from([0.0, 0.2]),
)
def test_small_problems_agree_with_a_conic_solver(name, seed, n, d, radius, ridge):
    X, responses = data(seed, n, d)
    found = certified(name, X, responses[name], radius, ridge)
    peer = conic(name, X, responses[name], radius, ridge)
    assert found.value == pytest.approx(peer, abs=1e-7)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize(("n", "d"), [(150, 40), (40, 150)])
@pytest.mark.parametrize("name", ["absolute", "hinge"])
def test_middle_problems_agree_with_a_conic_solver(name, n, d, ridge):
    X, responses = data(1, n, d)
    for radius in (0.1, 1.5, 20.0):
        found = certified(name, X, responses[name], radius, ridge)
        peer = conic(name, X, responses[name], radius, ridge)
        assert found.value == pytest.approx(peer, abs=1e-7)


def test_one_constant_feature_gives_the_median():
    y = np.array([-1.0, 0.2, 0.3, 2.0, 9.0])
    found = certified("absolute", np.ones((5, 1)), y, 10.0)
    assert found.params[0] == pytest.approx(0.3, abs=1e-12)
    held = certified("absolute", np.ones((5, 1)), y, 0.25)
    assert held.params[0] == pytest.approx(0.25, abs=1e-12)


def test_separable_classes_have_no_loss_in_a_large_ball():
    X = np.array([[1.0, 0.5], [0.5, 1.0], [-1.0, -0.5], [-0.5, -1.0]])
    y = np.array([1.0, 1.0, -1.0, -1.0])
    assert certified("hinge", X, y, 5.0).value == pytest.approx(0.0, abs=1e-12)
    # In a small one all margins are below one: the best gains the same mean from either feature.
    assert certified("hinge", X, y, 0.4).value == pytest.approx(1 - 0.4 * 0.75, abs=1e-12)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("kind", [AbsoluteLoss, HingeLoss])
def test_any_weights_bound_the_risk_of_any_point_of_the_ball(kind, ridge):
    X, responses = data(3, 20, 6)
    loss = kind(
        X, responses["absolute" if kind is AbsoluteLoss else "hinge"], beta=1.0, ridge=ridge
    )
    rng = np.random.default_rng(0)
    for radius in (0.2, 2.0, 30.0):
        dual = _Dual(loss, radius)
        for _ in range(100):
            # Beyond their box, into which they are brought.
            bound = dual.bound(rng.uniform(-2.0, 2.0, 20))
            w = rng.laplace(size=6)
            w *= radius * rng.random() ** 0.2 / np.abs(w).sum()
            assert loss.unsmoothed(w) >= bound - 1e-12


@pytest.mark.parametrize("ridge", [1e-300, 1e-12, 1e-8, 1e-6])
@pytest.mark.parametrize("name", ["absolute", "hinge"])
def test_a_tiny_ridge_is_between_none_and_what_it_costs(name, ridge):
    for seed in range(5):
        X, responses = data(seed, 15, 8)
        for radius in (0.3, 3.0, 30.0):
            plain = certified(name, X, responses[name], radius)
            found = unsmoothed(name, X, responses[name], radius, ridge)
            assert found.gap <= 2e-9
            assert found.value >= plain.value - plain.gap
            assert found.value <= plain.value + ridge * radius**2 / 2 + found.gap + 1e-15


def test_a_ridge_never_makes_the_bound_worse_than_without():
    X, responses = data(3, 20, 6)
    rng = np.random.default_rng(0)
    for ridge in (1e-300, 1e-12, 1e-6, 0.1):
        plain = _Dual(AbsoluteLoss(X, responses["absolute"], beta=1.0), 2.0)
        ridged = _Dual(AbsoluteLoss(X, responses["absolute"], beta=1.0, ridge=ridge), 2.0)
        for _ in range(50):
            weights = rng.uniform(-1.0, 1.0, 20)
            assert ridged.bound(weights) >= plain.bound(weights)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("name", ["absolute", "hinge"])
def test_the_best_weights_bound_the_risk_at_its_minimum_and_not_above(name, ridge):
    X, responses = data(3, 20, 6)
    kind = AbsoluteLoss if name == "absolute" else HingeLoss
    loss = kind(X, responses[name], beta=1.0, ridge=ridge)
    for radius in (0.2, 1.0):
        least = conic(name, X, responses[name], radius, ridge)
        dual = _Dual(loss, radius)
        weights = dual.conic()[1]
        assert dual.bound(weights) == pytest.approx(least, abs=1e-8)
        # Larger weights would give a larger number, were they not brought into their box.
        assert dual.bound(1.5 * weights) <= least + 1e-8


@pytest.mark.parametrize("kind", [AbsoluteLoss, HingeLoss])
def test_smoothing_costs_what_lemma_2_says(kind):
    name = "absolute" if kind is AbsoluteLoss else "hinge"
    X, responses = data(4, 60, 20)
    own = certified(name, X, responses[name], 1.2).value
    for beta in (1.0, 30.0, 1e4):
        smooth = minimise_over_ball(kind(X, responses[name], beta=beta), 1.2)
        assert smooth.value - 1e-12 <= own <= smooth.value + 1 / (2 * beta) + smooth.gap + 1e-12


def test_labels_may_be_any_two_values():
    X, responses = data(5, 30, 8)
    one = certified("hinge", X, responses["hinge"], 1.0)
    coded = np.where(responses["hinge"] > 0, 7.0, 3.0)
    same = unsmoothed("hinge", X, coded, 1.0, values=(3.0, 7.0))
    assert same.value == pytest.approx(one.value)
    turned = unsmoothed("hinge", X, coded, 1.0, values=(7.0, 3.0))
    assert turned.value == pytest.approx(one.value, abs=1e-12)
    assert turned.params == pytest.approx(-one.params, abs=1e-9)


def test_sparse_designs_give_the_same():
    X, responses = data(6, 30, 10)
    X = X * (np.random.default_rng(1).random(X.shape) < 0.5)
    for name, y in responses.items():
        dense = certified(name, X, y, 1.0)
        thin = unsmoothed(name, sparse.csr_array(X), y, 1.0)
        assert thin.value == pytest.approx(dense.value, abs=1e-12)


@pytest.mark.deep
@pytest.mark.parametrize("name", ["absolute", "hinge"])
def test_large_problems_are_certified(name):
    X, responses = data(7, 2000, 500)
    for radius in (0.5, 2.0, 30.0):
        certified(name, X, responses[name], radius)


def test_impossible_radii_are_refused():
    X, responses = data(1, 10, 3)
    with pytest.raises(ConfigError, match="radius"):
        unsmoothed("absolute", X, responses["absolute"], 0.0)
