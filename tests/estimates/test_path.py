"""Paths cut and joined: everything known of an estimate goes with it."""

from dataclasses import replace

import numpy as np

from greedyexp.estimates.path import Path, join
from greedyexp.estimates.sparse import SparseEstimates


def path(lams, message=""):
    lams = np.array(lams, dtype=float)
    coef = lams[:, None, None] * np.ones((1, 3, 2))
    return Path(coef, {"lam": lams, "w": -lams}, 10 * lams, lams > 1.5, message)


def same(one, other):
    return (
        np.array_equal(one.coef, other.coef)
        and one.grid.keys() == other.grid.keys()
        and all(np.array_equal(one.grid[name], other.grid[name]) for name in one.grid)
        and np.array_equal(one.objective, other.objective)
        and np.array_equal(one.converged, other.converged)
        and one.message == other.message
    )


def test_estimates_are_taken_in_the_order_asked_for():
    whole = path([1, 2, 3], "a")
    assert same(whole.take([2, 0]), path([3, 1], "a"))
    assert same(whole.take([1]), path([2], "a"))
    assert len(whole.take(np.array([], dtype=int))) == 0


def test_support_sizes_go_with_their_estimates():
    coef = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 3.0, 0.0]])[:, :, None]
    counted = Path(coef, {}, np.zeros(3), np.ones(3, dtype=bool))
    sparse = replace(counted, estimates=SparseEstimates.of(coef))
    for one in (counted, sparse):
        assert one.sparse.sizes.tolist() == [2, 0, 1]
        assert one.take([2, 0]).sparse.sizes.tolist() == [1, 2]
        assert join([one, one.take([0])]).sparse.sizes.tolist() == [2, 0, 1, 2]


def test_paths_are_joined_one_after_the_other():
    assert same(join([path([1, 2], "a"), path([3]), path([4], "b")]), path([1, 2, 3, 4], "a b"))
    assert same(join([path([1, 2], "a")]), path([1, 2], "a"))
