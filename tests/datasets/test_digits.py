"""The digits as a problem: splits, scaling that no test row has a say in, classification errors."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from coef_paths import path_of_coef
from sklearn.metrics import accuracy_score, recall_score
from sklearn.preprocessing import StandardScaler
from test_datasets import real

from greedyexp import config as experiment
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.generators import digits_mfeat as module
from greedyexp.generators.digits_mfeat import digits_mfeat
from greedyexp.metrics.classification import (
    argmax_error,
    argmax_variance,
    one_vs_rest_error,
    one_vs_rest_variance,
)
from greedyexp.problems.problem import Problem
from greedyexp.protocols import fitting
from greedyexp.protocols.base import Setup
from greedyexp.protocols.recovery import recovery

METRICS = (one_vs_rest_error, one_vs_rest_variance, argmax_error, argmax_variance)
PER_DIGIT = 30


def raw():
    """Features that tell the ten classes apart, the last one the number of the row."""
    labels = np.repeat(np.arange(10), PER_DIGIT)
    rng = np.random.default_rng(4)
    X = rng.normal(5.0, 3.0, (10, 12))[labels] + rng.normal(0, 2.0, (len(labels), 12))
    return np.column_stack([X, np.arange(len(labels))]), labels


def stub(monkeypatch, X, labels):
    X.flags.writeable = labels.flags.writeable = False
    monkeypatch.setattr(module, "load", lambda: (X, labels))


@pytest.fixture
def drawn(monkeypatch):
    """A problem from known rows, and those that are fitted to and held out."""
    X, labels = raw()
    stub(monkeypatch, X, labels)
    problem = digits_mfeat(np.random.default_rng(11), samples_per_digit=8)
    # The last feature is the number of the row, shifted and scaled.
    numbers = np.concatenate([problem.X[0][:, -1], problem.X_test[0][:, -1]])
    order = np.argsort(np.argsort(numbers))
    return problem, X, labels, order[:80], order[80:]


def test_every_digit_has_its_rows_and_the_rest_is_for_testing(drawn):
    problem, _, labels, train, test = drawn
    assert sorted([*train, *test]) == list(range(300))
    assert np.bincount(labels[train]).tolist() == [8] * 10
    assert problem.facts == {"n_samples": 80, "n_test": 220, "constant_features": 0}
    assert problem.shared_design
    assert all(X is problem.X_test[0] for X in problem.X_test)
    for digit in range(10):
        assert np.allclose(problem.y[digit], (labels[train] == digit) - 0.1)
        assert np.allclose(problem.y_test[digit], (labels[test] == digit) - 0.1)


def test_the_scaling_is_that_of_the_rows_fitted_to(drawn):
    problem, X, _, train, test = drawn
    scaler = StandardScaler().fit(X[train])
    assert np.allclose(problem.X[0], scaler.transform(X[train]), rtol=0, atol=1e-12)
    assert np.allclose(problem.X_test[0], scaler.transform(X[test]), rtol=0, atol=1e-12)


def test_splits_differ_between_replicates_and_are_uniform(monkeypatch):
    stub(monkeypatch, *raw())
    one, same, other = (
        digits_mfeat(np.random.default_rng(seed), samples_per_digit=8) for seed in (1, 1, 2)
    )
    assert np.array_equal(one.X[0], same.X[0])
    assert not np.array_equal(one.X[0], other.X[0])
    labels = raw()[1]
    counts = np.zeros(300)
    for seed in range(600):
        train, _ = module._split(np.random.default_rng(seed), labels, 8)
        counts[train] += 1
    # 8 of 30 without replacement in each of 600 draws.
    expected = 600 * 8 / 30
    z = (counts - expected) / np.sqrt(expected * (1 - 8 / 30))
    assert np.abs(z).max() < 4.5
    assert 0.8 < z.std() < 1.2


@pytest.mark.parametrize(
    ("name", "params"),
    [("lasso", {"n_lams": 12}), ("greedy_dirty", {"w": [2.0, 5.0]}), ("omp", {"n_atoms": 6})],
)
def test_nothing_that_is_fitted_depends_on_the_rows_held_out(monkeypatch, name, params):
    X, labels = raw()
    stub(monkeypatch, X, labels)
    honest = digits_mfeat(np.random.default_rng(11), samples_per_digit=8)
    _, held = module._split(np.random.default_rng(11), labels, 8)
    changed = X.copy()
    changed[held] = np.random.default_rng(0).normal(1e3, 1e4, (len(held), X.shape[1]))
    stub(monkeypatch, changed, labels)
    spoilt = digits_mfeat(np.random.default_rng(11), samples_per_digit=8)
    assert np.array_equal(honest.X[0], spoilt.X[0])
    assert all(map(np.array_equal, honest.y, spoilt.y))
    assert not np.array_equal(honest.X_test[0], spoilt.X_test[0])
    part = registry.find("algorithm", name)
    seen = []
    for problem in (honest, spoilt):
        rng = np.random.default_rng(3)
        path, chosen = fitting.cross_validated(part, problem, params, folds=4, rng=rng)
        point = {name: values[chosen] for name, values in path.grid.items()}
        seen.append((chosen, point, path.coef[chosen].tobytes()))
        metrics = tuple(registry.find("metric", metric.__name__) for metric in METRICS)
        setup = Setup("cv", 4, metrics, np.random.default_rng(3))
        outcome = recovery(problem, part, params, setup)
        assert outcome.rows[0]["argmax_error"] == argmax_error(problem, path.take([chosen]))
    assert seen[0] == seen[1]
    assert np.count_nonzero(np.frombuffer(seen[0][2])) > 0


# --- features without information -------------------------------------------------------------

FITS = {
    "greedy_dirty": {"w": [1.5, 6.0]},
    "lasso": {"n_lams": 8},
    "group_lasso": {"n_lams": 8},
    "dirty_lasso": {"n_lams": 8, "ratio": [2.0, 6.0]},
    "omp": {"n_atoms": 8},
    "group_omp": {"n_rows": 8},
}


@pytest.mark.parametrize("name", FITS)
def test_a_feature_constant_on_the_rows_fitted_to_is_zero_and_changes_no_fit(monkeypatch, name):
    X, labels = raw()
    _, test = module._split(np.random.default_rng(11), labels, 8)
    # Not a constant: it is one only on the rows that are fitted to. 0.1 has no exact mean.
    flat = np.full(len(X), 0.1)
    flat[test] = np.arange(len(test))
    stub(monkeypatch, np.insert(X, 5, flat, axis=1), labels)
    problem = digits_mfeat(np.random.default_rng(11), samples_per_digit=8)
    assert problem.facts["constant_features"] == 1
    assert not problem.X[0][:, 5].any()
    assert not problem.X_test[0][:, 5].any()
    part = registry.find("algorithm", name)
    stub(monkeypatch, X, labels)
    without = digits_mfeat(np.random.default_rng(11), samples_per_digit=8)
    with_zero, plain = (part.function(one, **FITS[name]) for one in (problem, without))
    assert np.isfinite(with_zero.coef).all()
    assert not with_zero.coef[:, 5].any()
    assert with_zero.converged.all()
    kept = np.delete(with_zero.coef, 5, axis=1)
    assert kept.shape == plain.coef.shape
    assert np.allclose(kept, plain.coef, atol=1e-6)


# --- metrics ----------------------------------------------------------------------------------


def test_errors_are_those_of_scikit_learn(drawn):
    problem, _, labels, _, test = drawn
    truth = labels[test]
    rng = np.random.default_rng(8)
    least_squares = np.linalg.lstsq(problem.X[0], np.stack(problem.y, axis=1), rcond=None)[0]
    coef = least_squares + 0.1 * rng.normal(size=(15, *least_squares.shape))
    found = [metric(problem, path_of_coef(coef)) for metric in METRICS]
    assert all(values.shape == (15,) for values in found)
    for at in range(15):
        predicted = problem.X_test[0] @ coef[at] + 0.1
        single = [
            1 - accuracy_score(truth == digit, predicted[:, digit] > 0.5) for digit in range(10)
        ]
        classes = predicted.argmax(axis=1)
        recalls = recall_score(truth, classes, average=None)
        expected = (
            np.mean(single),
            np.var(single, ddof=1),
            1 - accuracy_score(truth, classes),
            np.var(1 - recalls, ddof=1),
        )
        assert np.allclose([values[at] for values in found], expected)
    assert 0.05 < found[2].mean() < 0.85


def two_tasks(y_test=((1.0, -1.0, -1.0), (-1.0, 1.0, 1.0))):
    """Three test rows, one feature for each task, labels -1 and 1 that are not centred."""
    X = np.eye(2)
    rows = np.array([[0.5, 0.4], [0.2, -0.1], [-0.3, -0.2]])
    fitted = (np.array([1.0, -1.0]), np.array([-1.0, 1.0]))
    tested = tuple(map(np.array, y_test))
    return Problem((X, X), fitted, X_test=(rows, rows), y_test=tested)


def test_errors_by_hand():
    problem = two_tasks()
    # Predictions of task 0: .5 .2 -.3, of task 1: .4 -.1 -.2; the midpoint is 0.
    assert one_vs_rest_error(problem, path_of_coef(np.eye(2))) == pytest.approx((1 / 3 + 1) / 2)
    assert one_vs_rest_variance(problem, path_of_coef(np.eye(2))) == pytest.approx(2 / 9)
    assert argmax_error(problem, path_of_coef(np.eye(2))) == pytest.approx(1 / 3)
    assert argmax_variance(problem, path_of_coef(np.eye(2))) == pytest.approx(1 / 8)
    assert argmax_error(problem, path_of_coef(np.zeros((2, 2)))) == pytest.approx(2 / 3)


def test_classes_are_compared_on_the_scale_of_each_response():
    problem = two_tasks()
    # Task 1 in other units: coefficients a hundred times as large mean the same.
    scaled = replace(
        problem,
        y=(problem.y[0], 100 * problem.y[1] + 7),
        y_test=(problem.y_test[0], 100 * problem.y_test[1] + 7),
    )
    coef = np.diag([1.0, 100.0])
    centred = replace(
        scaled, y=(scaled.y[0], scaled.y[1] - 7), y_test=(scaled.y_test[0], scaled.y_test[1] - 7)
    )
    for metric in METRICS:
        assert metric(centred, path_of_coef(coef)) == pytest.approx(
            metric(problem, path_of_coef(np.eye(2)))
        )


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (two_tasks(((1, -1, -1), (1, 1, 1))), "every test row must belong to one class"),
        (two_tasks(((-1, -1, -1), (-1, 1, 1))), "every test row must belong to one class"),
        (two_tasks(((-1, -1, -1), (1, 1, 1))), "every class needs a row"),
    ],
)
def test_rows_that_are_not_of_one_class_are_refused(problem, words):
    for metric in (argmax_error, argmax_variance):
        with pytest.raises(DataError, match=words):
            metric(problem, path_of_coef(np.eye(2)))


def test_other_refusals():
    problem = two_tasks()
    apart = replace(problem, X_test=(problem.X_test[0], problem.X_test[0].copy()))
    with pytest.raises(DataError, match="share the rows"):
        argmax_error(apart, path_of_coef(np.eye(2)))
    constant = replace(problem, y=(np.zeros(2), problem.y[1]))
    with pytest.raises(DataError, match="task 0 is constant"):
        one_vs_rest_error(constant, path_of_coef(np.eye(2)))


CONFIG = """
name: wrong
seed: 1
data: {generator: file, path: data.npz, test_fraction: 0.2}
trials: 1
algorithms: [{lasso: {tuning: cv}}]
metrics: [argmax_error]
"""


def test_data_without_labels_are_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.savez("data.npz", X=rng.normal(size=(30, 3)), y=rng.normal(size=(30, 2)))
    (tmp_path / "wrong.yaml").write_text(CONFIG)
    with pytest.raises(ConfigError, match="'argmax_error' needs class labels as responses but"):
        experiment.load(tmp_path / "wrong.yaml")


@pytest.mark.parametrize("samples", [1, 200, 2.5])
def test_impossible_sample_sizes_are_refused(samples):
    with pytest.raises(ValueError, match="samples_per_digit"):
        registry.find("generator", "digits_mfeat").parameters(samples_per_digit=samples)


# --- the real digits --------------------------------------------------------------------------


@real
def test_the_lasso_reads_real_digits():
    problem = digits_mfeat(np.random.default_rng(0), samples_per_digit=20)
    assert problem.X[0].shape == (200, 649)
    assert problem.X_test[0].shape == (1800, 649)
    fit = partial(registry.find("algorithm", "lasso").function, problem)
    path = fit(lam=[0.02])
    assert path.converged.all()
    assert argmax_error(problem, path)[0] < 0.08
    assert one_vs_rest_error(problem, path)[0] < 0.03
    files = registry.find("generator", "digits_mfeat").reads(samples_per_digit=20)
    assert len(files) == 6
