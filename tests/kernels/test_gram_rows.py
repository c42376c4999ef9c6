"""Rows of a Gram matrix that are computed when needed, against the matrix by BLAS."""

import numpy as np
import pytest

from greedyexp.kernels import greedy_dirty
from greedyexp.kernels.gram_rows import BATCH, gram_rows


@pytest.fixture(params=[(1, 60), (2, 60), (2, 157), (1, 1100)], ids=str)
def tasks(request):
    """Designs, with copies of columns and a column in the span of two others, and responses."""
    count, n = request.param
    rng = np.random.default_rng(n)
    designs = rng.standard_normal((count, n, 600)) + 0.3 * rng.standard_normal((count, n, 1))
    designs[:, :, 20:40] = -2 * designs[:, :, :20]
    designs[:, :, 50] = designs[:, :, 1] + designs[:, :, 2]
    truth = np.zeros((2, 600))
    truth[:, :12] = rng.choice([-1.0, 1.0], (2, 12))
    y = truth @ designs[[0, -1]].swapaxes(1, 2) + 0.5 * rng.standard_normal((2, 1, n))
    return list(designs), np.array([y[0, 0], y[1, 1]])


def path(gram, designs, y):
    n = y.shape[1]
    correlation = np.stack([designs[0].T @ y[0], designs[-1].T @ y[1]]) / n
    # The stop leaves enough steps for a support of n entries in the small problems.
    stop = 1e-7 if n < 100 else 1e-3
    return greedy_dirty.path(
        gram, correlation, (y**2).mean(axis=1), np.full(2, n), 1.4, 0.5, False, stop, 0.0, 10**6
    )


def test_a_path_from_rows_is_that_from_the_matrix(tasks):
    designs, y = tasks
    n = y.shape[1]
    matrix = np.stack([X.T @ X / n for X in designs])
    of_rows = path([gram_rows(X, n + BATCH) for X in designs], designs, y)
    of_matrix = path(matrix, designs, y)
    for one, other in zip(of_rows, of_matrix, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-8)
    assert of_rows[2][-1] > 2 * BATCH


def test_rows_have_the_same_bits_whatever_is_computed_with_them(tasks):
    designs, y = tasks
    n = y.shape[1]
    kept = path([gram_rows(X, 10_000) for X in designs], designs, y)
    forgotten = path([gram_rows(X, n + BATCH) for X in designs], designs, y)
    shared = [gram_rows(X, 300) for X in designs]
    path(shared, designs, y[::-1])
    for other in (forgotten, path(shared, designs, y)):
        for one, two in zip(kept, other, strict=True):
            np.testing.assert_array_equal(one, two)


def test_rows_refer_to_the_design_and_refuse_a_copy():
    with pytest.raises(TypeError):
        gram_rows(np.zeros((4, 6)).T, 10)
