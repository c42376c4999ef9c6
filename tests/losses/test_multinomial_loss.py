"""The multinomial loss against scikit-learn, conic programs and brute force."""

from __future__ import annotations

import itertools

import cvxpy
import numpy as np
import pytest
import scipy
from sklearn.linear_model import LogisticRegression

import greedyexp
from greedyexp.core import registry
from greedyexp.core.errors import DataError
from greedyexp.losses.binding import bind
from greedyexp.problems.problem import as_problem
from greedyexp.testing import check_loss

N, P, R = 90, 6, 3
RNG = np.random.default_rng(4)
X = RNG.standard_normal((N, P)) * np.linspace(0.5, 1.5, P) + np.linspace(-3.0, 3.0, P)
WEIGHTS = np.zeros((P, R))
WEIGHTS[[1, 4]] = [[1.5, -1.5, 0.0], [0.5, 0.5, -1.0]]
CLASS = np.argmax((X - X.mean(axis=0)) @ WEIGHTS + RNG.gumbel(size=(N, R)), axis=1)
Y = np.eye(R)[CLASS]


def bound(y=Y, **options):
    return bind("multinomial", as_problem(X, y), **options)


def conic(columns, y, *, ridge=0.0, lam=0.0, intercept=True):
    """The minimum by clarabel."""
    b, c = cvxpy.Variable((columns.shape[1], R)), cvxpy.Variable((1, R))
    scores = columns @ b + (np.ones((len(y), 1)) @ c if intercept else 0.0)
    mean = cvxpy.sum(cvxpy.log_sum_exp(scores, axis=1)) - cvxpy.sum(cvxpy.multiply(y, scores))
    objective = mean / len(y) + ridge / 2 * cvxpy.sum_squares(b) + lam * cvxpy.sum(cvxpy.abs(b))
    program = cvxpy.Problem(cvxpy.Minimize(objective))
    program.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return program.value


def rows(*features):
    return [R * feature + k for feature in features for k in range(R)]


def test_the_contract_holds():
    check_loss("multinomial")


def test_a_ridge_fit_is_that_of_scikit_learn():
    peer = LogisticRegression(C=1 / (N * 0.1), tol=1e-12, max_iter=10_000).fit(X, CLASS)
    found = bound(ridge=0.1, intercept=True).minimise(range(P * R))
    assert found.converged
    np.testing.assert_allclose(found.params[: P * R].reshape(P, R), peer.coef_.T, atol=1e-6)
    np.testing.assert_allclose(found.params[P * R :], peer.intercept_, atol=1e-5)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_a_restricted_minimum_is_that_of_a_conic_program(ridge, intercept):
    loss = bound(ridge=ridge, intercept=intercept)
    for features in ([1], [1, 4], [0, 2, 4]):
        found = loss.minimise(rows(*features))
        assert found.converged
        value = conic(X[:, features], Y, ridge=ridge, intercept=intercept)
        assert found.value == pytest.approx(value, rel=1e-8)
        if not ridge:
            sums = found.params[: P * R].reshape(P, R).sum(axis=1)
            np.testing.assert_allclose(sums, 0.0, atol=1e-10)


def test_a_gain_is_the_best_decrease_along_a_centred_column():
    loss = bound(ridge=0.05, intercept=True)
    fit = loss.fit()
    fit.add([*rows(1), 12])
    gains = fit.gains()
    for place in (0, 7, 14):
        feature, k = divmod(place, R)

        def along(step, feature=feature, k=k, place=place):
            moved = fit.params.copy()
            moved[place] += step
            moved[P * R + k] -= step * X[:, feature].mean()
            return loss.value(moved)

        best = scipy.optimize.minimize_scalar(along, options={"xtol": 1e-12})
        assert gains[place] == pytest.approx(fit.value - best.fun, abs=1e-9)
    assert fit.best_gain() == (int(gains.argmax()), gains.max())


def test_the_l1_path_is_that_of_conic_programs():
    largest = np.abs(bound(intercept=True).minimise([]).gradient[: P * R]).max()
    for lam in (0.5 * largest, 0.1 * largest):
        found = greedyexp.solve("l1_path", X, Y, loss="multinomial", intercept=True, lam=lam)
        assert found.converged
        value = conic(X, Y, lam=lam)
        assert found.objective == pytest.approx(value, rel=1e-8)
        # Far from centred, with the intercepts for the columns as they are.
        moved = X + 100.0 * np.arange(P)
        far = greedyexp.solve("l1_path", moved, Y, loss="multinomial", intercept=True, lam=lam)
        scores = moved @ far.coef + far.intercept
        mean = (scipy.special.logsumexp(scores, axis=1) - scores[range(N), CLASS]).mean()
        assert mean + lam * np.abs(far.coef).sum() == pytest.approx(value, rel=1e-8)


def test_groups_of_coefficients_are_the_best_of_all_supports():
    loss = bound(intercept=True)
    pairs = list(itertools.combinations(range(P), 2))
    best = pairs[int(np.argmin([loss.minimise(rows(*pair)).value for pair in pairs]))]
    given = {"loss": "multinomial", "intercept": True, "unit": "group", "max_groups": 2}
    found = greedyexp.solve("foba_gdt", X, Y, **given)
    assert tuple(np.unique(found.support[:, 0])) == best == (1, 4)
    shifted = greedyexp.solve("foba_gdt", X + 100.0 * np.arange(P), Y, **given)
    np.testing.assert_allclose(shifted.coef, found.coef, atol=1e-7)


def test_a_minimum_exists_as_a_linear_program_says():
    rng = np.random.default_rng(0)
    seen = []
    for _ in range(40):
        design = rng.integers(-1, 2, size=(10, 2)).astype(float)
        label = rng.integers(0, R, size=10)
        y = np.eye(R)[label]
        v = cvxpy.Variable((2, R))
        ahead = [
            (design @ v)[i, label[i]] - (design @ v)[i, k] for i in range(10) for k in range(R)
        ]
        limits = [cvxpy.hstack(ahead) >= 0, cvxpy.abs(v) <= 1]
        program = cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(cvxpy.hstack(ahead))), limits)
        program.solve(solver="CLARABEL")
        found = bind("multinomial", as_problem(design, y)).minimise(range(2 * R))
        assert found.converged == (program.value < 1e-6)
        assert found.converged or "no minimum exists" in found.message
        seen.append(found.converged)
    assert {*seen} == {True, False}


def test_a_class_without_rows_has_no_intercept():
    y = np.column_stack([Y[:, 0], 1 - Y[:, 0], np.zeros(N)])
    found = bound(y, ridge=0.1, intercept=True).minimise([])
    assert not found.converged
    assert found.message == "a class has no rows; there are no optimal intercepts."


@pytest.mark.parametrize("y", [2 * Y, np.column_stack([Y[:, :2], Y[:, 1]]), Y - 0.5])
def test_rows_of_no_class_are_refused(y):
    with pytest.raises(DataError, match="each row must be of exactly one class"):
        greedyexp.solve("foba_gdt", X, y, loss="multinomial", max_features=6)


def test_two_classes_are_those_of_the_logistic_loss():
    """With opposite coefficients of half the size; the ridge on them is then half as large."""
    two = np.where(CLASS == 0, 1.0, -1.0)
    binary = bind("logistic", as_problem(X, two), ridge=0.1, intercept=True).minimise(range(P))
    y = np.column_stack([two > 0, two < 0]).astype(float)
    found = bind("multinomial", as_problem(X, y), ridge=0.2, intercept=True).minimise(range(2 * P))
    assert found.value == pytest.approx(binary.value, rel=1e-10)
    np.testing.assert_allclose(found.params[: 2 * P : 2], binary.params[:P] / 2, atol=1e-7)


def test_an_l1_path_of_tiny_features_ends_without_an_exception():
    rng = np.random.default_rng(3)
    X, y = 1e-8 * rng.standard_normal((60, 8)), np.eye(3)[rng.integers(0, 3, 60)]
    path = registry.find("algorithm", "l1_path").function(
        as_problem(X, y), loss="multinomial", intercept=True, ridge=0.05, n_lams=10
    )
    assert np.isfinite(path.coef).all()
