"""solve with iterative methods: they end on a certificate and say so."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso

import greedyexp
from greedyexp import algorithm
from greedyexp.core.errors import ConfigError
from greedyexp.estimates.iteration import SteppedIteration


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 20))
    return X, X[:, :4].sum(axis=1) + 0.5 * rng.standard_normal(60)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("proximal_gradient", {}),
        ("rmp", {}),
        ("proximal_gs_coordinate_descent", {"smoothness": "l2"}),
        ("proximal_gs_coordinate_descent", {"smoothness": "l1"}),
    ],
)
def test_penalised_methods_end_at_the_lasso(data, name, params):
    X, y = data
    fit = greedyexp.solve(name, X, y, lam=0.2, **params)
    assert fit.converged
    assert fit.message == ""
    peer = Lasso(alpha=0.2, fit_intercept=False, tol=1e-14, max_iter=10**6).fit(X, y)
    assert fit.coef == pytest.approx(peer.coef_, abs=1e-4)
    assert np.array_equal(fit.support, np.flatnonzero(peer.coef_))
    least = np.sum((X @ peer.coef_ - y) ** 2) / 120 + 0.2 * np.abs(peer.coef_).sum()
    assert 0 <= fit.objective - least + 1e-13 <= 1e-10 * (y @ y) / 120
    history = fit.history
    assert history.columns.tolist() == ["iteration", "objective", "support_size"]
    assert history["iteration"].tolist()[:3] == [0, 1, 2]
    assert history["objective"].iloc[0] == pytest.approx(y @ y / 120)
    assert history["objective"].iloc[-1] == fit.objective
    assert history["support_size"].iloc[-1] == len(fit.support)


@pytest.mark.parametrize("name", ["gradient_descent", "gs_coordinate_descent"])
def test_unpenalised_methods_end_at_least_squares(data, name):
    X, y = data
    fit = greedyexp.solve(name, X, y)
    assert fit.converged
    exact, *_ = np.linalg.lstsq(X, y, rcond=None)
    assert fit.coef == pytest.approx(exact, abs=1e-8)
    slope = np.abs(X.T @ (y - X @ fit.coef)).max()
    assert slope <= 1e-10 * np.linalg.norm(X, axis=0).max() * np.linalg.norm(y)
    # Looked at by doubling: half as many iterations were too few.
    half = greedyexp.solve(name, X, y, iterations=int(fit.history["iteration"].iloc[-2]))
    assert not half.converged


def test_spent_iterations_are_told(data):
    X, y = data
    fit = greedyexp.solve("gradient_descent", X, y, iterations=5)
    assert not fit.converged
    assert fit.history["iteration"].tolist() == [0, 1, 2, 4, 5]
    assert fit.message.startswith("After 5 iterations the correlation of a feature with the resid")
    assert fit.message.endswith("above tol = 1e-10.")
    fit = greedyexp.solve("rmp", X, y, lam=0.01, iterations=3, tol=1e-6)
    assert fit.message.startswith("After 3 iterations the duality gap is ")
    assert fit.message.endswith("above tol = 1e-06.")
    assert greedyexp.solve("rmp", X, y, lam=0.01, iterations=3, tol=0.9).converged


def test_nothing_to_do_takes_no_step(data):
    X, y = data
    largest = np.abs(X.T @ y).max() / 60
    fit = greedyexp.solve("rmp", X, y, lam=1.01 * largest)
    assert fit.converged
    assert fit.history["iteration"].tolist() == [0]
    assert len(fit.support) == 0
    assert greedyexp.solve("gradient_descent", X, np.zeros(60)).history["iteration"].max() == 0


def test_a_method_in_trouble_ends_and_says_why(data):
    X, y = data

    class Doubtful(SteppedIteration):
        def step(self, coef):
            self.trouble = "Step 1 has no certificate."
            return coef

    @algorithm("solve_doubtful", yields="iterates")
    def doubtful(problem):
        return Doubtful(problem.X[0], problem.y[0])

    fit = greedyexp.solve("solve_doubtful", X, y)
    assert not fit.converged
    assert fit.history["iteration"].tolist() == [0, 1]
    assert fit.message.startswith("Step 1 has no certificate. After 1 iterations")


@pytest.mark.parametrize(
    ("name", "params", "words"),
    [
        ("rmp", {"lam": 0.1, "iterations": 0}, "^iterations must be at least 1, but is 0.$"),
        ("rmp", {"lam": 0.1, "iterations": 2.5}, "^iterations must be a whole number"),
        ("rmp", {"lam": 0.1, "tol": 0.0}, "^tol must be more than 0, but is 0.$"),
        ("rmp", {"lam": 0.1, "tol": "x"}, "^tol must be a number, but is .x.\\.$"),
        ("rmp", {"lam": -0.1}, "lam must be at least 0"),
        ("rmp", {"lam": 0.1, "tuning": "cv"}, "has no path to tune"),
        ("omp", {"iterations": 5}, "no parameter 'iterations'"),
        ("solve_constant", {}, "computes a constant, not a solution. Run an experiment with"),
    ],
)
def test_bad_calls_get_a_sentence(data, name, params, words):
    @algorithm("solve_constant", yields="constant")
    def constant(problem):
        return 1.0

    with pytest.raises(ConfigError, match=words):
        greedyexp.solve(name, *data, **params)


def test_tol_of_a_path_is_still_its_own(data):
    X, y = data
    assert greedyexp.solve("lasso", X, y, lam=0.1, tol=1e-3).converged
    with pytest.raises(ConfigError, match=r"^algorithm 'lasso': tol must be"):
        greedyexp.solve("lasso", X, y, lam=0.1, tol=2.0)
