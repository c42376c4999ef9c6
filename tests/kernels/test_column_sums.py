import warnings

import numpy as np
import pytest

from greedyexp.core.errors import DataError
from greedyexp.kernels.column_sums import column_sums
from greedyexp.problems.problem import as_problem


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (7, 1), (40, 65), (101, 8)])
def test_one_pass_gives_what_numpy_gives(shape):
    X = np.random.default_rng(0).standard_normal(shape)
    for order in (X, np.asfortranarray(X)):
        largest, total, squares = column_sums(order)
        np.testing.assert_array_equal(largest, np.abs(X).max(axis=0))
        np.testing.assert_allclose(total, X.sum(axis=0), atol=1e-13)
        np.testing.assert_allclose(squares, (X**2).sum(axis=0))


@pytest.mark.parametrize("size", [1e160, 1e308])
def test_large_numbers_are_not_called_infinite(size):
    X = np.ones((5, 2))
    X[3, 1] = -size
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError, match=r"feature 1 is .* too large for double precision"):
            as_problem(X, np.arange(5.0))
        X[3, 1] = np.inf
        with pytest.raises(DataError, match=r"X holds inf at index \(3, 1\)"):
            as_problem(X, np.arange(5.0))
        X[3, 1] = np.nan
        with pytest.raises(DataError, match=r"X holds nan at index \(3, 1\)"):
            as_problem(X, np.arange(5.0))
