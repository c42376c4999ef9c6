"""Metrics of greedy selection against hand calculations and scikit-learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import accuracy_score, f1_score, zero_one_loss

from greedyexp.core.errors import DataError
from greedyexp.core.registry import find
from greedyexp.estimates.path import Path
from greedyexp.losses.crf import CrfLoss
from greedyexp.losses.squared import SquaredLoss
from greedyexp.problems.problem import Problem
from greedyexp.protocols.fitting import measure


def path_of(coef, **known) -> Path:
    coef = np.asarray(coef, dtype=float)
    coef = coef[..., None] if coef.ndim == 2 else coef
    m = len(coef)
    return Path(coef, {}, np.arange(m, dtype=float), np.ones(m, bool), **known)


def measured(name, problem, path) -> np.ndarray:
    return measure(find("metric", name), problem, path)


@pytest.fixture
def regression() -> Problem:
    rng = np.random.default_rng(3)
    truth = np.zeros((6, 1))
    truth[[1, 4]] = [[2.0], [-1.0]]
    X = rng.standard_normal((40, 6))
    return Problem((X,), (X @ truth[:, 0] + rng.standard_normal(40),), truth)


def test_f_measure_is_that_of_scikit_learn(regression):
    rng = np.random.default_rng(0)
    coef = rng.standard_normal((30, 6, 1)) * (rng.random((30, 6, 1)) < 0.4)
    expected = [f1_score(regression.truth[:, 0] != 0, one[:, 0] != 0) for one in coef]
    assert np.allclose(measured("f_measure", regression, path_of(coef)), expected)
    nothing = replace(regression, truth=np.zeros((6, 1)))
    assert measured("f_measure", nothing, path_of(np.zeros((1, 6)))) == [1.0]
    assert measured("f_measure", nothing, path_of(np.eye(6)[:1])) == [0.0]


@pytest.mark.parametrize("named", [True, False])
def test_relative_error_is_to_least_squares_on_the_true_support(regression, named):
    X, y = regression.X[0], regression.y[0]
    best = np.zeros(6)
    best[[1, 4]] = np.linalg.lstsq(X[:, [1, 4]], y, rcond=None)[0]
    estimates = np.stack([best, np.zeros(6), best + np.eye(6)[0]])
    path = path_of(estimates, loss=SquaredLoss(X, y) if named else None)
    expected = [0.0, 1.0, 1 / np.linalg.norm(best)]
    assert np.allclose(measured("relative_error", regression, path), expected, atol=1e-9)


def test_relative_error_excludes_the_intercept_and_includes_the_ridge(regression):
    X, y = regression.X[0] + 3.0, regression.y[0] + 7.0
    loss = SquaredLoss(X, y, ridge=0.3, intercept=True)
    inside = X[:, [1, 4]] - X[:, [1, 4]].mean(axis=0)
    normal = inside.T @ inside / 40 + 0.3 * np.eye(2)
    norm = np.linalg.norm(np.linalg.solve(normal, inside.T @ (y - y.mean()) / 40))
    best = np.zeros(6)
    best[[1, 4]] = np.linalg.solve(normal, inside.T @ (y - y.mean()) / 40)
    path = path_of([best + np.eye(6)[2]], loss=loss, dense=np.array([[99.0]]))
    assert measured("relative_error", regression, path)[0] == pytest.approx(1 / norm)


def test_relative_error_without_a_true_feature_is_zero_or_an_error(regression):
    nothing = replace(regression, truth=np.zeros((6, 1)))
    assert measured("relative_error", nothing, path_of(np.zeros((2, 6)))).tolist() == [0.0, 0.0]
    with pytest.raises(DataError, match="coefficients on the true support are all zero"):
        measured("relative_error", nothing, path_of(np.eye(6)[:1]))


def test_relative_error_of_several_tasks_takes_each_by_itself():
    rng = np.random.default_rng(8)
    X = tuple(rng.standard_normal((n, 4)) for n in (20, 30))
    truth = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0], [0.0, 0.0]])
    y = tuple(Xj @ truth[:, j] + rng.standard_normal(len(Xj)) for j, Xj in enumerate(X))
    best = np.zeros((4, 2))
    for j in range(2):
        inside = np.flatnonzero(truth[:, j])
        best[inside, j] = np.linalg.lstsq(X[j][:, inside], y[j], rcond=None)[0]
    path = path_of((best + 1.0)[None])
    expected = np.sqrt(8) / np.linalg.norm(best)
    assert measured("relative_error", Problem(X, y, truth), path)[0] == pytest.approx(expected)


def test_objectives_are_a_mean_and_a_sum_over_samples(regression):
    loss = SquaredLoss(regression.X[0], regression.y[0])
    path = path_of(np.zeros((3, 6)), loss=loss)
    assert measured("objective", regression, path).tolist() == [0, 1, 2]
    assert measured("total_objective", regression, path).tolist() == [0, 40, 80]
    with pytest.raises(DataError, match="names its loss"):
        measured("total_objective", regression, replace(path, loss=None))


def test_steps_are_those_that_the_path_reports(regression):
    facts = {"additions": np.array([1, 3]), "removals": np.array([0, 1])}
    path = path_of(np.zeros((2, 6)), facts=facts)
    assert measured("additions", regression, path).tolist() == [1, 3]
    assert measured("removals", regression, path).tolist() == [0, 1]
    with pytest.raises(DataError, match=r"metric 'removals' needs .* counts its steps"):
        measured("removals", regression, replace(path, facts={}))


@pytest.fixture
def labelled() -> Problem:
    """Rows 0, 1 and 2 hold no feature; most training rows are of class -1."""
    rng = np.random.default_rng(5)
    X = (rng.random((60, 5)) < 0.3) * rng.integers(1, 4, (60, 5)).astype(float)
    X[:3] = 0.0
    y = np.where(rng.random(60) < 0.3, 1.0, -1.0)
    y[:3] = [1, 1, -1]
    held = X[:40].copy()
    return Problem((X,), (y,), X_test=(held,), y_test=(-y[:40],))


@pytest.mark.parametrize("sparse_design", [False, True])
def test_errors_of_two_classes_by_both_readings(labelled, sparse_design):
    if sparse_design:
        designs = {n: (sparse.csr_array(getattr(labelled, n)[0]),) for n in ("X", "X_test")}
        labelled = replace(labelled, **designs)
    coef = np.array([[0, 0, 0, 0, 0], [1, -1, 0, 0, 0], [0.3, 0, -0.2, 1, 1]], dtype=float)
    path = path_of(coef)
    for part, X, y in (
        ("training", labelled.X[0], labelled.y[0]),
        ("test", labelled.X_test[0], labelled.y_test[0]),
    ):
        for point, one in enumerate(coef):
            margin = X @ one
            half = zero_one_loss(y, np.where(margin > 0, 1, -1))
            other = zero_one_loss(y, np.where(margin >= 0, 1, -1))
            found = measured(f"{part}_sign_error", labelled, path)[point]
            assert found == pytest.approx((half + other) / 2)
            # Most training rows are -1, whatever the majority of the test rows is.
            found = measured(f"{part}_majority_error", labelled, path)[point]
            assert found == pytest.approx(1 - accuracy_score(y, np.where(margin > 0, 1, -1)))
    assert measured("test_sign_error", labelled, path)[0] == 0.5


def test_ties_go_to_the_class_of_most_training_rows(labelled):
    path = path_of(np.zeros((1, 5)))
    share = (labelled.y[0] == 1).mean()
    assert share < 0.5
    assert measured("training_majority_error", labelled, path)[0] == pytest.approx(share)
    turned = replace(labelled, y=(-labelled.y[0],), y_test=(-labelled.y_test[0],))
    assert measured("training_majority_error", turned, path)[0] == pytest.approx(share)
    even = replace(labelled, y=(np.tile([1.0, -1.0], 30),), y_test=(np.ones(40),))
    assert measured("test_majority_error", even, path)[0] == 1.0


def test_the_intercept_is_part_of_the_margin(labelled):
    path = path_of(np.zeros((2, 5)), dense=np.array([[-0.5], [0.5]]))
    share = (labelled.y[0] == 1).mean()
    found = measured("training_sign_error", labelled, path)
    assert np.allclose(found, [share, 1 - share])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": (np.tile([0.0, 1.0], 30),)}, "labels -1 and 1, but a row has 0"),
        ({"X": None, "y": None}, "one response, but the data have 2"),
    ],
)
def test_other_labels_than_two_classes_are_an_error(labelled, change, words):
    twice = {"X": labelled.X * 2, "y": labelled.y * 2}
    change = {name: twice[name] if value is None else value for name, value in change.items()}
    with pytest.raises(DataError, match=words):
        measured("training_sign_error", replace(labelled, **change), path_of(np.zeros((1, 5))))


class Decoder(CrfLoss):
    """Marginal labels by the first, sequences by the second dense coefficient."""

    def __init__(self):
        pass

    def decode(self, X, chains, params, how="marginal"):
        assert sum(chains) == X.shape[0]
        return np.full(X.shape[0], int(params[-2 if how == "marginal" else -1]))


@pytest.fixture
def chains() -> Problem:
    labels, held = np.array([0, 1, 2, 1, 1]), np.array([2, 2, 0])
    X, X_test = np.ones((5, 2)), np.ones((3, 2))
    return Problem(
        (X,) * 3,
        tuple((labels == k).astype(float) for k in range(3)),
        X_test=(X_test,) * 3,
        y_test=tuple((held == k).astype(float) for k in range(3)),
        chains=np.array([3, 2]),
        chains_test=np.array([1, 2]),
    )


def test_errors_of_words_are_shares_of_words_by_either_decoding(chains):
    dense = np.array([[1.0, 2.0], [0.0, 0.0]])
    path = path_of(np.zeros((2, 2, 3)), loss=Decoder(), dense=dense)
    assert np.allclose(measured("training_word_error", chains, path), [2 / 5, 4 / 5])
    assert np.allclose(measured("test_word_error", chains, path), [1, 2 / 3])
    assert np.allclose(measured("test_viterbi_error", chains, path), [1 / 3, 2 / 3])
    with pytest.raises(DataError, match="model of chains"):
        measured("test_word_error", chains, replace(path, loss=None))


@pytest.mark.parametrize("name", ["training_error", "test_error", "one_vs_rest_error"])
def test_metrics_are_the_same_for_sparse_designs(labelled, name):
    coef = np.random.default_rng(1).standard_normal((4, 5, 1))
    held = {n: (sparse.csr_array(getattr(labelled, n)[0]),) for n in ("X", "X_test")}
    found = measured(name, replace(labelled, **held), path_of(coef))
    assert np.allclose(found, measured(name, labelled, path_of(coef)))


def test_the_largest_prediction_decides_for_sparse_designs_too(chains):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((3, 2))
    y_test = tuple(np.eye(3))
    coef = rng.standard_normal((4, 2, 3))
    dense = replace(chains, X_test=(X,) * 3, y_test=y_test)
    scattered = replace(dense, X_test=(sparse.csr_array(X),) * 3)
    found = measured("argmax_error", scattered, path_of(coef))
    assert np.array_equal(found, measured("argmax_error", dense, path_of(coef)))


@pytest.mark.parametrize("intercept", [False, True])
def test_margins_of_a_fitted_path_have_its_intercept_or_none(labelled, intercept):
    shifted = replace(labelled, X=(labelled.X[0] + 1.0,))
    part = find("algorithm", "foba_gdt")
    path = part.function(shifted, loss="logistic", ridge=0.1, intercept=intercept, max_features=3)
    constant = path.dense[:, 0] if intercept else np.zeros(len(path))
    margins = shifted.X[0] @ path.coef[:, :, 0].T + constant
    wrong = np.where(margins == 0, 0.5, np.sign(margins) != shifted.y[0][:, None])
    assert np.allclose(measured("training_sign_error", shifted, path), wrong.mean(axis=0))


def test_recovery_is_a_relative_distance(regression):
    near = regression.truth[:, 0] * (1 + 0.999e-3)
    far = regression.truth[:, 0] * (1 + 1.001e-3)
    found = measured("recovered", regression, path_of([near, far, np.zeros(6)]))
    assert found.tolist() == [1, 0, 0]
    # Without a true coefficient, only zero is recovered.
    none = replace(regression, truth=np.zeros((6, 1)))
    assert measured("recovered", none, path_of([np.zeros(6), near])).tolist() == [1, 0]
