"""Small fits use one thread of BLAS, and large ones those that the user has set."""

import os
import subprocess
import sys

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


def test_the_first_solve_limits_the_library_of_scipy_too():
    # SciPy loads a library of its own when scipy.linalg is first imported.
    script = """
import numpy as np, greedyexp
from threadpoolctl import threadpool_info

take, seen = np.log1p, []

def watched(*given, **more):
    seen.append({one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"})
    return take(*given, **more)

np.log1p = watched
X = np.random.default_rng(0).standard_normal((50, 4))
greedyexp.solve("foba_obj", X, loss="logdet", max_features=2)
print(*seen)
"""
    two = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    ran = subprocess.run([sys.executable, "-c", script], env=two, capture_output=True, text=True)
    assert ran.stderr == ""
    assert set(ran.stdout.split()) == {"{1}"}
