"""Losses with an l1 penalty against other libraries, a conic solver and enumeration."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression

from greedyexp.algorithms.lasso.l1_path import l1_path
from greedyexp.algorithms.lasso.lasso import lasso
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.losses.binding import bind
from greedyexp.losses.squared import SquaredLoss
from greedyexp.problems.chains import as_chains
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.solvers.l1_path import L1Fit, QuadraticModel, l1_fit

# The l1 penalty of LogisticRegression, before scikit-learn 1.8 and since.
L1 = {"l1_ratio": 1.0} if LogisticRegression().penalty == "deprecated" else {"penalty": "l1"}


def regression(seed, n, p, correlation=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + np.sqrt(correlation) * rng.standard_normal((n, 1))
    return X, X[:, :4] @ [2.0, -1.0, 1.0, 0.5] + 1.0 + 0.5 * rng.standard_normal(n)


def classes(seed, n, p):
    X, y = regression(seed, n, p)
    return X, np.where(y + 2.0 * np.random.default_rng(seed).standard_normal(n) > 0, 1.0, -1.0)


def words(seed, r=3, p=4, n_chains=12):
    rng = np.random.default_rng(seed)
    chains = rng.integers(1, 5, n_chains)
    X = (rng.random((chains.sum(), p)) < 0.5).astype(float)
    labels = (X @ rng.standard_normal((p, r)) + rng.gumbel(size=(len(X), r))).argmax(axis=1)
    labels[:r] = np.arange(r)
    return X, labels, chains


@pytest.mark.parametrize(("n", "p", "correlation"), [(80, 20, 0.0), (30, 70, 0.0), (60, 40, 9.0)])
@pytest.mark.parametrize("intercept", [False, True])
def test_squared_loss_agrees_with_coordinate_descent_of_scikit_learn(n, p, correlation, intercept):
    X, y = regression(n, n, p, correlation)
    path = l1_path(as_problem(X, y), intercept=intercept, n_lams=8, lam_min_ratio=0.01)
    assert path.converged.all()
    for coef, dense, lam in zip(path.coef, path.dense, path.grid["lam"], strict=True):
        peer = Lasso(alpha=lam, fit_intercept=intercept, tol=1e-13, max_iter=10**6).fit(X, y)
        assert coef[:, 0] == pytest.approx(peer.coef_, abs=1e-5)
        assert dense.sum() == pytest.approx(peer.intercept_, abs=1e-5)


@pytest.mark.parametrize(("n", "p"), [(60, 30), (40, 1500)])
@pytest.mark.parametrize("kind", ["dense", "intercept", "sparse"])
def test_elastic_net_agrees_with_scikit_learn(n, p, kind):
    """On moments and, for many features, on designs."""
    X, y = regression(p, n, p)
    X = np.where(np.abs(X) > 0.7, X + (3.0 if kind == "intercept" else 0.0), 0.0)
    design, ridge = sparse.csr_array(X) if kind == "sparse" else X, 0.2
    free = kind == "intercept"
    path = l1_path(as_problem(design, y), ridge=ridge, intercept=free, n_lams=6, lam_min_ratio=0.05)
    assert path.converged.all()
    assert (path.facts["violation"] < 1e-9 * path.grid["lam"][0]).all()
    for coef, dense, lam, value in zip(
        path.coef, path.dense, path.grid["lam"], path.objective, strict=True
    ):
        peer = ElasticNet(
            lam + ridge, l1_ratio=lam / (lam + ridge), fit_intercept=free, tol=1e-13, max_iter=10**6
        ).fit(X, y)
        assert coef[:, 0] == pytest.approx(peer.coef_, abs=1e-6)
        assert dense.sum() == pytest.approx(peer.intercept_, abs=1e-6)
        left = y - X @ coef[:, 0] - dense.sum()
        whole = left @ left / (2 * n) + ridge / 2 * (coef**2).sum() + lam * np.abs(coef).sum()
        assert value == pytest.approx(whole, rel=1e-12)


def test_squared_loss_agrees_with_the_lasso_to_its_certificate():
    problem = as_problem(*regression(3, 50, 90))
    own, peer = l1_path(problem, n_lams=30), lasso(problem, n_lams=30, tol=1e-12)
    assert own.grid["lam"] == pytest.approx(peer.grid["lam"], rel=1e-12)
    assert own.objective == pytest.approx(peer.objective, rel=1e-10)
    assert own.coef == pytest.approx(peer.coef, abs=1e-6)


@pytest.mark.parametrize(("n", "p"), [(120, 15), (50, 100)])
def test_logistic_loss_agrees_with_scikit_learn(n, p):
    X, y = classes(p, n, p)
    path = l1_path(as_problem(X, y), loss="logistic", n_lams=5, lam_min_ratio=0.02)
    assert path.converged.all()
    for coef, lam in zip(path.coef[1:], path.grid["lam"][1:], strict=True):
        peer = LogisticRegression(
            C=1 / (n * lam),
            **L1,
            fit_intercept=False,
            solver="liblinear",
            tol=1e-10,
            max_iter=10**5,
        ).fit(X, y)
        assert coef[:, 0] == pytest.approx(peer.coef_[0], abs=1e-4)


@pytest.mark.parametrize("intercept", [False, True])
def test_logistic_loss_with_ridge_agrees_with_a_conic_solver(intercept):
    X, y = classes(7, 60, 25)
    ridge = 0.05
    path = l1_path(
        as_problem(X, y), loss="logistic", ridge=ridge, intercept=intercept, lam=[0.1, 0.02]
    )
    for coef, lam, value in zip(path.coef, (0.1, 0.02), path.objective, strict=True):
        b, c = cp.Variable(25), cp.Variable() if intercept else 0.0
        mean = cp.sum(cp.logistic(cp.multiply(-y, X @ b + c))) / 60
        whole = mean + ridge / 2 * cp.sum_squares(b) + lam * cp.norm1(b)
        least = cp.Problem(cp.Minimize(whole)).solve(
            solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11
        )
        assert value == pytest.approx(least, abs=1e-9)
        assert coef[:, 0] == pytest.approx(b.value, abs=1e-4)


def likelihood(X, labels, chains, r, weights, start, end, moves):
    """Mean over words of -log P(labels of each chain), by all labellings of it."""
    total, first = 0.0, 0
    for length in chains:
        scores = X[first : first + length] @ weights

        def score(path, scores=scores):
            own = sum(scores[t, k] for t, k in enumerate(path)) + start[path[0]] + end[path[-1]]
            return own + sum(moves[a, b] for a, b in itertools.pairwise(path))

        everything = [score(path) for path in itertools.product(range(r), repeat=int(length))]
        total += np.logaddexp.reduce(everything) - score(labels[first : first + length])
        first += length
    return total / len(X)


@pytest.mark.parametrize("ridge", [0.0, 0.02])
def test_chains_satisfy_the_optimality_conditions_by_enumeration(ridge):
    r, p = 3, 4
    X, labels, chains = words(11, r, p, n_chains=40)
    path = l1_path(as_chains(X, labels, chains), loss="crf", ridge=ridge, n_lams=4)
    assert path.converged.all()
    counts = np.count_nonzero(path.coef, axis=(1, 2))
    assert counts[0] == 0 < counts[-1]

    def q(params):
        weights, dense = params[: p * r].reshape(p, r), params[p * r :]
        parts = dense[:r], dense[r : 2 * r], dense[2 * r :].reshape(r, r)
        whole = likelihood(X, labels, chains, r, weights, *parts)
        return whole + ridge / 2 * params @ params

    for coef, dense, lam, value in zip(
        path.coef, path.dense, path.grid["lam"], path.objective, strict=True
    ):
        params = np.concatenate((coef.ravel(), dense))
        assert value == pytest.approx(q(params) + lam * np.abs(coef).sum(), rel=1e-12)
        steps = 1e-5 * np.eye(len(params))
        slope = np.array([(q(params + e) - q(params - e)) / 2e-5 for e in steps])
        b, g = params[: p * r], slope[: p * r]
        assert np.abs(slope[p * r :]).max() < 1e-8
        assert np.abs(g + lam * np.sign(b))[b != 0].max(initial=0.0) < 1e-8
        assert np.abs(g[b == 0]).max(initial=0.0) < lam + 1e-8


@settings(deadline=None, derandomize=True, max_examples=25)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["squared", "logistic"]),
    st.integers(4, 30),
    st.sampled_from([1e-3, 1.0, 1e3]),
    st.booleans(),
)
def test_every_point_is_certified_and_optimal(seed, loss, p, unit, intercept):
    X, y = regression(seed, 20, p) if loss == "squared" else classes(seed, 20, p)
    X = X * np.where(np.arange(X.shape[1]) % 2, unit, 1.0)
    if X.shape[1] > 5:
        X[:, 5] = X[:, 1]
        X[:, 4] = 0.0
    path = l1_path(as_problem(X, y), loss=loss, intercept=intercept, n_lams=6)
    assert path.converged.all(), path.message
    for coef, dense, lam in zip(path.coef[..., 0], path.dense, path.grid["lam"], strict=True):
        margin = X @ coef + dense.sum()
        change = margin - y if loss == "squared" else -y / (1 + np.exp(y * margin))
        slope = X.T @ change / 20
        away = np.where(
            coef != 0, np.abs(slope + lam * np.sign(coef)), np.maximum(np.abs(slope) - lam, 0)
        )
        assert away.max() <= 1.1e-8 * path.grid["lam"][0]
        if intercept:
            assert abs(change.mean()) <= 1.1e-8 * path.grid["lam"][0]


def test_sparse_design_gives_what_the_dense_one_gives():
    X, y = classes(5, 40, 12)
    X[np.abs(X) < 0.8] = 0.0
    dense = l1_path(as_problem(X, y), loss="logistic", n_lams=5)
    thin = l1_path(as_problem(sparse.csr_array(X), y), loss="logistic", n_lams=5)
    assert thin.coef == pytest.approx(dense.coef, abs=1e-7)


def test_path_starts_at_the_exact_largest_lam_and_takes_its_grid_back():
    problem = as_problem(*classes(2, 30, 10))
    path = l1_path(problem, loss="logistic", n_lams=4)
    largest = path.grid["lam"][0]
    below = l1_path(problem, loss="logistic", lam=largest * (1 - 1e-6))
    assert not path.coef[0].any()
    assert below.coef.any()
    again = l1_path(problem, loss="logistic", grid={"lam": path.grid["lam"][::-1]})
    assert again.coef == pytest.approx(path.coef[::-1], abs=1e-7)
    assert again.grid["lam"] == pytest.approx(path.grid["lam"][::-1])


def test_path_ends_beyond_its_limits():
    problem = as_problem(*regression(4, 60, 30))
    sizes = np.count_nonzero(l1_path(problem, max_features=6).coef, axis=(1, 2))
    assert sizes[-1] > 6
    assert (sizes[:-1] <= 6).all()
    X, labels, chains = words(1)
    path = l1_path(as_chains(X, labels, chains), loss="crf", ridge=0.01, max_groups=2)
    rows = (path.coef != 0).any(axis=2).sum(axis=1)
    assert rows[-1] > 2
    assert (rows[:-1] <= 2).all()


def test_tells_when_there_is_no_certificate():
    path = l1_path(as_problem(*classes(1, 40, 30)), loss="logistic", lam=1e-3, max_steps=2)
    assert not path.converged.any()
    assert "1 of 1 points violate optimality" in path.message
    assert path.facts["violation"][0] > 0


def test_null_responses_and_users_mistakes():
    X, y = regression(1, 20, 5)
    assert not l1_path(as_problem(X, 0 * y)).coef.any()
    with pytest.raises(ConfigError, match="positive and finite"):
        l1_path(as_problem(X, y), lam=-1.0)
    with pytest.raises(ConfigError, match="no intercept"):
        l1_path(as_chains(*words(1)), loss="crf", intercept=True)
    with pytest.raises(DataError, match="two"):
        l1_path(as_problem(X, y), loss="logistic")


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", ["dense", "sparse", "separable", "duplicates", "large", "small"])
def test_exact_and_learned_second_derivatives_agree(kind, intercept):
    """Newton's method of the kernel against the quasi-Newton method for any loss."""
    X, y = classes(4, 60, 90)
    X = np.where(np.abs(X) > 0.8, X, 0.0)
    if kind == "separable":
        y = np.where(X[:, 0] - X[:, 1] + 0.3 > 0, 1.0, -1.0)
    elif kind == "duplicates":
        X[:, 40:80] = X[:, :40]
    X = X * {"large": 1e6, "small": 1e-6}.get(kind, 1.0)
    design = sparse.csr_array(X) if kind == "sparse" else X
    for ridge in (0.0, 0.01 * np.mean(X**2)):
        loss = bind("logistic", as_problem(design, y), ridge=ridge, intercept=intercept)
        own, peer = l1_fit(loss), L1Fit(loss, loss.minimise(()))
        for part in (0.5, 0.1, 0.01, 0.2):
            lam = part * own.largest
            assert own.follow(lam, 1e-9 * own.largest, 100)
            peer.follow(lam, 1e-7 * own.largest, 400)
            assert own.objective <= peer.objective * (1 + 1e-12)
            value, gradient = loss.value_and_gradient(own.params)
            b = own.params[:90]
            assert own.objective == pytest.approx(value + lam * np.abs(b).sum(), rel=1e-12)
            away = np.where(b != 0, np.abs(gradient[:90] + lam * np.sign(b)), 0.0)
            assert max(away.max(), np.abs(gradient[90:]).max(initial=0)) < 2e-9 * own.largest
            assert np.abs(gradient[:90]).max() < lam + 2e-9 * own.largest


def test_second_derivatives_are_asked_for_once():
    """One evaluation for each coefficient that enters, and a step or two for each lam."""
    X, y = regression(9, 100, 40)
    fit = l1_fit(SquaredLoss(X, y))
    for lam in np.geomspace(fit.largest, fit.largest / 50, 10):
        assert fit.follow(lam, 1e-9 * fit.largest, 100)
    assert fit.evaluations <= 40 + 10 * 6


def test_one_long_chain_with_classes_that_last_takes_few_evaluations():
    """Transitions of such a chain are far stiffer along some directions than along others."""
    rng = np.random.default_rng(3)
    n, r = 3000, 4
    labels = np.repeat(rng.integers(0, r, n // 30), 30)
    labels[:r] = np.arange(r)
    hits = np.eye(r)[labels][:, [0, 1, 2, 3, 0, 1]] * 0.5 + 0.2
    X = (rng.random((n, 6)) < hits).astype(float)
    path = l1_path(as_chains(X, labels, [n]), loss="crf", ridge=1e-5, n_lams=8)
    assert path.converged.all(), path.message
    assert path.coef[-1].any()
    counts = np.diff(path.facts["evaluations"])
    assert counts.max() <= 100
    assert counts.mean() <= 50


def test_model_stays_convex_when_learned_and_fresh_derivatives_disagree():
    model = QuadraticModel(1)
    model.grow(np.array([[1.0]]))
    model.grow(np.array([[3.0], [2.0]]))
    assert np.linalg.eigvalsh(model.hessian)[0] > 0.1
    agreed = QuadraticModel(1)
    agreed.grow(np.array([[1.0]]))
    agreed.grow(np.array([[1.0], [2.0]]))
    assert agreed.hessian == pytest.approx(np.array([[1.0, 1.0], [1.0, 2.0]]), rel=1e-5)


@pytest.mark.filterwarnings("error")
def test_chains_of_one_class_are_refused_or_followed_without_a_warning():
    X = np.random.default_rng(0).standard_normal((220, 3))
    y = (np.ones(220), np.zeros(220), np.zeros(220))
    problem = Problem((X,) * 3, y, chains=np.repeat([20, 1], [10, 20]))
    with pytest.raises(DataError, match="class 1 never occurs, class 2 never occurs"):
        l1_path(problem, loss="crf", n_lams=6)
    # So flat that differences of its gradients are noise, of either sign.
    flat = l1_path(problem, loss="crf", ridge=1e-12, n_lams=6)
    assert len(flat) == 6
    assert l1_path(problem, loss="crf", ridge=1e-6, n_lams=6).converged.all()
    model = QuadraticModel(2)
    model.grow(np.array([[-1e-12, 1e-12], [1e-12, 0.0]]))
    assert np.linalg.eigvalsh(model.hessian)[0] > 0.0


@pytest.mark.parametrize("shift", [1e2, 1e5, 1e9])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_an_intercept_takes_up_large_means(loss, shift):
    rng = np.random.default_rng(5)
    X = np.round(rng.standard_normal((80, 6)), 3)
    y = np.sign(X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(80))
    far = np.column_stack([X + shift, np.full(80, shift)])
    path = l1_path(as_problem(far, y), loss=loss, intercept=True, lam=[0.1, 0.03])
    assert path.converged.all()
    for index, lam in enumerate([0.1, 0.03]):
        hand = {
            "squared": lambda lam: Lasso(lam, tol=1e-12),
            "logistic": lambda lam: LogisticRegression(
                C=1 / (80 * lam), **L1, solver="saga", tol=1e-10, max_iter=100_000
            ),
        }[loss](lam).fit(X, y)
        coef = path.coef[index, :, 0]
        np.testing.assert_allclose(coef[:6], np.ravel(hand.coef_), atol=1e-6)
        assert coef[6] == 0
        at_zero = path.dense[index, 0] + shift * coef[:6].sum()
        assert at_zero == pytest.approx(
            float(np.ravel(hand.intercept_)[0]), abs=1e-15 * shift + 1e-5
        )
    centred = l1_path(as_problem(X, y), loss=loss, intercept=True, lam=[0.1, 0.03])
    np.testing.assert_allclose(path.objective, centred.objective, rtol=1e-7)


def test_few_of_many_violators_enter_at_once():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3000))
    y = X[:, :3] @ [3.0, -3.0, 3.0] + 0.5 * rng.standard_normal(30)
    fit = l1_fit(SquaredLoss(X, y))
    lam = 0.2 * fit.largest
    assert fit.follow(lam, 1e-9 * fit.largest, 60)
    # A coefficient that enters costs an evaluation.
    assert (np.abs(X.T @ y / 30) > lam).sum() > 1000
    assert fit.evaluations < 600
    gradient = X.T @ (X @ fit.params - y) / 30
    assert np.abs(gradient).max() <= lam * (1 + 1e-8)
    assert gradient @ fit.params == pytest.approx(-lam * np.abs(fit.params).sum(), rel=1e-8)
