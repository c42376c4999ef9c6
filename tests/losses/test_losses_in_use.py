"""Counts and classes from a generator, through YAML, the metrics and the estimators."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss, mean_poisson_deviance
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import greedyexp
from greedyexp import estimators
from greedyexp.core import registry
from greedyexp.generators.gaussian import gaussian

COUNTS = {"generator": "gaussian", "n_samples": 200, "p": 30, "sparsity": 3, "response": "counts"}
CLASSES = COUNTS | {"response": "classes", "classes": 3, "signal": 3.0, "n_samples": 300}


def drawn(**given):
    return gaussian(np.random.default_rng(1), p=8, sparsity=2, **given)


def test_counts_have_the_means_of_the_model():
    problem = drawn(n_samples=20_000, response="counts", test_rows=10)
    assert np.linalg.norm(problem.truth) == pytest.approx(1.0)
    assert problem.noise_std is None
    assert (problem.X_test[0].shape, problem.y_test[0].shape) == ((10, 8), (10,))
    X, y = problem.X[0], problem.y[0]
    # The score of the model at the truth has mean zero.
    score = X * (y - np.exp(X @ problem.truth[:, 0]))[:, None]
    assert (np.abs(score.mean(axis=0)) < 5 * score.std(axis=0) / np.sqrt(len(y))).all()


@pytest.mark.parametrize("classes", [2, 4])
def test_classes_have_the_probabilities_of_the_model(classes):
    problem = drawn(n_samples=20_000, response="classes", classes=classes, signal=2.0)
    X = problem.X[0]
    scores = X @ problem.truth
    y = np.stack(problem.y, axis=1)
    if classes == 2:
        scores, y = np.column_stack([scores, 0 * scores]), np.column_stack([y > 0, y < 0])
    else:
        np.testing.assert_allclose(problem.truth.sum(axis=1), 0.0, atol=1e-12)
        assert (y.sum(axis=1) == 1).all()
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    score = X[:, :, None] * (y - shares)[:, None]
    assert (np.abs(score.mean(axis=0)) < 5 * score.std(axis=0) / np.sqrt(len(X))).all()


def test_the_options_of_responses_leave_earlier_data_as_they_are():
    generator = registry.find("generator", "gaussian")
    defaults = {name: f.default for name, f in generator.parameters.model_fields.items()}
    assert not {"response", "signal", "classes", "test_rows"} & set(generator.seeding(defaults))


@pytest.mark.parametrize(
    ("data", "loss", "method"),
    [
        (COUNTS, "poisson", {"foba_obj": {"intercept": True, "max_features": 6}}),
        (COUNTS, "poisson", {"replacement_steps": {"features": 3}}),
        (CLASSES, "multinomial", {"foba_gdt": {"unit": "group", "max_groups": 6}}),
        (CLASSES | {"classes": 2}, "squared_hinge", {"fully_corrective": {"steps": 6}}),
    ],
)
def test_an_experiment_finds_the_planted_support(tmp_path, data, loss, method):
    ((name, params),) = method.items()
    settings = {
        "name": "planted",
        "trials": 3,
        "data": data | {"test_rows": 100},
        "algorithms": [{name: params | {"loss": loss, "tuning": "oracle"}}],
        "metrics": ["f_measure", "test_loss"],
    }
    table = greedyexp.run(settings, out=tmp_path, engine="serial")
    assert (table["status"] == "ok").all()
    assert (table["f_measure"] == 1.0).all()
    assert (table["test_loss"] < 1.0).all()


def test_the_test_loss_is_that_of_scikit_learn():
    metric = registry.find("metric", "test_loss").function
    problem = drawn(n_samples=100, response="counts", test_rows=50)
    path = registry.find("algorithm", "foba_obj").function(problem, loss="poisson", max_features=3)
    means = np.exp(problem.X_test[0] @ path.coef[-1, :, 0])
    deviance = mean_poisson_deviance(problem.y_test[0], means)
    assert metric(problem, path)[-1] == pytest.approx(deviance / 2)

    problem = drawn(n_samples=100, response="classes", classes=3, test_rows=50)
    path = registry.find("algorithm", "l1_path").function(
        problem, loss="multinomial", intercept=True
    )
    scores = np.exp(problem.X_test[0] @ path.coef[-1] + path.dense[-1])
    shares = scores / scores.sum(axis=1, keepdims=True)
    labels = np.argmax(problem.y_test, axis=0)
    assert metric(problem, path)[-1] == pytest.approx(log_loss(labels, shares))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            "data: {generator: gaussian}\nalgorithms: [{foba_obj: {loss: poisson}}]\n"
            "metrics: [f_measure]",
            "needs counts as responses but generator 'gaussian' gives none. Use data with counts,"
            " such as response: counts.",
        ),
        (
            "data: {generator: gaussian}\n"
            "algorithms: [{fully_corrective: {loss: squared_hinge, steps: 2}}]\n"
            "metrics: [f_measure]",
            "gives none. Use data with two values, such as response: classes.",
        ),
        (
            "data: {generator: gaussian}\nalgorithms: [{foba_obj: {loss: multinomial}}]",
            "needs one of several classes for each row",
        ),
        (
            "data: {generator: gaussian, response: counts}\nprotocol: selection\n"
            "algorithms: [{forward_greedy: {loss: poisson, radius: 1}}]",
            "loss must be one of",
        ),
        (
            "data: {generator: gaussian, response: counts, test_rows: 5}\n"
            "algorithms: [{foba_obj: {loss: poisson}}]\nmetrics: [test_error]",
            "predicts scores, not responses. Use test_loss",
        ),
    ],
)
def test_an_experiment_with_the_wrong_data_is_refused_before_it_starts(call, tmp_path, lines, said):
    (tmp_path / "a.yaml").write_text(f"name: a\ntrials: 1\n{lines}\n", encoding="utf-8")
    done = call("run", "a.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("select", ["gradient", "gain"])
def test_three_kinds_of_iris_are_told_apart_by_two_features(select):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = estimators.FoBaClassifier(select=select, max_features=2, ridge=0.01).fit(X, names)
    assert model.support_.tolist() == [2, 3]
    assert (model.coef_.shape, model.intercept_.shape) == ((3, 4), (3,))
    assert model.score(X, names) > 0.95
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(X))
    pipeline = make_pipeline(StandardScaler(), estimators.L1PathClassifierCV(n_lams=15, cv=3))
    assert cross_val_score(pipeline, X, names, cv=3).mean() > 0.9


def test_a_regressor_of_counts_predicts_means():
    problem = drawn(n_samples=300, response="counts")
    X, y = problem.X[0], problem.y[0]
    model = estimators.FoBaRegressorCV(loss="poisson", random_state=0).fit(X, y)
    assert set(np.flatnonzero(problem.truth)) <= set(model.support_)
    np.testing.assert_allclose(model.predict(X), np.exp(X @ model.coef_ + model.intercept_))
    # An intercept makes the mean of the predictions that of the counts.
    assert model.predict(X).mean() == pytest.approx(y.mean())


@pytest.mark.parametrize(
    ("estimator", "y", "said"),
    [
        (estimators.FoBaRegressor(loss="logistic"), [0.0, 1.0], "loss must be one of 'huber'"),
        (estimators.FoBaClassifier(loss="squared"), [0, 1], "one of 'logistic', 'squared_hinge'"),
        (estimators.FoBaRegressor(loss="poisson"), [-1.0, 2.0], "is no count"),
        (estimators.FoBaClassifier(loss="squared_hinge"), [0, 1, 2], "with loss='squared_hinge'"),
        (estimators.ForwardGreedyClassifier(), [0, 1, 2], "Only binary classification"),
    ],
)
def test_an_estimator_refuses_what_its_loss_does_not_take(estimator, y, said):
    X = np.random.default_rng(0).standard_normal((30, 4))
    with pytest.raises(ValueError, match=said):
        estimator.fit(X, np.resize(y, 30))


def test_only_losses_of_probabilities_predict_them():
    X, y = load_iris(return_X_y=True)
    model = estimators.L1PathClassifier(loss="squared_hinge", lam=0.01).fit(X[:100], y[:100])
    assert model.score(X[:100], y[:100]) == 1.0
    assert not hasattr(model, "predict_proba")
