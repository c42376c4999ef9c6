import numpy as np
import pytest
from squared_fits import squared_loss

from greedyexp.algorithms.pursuit.omp import group_omp, omp
from greedyexp.core import registry
from greedyexp.problems.problem import as_problem


def row_sparse_data(seed, sizes=(25, 30, 40), p=30, rows=4, noise=0.1):
    rng = np.random.default_rng(seed)
    X = [rng.standard_normal((n, p)) for n in sizes]
    truth = np.zeros((p, len(sizes)))
    truth[rng.choice(p, rows, replace=False)] = rng.standard_normal((rows, len(sizes)))
    noisy = [x @ b + noise * rng.standard_normal(len(x)) for x, b in zip(X, truth.T, strict=True)]
    return X, noisy, truth


def dense_group_omp(X, y, n_rows):
    """Try every row with dense least squares along it; then refit every task."""
    p, r = X[0].shape[1], len(X)
    rows, coef = [], np.zeros((p, r))
    for _ in range(n_rows):
        gains = np.full(p, -1.0)
        for m in set(range(p)) - set(rows):
            gains[m] = 0.0
            for j in range(r):
                residual = y[j] - X[j] @ coef[:, j]
                step = np.linalg.lstsq(X[j][:, [m]], residual, rcond=None)[0]
                after = residual - X[j][:, m] * step
                gains[m] += (residual @ residual - after @ after) / (2 * len(y[j]))
        rows.append(int(gains.argmax()))
        for j in range(r):
            coef[rows, j] = np.linalg.lstsq(X[j][:, rows], y[j], rcond=None)[0]
    return coef


@pytest.mark.parametrize("seed", range(4))
def test_every_point_equals_brute_force(seed):
    X, y, _ = row_sparse_data(seed)
    problem = as_problem(X, y)
    path = group_omp(problem, n_rows=8)
    assert path.grid["n_rows"].tolist() == list(range(9))
    for k, coef in enumerate(path.coef):
        np.testing.assert_allclose(coef, dense_group_omp(X, y, k), atol=1e-10)
        assert path.objective[k] == pytest.approx(squared_loss(problem, coef), rel=1e-9)


def test_shared_design_equals_the_same_design_given_twice():
    rng = np.random.default_rng(5)
    X, Y = rng.standard_normal((20, 15)), rng.standard_normal((20, 2))
    shared = group_omp(as_problem(X, Y), n_rows=6)
    copies = group_omp(as_problem([X, X.copy()], list(Y.T)), n_rows=6)
    np.testing.assert_allclose(shared.coef, copies.coef, atol=1e-12)


def test_one_task_is_omp():
    X, y, _ = row_sparse_data(6, sizes=(30,))
    problem = as_problem(X, y)
    np.testing.assert_array_equal(group_omp(problem, n_rows=9).coef, omp(problem, n_atoms=9).coef)


def test_recovers_shared_rows_without_noise():
    X, y, truth = row_sparse_data(7, sizes=(30, 30, 30), noise=0.0)
    path = group_omp(as_problem(X, y), n_rows=10)
    assert len(path) == 5
    np.testing.assert_allclose(path.coef[-1], truth, atol=1e-11)


def test_tasks_count_by_their_mean_squares():
    # Repeating the rows of one task changes neither its mean squares nor the path.
    X, y, _ = row_sparse_data(8, sizes=(20, 25))
    once = group_omp(as_problem(X, y), n_rows=6)
    tripled = [np.tile(X[0], (3, 1)), X[1]], [np.tile(y[0], 3), y[1]]
    np.testing.assert_allclose(
        group_omp(as_problem(*tripled), n_rows=6).coef, once.coef, atol=1e-11
    )


def test_an_entry_in_the_span_stays_zero_while_other_tasks_gain():
    X, y, _ = row_sparse_data(9, sizes=(12, 12), p=6, rows=6)
    X[0][:, 3] = X[0][:, 2]
    path = group_omp(as_problem(X, y), n_rows=6)
    assert len(path) == 7
    assert np.count_nonzero(path.coef[-1, 2:4, 0]) == 1
    assert np.count_nonzero(path.coef[-1, :, 1]) == 6


def test_equal_scores_go_to_the_lowest_row_and_grid_keeps_its_order():
    problem = as_problem([np.eye(6), np.eye(6)], [np.ones(6), -np.ones(6)])
    path = group_omp(problem, grid={"n_rows": [3, 1, 2]})
    rows = [np.flatnonzero(coef.any(axis=1)).tolist() for coef in path.coef]
    assert rows == [[0, 1, 2], [0], [0, 1]]


def test_needs_several_tasks():
    assert registry.find("algorithm", "group_omp").fixed_requirements == ("multi_task",)


def test_judged_after_a_refit_a_row_is_the_one_that_leaves_least():
    X, y, _ = row_sparse_data(9, sizes=(20, 24), p=18)
    common = np.random.default_rng(10).standard_normal((3, 18))
    X = [x + 2.0 * x[:, :3] @ common for x in X]
    path = group_omp(as_problem(X, y), n_rows=7, judge="refit")
    rows = []
    for k in range(1, 8):
        left = {}
        for i in set(range(18)) - set(rows):
            fits = (
                np.linalg.lstsq(A[:, [*rows, i]], b, rcond=None) for A, b in zip(X, y, strict=True)
            )
            left[i] = sum(fit[1][0] / (2 * len(b)) for fit, b in zip(fits, y, strict=True))
        rows.append(min(left, key=left.get))
        assert set(np.flatnonzero(path.coef[k].any(axis=1))) == set(rows)
        assert path.objective[k] == pytest.approx(left[rows[-1]], rel=1e-9)
    plain = group_omp(as_problem(X, y), n_rows=7)
    assert ((path.coef != 0) != (plain.coef != 0)).any()
