"""solve with losses: margins with intercepts, chains of words, sparse designs, and bad calls."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from greedyexp import solve
from greedyexp.core.errors import ConfigError, DataError


@pytest.fixture
def classes():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((120, 12)) + 0.5
    margin = 2.0 * X[:, 1] - 1.5 * X[:, 6] + 0.8
    return X, np.where(margin + rng.logistic(size=120) > 0, 1, 0)


@pytest.fixture
def words():
    """Forty words in six chains; symbols that mostly tell the label."""
    rng = np.random.default_rng(9)
    labels = np.array(["rain", "sun", "snow"])[np.sort(rng.integers(0, 3, 40))]
    place = np.unique(labels, return_inverse=True)[1]
    symbols = np.where(rng.random(40) < 0.8, place, rng.integers(0, 5, 40))
    return np.eye(5)[symbols], labels, [7, 9, 1, 8, 10, 5]


def test_an_intercept_is_that_of_scikit_learn(classes):
    X, y = classes
    fit = solve("foba_gdt", X, y, loss="logistic", ridge=0.05, intercept=True, max_features=2)
    assert fit.support.tolist() == [1, 6]
    model = LogisticRegression(C=1 / (120 * 0.05), tol=1e-10).fit(X[:, [1, 6]], y)
    assert np.allclose(fit.coef[fit.support], model.coef_[0], atol=1e-6)
    assert fit.intercept == pytest.approx(model.intercept_[0], abs=1e-6)
    assert fit.dense.tolist() == [fit.intercept]
    assert (fit.classes, fit.transitions) == ((), None)
    assert solve("foba_gdt", X, y, loss="logistic", max_features=2).intercept == 0.0
    assert solve("omp", X, y, n_atoms=2).intercept == 0.0


def test_history_has_the_steps_of_an_algorithm_that_tells_them(classes):
    X, y = classes
    fit = solve("foba_gdt", X, y, max_features=3)
    assert fit.history["step"].tolist() == list(range(1, len(fit.history) + 1))
    assert set(fit.history["action"]) <= {"add", "remove"}
    taken = set()
    for row in fit.history.itertuples():
        (taken.add if row.action == "add" else taken.remove)(row.feature)
    assert taken == set(fit.support.tolist())
    assert fit.history["objective"].iloc[-1] == fit.objective


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("intercept", [False, True])
def test_cross_validation_compares_the_loss_left_out(classes, loss, intercept):
    X, y = classes[0][:40], classes[1][:40]
    given = {"loss": loss, "ridge": 0.05, "intercept": intercept}
    fit = solve("foba_gdt", X, y, tuning="cv", folds=4, seed=3, max_features=5, **given)
    order = np.random.default_rng(3).permutation(40)
    errors = np.zeros(5)
    for _, held in KFold(4).split(order):
        left = np.sort(order[held])
        rest = np.setdiff1d(np.arange(40), left)
        for size in range(1, 6):
            one = solve("foba_gdt", X[rest], y[rest], max_features=size, **given)
            margin = X[left] @ one.coef + one.intercept
            if loss == "logistic":
                errors[size - 1] += np.log1p(np.exp(np.where(y[left], -1, 1) * margin)).sum()
            else:
                errors[size - 1] += ((y[left] - margin) ** 2).sum()
    assert len(fit.support) == np.argmin(errors) + 1


def likelihood(weights, X, place, chains, ridge, r):
    """Mean over words of the negative log-likelihood of chains, by sums over all paths."""
    p = X.shape[1]
    W, rest = weights[: p * r].reshape(p, r), weights[p * r :]
    start, end, step = rest[:r], rest[r : 2 * r], rest[2 * r :].reshape(r, r)
    total, first = 0.0, 0
    for length in chains:
        scores, path = X[first : first + length] @ W, place[first : first + length]
        forward = start + scores[0]
        for row in scores[1:]:
            forward = np.logaddexp.reduce(forward[:, None] + step, axis=0) + row
        total += np.logaddexp.reduce(forward + end)
        total -= start[path[0]] + end[path[-1]] + scores[np.arange(length), path].sum()
        total -= step[path[:-1], path[1:]].sum()
        first += length
    return total / len(place) + ridge / 2 * weights @ weights


@pytest.mark.parametrize("kind", [np.asarray, sparse.csc_array, sparse.coo_matrix])
def test_chains_take_labels_of_any_kind_and_give_back_their_names(words, kind):
    X, labels, chains = words
    fit = solve("foba_gdt", kind(X), labels, chains=chains, loss="crf", ridge=0.02, max_features=4)
    assert fit.classes == ("rain", "snow", "sun")
    assert fit.coef.shape == (5, 3)
    assert np.array_equal(fit.support, np.argwhere(fit.coef))
    assert len(fit.support) == 4
    assert fit.transitions.shape == (3, 3)
    assert np.array_equal(fit.dense[6:].reshape(3, 3), fit.transitions)
    assert fit.intercept == 0.0
    place = np.unique(labels, return_inverse=True)[1]
    free = np.concatenate([(fit.coef != 0).ravel(), np.ones(15, bool)])

    def objective(weights):
        whole = np.zeros(30)
        whole[free] = weights
        return likelihood(whole, X, place, chains, 0.02, 3)

    best = minimize(objective, np.zeros(free.sum()), method="BFGS", options={"gtol": 1e-7})
    assert fit.objective == pytest.approx(best.fun, abs=1e-9)
    found = np.concatenate([fit.coef[fit.coef != 0], fit.dense])
    assert np.allclose(found, best.x, atol=1e-4)


def test_chains_are_the_same_whatever_the_labels_are_called(words):
    X, labels, chains = words
    given = {"chains": chains, "loss": "crf", "ridge": 0.02, "max_features": 3}
    one = solve("foba_gdt", X, labels, **given)
    place = np.unique(labels, return_inverse=True)[1]
    for other in (place, list(labels), labels.astype(object), tuple(place + 10), place - 5.0):
        assert np.array_equal(solve("foba_gdt", X, other, **given).coef, one.coef)
    assert np.array_equal(solve("foba_gdt", X.tolist(), place, **given).coef, one.coef)
    assert solve("foba_gdt", X, place + 10, **given).classes == ("10", "11", "12")


def test_sparse_designs_give_what_dense_ones_give(classes):
    X, y = classes
    X = np.where(X > 0.7, X, 0.0)
    for loss in ("squared", "logistic"):
        given = {"loss": loss, "ridge": 0.01, "max_features": 4, "intercept": True}
        one = solve("foba_gdt", X, y, **given)
        two = solve("foba_gdt", sparse.csr_array(X), y, **given)
        assert np.array_equal(one.support, two.support)
        assert np.allclose(one.coef, two.coef, atol=1e-8)


CRF = {"loss": "crf", "ridge": 0.1}


@pytest.mark.parametrize(
    ("change", "error", "words_said"),
    [
        ({"chains": None}, ConfigError, "a model of chains needs their lengths. Give the number"),
        ({"chains": []}, DataError, "chains must be a list of whole numbers"),
        ({"chains": [20.0, 20.0]}, DataError, "chains must be a list of whole numbers"),
        ({"chains": 40}, DataError, "chains must be a list of whole numbers"),
        ({"chains": [[20, 20]]}, DataError, "chains must be a list of whole numbers"),
        ({"chains": [[1, 2], [3]]}, DataError, "chains must be a list of whole numbers"),
        ({"chains": [40, 0]}, DataError, "^chain 1 has 0 words. Leave out"),
        ({"chains": [20, 19]}, DataError, "have 39 words in all, but X has 40 rows"),
        ({"y": ["rain"] * 40}, DataError, "all words have the label rain"),
        ({"y": ["rain"] * 39}, DataError, "X has 40 rows but y has 39 labels"),
        ({"y": [1.0, np.nan] * 20}, DataError, "must be a number or a text"),
        ({"y": [None, 1] * 20}, DataError, "different kinds"),
        ({"y": np.ones((40, 2))}, DataError, "one label for each word"),
        ({"X": [np.ones((40, 2))] * 2}, DataError, "one design for all classes"),
        ({"X": [sparse.eye_array(40, 2)] * 2}, DataError, "one design for all classes"),
        ({"loss": "squared"}, ConfigError, "'chains' requires a model of chains. Give loss='crf'"),
        ({"intercept": True}, ConfigError, "intercept"),
        ({"tuning": "cv"}, DataError, "cannot split chains of words"),
        ({"max_features": 16}, (ConfigError, DataError), "16 is more than the 15 features"),
    ],
)
def test_bad_chains_get_a_sentence(words, change, error, words_said):
    X, labels, chains = words
    call = {"X": X, "y": labels, "chains": chains, **CRF, **change}
    with pytest.raises(error, match=words_said):
        solve("foba_gdt", call.pop("X"), call.pop("y"), **call)


@pytest.mark.parametrize(
    ("change", "error", "words_said"),
    [
        ({"y": np.arange(120) % 3}, DataError, "responses have 3 values"),
        ({"y": np.ones(120)}, DataError, "all responses are 1"),
        ({"y": ["a", "b"] * 60}, DataError, "must contain only numbers"),
        ({"max_features": 13}, (ConfigError, DataError), "13 is more than the 12 features"),
        (
            {"tuning": "theory"},
            ConfigError,
            "needs the true coefficients, which solve\\(\\) does not",
        ),
    ],
)
def test_bad_classes_get_a_sentence(classes, change, error, words_said):
    X, y = classes
    call = {"y": y, "loss": "logistic", "ridge": 0.1, **change}
    with pytest.raises(error, match=words_said):
        solve("foba_gdt", X, call.pop("y"), **call)


def test_separable_classes_without_a_ridge_end_with_a_sentence(classes):
    X, _ = classes
    fit = solve("foba_gdt", X, np.sign(X[:, 3] - 0.5), loss="logistic", intercept=True)
    assert not fit.converged
    assert "separate" in fit.message
    assert np.isfinite(fit.coef).all()


def test_history_has_what_an_algorithm_tells_of_each_estimate():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], size=(80, 6))
    y = X[:, :2] @ [0.5, -0.25] + 0.1 * rng.standard_normal(80)
    fit = solve("forward_greedy", X, y, radius=1.0, epsilon=1e-2, steps=10_000)
    assert fit.converged
    given = ["steps", "support_size", "objective", "converged", "chosen"]
    assert fit.history.columns.tolist()[:5] == given
    assert {"gap", "radius"} <= set(fit.history.columns)
    assert (fit.history["radius"] == 1.0).all()
    chosen = fit.history[fit.history["chosen"]].iloc[0]
    gradient = X.T @ (X @ fit.coef - y) / 80
    gap = gradient @ fit.coef + np.abs(gradient).max()
    assert chosen["gap"] == pytest.approx(gap, abs=1e-12)
    assert chosen["gap"] <= 1e-2 < fit.history["gap"].iloc[-2]
    (best,) = solve("l1_ball", X, y, radius=1.0).history["gap"]
    assert best < 1e-9
