"""Small fits use one thread of BLAS, and large ones those that the user has set."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import greedyexp
from greedyexp.core import blas
from greedyexp.core.blas import threads_for


def most_threads():
    return max(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")


@pytest.mark.parametrize(("size", "threads"), [(100, 1), (2**22, 2)])
def test_only_products_of_small_arrays_are_limited(size, threads):
    with threadpool_limits(limits=2):
        with threads_for(size):
            assert most_threads() == threads
        assert most_threads() == 2


def test_a_solve_of_small_data_limits_them(monkeypatch):
    seen = []

    @greedyexp.algorithm("t_threads")
    def t_threads(problem):
        """Zeros, and how many threads there are."""
        seen.append(most_threads())
        return np.zeros(problem.n_features)

    X, y = np.eye(4), np.arange(4.0) - 1.5
    with threadpool_limits(limits=2):
        greedyexp.solve("t_threads", X, y)
        monkeypatch.setattr(blas, "_SMALL", 16)
        greedyexp.solve("t_threads", X, y)
    assert seen == [1, 2]
