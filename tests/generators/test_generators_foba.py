"""Data of forward-backward selection: two Gaussian classes, exact ratios of signal to noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, stats
from sklearn.linear_model import LogisticRegression

from greedyexp.config import load
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.generators.gaussian import gaussian_signal_ratio
from greedyexp.generators.two_class_gaussian import two_class_gaussian


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def covariance(p: int, correlation: float) -> np.ndarray:
    """correlation^|i-j|, entry by entry."""
    return np.array([[correlation ** abs(i - j) for j in range(p)] for i in range(p)])


# --- two classes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("correlation", "kind"), [(0.0, "means"), (0.6, "means"), (0.6, "log_odds")]
)
def test_classes_have_opposite_means_and_the_stated_covariance(correlation, kind):
    rows = 20_000
    problem = two_class_gaussian(
        rng(1), n_samples=rows, n_test=rows, p=6, sparsity=3, correlation=correlation, truth=kind
    )
    sigma = covariance(6, correlation)
    mean = problem.truth[:, 0] if kind == "means" else sigma @ problem.truth[:, 0]
    for X, y in ((problem.X[0], problem.y[0]), (problem.X_test[0], problem.y_test[0])):
        assert X.shape == (rows, 6)
        assert (np.sum(y == 1), np.sum(y == -1)) == (rows // 2, rows // 2)
        for label in (1, -1):
            drawn = X[y == label]
            # Standard deviations: 0.01 of a mean, at most 0.014 of a covariance.
            assert np.allclose(drawn.mean(axis=0), label * mean, atol=0.05)
            assert np.allclose(np.cov(drawn.T), sigma, atol=0.07)
    assert not np.array_equal(problem.X[0], problem.X_test[0])


@pytest.mark.parametrize("kind", ["means", "log_odds"])
@pytest.mark.parametrize("correlation", [0.0, 0.7])
def test_the_best_linear_classifier_is_the_stated_one(correlation, kind):
    problem = two_class_gaussian(
        rng(2),
        n_samples=60_000,
        p=5,
        sparsity=2,
        norm=0.8,
        correlation=correlation,
        truth=kind,
    )
    best = 2 * problem.truth[:, 0]
    if kind == "means":
        best = np.linalg.solve(covariance(5, correlation), best)
    fitted = LogisticRegression(C=np.inf).fit(problem.X[0], problem.y[0])
    # Standard errors are at most 0.025.
    assert np.allclose(fitted.coef_[0], best, atol=0.1)
    assert fitted.intercept_[0] == pytest.approx(0, abs=0.05)


def test_coefficients_are_uniform_before_they_are_scaled():
    truths = [two_class_gaussian(rng(i), n_samples=2, p=3, sparsity=2).truth for i in range(3000)]
    values = np.abs(np.hstack(truths)).T
    assert np.allclose(np.linalg.norm(values, axis=1), 5.0)
    assert all((truth >= 0).all() and np.count_nonzero(truth) == 2 for truth in truths)
    # Of two uniform numbers, the smaller divided by the larger is uniform.
    ordered = np.sort(values, axis=1)
    assert stats.kstest(ordered[:, 1] / ordered[:, 2], "uniform").pvalue > 1e-3
    assert stats.chisquare((values > 0).sum(axis=0)).pvalue > 1e-3


def test_defaults_are_those_of_the_paper():
    problem = two_class_gaussian(rng())
    assert problem.X[0].shape == (100, 500)
    assert problem.X_test == problem.y_test == ()
    assert (problem.n_tasks, problem.sparsity, np.count_nonzero(problem.truth)) == (1, 10, 10)
    assert np.linalg.norm(problem.truth) == pytest.approx(5)


def test_only_what_is_drawn_is_promised():
    part = registry.find("generator", "two_class_gaussian")
    defaults = part.parameters().model_dump()
    always = {"truth", "labels", "two_values"}
    assert part.traits(defaults) == always
    assert part.traits(defaults | {"n_test": 2}) == {*always, "test_rows"}


# --- an exact ratio ---------------------------------------------------------------------------


@pytest.mark.parametrize("ratio", [0.3, 1.0, 12.5])
@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_the_ratio_is_exact(ratio, correlation):
    problem = gaussian_signal_ratio(
        rng(3), signal_ratio=ratio, n_samples=40, p=90, sparsity=7, correlation=correlation
    )
    X, y, truth = problem.X[0], problem.y[0], problem.truth[:, 0]
    gradient = X.T @ (X @ truth - y) / 40
    support = np.flatnonzero(truth)
    weakest = np.abs(truth[support]).min()
    assert len(support) == problem.sparsity == 7
    assert weakest / np.abs(gradient).max() == pytest.approx(ratio, rel=1e-10)
    assert np.allclose(np.linalg.norm(X, axis=0) ** 2, 40, rtol=1e-12)
    fitted = linalg.lstsq(X[:, support], y)[0]
    assert np.allclose(fitted, truth[support], rtol=0, atol=1e-12 / ratio + 1e-13)
    residual = y - X[:, support] @ fitted
    assert problem.facts["residual_rms"] == pytest.approx(np.sqrt(np.mean(residual**2)))


def test_coefficients_lie_between_the_weakest_and_the_strongest():
    truths = [
        gaussian_signal_ratio(rng(i), n_samples=5, p=6, sparsity=3, strongest=4.0).truth[:, 0]
        for i in range(1500)
    ]
    values = np.array([np.sort(np.abs(truth[truth != 0])) for truth in truths])
    assert (values[:, 0] == 1).all()
    assert stats.kstest(values[:, 1:].ravel(), "uniform", args=(1, 3)).pvalue > 1e-3
    counts = np.count_nonzero(truths, axis=0)
    assert stats.chisquare(counts).pvalue > 1e-3
    # 4500 fair signs: the standard deviation of their sum is 67. The weakest is anywhere.
    assert abs(np.sign(truths).sum()) < 300
    weakest = np.abs(truths) == 1
    assert stats.chisquare(weakest.sum(axis=0)).pvalue > 1e-3


def test_columns_are_correlated_as_asked():
    X = gaussian_signal_ratio(rng(4), n_samples=20_000, p=5, sparsity=1, correlation=-0.5).X[0]
    assert np.allclose(X.T @ X / 20_000, covariance(5, -0.5), atol=0.04)


def pursued(X: np.ndarray, y: np.ndarray, steps: int) -> list[int]:
    """The columns that orthogonal matching pursuit takes."""
    taken: list[int] = []
    residual = y
    for _ in range(steps):
        taken.append(int(np.argmax(np.abs(X.T @ residual))))
        residual = y - X[:, taken] @ linalg.lstsq(X[:, taken], y)[0]
    return sorted(taken)


def test_a_strong_signal_is_found_by_orthogonal_matching_pursuit_and_a_weak_one_is_not():
    def found(ratio: float) -> int:
        problems = [
            gaussian_signal_ratio(rng(seed), signal_ratio=ratio, n_samples=200, p=60, sparsity=5)
            for seed in range(20)
        ]
        return sum(
            pursued(one.X[0], one.y[0], 5) == np.flatnonzero(one.truth).tolist() for one in problems
        )

    assert found(20.0) == 20
    assert found(0.1) < 5


# --- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"generator": "two_class_gaussian", "n_samples": 7}, "n_samples = 7 is odd"),
        ({"generator": "two_class_gaussian", "n_test": 3}, "n_test = 3 is odd"),
        ({"generator": "two_class_gaussian", "p": 4}, "sparsity = 10 is more than p = 4"),
        ({"generator": "gaussian_signal_ratio", "p": 10}, "leaves no other feature of p = 10"),
        ({"generator": "gaussian_signal_ratio", "n_samples": 10}, "no room for a residual"),
        ({"generator": "gaussian_signal_ratio", "signal_ratio": 0}, "must be more than 0"),
    ],
)
def test_impossible_data_are_refused_before_any_work(data, words):
    source = {
        "name": "trial",
        "paper": {"key": "liu2014", "figure": "Figure 3"},
        "seed": 1,
        "data": data,
        "trials": 1,
        "algorithms": ["omp"],
        "metrics": ["support_size"],
    }
    with pytest.raises(ConfigError, match=words):
        load(source)
    load(source | {"data": {"generator": data["generator"]}})
