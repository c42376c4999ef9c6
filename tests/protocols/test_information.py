"""Tuning by the robust extended Bayesian information criterion."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from greedyexp import solve
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.core.registry import find
from greedyexp.estimates.path import Path
from greedyexp.estimates.sparse import SparseEstimates
from greedyexp.problems.problem import Problem
from greedyexp.protocols.base import Setup, Status
from greedyexp.protocols.information import criterion, least_criterion
from greedyexp.protocols.recovery import recovery


def regression(seed=0, n=30, p=8, tasks=1, noise=0.5):
    rng = np.random.default_rng(seed)
    truth = np.zeros((p, tasks))
    for task in range(tasks):
        truth[rng.choice(p, 3, replace=False), task] = [1.0, -1.0, 0.8]
    X = tuple(rng.standard_normal((n, p)) for _ in range(tasks))
    y = tuple(X[j] @ truth[:, j] + noise * rng.standard_normal(n) for j in range(tasks))
    return Problem(X, y, truth, noise, 3)


def path_of(*estimates):
    coef = np.array(estimates, dtype=float)
    coef = coef[:, :, None] if coef.ndim == 2 else coef
    m = len(coef)
    return Path(coef, {"k": np.arange(m, dtype=float)}, np.zeros(m), np.ones(m, bool))


def by_hand(problem, coef):
    """The criterion of one estimate (p, r) by the normal equations."""
    total = 0.0
    for j, (X, y) in enumerate(zip(problem.X, problem.y, strict=True)):
        S = np.flatnonzero(coef[:, j])
        n, k, p = len(y), len(S), X.shape[1]
        fit = X[:, S] @ np.linalg.solve(X[:, S].T @ X[:, S], X[:, S].T @ y) if k else 0 * y
        v, v0 = ((y - fit) ** 2).mean(), (y**2).mean()
        total += n * math.log(v) + k * math.log(n / (2 * math.pi))
        total += (k + 2) * math.log(v0 / v) + 2 * k * math.log(p)
    return total


@pytest.mark.parametrize("tasks", [1, 2])
def test_criterion_agrees_with_the_formula(tasks):
    problem = regression(tasks=tasks)
    rng = np.random.default_rng(1)
    coef = rng.standard_normal((20, 8, tasks)) * (rng.random((20, 8, tasks)) < 0.4)
    expected = [by_hand(problem, one) for one in coef]
    np.testing.assert_allclose(criterion(SparseEstimates.of(coef), problem), expected, rtol=1e-10)


def test_criterion_of_a_sparse_design_is_that_of_the_dense_design():
    problem = regression()
    thin = Problem((sparse.csc_array(problem.X[0]),), problem.y, problem.truth)
    coef = problem.truth[None]
    np.testing.assert_allclose(
        criterion(SparseEstimates.of(coef), thin),
        criterion(SparseEstimates.of(coef), problem),
        rtol=1e-12,
    )


def test_supports_of_more_than_half_of_the_rows_are_never_chosen():
    problem = regression(n=9)
    full = np.ones(8)
    assert np.isinf(criterion(SparseEstimates.of(full[None, :, None]), problem)).all()
    assert least_criterion(path_of(full, 0 * full), problem) == 1
    with pytest.raises(DataError, match="half of its rows"):
        least_criterion(path_of(full), problem)


def test_first_of_equal_criteria_is_chosen():
    problem = regression()
    truth = problem.truth[:, 0]
    assert least_criterion(path_of(0 * truth, truth, 2 * truth), problem) == 1


def test_response_of_zeros_prefers_the_empty_support():
    problem = regression()
    zero = Problem(problem.X, (np.zeros(30),))
    assert least_criterion(path_of(problem.truth[:, 0], np.zeros(8)), zero) == 1


def test_noiseless_response_is_not_fitted_by_more_features_than_it_has():
    problem = regression(noise=0.0)
    more = problem.truth[:, 0].copy()
    more[np.flatnonzero(more == 0)[:2]] = 1e-15
    assert least_criterion(path_of(more, problem.truth[:, 0]), problem) == 1


def test_recovery_takes_the_best_subset_of_all():
    problem = regression(seed=3)
    subsets = [S for k in range(5) for S in combinations(range(8), k)]
    coef = np.zeros((len(subsets), 8))
    for row, subset in zip(coef, subsets, strict=True):
        row[list(subset)] = 1.0
    best = min(range(len(subsets)), key=lambda at: by_hand(problem, coef[at][:, None]))
    assert least_criterion(path_of(*coef), problem) == best
    assert set(subsets[best]) == set(np.flatnonzero(problem.truth))


def test_recovery_measures_the_chosen_estimate_alone():
    problem = regression(noise=0.1)
    metrics = (find("metric", "sign_support"), find("metric", "support_size"))
    setup = Setup("ebic_robust", 5, metrics, np.random.default_rng(0))
    outcome = recovery(problem, find("algorithm", "omp"), {}, setup)
    assert outcome.status is Status.OK
    assert outcome.rows == [{"tuning": "ebic_robust", "sign_support": 1, "support_size": 3}]


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_unit_of_the_response_does_not_change_the_choice(factor):
    problem = regression()
    path = find("algorithm", "omp").function(problem)
    other = Problem(problem.X, (factor * problem.y[0],))
    assert least_criterion(path, other) == least_criterion(path, problem)


def test_little_noise_and_few_rows_do_not_select_more_features():
    rng = np.random.default_rng(0)
    truth = np.zeros((200, 1))
    truth[:5, 0] = 1.0
    for _ in range(20):
        X = rng.standard_normal((40, 200))
        y = X @ truth[:, 0] + 0.01 * rng.standard_normal(40)
        path = find("algorithm", "omp").function(Problem((X,), (y,)))
        chosen = path.coef[least_criterion(path, Problem((X,), (y,)))]
        if (path.coef.astype(bool) == truth.astype(bool)).all(axis=(1, 2)).any():
            np.testing.assert_array_equal(chosen != 0, truth != 0)


def test_solve_tunes_by_the_criterion():
    problem = regression(noise=0.2)
    X, y = problem.X[0], problem.y[0]
    found = solve("lasso", X, y, tuning="ebic_robust")
    assert set(found.support) == set(np.flatnonzero(problem.truth))
    shifted = solve("lasso", X + 3.0, y + 5.0, tuning="ebic_robust", intercept=True)
    np.testing.assert_array_equal(shifted.support, found.support)


def test_solve_refuses_the_criterion_for_another_loss():
    X = np.random.default_rng(0).standard_normal((20, 4))
    with pytest.raises(ConfigError, match="compares least-squares fits"):
        solve("foba_gdt", X, np.sign(X[:, 0]), tuning="ebic_robust", loss="logistic")
