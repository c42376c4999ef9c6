import numpy as np
import pytest
from crf_problems import enumerated
from scipy.optimize import linprog

from greedyexp.losses.crf import CrfLoss


def exists(loss, support):
    """By a linear program over all labellings: none gets less likely along any direction."""
    exact = enumerated(loss)
    free = np.r_[list(support), np.arange(loss.size, loss.size + loss.n_dense)].astype(int)
    ahead = [seen - counts for (counts, _), seen in zip(exact.chains, exact.observed, strict=True)]
    margins = np.vstack(ahead)[:, free]
    found = linprog(
        -margins.sum(axis=0), A_ub=-margins, b_ub=np.zeros(len(margins)), bounds=(-1, 1)
    )
    return -found.fun < 1e-7


def drawn(seed):
    """Chains that features tell well or badly, columns of sizes far apart; and some supports."""
    rng = np.random.default_rng(seed)
    r, n_chains, p = int(rng.integers(2, 4)), int(rng.integers(4, 25)), 3
    lengths = rng.integers(1, 5 if r == 3 else 7, n_chains)
    n = lengths.sum()
    kinds = rng.normal(size=(n, p)), (rng.random((n, p)) < 0.4) * 1.0, rng.integers(1, 4, (n, p))
    X = kinds[seed % 3] * 10.0 ** rng.integers(-3, 3, p)
    weights = rng.normal(size=(p, r)) * rng.choice([0.5, 3, 10]) / np.abs(X).max(axis=0)[:, None]
    labels = (X @ weights + rng.gumbel(size=(n, r)) * rng.choice([0.05, 1])).argmax(axis=1)
    supports = [(), *(rng.choice(p * r, size, replace=False) for size in (1, 2, 3, 4))]
    return CrfLoss(X, labels, lengths, n_classes=r), supports


@pytest.mark.parametrize("first", [0, 12, 90, pytest.param(200, marks=pytest.mark.deep)])
def test_a_fit_is_certified_where_a_minimum_exists_and_nowhere_else(first):
    counts = {True: 0, False: 0}
    for seed in range(first, first + (100 if first == 200 else 12)):
        loss, supports = drawn(seed)
        for support in supports:
            there = exists(loss, support)
            found = loss.minimise(support)
            assert found.converged == there, (seed, support)
            counts[there] += 1
            if not there:
                assert "Give a ridge above zero." in found.message
                np.testing.assert_array_equal(found.params, loss.minimise(()).params)
    assert min(counts.values()) >= 10


@pytest.mark.parametrize(
    ("labels", "lengths", "said"),
    [
        ([0, 1, 1, 0, 0, 1], [3, 3], "class 2 never occurs, no chain starts with class 1,"),
        ([0, 1, 2, 1, 0, 2, 1, 1, 0, 0], [4, 5, 1], "no chain starts with class 2, no chain ends"),
        ([0, 0, 1, 1, 0, 0, 1, 2, 1, 2, 2, 1], [3, 3, 3, 3], "class 2 never follows class 0,"),
    ],
)
def test_what_was_never_seen_is_named(labels, lengths, said):
    X = np.random.default_rng(0).standard_normal((len(labels), 2))
    loss = CrfLoss(X, labels, lengths, n_classes=3)
    for found in (loss.minimise(()), loss.minimise([1, 3]), loss.fit()):
        assert not found.converged
        assert said in found.message
        assert not found.params.any()
    assert CrfLoss(X, labels, lengths, n_classes=3, ridge=1e-3).minimise([1]).converged


def test_a_feature_that_separates_is_named_and_leaves_the_fit_as_it_was():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 40)
    X = np.column_stack([rng.standard_normal(40), labels])
    fit = CrfLoss(X, labels, np.ones(40, int), n_classes=2).fit()
    fit.add([0])
    before = fit.params
    fit.add([3])
    assert not fit.converged
    assert fit.message.startswith("feature 1 separates class 1 from the others; without")
    np.testing.assert_array_equal(fit.params, before)
    fit.remove([3])
    assert fit.converged
    assert fit.message == ""
    np.testing.assert_allclose(fit.params, before, atol=1e-9)


@pytest.mark.parametrize("size", [1e-3, 1e-6, 1e-7, 1e-9])
def test_columns_may_be_small(size):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, labels = rng.standard_normal((300, 2)), rng.integers(0, 3, 300)
        plain = CrfLoss(X, labels, [10] * 30, n_classes=3)
        small = CrfLoss(size * X, labels, [10] * 30, n_classes=3)
        for support in ([], [0], [0, 4]):
            ours, usual = small.minimise(support), plain.minimise(support)
            assert ours.converged
            np.testing.assert_allclose(size * ours.params[:6], usual.params[:6], atol=1e-8)
