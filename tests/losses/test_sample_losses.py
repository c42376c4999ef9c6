"""Losses of predictions and responses against conic programs, scikit-learn and brute force."""

from __future__ import annotations

import itertools
import warnings

import cvxpy
import numpy as np
import pytest
import scipy
from sklearn.linear_model import PoissonRegressor
from sklearn.svm import LinearSVC

import greedyexp
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.losses.binding import bind
from greedyexp.losses.sample import exists
from greedyexp.problems.problem import as_problem
from greedyexp.testing import check_loss

RNG = np.random.default_rng(5)
N, P = 80, 12
X = RNG.standard_normal((N, P)) * np.linspace(0.5, 1.5, P) + np.linspace(-2.0, 2.0, P)
LEVEL = (X - X.mean(axis=0)) @ np.where(np.isin(np.arange(P), [1, 4, 8]), 0.6, 0.0)
RESPONSES = {
    "poisson": RNG.poisson(np.exp(LEVEL + 0.3)).astype(float),
    "squared_hinge": np.where(LEVEL + RNG.logistic(size=N) > 0, 1.0, -1.0),
    "huber": 3.0 * LEVEL + RNG.standard_cauchy(N) + 7.0,
}
NAMES = sorted(RESPONSES)


def terms(name, a, y):
    """The loss of each row as cvxpy has it."""
    if name == "poisson":
        return cvxpy.exp(a) - cvxpy.multiply(y, a) - y + scipy.special.xlogy(y, y)
    if name == "huber":
        return cvxpy.huber(a - y, 1.0) / 2
    return cvxpy.square(cvxpy.pos(1 - cvxpy.multiply(y, a)))


def conic(name, columns, y, *, ridge=0.0, lam=0.0, intercept=True):
    """The minimum by clarabel, with the coefficients."""
    b, c = cvxpy.Variable(columns.shape[1]), cvxpy.Variable()
    mean = cvxpy.sum(terms(name, columns @ b + (c if intercept else 0.0), y)) / len(y)
    objective = mean + ridge / 2 * cvxpy.sum_squares(b) + lam * cvxpy.norm1(b)
    program = cvxpy.Problem(cvxpy.Minimize(objective))
    exact = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
    program.solve(solver="CLARABEL", **exact)
    return program.value, b.value


@pytest.mark.parametrize("name", NAMES)
def test_the_contract_holds(name):
    check_loss(name)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_a_restricted_minimum_is_that_of_a_conic_program(name, intercept, ridge):
    loss = bind(name, as_problem(X, RESPONSES[name]), ridge=ridge, intercept=intercept)
    for support in ([4], [1, 4], [0, 1, 4, 8, 11]):
        found = loss.minimise(support)
        value, coef = conic(name, X[:, support], RESPONSES[name], ridge=ridge, intercept=intercept)
        assert found.converged
        assert found.value == pytest.approx(value, rel=1e-8)
        np.testing.assert_allclose(found.params[support], coef, atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_a_gain_is_the_best_decrease_along_a_centred_column(name):
    y, support = RESPONSES[name], [1, 8]
    loss = bind(name, as_problem(X, y), ridge=0.05, intercept=True)
    fit = loss.fit()
    fit.add(support)
    gains = fit.gains()
    for feature in (0, 4, 11):
        column = X[:, feature] - X[:, feature].mean()

        def along(step, feature=feature):
            moved = fit.params.copy()
            moved[feature] += step
            moved[P] -= step * X[:, feature].mean()
            return loss.value(moved)

        best = scipy.optimize.minimize_scalar(along, options={"xtol": 1e-12})
        assert abs(column).max() > 0
        assert gains[feature] == pytest.approx(fit.value - best.fun, abs=1e-9)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("name", NAMES)
def test_few_searches_find_the_best_of_all_gains(name, ridge):
    """The bounds rule out no feature that has the largest gain."""
    rng = np.random.default_rng(0)
    for trial in range(6):
        design = rng.standard_normal((60, 40)) * np.exp(rng.standard_normal(40))
        design[:, 1] = design[:, 0]
        y = rng.permutation(RESPONSES[name][:60])
        loss = bind(name, as_problem(design, y), ridge=ridge, intercept=trial % 2 == 0)
        fit = loss.fit()
        for _ in range(4):
            gains = fit.gains()
            feature, gain = fit.best_gain()
            tied = np.flatnonzero(gains >= gains.max() * (1 - 1e-10))
            assert feature == tied[0]
            assert gain == gains[feature]
            fit.add([feature])


@pytest.mark.parametrize("name", NAMES)
def test_the_cost_of_a_removal_is_that_without_a_refit(name):
    loss = bind(name, as_problem(X, RESPONSES[name]), ridge=0.2, intercept=True)
    fit = loss.fit()
    fit.add([1, 4, 6])
    expected = [loss.value(loss.without(fit.params, [i])) - fit.value for i in fit.support]
    np.testing.assert_allclose(fit.removal_costs(), expected, rtol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_the_l1_path_is_that_of_conic_programs(name):
    y = RESPONSES[name]
    loss = bind(name, as_problem(X, y), intercept=True)
    largest = np.abs(loss.minimise([]).gradient[:P]).max()
    lams = [0.5 * largest, 0.1 * largest]
    given = {"loss": name, "intercept": True, "ridge": 0.01, "tol": 1e-9}
    for lam in lams:
        found = greedyexp.solve("l1_path", X, y, lam=lam, **given)
        value, coef = conic(name, X, y, ridge=0.01, lam=lam)
        assert found.converged
        assert found.objective == pytest.approx(value, rel=1e-8)
        np.testing.assert_allclose(found.coef, coef, atol=1e-4)


def test_poisson_is_that_of_scikit_learn():
    y = RESPONSES["poisson"]
    peer = PoissonRegressor(alpha=0.1, tol=1e-10, max_iter=10_000).fit(X, y)
    found = bind("poisson", as_problem(X, y), ridge=0.1, intercept=True).minimise(range(P))
    np.testing.assert_allclose(found.params[:P], peer.coef_, atol=1e-6)
    assert found.params[P] == pytest.approx(peer.intercept_, abs=1e-6)


def test_squared_hinge_is_that_of_liblinear():
    y = RESPONSES["squared_hinge"]
    peer = LinearSVC(C=1 / (N * 0.1), fit_intercept=False, tol=1e-10, max_iter=100_000).fit(X, y)
    found = bind("squared_hinge", as_problem(X, y), ridge=0.1).minimise(range(P))
    np.testing.assert_allclose(found.params, peer.coef_[0], atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_every_greedy_method_finds_the_best_of_all_supports(name):
    """Three features count much more than the others, so the best subset is greedy."""
    design = np.random.default_rng(2).standard_normal((200, 6))
    level = design[:, [0, 2, 5]] @ [0.8, -0.7, 0.6]
    rng = np.random.default_rng(3)
    y = {
        "poisson": rng.poisson(np.exp(level)).astype(float),
        "squared_hinge": np.where(level + 0.2 * rng.standard_normal(200) > 0, 4.0, 2.0),
        "huber": 5.0 * level + rng.standard_cauchy(200),
    }[name]
    loss = bind(name, as_problem(design, y))
    subsets = list(itertools.combinations(range(6), 3))
    best = subsets[int(np.argmin([loss.minimise(list(one)).value for one in subsets]))]
    methods = {key: {"max_features": 3} for key in ("foba_gdt", "foba_obj", "forward_obj")}
    methods |= {"fully_corrective": {"steps": 3}, "replacement_steps": {"features": 3}}
    for method, given in methods.items():
        found = greedyexp.solve(method, design, y, loss=name, **given)
        assert tuple(np.sort(found.support)) == best, method
        assert found.converged


@pytest.mark.parametrize("method", ["foba_gdt", "foba_obj", "l1_path"])
@pytest.mark.parametrize("name", NAMES)
def test_constants_added_to_features_change_nothing(name, method):
    y, shift = RESPONSES[name], 100.0 * np.arange(P)
    given = {"loss": name, "intercept": True}
    given |= {"lam": 0.05} if method == "l1_path" else {"max_features": 4}
    one = greedyexp.solve(method, X, y, **given)
    other = greedyexp.solve(method, X + shift, y, **given)
    np.testing.assert_array_equal(one.support, other.support)
    np.testing.assert_allclose(one.coef, other.coef, atol=1e-6)
    assert one.intercept == pytest.approx(other.intercept + shift @ other.coef, abs=1e-4)


def test_a_minimum_of_counts_exists_as_a_linear_program_says():
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(60):
        design, y = rng.integers(-1, 2, size=(7, 3)).astype(float), rng.poisson(0.7, 7) * 1.0
        v = cvxpy.Variable(3)
        # How far the means of zeros can fall if no other mean changes and none rises.
        bounds = [design @ v <= 0, cvxpy.multiply(y > 0, design @ v) == 0, cvxpy.abs(v) <= 1]
        program = cvxpy.Problem(cvxpy.Maximize(-cvxpy.sum(design @ v)), bounds)
        program.solve(solver="CLARABEL")
        exists = program.value < 1e-6
        if not y.any():
            continue
        found = bind("poisson", as_problem(design, y)).minimise([0, 1, 2])
        assert found.converged == exists
        assert exists or "falls forever along feature" in found.message
        seen.add(exists)
    assert seen == {True, False}


def test_a_group_of_zeros_ends_a_path_before_its_feature():
    y = RESPONSES["poisson"].copy()
    group = np.zeros(N)
    group[:10] = 1.0
    y[:10] = 0.0
    design = np.column_stack([group, X])
    found = greedyexp.solve("foba_obj", design, y, loss="poisson", intercept=True, max_features=3)
    assert not found.converged
    assert "falls forever along feature 0; without a ridge no minimum exists" in found.message
    kept = greedyexp.solve(
        "foba_obj", design, y, loss="poisson", intercept=True, max_features=3, ridge=0.01
    )
    assert kept.converged
    assert 0 in kept.support


def test_counts_that_are_all_zero_have_no_intercept():
    loss = bind("poisson", as_problem(X, np.zeros(N)), ridge=0.1, intercept=True)
    found = loss.minimise([0])
    assert not found.converged
    assert found.message == "the loss falls forever along the intercept."
    with pytest.raises(DataError, match="there is no fit without features: the loss falls forever"):
        greedyexp.solve("l1_path", X, np.zeros(N), loss="poisson", intercept=True)


@pytest.mark.filterwarnings("error")
def test_searches_do_not_overflow():
    """The first step of Newton's method leads to exp(1e6)."""
    rng = np.random.default_rng(0)
    design = rng.standard_normal((100, 5)) * [1e3, 1.0, 1e-3, 30.0, 1.0]
    y = rng.poisson(np.exp(8 + 3 * design[:, 1])).astype(float)
    for intercept in (False, True):
        loss = bind("poisson", as_problem(design, y), intercept=intercept)
        steps, gains = loss.coordinate_minima(np.zeros(5 + intercept))
        assert np.isfinite(steps).all()
        assert np.isfinite(gains).all()
        found = loss.minimise(range(5))
        assert found.converged
        assert loss.value(np.full(5 + intercept, 1e9)) == np.inf
        mean = np.exp(design @ found.params[:5] + found.params[5:].sum())
        assert (np.abs(design.T @ (mean - y)) <= 1e-10 * (np.abs(design).T @ y)).all()


@pytest.mark.parametrize(
    ("name", "y", "said"),
    [
        ("poisson", np.full(N, -1.0), "the response -1 of row 0 is no count"),
        ("poisson", np.full(N, 0.5), "the response 0.5 of row 0 is no count"),
        ("squared_hinge", np.ones(N), "the squared hinge loss needs two classes"),
        ("squared_hinge", np.arange(N) * 1.0, f"have {N} values: the squared hinge loss takes two"),
    ],
)
def test_responses_that_do_not_fit_are_refused(name, y, said):
    with pytest.raises(DataError, match=said):
        greedyexp.solve("foba_gdt", X, y, loss=name, max_features=2)


def test_a_loss_without_a_smoothness_is_refused_where_one_is_needed():
    y = RESPONSES["poisson"]
    with pytest.raises(ConfigError, match=r"loss must be one of 'absolute', .* but is 'poisson'"):
        greedyexp.solve("forward_greedy", X, y, loss="poisson", radius=1.0)


@pytest.mark.parametrize("intercept", [False, True])
def test_an_l1_path_of_counts_with_zeros_in_the_design_is_that_of_a_conic_program(intercept):
    design, y = np.where(np.abs(X) > 0.5, X, 0.0), RESPONSES["poisson"]
    design[:, 3] = 0.0
    loss = bind("poisson", as_problem(design, y), intercept=intercept)
    np.testing.assert_array_equal(np.flatnonzero(np.isfinite(loss.smoothness)), [3])
    assert loss.smoothness[3] == 0.0
    path = registry.find("algorithm", "l1_path").function(
        as_problem(design, y), loss="poisson", lam=[0.05], intercept=intercept
    )
    assert path.converged.all()
    value, coef = conic("poisson", design, y, lam=0.05, intercept=intercept)
    assert path.objective[0] == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(
        path.coef[0].ravel(), np.where(np.abs(coef) > 1e-6, coef, 0), atol=1e-4
    )


@pytest.mark.parametrize("factor", [1e3, 1e8])
def test_an_l1_path_of_counts_does_not_depend_on_units(factor):
    find = registry.find("algorithm", "l1_path").function
    y = RESPONSES["poisson"]
    lam = np.array([0.2, 0.05])
    one = find(as_problem(X, y), loss="poisson", lam=lam.tolist(), intercept=True)
    other = find(
        as_problem(X * factor, y), loss="poisson", lam=(lam * factor).tolist(), intercept=True
    )
    assert one.converged.all()
    assert other.converged.all()
    np.testing.assert_allclose(other.coef * factor, one.coef, atol=1e-6)


def test_an_l1_path_of_large_counts_is_that_of_newton_steps():
    y = RNG.poisson(1e6 * np.exp(LEVEL)).astype(float)
    loss = bind("poisson", as_problem(X, y), intercept=False)
    path = registry.find("algorithm", "l1_path").function(
        as_problem(X, y), loss="poisson", lam_min_ratio=1e-9, n_lams=30, max_steps=500
    )
    assert np.isfinite(path.coef).all()
    assert path.converged.all()
    found = loss.minimise(range(P))
    assert found.converged
    np.testing.assert_allclose(path.coef[-1].ravel(), found.params, rtol=1e-3, atol=1e-3)


def test_the_loss_of_large_counts_keeps_its_digits():
    y = np.round(1e12 * np.exp(LEVEL))
    loss = bind("poisson", as_problem(np.log(y)[:, None] + 1e-7 * X[:, :1], y))
    a = (np.log(y) + 1e-7 * X[:, 0]).astype(np.longdouble)
    # The first terms of the series of exp at log y; the next is smaller by 1e-14.
    d = a - np.log(y.astype(np.longdouble))
    exact = y * (d**2 / 2 + d**3 / 6)
    assert loss.value(np.ones(1)) == pytest.approx(float(exact.mean()), rel=1e-6)


def test_large_steps_overflow_in_silence():
    y = RESPONSES["poisson"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = bind("poisson", as_problem(X + 1e6, y)).fit()
        fit.add([0, 1])
        costs = fit.removal_costs()
        assert not exists(np.array([[-1e-20]]), np.ones(1), 1.0)
    assert costs[0] == np.inf
