"""Sparse estimates say what the dense arrays say."""

import pickle

import numpy as np
import pytest

from greedyexp.core.errors import DataError
from greedyexp.estimates import sparse as module
from greedyexp.estimates.sparse import SparseEstimates


def drawn(seed, m=7, p=9, r=3):
    rng = np.random.default_rng(seed)
    coef = rng.standard_normal((m, p, r)) * (rng.random((m, p, r)) < 0.3)
    coef[2] = 0.0
    selected = (coef != 0) | (rng.random((m, p, r)) < 0.1)
    selected[2] = False
    return coef, selected


@pytest.fixture(params=[(0, 7, 9, 3), (1, 4, 12, 1), (2, 3, 1, 5)], ids=["tasks", "one", "feature"])
def both(request):
    seed, *shape = request.param
    coef, selected = drawn(seed, *shape)
    return coef, selected, SparseEstimates.of(coef, selected)


def test_they_hold_values_and_supports(both):
    coef, selected, estimates = both
    assert estimates.in_order()
    np.testing.assert_array_equal(estimates.dense(), coef)
    np.testing.assert_array_equal(estimates.supports(), selected)
    np.testing.assert_array_equal(SparseEstimates.of(coef).supports(), coef != 0)
    assert estimates.sizes.tolist() == selected.sum(axis=(1, 2)).tolist()
    assert estimates.row_sizes.tolist() == selected.any(axis=2).sum(axis=1).tolist()
    for k, one in enumerate(coef):
        np.testing.assert_array_equal(estimates.matrix(k).toarray(), one)
        np.testing.assert_array_equal(estimates.support(k), np.flatnonzero(selected[k]))
    again = pickle.loads(pickle.dumps(estimates))
    np.testing.assert_array_equal(again.dense(), coef)


def test_they_are_taken_and_joined_like_rows(both):
    coef, selected, estimates = both
    for index in ([2, 0], [1], [], [0, 0, 2]):
        taken = estimates.take(index)
        np.testing.assert_array_equal(taken.dense(), coef[index])
        np.testing.assert_array_equal(taken.supports(), selected[index])
    joined = SparseEstimates.join([estimates, estimates.take([]), estimates.take([1])])
    np.testing.assert_array_equal(joined.dense(), np.concatenate([coef, coef[[1]]]))
    assert estimates.equal(0, 0)
    assert not estimates.equal(0, 1)


def test_predictions_and_sums_are_those_of_dense_arrays(both):
    coef, _, estimates = both
    _, p, r = coef.shape
    rng = np.random.default_rng(5)
    for n, task in ((4, 0), (3, r - 1)):
        X = rng.standard_normal((n, p))
        expected = coef[:, :, task] @ X.T
        np.testing.assert_allclose(estimates.predictions(X, task), expected, atol=1e-13)
    weights = rng.standard_normal((p, r))
    sums = estimates.task_sums(estimates.values * estimates.at(weights))
    np.testing.assert_allclose(sums, (coef * weights).sum(axis=1), atol=1e-13)
    scaled = estimates.with_values(estimates.values * estimates.at(weights))
    np.testing.assert_array_equal(scaled.dense(), coef * weights)


def test_a_comparison_with_the_truth_counts_and_measures(both):
    coef, selected, estimates = both
    rng = np.random.default_rng(6)
    truth = rng.standard_normal(coef.shape[1:]) * (rng.random(coef.shape[1:]) < 0.4)
    for known in (truth, np.zeros_like(truth), coef[0]):
        found = estimates.compared(known)
        hits = selected & (known != 0)
        assert found.found.tolist() == hits.sum(axis=(1, 2)).tolist()
        right = hits & (np.sign(coef) == np.sign(known))
        assert found.right_signs.tolist() == right.sum(axis=(1, 2)).tolist()
        distance = np.sqrt(((coef - known) ** 2).sum(axis=(1, 2)))
        np.testing.assert_allclose(found.distance, distance, rtol=1e-14)
        assert estimates.compared(known) is found
    assert estimates.compared(coef[0]).distance[0] == 0.0


def test_they_cannot_be_changed_by_who_reads_them(both):
    _, _, estimates = both
    with pytest.raises(ValueError, match="read-only"):
        estimates.values[:] = 0.0


def test_arrays_that_are_not_in_order_are_found():
    good = SparseEstimates.of(np.eye(3)[:, :, None])
    assert good.in_order()
    for ends, entries in (
        ([0, 1, 2], [0, 1, 2]),
        ([0, 2, 1, 3], [0, 1, 2]),
        ([0, 1, 2, 3], [0, 1, 3]),
        ([0, 1, 2, 3], [-1, 1, 2]),
        ([0, 2, 2, 3], [1, 1, 2]),
    ):
        bad = SparseEstimates(np.array(ends), np.array(entries), np.ones(len(entries)), (3, 1))
        assert not bad.in_order()


def test_a_dense_array_that_does_not_fit_is_refused(monkeypatch):
    estimates = SparseEstimates.of(np.ones((2, 3, 1)))

    def full(needed, what, remedy):
        raise DataError(f"{what} would take {needed:g} bytes", remedy=remedy)

    monkeypatch.setattr(module, "require_memory", full)
    with pytest.raises(DataError, match="2 estimates with 3 coefficients would take 48 bytes"):
        estimates.dense()
