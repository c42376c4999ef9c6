"""Tests of two samples against closed forms, enumeration and the definition of Holm's method."""

from __future__ import annotations

from itertools import combinations
from math import comb, sqrt

import numpy as np
import pytest
from scipy.special import betainc

from greedyexp.stats.multiplicity import holm
from greedyexp.stats.two_samples import difference_of_means, difference_of_proportions


def two_sided(t: float, freedom: float) -> float:
    """P(|T| >= |t|) of Student's distribution, by the incomplete beta function."""
    return float(betainc(freedom / 2, 0.5, freedom / (freedom + t * t)))


def variance(x: np.ndarray) -> float:
    return float(((x - x.mean()) ** 2).sum() / (len(x) - 1))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [2, 3, 10, 200])
def test_paired_t_test(seed, n):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(0, 1, n), rng.normal(0.5, 1, n)
    d = y - x
    difference, low, high, p = difference_of_means(x, y, paired=True)
    error = sqrt(variance(d) / n)
    assert difference == pytest.approx(d.mean(), rel=1e-12)
    assert p == pytest.approx(two_sided(d.mean() / error, n - 1), rel=1e-9)
    # At the ends of the interval, the test is just at 5%.
    for end in (low, high):
        assert two_sided((d.mean() - end) / error, n - 1) == pytest.approx(0.05, rel=1e-8)
    assert difference_of_means(y, x, paired=True)[3] == pytest.approx(p, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("n", "m"), [(2, 2), (5, 30), (100, 7)])
def test_welch_test(seed, n, m):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(0, 1, n), rng.normal(0.8, 4, m)
    difference, _, _, p = difference_of_means(x, y, paired=False)
    a, b = variance(x) / n, variance(y) / m
    freedom = (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1))
    assert difference == pytest.approx(y.mean() - x.mean(), rel=1e-12)
    assert p == pytest.approx(two_sided((y.mean() - x.mean()) / sqrt(a + b), freedom), rel=1e-9)


@pytest.mark.parametrize(
    ("x", "y", "p"),
    [
        ([1.0, 2.0, 3.0], [1.5, 2.5, 3.5], 2 * 0.5**3),
        ([1.0] * 12, [0.25] * 12, 2 * 0.5**12),
        ([4.0], [5.0], 1.0),
        ([1.0, 2.0], [1.0, 2.0], 1.0),
    ],
)
def test_equal_differences_get_the_sign_test(x, y, p):
    assert difference_of_means(np.array(x), np.array(y), paired=True)[3] == p


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 2), (3, 5), (6, 6)])
def test_constant_samples_get_the_permutation_test(n, m):
    x, y = np.full(n, 3.0), np.full(m, 4.0)
    together = np.concatenate([x, y])
    splits = [together[list(one)].sum() for one in combinations(range(n + m), n)]
    p = min(1.0, 2 * np.mean([total <= x.sum() for total in splits]))
    assert difference_of_means(x, y, paired=False)[3] == pytest.approx(p)
    # The mean of 0.1 is rounded.
    difference, _, _, p = difference_of_means(np.full(n, 0.1), np.full(m, 0.1), paired=False)
    assert (difference, p) == (0, 1)


@pytest.mark.parametrize("paired", [True, False])
def test_many_pairs_are_compared_like_each_alone(paired):
    rng = np.random.default_rng(0)
    x, y = rng.normal(0, 1, (4, 3, 9)), rng.normal(0.5, 1, (4, 3, 9 if paired else 6))
    # Some pairs have equal differences, or no variance.
    y[0, :, :] = x[0, :, : y.shape[-1]] + 2
    x[1, :, :], y[1, :, :] = 3, 4
    for compare, a, b in (
        (difference_of_means, x, y),
        (difference_of_proportions, (x > 0) * 1.0, (y > 0) * 1.0),
    ):
        together = np.array(compare(a, b, paired=paired))
        assert together.shape == (4, 4, 3)
        for place in np.ndindex(4, 3):
            alone = np.array(compare(a[place], b[place], paired=paired))
            assert together[(slice(None), *place)] == pytest.approx(alone, rel=1e-12, abs=1e-15)


def test_mcnemar_by_enumeration():
    for only_x, only_y in np.ndindex(9, 9):
        x = np.array([1.0] * (only_x + 3) + [0.0] * (only_y + 2))
        y = np.array([0.0] * only_x + [1.0] * 3 + [1.0] * only_y + [0.0] * 2)
        differ = only_x + only_y
        tail = sum(comb(differ, k) for k in range(min(only_x, only_y) + 1)) / 2**differ
        difference, _, _, p = difference_of_proportions(x, y, paired=True)
        assert p == pytest.approx(min(1.0, 2 * tail), rel=1e-12)
        assert difference == pytest.approx((only_y - only_x) / len(x), abs=1e-15)


def test_fisher_by_enumeration():
    for n, m in ((4, 6), (7, 7), (12, 3)):
        for k, j in np.ndindex(n + 1, m + 1):
            x, y = (np.array([1.0] * hits + [0.0] * (of - hits)) for hits, of in ((k, n), (j, m)))
            ways = {i: comb(n, i) * comb(m, k + j - i) for i in range(k + j + 1)}
            # As extreme are all tables of the same margins that are no more likely: whole numbers.
            extreme = sum(way for way in ways.values() if way <= ways[k])
            p = difference_of_proportions(x, y, paired=False)[3]
            assert p == pytest.approx(extreme / comb(n + m, k + j), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_holm_is_the_closed_test_of_bonferroni(seed):
    p = np.random.default_rng(seed).random(6) ** 3
    sets = [one for size in range(1, 7) for one in combinations(range(6), size)]
    # A hypothesis is rejected if Bonferroni rejects each set that holds it.
    expected = [
        max(min(1.0, len(one) * p[list(one)].min()) for one in sets if i in one) for i in range(6)
    ]
    assert holm(p).adjusted == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("size", [1.0, 1e-8, 1e8])
def test_numbers_that_differ_by_rounding_are_equal(size):
    rng = np.random.default_rng(4)
    noise = 1e-15 * rng.standard_normal((2, 8))
    x, y = size * (0.3 + noise)
    # Equal samples differ nowhere, and a constant difference has the test of equal differences.
    for paired in (True, False):
        assert difference_of_means(x, y, paired=paired)[3] == 1.0
    assert difference_of_means(x, 2 * y, paired=True)[3] == 2 * 0.5**8
    assert difference_of_means(x, 2 * y, paired=False)[3] == pytest.approx(2 / comb(16, 8))
    # Rounding errors of large values are those of their differences.
    z = size * 1000 * rng.random(8)
    assert difference_of_means(z, (z * 3) / 3, paired=True)[3] == 1.0
