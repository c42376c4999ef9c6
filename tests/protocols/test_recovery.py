"""The recovery protocol: what each tuning chooses, and how an outcome is reported."""

from dataclasses import replace

import numpy as np
import pytest
from coef_paths import path_of_coef
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score

import greedyexp
from greedyexp.config.loading import load
from greedyexp.core.errors import ConfigError, DataError, PluginError
from greedyexp.core.parts import Algorithm
from greedyexp.core.registry import find as find_part
from greedyexp.estimates.path import Path
from greedyexp.estimators import ForwardSelectionRegressor
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.protocols.base import Setup, Status
from greedyexp.protocols.fitting import cross_validated
from greedyexp.protocols.recovery import columns, recovery

METRICS = [
    find_part("metric", name) for name in ("sign_support", "frobenius_error", "support_size")
]


def part(function, theory=None):
    return Algorithm(function.__name__, function, theory=theory)


def ridge(problem, *, penalties=(0.1, 1.0, 10.0, 100.0), grid=None):
    """Ridge regression per task, a path with a closed form."""
    penalties = np.asarray(penalties if grid is None else grid["penalty"], dtype=float)
    coef = np.empty((len(penalties), problem.n_features, problem.n_tasks))
    for k, penalty in enumerate(penalties):
        for j, (X, y) in enumerate(zip(problem.X, problem.y, strict=True)):
            normal = X.T @ X + penalty * np.eye(X.shape[1])
            coef[k, :, j] = np.linalg.solve(normal, X.T @ y)
    m = len(penalties)
    return Path(coef, {"penalty": penalties}, np.zeros(m), np.ones(m, bool))


def evaluate(
    problem, function, metrics=METRICS, *, theory=None, tuning="oracle", folds=4, **params
):
    setup = Setup(tuning, folds, tuple(metrics), np.random.default_rng(0))
    return recovery(problem, part(function, theory), params, setup)


@pytest.fixture
def problem():
    rng = np.random.default_rng(7)
    X = tuple(rng.standard_normal((n, 6)) for n in (20, 25))
    truth = np.zeros((6, 2))
    truth[1] = [2.0, -1.0]
    truth[4, 0] = 1.0
    y = tuple(Xj @ truth[:, j] + 0.5 * rng.standard_normal(len(Xj)) for j, Xj in enumerate(X))
    return Problem(X, y, truth, 0.5, 2)


def path_of(*estimates, converged=None, message=""):
    coef = np.stack(estimates)
    m = len(coef)
    converged = np.ones(m, bool) if converged is None else np.array(converged)
    return Path(coef, {"k": np.arange(m, dtype=float)}, np.zeros(m), converged, message)


def test_oracle_takes_each_metric_at_its_own_best_point(problem):
    exact_signs = 10 * problem.truth
    near = problem.truth + 0.01
    outcome = evaluate(problem, lambda p, grid=None: path_of(0 * near, exact_signs, near))
    assert outcome.status is Status.OK
    assert outcome.rows == [
        {
            "tuning": "oracle",
            "sign_support": 1,
            "frobenius_error": pytest.approx(np.sqrt(12) * 0.01),
            "support_size": 3,
        }
    ]


def test_the_end_of_a_path_is_chosen_without_the_truth(problem):
    outcome = evaluate(
        problem,
        lambda p, grid=None: path_of(p.truth, 0 * p.truth, converged=[False, True]),
        tuning="end",
    )
    assert outcome.status is Status.OK
    assert outcome.rows[0]["tuning"] == "end"
    assert outcome.rows[0]["sign_support"] == 0
    assert outcome.rows[0]["support_size"] == 0


def test_metric_without_direction_alone_is_taken_at_the_end(problem):
    size = [find_part("metric", "support_size")]
    outcome = evaluate(problem, lambda p: path_of(0 * p.truth, p.truth, p.truth + 3), size)
    assert outcome.rows[0]["support_size"] == 12


def test_one_estimate_of_a_user(problem):
    outcome = evaluate(problem, lambda p: p.truth, tuning="none")
    assert outcome.rows[0]["sign_support"] == 1
    with pytest.raises(PluginError, match=r"returned an estimate of shape \(3,\)"):
        evaluate(problem, lambda p: np.zeros(3), tuning="none")


def test_single_task_estimates_may_be_vectors():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10, 3))
    problem = as_problem(X, X[:, 1], truth=[0, 1.0, 0])
    assert evaluate(problem, lambda p: np.array([0, 2.0, 0])).rows[0]["sign_support"] == 1


def test_points_without_certificate_and_not_finite_are_reported(problem):
    part_way = evaluate(
        problem, lambda p: path_of(0 * p.truth, p.truth, converged=[True, False], message="cap hit")
    )
    assert part_way.status is Status.NOT_CONVERGED
    assert part_way.message == "1 of 2 path points lack their certificate: cap hit"
    assert part_way.rows[0]["sign_support"] == 1
    broken = evaluate(problem, lambda p: path_of(p.truth, p.truth * np.nan))
    assert broken.status is Status.NONFINITE
    assert broken.rows == []
    with np.errstate(over="ignore"):
        huge = evaluate(problem, lambda p: path_of(p.truth * 1e200))
    assert huge.status is Status.NONFINITE


def test_cross_validation_agrees_with_scikit_learn():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 8))
    y = X @ rng.standard_normal(8) + 3 * rng.standard_normal(40)
    problem = as_problem(X, y)
    penalties = (0.3, 3.0, 30.0, 300.0)
    path, chosen = cross_validated(
        part(ridge), problem, {"penalties": penalties}, folds=4, rng=np.random.default_rng(11)
    )
    order = np.random.default_rng(11).permutation(40)
    held_out = np.array_split(order, 4)
    splits = [(np.setdiff1d(order, fold), fold) for fold in held_out]
    expected = [
        -cross_val_score(
            Ridge(alpha=a, fit_intercept=False), X, y, cv=splits, scoring="neg_mean_squared_error"
        ).mean()
        for a in penalties
    ]
    assert chosen == int(np.argmin(expected))
    assert len(set(np.round(expected, 6))) == 4
    full = Ridge(alpha=penalties[chosen], fit_intercept=False).fit(X, y).coef_
    assert np.allclose(path.coef[chosen, :, 0], full)


def test_cross_validation_never_predicts_rows_it_fitted(problem):
    fitted = []

    def recorder(given, *, grid=None):
        fitted.append([y.copy() for y in given.y])
        return path_of(np.zeros((6, 2)))

    cross_validated(part(recorder), problem, {}, folds=5, rng=np.random.default_rng(0))
    whole, folds = fitted[0], fitted[1:]
    assert len(folds) == 5
    for j in range(2):
        left_out = [np.setdiff1d(whole[j], fold[j]) for fold in folds]
        assert np.array_equal(np.sort(np.concatenate(left_out)), np.sort(whole[j]))


def test_cross_validation_prefers_the_tuning_that_predicts(problem):
    outcome = evaluate(problem, ridge, tuning="cv", penalties=(1e-3, 1e6))
    assert outcome.rows[0]["tuning"] == "cv"
    small = evaluate(problem, ridge, tuning="cv", penalties=(1e-3,))
    assert outcome.rows[0]["frobenius_error"] == small.rows[0]["frobenius_error"]
    with pytest.raises(DataError, match="21-fold cross-validation needs at least 21 rows"):
        evaluate(problem, ridge, tuning="cv", folds=21)


def test_tasks_with_one_design_share_folds():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((12, 3))
    problem = as_problem(X, rng.standard_normal((12, 2)))
    shared = []

    def recorder(given, *, grid=None):
        shared.append(given.shared_design)
        return path_of(np.zeros((3, 2)))

    cross_validated(part(recorder), problem, {}, folds=3, rng=np.random.default_rng(0))
    assert shared == [True] * 4


def test_theory_asks_for_one_point(problem):
    outcome = evaluate(
        problem, ridge, tuning="theory", theory=lambda p, penalties=None: {"penalty": [2.0]}
    )
    direct = evaluate(problem, ridge, penalties=(2.0,))
    assert outcome.rows[0]["frobenius_error"] == direct.rows[0]["frobenius_error"]
    with pytest.raises(ConfigError, match="no tuning rule from theory"):
        evaluate(problem, ridge, tuning="theory")


def test_columns_name_the_rows(problem):
    row = evaluate(problem, ridge).rows[0]
    assert [*row, "fit_seconds"] == [column.name for column in columns(METRICS)]
    with pytest.raises(ConfigError, match="Did you mean 'recovery'"):
        find_part("protocol", "recovry")


@pytest.mark.parametrize(
    ("name", "estimate", "value"),
    [
        ("sign_support", [[2, 0], [0, -3]], 1),
        ("sign_support", [[-2, 0], [0, -3]], 0),
        ("support", [[-2, 0], [0, -3]], 1),
        ("support", [[2, 1], [0, -3]], 0),
        ("row_support", [[0, 5], [0, -3]], 1),
        ("row_support", [[0, 5], [0, 0]], 0),
        ("false_positives", [[0, 5], [4, 0]], 2),
        ("false_negatives", [[0, 5], [4, 0]], 2),
        ("frobenius_error", [[1, 2], [2, -1]], np.sqrt(8)),
        ("support_size", [[1, 2], [0, 0]], 2),
        ("row_support_size", [[1, 2], [0, 0]], 1),
        ("training_error", [[1, 0], [0, 0]], 0.5 * (0 + 0.5)),
        ("test_error", [[1, 0], [0, 0]], 0.5 * (0 + 4)),
    ],
)
def test_metrics_by_hand(name, estimate, value):
    X = np.eye(2)
    problem = Problem(
        (X, X),
        (np.array([1.0, 0.0]), np.array([0.0, -1.0])),
        np.array([[1.0, 0.0], [0.0, -1.0]]),
        X_test=(X[:1], X[:1]),
        y_test=(np.array([1.0]), np.array([2.0])),
    )
    metric = find_part("metric", name).function
    estimate = np.array(estimate, dtype=float)
    part = find_part("metric", name)
    along = np.stack([estimate, problem.truth, estimate])
    if part.of == "path":
        estimate, along = path_of_coef(estimate), path_of_coef(along)
    assert metric(problem, estimate) == pytest.approx(value)
    along = metric(problem, along)
    assert along.shape == (3,)
    assert along[2] == pytest.approx(value)


def test_paths_that_do_not_fit_together_are_refused(problem):
    good = path_of(problem.truth, problem.truth)
    for broken, words in (
        (replace(good, converged=np.ones(1, bool)), "path.converged of shape"),
        (
            replace(good, estimates=good.coef[:, :3]),
            r"estimates of shape \(2, 3, 2\), not of shape",
        ),
        (replace(good, grid={"k": np.zeros(3)}), "path.k of shape"),
    ):
        with pytest.raises(PluginError, match=words):
            evaluate(problem, lambda p, path=broken: path)
    with pytest.raises(PluginError, match="complex"):
        evaluate(problem, lambda p: p.truth * 1j)


def test_a_fold_without_certificate_takes_the_certificate_of_the_choice(problem):
    def falters(given, *, grid=None):
        whole = len(given.y[0]) == 20
        return path_of(np.zeros((6, 2)), converged=[whole])

    path, chosen = cross_validated(
        part(falters), problem, {}, folds=4, rng=np.random.default_rng(0)
    )
    assert not path.converged[chosen]
    assert path.message == "A fit without one of the folds lacks the certificate of the algorithm."


def test_a_metric_that_the_algorithm_does_not_tell_is_empty():
    problem = find_part("generator", "gaussian").function(np.random.default_rng(0))
    metrics = tuple(find_part("metric", name) for name in ("removals", "support"))
    setup = Setup("oracle", 2, metrics, np.random.default_rng(0))
    found = recovery(problem, find_part("algorithm", "omp"), {}, setup)
    assert found.status is Status.OK
    assert found.rows[0]["removals"] is None
    assert found.rows[0]["support"] in (0, 1)


def test_seconds_leave_out_what_theory_reads_from_the_truth():
    problem = find_part("generator", "gaussian").function(np.random.default_rng(0))
    ticks = []

    def clock():
        ticks.append(len(seen))
        return float(len(ticks))

    seen = []

    def rule(problem):
        seen.append("rule")
        return {"n_atoms": np.array([3.0])}

    part = find_part("algorithm", "omp")
    with_theory = replace(part, theory=rule)
    setup = Setup("theory", 2, (find_part("metric", "support"),), None, clock)
    recovery(problem, with_theory, {}, setup)
    assert ticks[0] == 1


CLASSES = """
name: classes
data: {generator: two_class_gaussian, n_samples: 40, n_test: 40, p: 8, sparsity: 2}
trials: 1
algorithms: [{%s: {loss: %s, ridge: 0.1, max_features: 2}}]
protocol: {selection: {sizes: [2]}}
metrics: [%s]
"""


@pytest.mark.parametrize("name", ["test_error", "training_error"])
def test_squared_residuals_of_scores_are_refused(tmp_path, name):
    file = tmp_path / "classes.yaml"
    file.write_text(CLASSES % ("foba_gdt", "logistic", name))
    with pytest.raises(ConfigError, match=f"'{name}' compares predictions .* 'logistic' predicts"):
        load(file)
    file.write_text(CLASSES % ("foba_gdt", "squared", name))
    load(file)
    labels = np.where(np.arange(20) % 2, 1.0, -1.0)
    X = np.random.default_rng(0).standard_normal((20, 3))
    problem = Problem((X,), (labels,), X_test=(X,), y_test=(labels,))
    path = find_part("algorithm", "foba_gdt").function(problem, loss="logistic", ridge=0.1)
    with pytest.raises(DataError, match="scores of classes"):
        find_part("metric", name).function(problem, path)


def test_a_selected_coefficient_that_is_zero_by_chance_counts():
    """The wrong feature 2 is taken first; with both true features its coefficient is exactly 0."""
    rng = np.random.default_rng(166)
    X = rng.choice([-1.0, 0.0, 1.0], (8, 4))
    truth = np.array([1.0, 1.0, 0.0, 0.0])
    problem = Problem((X,), (X @ truth,), truth[:, None])
    path = find_part("algorithm", "forward_obj").function(problem, max_features=3)
    assert path.coef[-1, 2, 0] == 0.0
    assert path.sparse.supports()[-1, :, 0].tolist() == [True, True, True, False]
    for name, value in (
        ("support", 0),
        ("sign_support", 0),
        ("row_support", 0),
        ("false_positives", 1),
        ("support_size", 3),
    ):
        assert find_part("metric", name).function(problem, path)[-1] == value
    found = greedyexp.solve("forward_obj", X, X @ truth, max_features=3)
    assert found.support.tolist() == [0, 1, 2]
    assert found.selected == ["0", "1", "2"]
    learned = ForwardSelectionRegressor(select="gain", max_features=3, fit_intercept=False)
    assert learned.fit(X, X @ truth).support_.tolist() == [0, 1, 2]


def test_columns_that_cannot_be_selected_do_not_change_the_criterion():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    y = X[:, 0] + 0.5 * X[:, 1] + rng.standard_normal(40)
    more = np.column_stack([X, np.zeros((40, 30)), np.full((40, 30), 2.0)])
    for name in ("omp", "foba_obj", "lasso"):
        plain = greedyexp.solve(name, X, y, tuning="ebic_robust", intercept=True)
        padded = greedyexp.solve(name, more, y, tuning="ebic_robust", intercept=True)
        np.testing.assert_array_equal(padded.support, plain.support)
