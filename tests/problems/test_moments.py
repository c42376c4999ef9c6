import math
import tracemalloc

import numpy as np
import pytest
from moments_cases import cases

from greedyexp.core.errors import DataError
from greedyexp.problems.moments import DenseMoments, SpreadMoments

CASES = pytest.mark.parametrize(
    ("X", "y", "moments"), [pytest.param(*case[1:], id=case[0]) for case in cases()]
)


def drawn(seed):
    """Spread moments with equal, tiny and zero entries now and then, and their matrix."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 9))
    alpha = rng.choice([0.0, 1e-9, 0.3, 0.3, 0.5], d) if seed % 2 else rng.uniform(0.0, 0.5, d)
    u = rng.choice([0.0, 0.5, -0.5, 0.7], d) if seed % 3 else rng.uniform(-0.7, 0.7, d)
    matrix = np.diag(alpha) + np.outer(u, u)
    w = rng.standard_normal(d)
    return SpreadMoments(alpha, u, matrix @ w, w @ matrix @ w + 1.0), matrix, w


@CASES
def test_moments_are_means_over_the_rows(X, y, moments):
    vector = np.linspace(-1.0, 2.0, X.shape[1])
    np.testing.assert_allclose(moments.cross, X.T @ y / len(y), atol=1e-15)
    assert moments.power == pytest.approx(y @ y / len(y), rel=1e-14)
    np.testing.assert_allclose(moments.diagonal, (X * X).mean(axis=0), atol=1e-15)
    np.testing.assert_allclose(moments.times(vector), X.T @ (X @ vector) / len(y), atol=1e-14)
    assert moments.quadratic(vector) == pytest.approx(((X @ vector) ** 2).mean(), rel=1e-14)
    for j in range(X.shape[1]):
        np.testing.assert_allclose(moments.column(j), X.T @ X[:, j] / len(y), atol=1e-15)


@CASES
def test_best_predictor_is_the_least_norm_fit_to_the_rows(X, y, moments):
    fitted = np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_allclose(moments.predictor, fitted, atol=1e-13)
    assert moments.least == pytest.approx(((X @ fitted - y) ** 2).mean(), abs=1e-14)


@pytest.mark.parametrize("seed", range(60))
def test_spread_moments_agree_with_their_matrix(seed):
    moments, matrix, w = drawn(seed)
    rng = np.random.default_rng(1000 + seed)
    np.testing.assert_allclose(moments.times(w), matrix @ w, atol=1e-15)
    for support in (np.arange(len(w)), rng.permutation(len(w))[: (len(w) + 1) // 2]):
        block = matrix[np.ix_(support, support)]
        eigenvalues = np.linalg.eigvalsh(block)
        assert moments.smallest_eigenvalue(support) == pytest.approx(eigenvalues[0], abs=2e-15)
        for ridge in (0.0, 0.2):
            whole = block + ridge * np.eye(len(support))
            right = whole @ w[support]
            solution = moments.solve(support, right, ridge)
            assert np.abs(whole @ solution - right).max() < 1e-14 * max(1, np.abs(solution).max())
            shortest = np.linalg.pinv(whole, rcond=1e-13) @ right
            np.testing.assert_allclose(solution, shortest, atol=1e-5)
            outside = matrix.diagonal() + ridge
            outside -= np.einsum(
                "ij,ji->i", matrix[:, support], np.linalg.pinv(whole, 1e-13) @ matrix[support]
            )
            others = np.setdiff1d(np.arange(len(w)), support)
            np.testing.assert_allclose(
                moments.outside(support, ridge)[others], outside[others], atol=1e-6
            )


def test_eigenvalues_of_equal_features_are_known():
    moments = SpreadMoments(np.full(9, 0.6), np.full(9, np.sqrt(0.4)), np.zeros(9), 1.0)
    assert moments.smallest_eigenvalue(range(9)) == 0.6
    assert moments.smallest_eigenvalue([4]) == pytest.approx(1.0, rel=1e-15)
    assert moments.smallest_eigenvalue([]) == math.inf
    assert DenseMoments(np.eye(3), np.zeros(3), 1.0).smallest_eigenvalue([]) == math.inf


def test_a_tiny_eigenvalue_keeps_its_digits():
    # Two features of which one is the other but for a part in 1e12: 1e-12 / 2 to first order.
    moments = SpreadMoments(np.array([0.0, 1e-12]), np.ones(2) * 0.9, np.zeros(2), 1.0)
    assert moments.smallest_eigenvalue([0, 1]) == pytest.approx(5e-13, rel=1e-11)


# Of seed 5 rounding leaves a Cholesky factor, of seed 0 none.
@pytest.mark.parametrize("seed", [0, 5])
def test_dense_solution_with_features_in_the_span_of_others_is_the_shortest(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (30, 6))
    X[:, 4], X[:, 5] = 0.5 * (X[:, 0] + X[:, 1]), X[:, 2]
    y = X @ [1.0, 0.0, 2.0, -1.0, 0.0, 0.5]
    moments = DenseMoments(X.T @ X / 30, X.T @ y / 30, y @ y / 30)
    np.testing.assert_allclose(moments.predictor, np.linalg.lstsq(X, y, rcond=None)[0], atol=1e-11)
    assert moments.least == 0.0
    assert moments.smallest_eigenvalue(range(6)) == pytest.approx(0.0, abs=1e-15)
    assert moments.smallest_eigenvalue([0, 1, 3]) == pytest.approx(
        np.linalg.svd(X[:, [0, 1, 3]])[1][-1] ** 2 / 30, rel=1e-12
    )


def test_spread_moments_of_many_features_form_no_matrix():
    d, a = 100_000, 0.1
    moments = SpreadMoments(np.full(d, 1 - a * a), np.full(d, a), np.full(d, a), 1.0)
    tracemalloc.start()
    best, least = moments.predictor, moments.least
    moments.column(7)
    lowest = moments.smallest_eigenvalue(np.arange(d))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(best, a / (1 - a * a + a * a * d), rtol=1e-13)
    assert least == pytest.approx((1 - a * a) / (1 - a * a + a * a * d), rel=1e-11)
    assert lowest == 1 - a * a
    # A list of so many floats takes four vectors.
    assert peak < 40 * 8 * d


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: SpreadMoments([0.5], [0.1, 0.2], [0.0], 1.0), "one length"),
        (lambda: SpreadMoments([-0.5], [0.1], [0.0], 1.0), "negative"),
        (lambda: SpreadMoments([0.9], [0.5], [0.0], 1.0), "between 0 and 1"),
        (lambda: SpreadMoments([np.nan], [0.5], [0.0], 1.0), "negative"),
        (lambda: SpreadMoments([0.5], [0.5], [np.inf], 1.0), "finite"),
        (lambda: SpreadMoments([0.5], [0.5], [0.0], 0.0), "positive"),
        (lambda: SpreadMoments([], [], [], 1.0), "at least one feature"),
        (lambda: DenseMoments(np.eye(2), np.zeros(3), 1.0), "square"),
        (lambda: DenseMoments([[1.0, 0.5], [0.2, 1.0]], np.zeros(2), 1.0), "symmetric"),
        (lambda: DenseMoments([[0.5, 0.9], [0.9, 0.5]], np.zeros(2), 1.0), "semidefinite"),
        (lambda: DenseMoments(2 * np.eye(2), np.zeros(2), 1.0), "between 0 and 1"),
        (lambda: SpreadMoments([1.0], [0.0], [1.0], 0.5).least, "explain"),
        (lambda: SpreadMoments([0.0], [0.0], [0.5], 1.0).predictor, "range"),
        (lambda: DenseMoments(np.ones((2, 2)), [1.0, 0.5], 1.0).predictor, "range"),
    ],
)
def test_moments_of_no_distribution_are_refused(build, words):
    with pytest.raises(DataError, match=words):
        build()
