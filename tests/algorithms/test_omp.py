import numpy as np
import pytest
from sklearn.linear_model import orthogonal_mp
from squared_fits import squared_loss, stationarity

from greedyexp.algorithms.pursuit.omp import omp
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.problems.problem import as_problem


def sparse_data(seed, n=40, p=60, r=1, s=6, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * rng.uniform(0.5, 2.0, p)
    truth = np.zeros((p, r))
    for column in truth.T:
        column[rng.choice(p, s, replace=False)] = rng.choice([-1, 1], s) * rng.uniform(1, 2, s)
    return X, X @ truth + noise * rng.standard_normal((n, r)), truth


def dense_omp(X, y, n_atoms, normalize=True):
    """OMP with residuals and dense least squares."""
    norms = np.linalg.norm(X, axis=0)
    support, coef = [], np.zeros(X.shape[1])
    for _ in range(n_atoms):
        score = np.abs(X.T @ (y - X @ coef)) / (norms if normalize else 1.0)
        score[support] = -1
        support.append(int(score.argmax()))
        coef = np.zeros(X.shape[1])
        coef[support] = np.linalg.lstsq(X[:, support], y, rcond=None)[0]
    return coef


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("normalize", [True, False])
def test_every_point_equals_a_dense_refit(seed, normalize):
    X, Y, _ = sparse_data(seed, r=3)
    path = omp(as_problem(X, Y), n_atoms=12, normalize=normalize)
    assert path.grid["n_atoms"].tolist() == list(range(13))
    for k, coef in enumerate(path.coef):
        for j in range(3):
            expected = dense_omp(X, Y[:, j], k, normalize)
            np.testing.assert_allclose(coef[:, j], expected, atol=1e-10)


def test_equals_scikit_learn_without_normalisation():
    X, Y, _ = sparse_data(4, r=5)
    expected = orthogonal_mp(X, Y, n_nonzero_coefs=15)
    path = omp(as_problem(X, Y), normalize=False, grid={"n_atoms": [15]})
    np.testing.assert_allclose(path.coef[0], expected, atol=1e-10)


def test_equals_scikit_learn_on_unit_columns():
    X, Y, _ = sparse_data(5, r=4)
    X = X / np.linalg.norm(X, axis=0)
    whole = orthogonal_mp(X, Y[:, 0], n_nonzero_coefs=10, return_path=True)
    path = omp(as_problem(X, Y[:, 0]), n_atoms=10)
    np.testing.assert_allclose(path.coef[1:, :, 0], whole.T, atol=1e-10)


def test_tasks_with_their_own_designs_do_not_influence_each_other():
    one, other = sparse_data(1, n=30), sparse_data(2, n=45)
    both = omp(as_problem([one[0], other[0]], [one[1][:, 0], other[1][:, 0]]), n_atoms=8)
    for j, (X, Y, _) in enumerate((one, other)):
        alone = omp(as_problem(X, Y[:, 0]), n_atoms=8)
        np.testing.assert_allclose(both.coef[:, :, j], alone.coef[:, :, 0], atol=1e-12)


def test_default_is_the_step_that_lowers_the_loss_most():
    X, Y, _ = sparse_data(6)
    y = Y[:, 0]
    gains = []
    for x in X.T:
        gains.append(y @ y - np.sum((y - x * (x @ y) / (x @ x)) ** 2))
    path = omp(as_problem(X, y), n_atoms=1)
    assert np.flatnonzero(path.coef[1, :, 0]).tolist() == [int(np.argmax(gains))]


def test_scaling_and_permuting_columns_changes_nothing_else():
    X, Y, _ = sparse_data(7, r=2)
    rng = np.random.default_rng(0)
    scale, order = 10.0 ** rng.uniform(-4, 4, X.shape[1]), rng.permutation(X.shape[1])
    plain = omp(as_problem(X, Y), n_atoms=10).coef
    scaled = omp(as_problem(X * scale, Y), n_atoms=10).coef
    np.testing.assert_allclose(scaled * scale[:, None], plain, atol=1e-10)
    permuted = omp(as_problem(X[:, order], Y), n_atoms=10).coef
    np.testing.assert_allclose(permuted, plain[:, order], atol=1e-10)


def test_objective_is_the_loss_and_every_fit_is_stationary():
    problem = as_problem(*sparse_data(8, r=3)[:2])
    path = omp(problem)
    assert len(path) == 21
    for coef, objective in zip(path.coef, path.objective, strict=True):
        assert objective == pytest.approx(squared_loss(problem, coef), rel=1e-9)
        assert stationarity(problem, coef) < 1e-11
    assert (np.diff(path.objective) < 0).all()
    assert path.converged.all()
    assert path.message == ""


def test_grid_returns_these_points_in_this_order():
    problem = as_problem(*sparse_data(9, r=2)[:2])
    path = omp(problem, n_atoms=7)
    again = omp(problem, grid={"n_atoms": np.array([5.0, 0.0, 7.0, 5.0])})
    assert again.grid["n_atoms"].tolist() == [5.0, 0.0, 7.0, 5.0]
    np.testing.assert_array_equal(again.coef, path.coef[[5, 0, 7, 5]])
    np.testing.assert_array_equal(again.objective, path.objective[[5, 0, 7, 5]])


def test_exact_fit_ends_the_path_and_answers_larger_grids():
    X, Y, truth = sparse_data(10, r=2, s=3, noise=0.0)
    problem = as_problem(X, Y)
    path = omp(problem, n_atoms=20)
    assert len(path) == 4
    assert "after 3 steps" in path.message
    np.testing.assert_allclose(path.coef[-1], truth, atol=1e-12)
    beyond = omp(problem, grid={"n_atoms": [50]})
    np.testing.assert_allclose(beyond.coef[0], truth, atol=1e-12)


def test_more_atoms_than_rows_end_at_the_number_of_rows():
    rng = np.random.default_rng(3)
    path = omp(as_problem(rng.standard_normal((6, 20)), rng.standard_normal(6)), n_atoms=15)
    assert path.grid["n_atoms"][-1] == 6
    assert path.objective[-1] == pytest.approx(0.0, abs=1e-12)


def test_equal_scores_go_to_the_lowest_feature():
    X = np.eye(8)[:, ::-1] * 3.0
    path = omp(as_problem(X, np.ones(8)), n_atoms=4)
    for k, coef in enumerate(path.coef):
        assert np.flatnonzero(coef[:, 0]).tolist() == list(range(k))


def test_duplicate_and_zero_columns_are_never_taken():
    X, Y, _ = sparse_data(11, p=20)
    X[:, 7] = 0.0
    doubled = np.hstack([X, -2.0 * X])
    path = omp(as_problem(doubled, Y), n_atoms=15)
    assert len(path) == 16
    support = np.flatnonzero(path.coef[-1, :, 0])
    assert len(set(support % 20)) == 15
    assert 7 not in support % 20


def test_a_column_almost_in_the_span_is_left_out_and_reported():
    rng = np.random.default_rng(12)
    Q = np.linalg.qr(rng.standard_normal((10, 4)))[0]
    X = np.column_stack([Q[:, 0], Q[:, 0] + 1e-6 * Q[:, 1], Q[:, 2]])
    path = omp(as_problem(X, 3 * Q[:, 0] + Q[:, 1] + 1e-7 * Q[:, 2]), n_atoms=3)
    assert np.flatnonzero(path.coef[-1, :, 0]).tolist() in ([0, 2], [1, 2])
    assert "span" in path.message


def test_nearly_dependent_columns_are_refitted_from_the_design():
    rng = np.random.default_rng(13)
    Q = np.linalg.qr(rng.standard_normal((30, 4)))[0]
    X = np.column_stack([Q[:, 0], Q[:, 0] + 1e-4 * Q[:, 1], Q[:, 2]])
    y = 2 * X[:, 0] + X[:, 2] + 5.0 * Q[:, 1] + 0.1 * Q[:, 3]
    path = omp(as_problem(X, y), n_atoms=3)
    assert "redone from the design" in path.message
    expected = np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_allclose(path.coef[-1, :, 0], expected, rtol=1e-10)


def test_zero_response_gives_the_zero_estimate_only():
    path = omp(as_problem(np.random.default_rng(0).standard_normal((9, 5)), np.zeros(9)))
    assert len(path) == 1
    assert not path.coef.any()


@pytest.mark.parametrize("values", [[-1], [1.5], [], [np.nan]])
def test_impossible_numbers_of_atoms_are_refused(values):
    problem = as_problem(*sparse_data(0)[:2])
    with pytest.raises(ConfigError, match="whole numbers"):
        omp(problem, grid={"n_atoms": values})


def test_theory_takes_as_many_atoms_as_nonzeros():
    X, Y, truth = sparse_data(14, n=60, r=2, s=5)
    theory = registry.find("algorithm", "omp").theory
    grid = theory(as_problem(X, Y, truth=truth), n_atoms=None, normalize=True)
    assert grid["n_atoms"].tolist() == [5.0]
    with pytest.raises(DataError, match="number of nonzeros"):
        theory(as_problem(X, Y))


def dense_refit_pursuit(X, y, n_atoms):
    """Try every column with a dense least-squares fit of all; take the one that leaves least."""
    support, coef = [], np.zeros(X.shape[1])
    for _ in range(n_atoms):
        left = np.full(X.shape[1], np.inf)
        for i in set(range(X.shape[1])) - set(support):
            columns = X[:, [*support, i]]
            left[i] = np.linalg.norm(y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0])
        support.append(int(left.argmin()))
        coef = np.zeros(X.shape[1])
        coef[support] = np.linalg.lstsq(X[:, support], y, rcond=None)[0]
    return coef


def correlated_data(seed, n=40, p=60, r=2):
    """Columns that share a few directions, so that what a refit gains is far from one step's."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 8)) @ rng.standard_normal((8, p)) + rng.standard_normal((n, p))
    return X, X[:, :6] @ rng.standard_normal((6, r)) + 0.1 * rng.standard_normal((n, r))


@pytest.mark.parametrize("seed", range(3))
def test_judged_after_a_refit_every_point_equals_trying_all_columns(seed):
    X, Y = correlated_data(seed)
    path = omp(as_problem(X, Y), n_atoms=10, judge="refit")
    for k, coef in enumerate(path.coef):
        for j in range(2):
            expected = dense_refit_pursuit(X, Y[:, j], k)
            np.testing.assert_allclose(coef[:, j], expected, atol=1e-10)
    plain = omp(as_problem(X, Y), n_atoms=10)
    assert ((path.coef != 0) != (plain.coef != 0)).any()


@pytest.mark.parametrize("angle", [1e-1, 1e-3, 1e-4])
def test_a_refit_sees_past_the_angle_to_the_support(angle):
    # Beside column 0 little of column 1 is left, but all of it along the residual.
    Q = np.eye(4)
    X = np.column_stack([Q[0], np.cos(angle) * Q[0] + np.sin(angle) * Q[1], Q[2]])
    problem = as_problem(X, 3 * Q[0] - 0.2 * Q[1] + 0.15 * Q[2])
    single = omp(problem, grid={"n_atoms": [2]})
    refit = omp(problem, grid={"n_atoms": [2]}, judge="refit")
    assert np.flatnonzero(single.coef[0]).tolist() == [0, 2]
    assert np.flatnonzero(refit.coef[0]).tolist() == [0, 1]


def test_judged_after_a_refit_twins_are_never_taken_and_near_ones_reported():
    X, Y = correlated_data(3, p=20)
    doubled = np.hstack([X, -2.0 * X])
    path = omp(as_problem(doubled, Y), n_atoms=15, judge="refit")
    assert len(set(np.flatnonzero(path.coef[-1, :, 0]) % 20)) == 15
    assert path.message == ""
    Q = np.linalg.qr(np.random.default_rng(12).standard_normal((10, 4)))[0]
    X = np.column_stack([Q[:, 0], Q[:, 0] + 1e-6 * Q[:, 1], Q[:, 2]])
    path = omp(as_problem(X, 3 * Q[:, 0] + Q[:, 1] + 1e-7 * Q[:, 2]), n_atoms=3, judge="refit")
    assert np.flatnonzero(path.coef[-1, :, 0]).tolist() in ([0, 2], [1, 2])
    assert "span" in path.message


def test_a_refit_without_norms_is_refused():
    with pytest.raises(ConfigError, match="needs normalize: true"):
        omp(as_problem(*sparse_data(0)[:2]), normalize=False, judge="refit")
