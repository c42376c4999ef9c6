"""The level of tests of sums, by enumeration of all outcomes of small samples."""

from __future__ import annotations

import itertools
from math import factorial, prod

import numpy as np
import pytest
from scipy import stats

from greedyexp.stats.bounded_sums import BoundedSum
from greedyexp.stats.proportions import binomial_tail

LEVELS = np.array([0.05, 0.01, 1e-3, 1e-4])
# Success probabilities, also near 0 and 1, where approximate intervals fail.
RATES = (0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.98, 0.999, 1.0)


def made(outcomes, rates, weights, sizes):
    """Return the sum of weight * share for numbers of successes, and its expectation."""
    values = np.concatenate(
        [
            np.repeat([w / n, 0.0], [k, n - k])
            for k, w, n in zip(outcomes, weights, sizes, strict=True)
        ]
    )
    ends = np.repeat(np.divide(weights, sizes), sizes)
    made = BoundedSum(values, np.minimum(ends, 0), np.maximum(ends, 0), True, len(sizes) == 1)
    return made, float(np.dot(weights, rates))


@pytest.mark.parametrize(
    ("weights", "sizes"),
    [
        ([1.0], [20]),
        ([0.5, 0.5], [10, 10]),
        ([0.5, 0.5], [1, 1]),
        ([0.5, 0.5], [4, 13]),
        ([1.0, -1.0], [9, 9]),
        ([1.0, -0.5], [8, 12]),
        ([-1.0, 0.0, 1.0], [6, 1, 6]),
        ([1 / 3, 1 / 3, 1 / 3], [4, 4, 4]),
    ],
)
def test_the_true_value_is_rejected_in_each_direction_at_most_at_half_the_level(weights, sizes):
    weights = np.array(weights) + (np.array(weights) == 0) * 1e-3
    outcomes = list(itertools.product(*(range(n + 1) for n in sizes)))
    sums = [made(k, weights, weights, sizes)[0] for k in outcomes]
    values = np.array([one.values.sum() for one in sums])
    rates = RATES if len(sizes) < 3 else RATES[1:-1:2]
    worst = np.zeros(len(LEVELS))
    for p in itertools.product(rates, repeat=len(sizes)):
        chances = prod(
            stats.binom.pmf([k[i] for k in outcomes], n, p[i]) for i, n in enumerate(sizes)
        )
        truth = float(np.dot(weights, p))
        # Impossible outcomes need no p-value.
        possible = np.flatnonzero(chances > 1e-12)
        tested = np.array([sums[i].p_value(truth) for i in possible])
        for side in (-1, 1):
            beyond = side * (values[possible] - truth) > 0
            rejected = beyond & (tested <= LEVELS[:, None] * (1 + 1e-12))
            worst = np.maximum(worst, (rejected * chances[possible]).sum(axis=1))
    assert np.all(worst <= LEVELS / 2 + 1e-10), worst


# Probabilities of (1, 1), (1, 0), (0, 1) and (0, 0) of two methods on one data set.
JOINT = [
    (0.5, 0.2, 0.2, 0.1), (0.9, 0.05, 0.05, 0.0), (0.0, 0.5, 0.5, 0.0), (0.2, 0.7, 0.1, 0.0),
    (0.0, 0.02, 0.0, 0.98), (0.0, 0.0, 0.3, 0.7), (0.05, 0.95, 0.0, 0.0), (0.0, 0.02, 0.02, 0.96),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), [(1.0, -1.0), (1.0, -0.5), (0.3, 0.7)])
def test_methods_on_the_same_data_sets_at_two_points(first, second):
    n = 4
    cells = [c for c in itertools.product(range(n + 1), repeat=4) if sum(c) == n]
    move = np.array([first + second, first, second, 0.0])
    chances = np.array(
        [
            [
                factorial(n)
                / prod(map(factorial, c))
                * prod(q**k for q, k in zip(p, c, strict=True))
                for c in cells
            ]
            for p in JOINT
        ]
    )
    pairs = list(itertools.product(range(len(cells)), repeat=2))
    ends = np.full(2 * n, min(0.0, *move)), np.full(2 * n, max(0.0, *move))
    sums = [
        BoundedSum(np.repeat(np.tile(move, 2), [*cells[i], *cells[j]]), *ends) for i, j in pairs
    ]
    values = np.array([one.values.sum() for one in sums])
    for i, j in itertools.combinations_with_replacement(range(len(JOINT)), 2):
        both = np.outer(chances[i], chances[j]).ravel()
        truth = n * float(np.dot(move, np.add(JOINT[i], JOINT[j])))
        possible = np.flatnonzero(both > 1e-9)
        tested = np.array([sums[k].p_value(truth) for k in possible])
        for side in (-1, 1):
            beyond = side * (values[possible] - truth) > 0
            for level in LEVELS:
                share = both[possible][beyond & (tested <= level)].sum()
                assert share <= level / 2 + 1e-9, (JOINT[i], JOINT[j], level)


def test_one_proportion_has_the_binomial_test_and_the_limits_of_clopper_and_pearson():
    for wins, n in ((0, 7), (1, 7), (7, 7), (13, 40), (399, 400)):
        one, _ = made([wins], [0.5], [1.0], [n])
        for confidence in (0.95, 0.9999):
            exact = stats.binomtest(wins, n).proportion_ci(confidence)
            assert one.interval(confidence) == pytest.approx(tuple(exact), abs=1e-12)
        for p in (0.1, 0.5, 0.93):
            tails = stats.binom.cdf(wins, n, p), stats.binom.sf(wins - 1, n, p)
            assert one.p_value(p) == pytest.approx(min(1, max(1e-9, 2 * min(tails))))


def test_different_probabilities_with_one_mean_have_lighter_tails_but_for_one_success():
    rng = np.random.default_rng(3)
    for n in (2, 3, 6):
        for _ in range(300):
            p = rng.beta(0.3, 0.3, n)
            # The number of successes has the coefficients of a product of polynomials.
            chances = np.array([1.0])
            for one in p:
                chances = np.convolve(chances, [1 - one, one])
            for wins in range(n + 1):
                bound = binomial_tail(wins, n, float(p.mean()), identical=False)
                assert chances[wins:].sum() <= bound + 1e-12
    # Two trials that succeed with probabilities 0.02 and 0: more than 1 - 0.99^2.
    assert binomial_tail(1, 2, 0.01) < binomial_tail(1, 2, 0.01, identical=False) == 0.02


@pytest.mark.parametrize("confidence", [0.95, 0.999, 1 - 1e-6])
@pytest.mark.parametrize("seed", range(4))
def test_the_interval_has_the_values_that_are_not_rejected(seed, confidence):
    rng = np.random.default_rng(seed)
    n = 30
    lows, highs = -rng.random(n), rng.random(n)
    values = rng.uniform(lows, highs)
    one = BoundedSum(values, lows, highs)
    low, high = one.interval(confidence)
    assert lows.sum() <= low < values.sum() < high <= highs.sum()
    step = 1e-9 * (high - low)
    for inside, outside in ((low + step, low - step), (high - step, high + step)):
        assert one.p_value(inside) > 1 - confidence >= one.p_value(outside)
    # The mirrored sum, and the sum in another unit and order.
    mirrored = BoundedSum(-values, -highs, -lows).interval(confidence)
    assert mirrored == pytest.approx((-high, -low), rel=1e-9)
    order = rng.permutation(n)
    scaled = BoundedSum(*(1e8 * each[order] for each in (values, lows, highs)))
    assert scaled.interval(confidence) == pytest.approx((1e8 * low, 1e8 * high), rel=1e-9)


def test_the_p_value_is_the_inverse_of_the_mean_product_of_all_bets():
    rng = np.random.default_rng(5)
    lows, highs = np.array([-1.0, 0.0, 0.0, -2.0, -0.5]), np.array([1.0, 1.0, 3.0, 0.0, 0.5])
    for _ in range(40):
        values = np.where(rng.random(5) < 0.5, lows, rng.uniform(lows, highs))
        f = rng.random()
        middle = lows + f * (highs - lows)
        largest = 1 / (f * 3), 1 / ((1 - f) * 3)
        products = [
            [np.prod(1 + side * most * 2 ** (-j / 2) * (values - middle)) for j in range(6)]
            for side, most in zip((1, -1), largest, strict=True)
        ]
        p = BoundedSum(values, lows, highs).p_value(float(middle.sum()))
        expected = min(1.0, *(2 / np.mean(product) for product in products))
        assert p == pytest.approx(max(expected, 1e-9), rel=1e-9)


def test_rare_differences_are_not_judged_as_if_they_were_frequent():
    # Of 1000 paired differences, 32 are 1 and 8 are -1.
    values = np.repeat([1.0, -1.0, 0.0], [32, 8, 960]) / 1000
    found = BoundedSum(values, np.full(1000, -1e-3), np.full(1000, 1e-3))
    exact = stats.binomtest(32, 40).pvalue
    assert exact < found.p_value(0.0) < 40 * exact
    # The bound of Hoeffding that knows the ranges alone decides nothing.
    assert 2 * np.exp(-2 * (24 / 1000) ** 2 / (1000 * (2e-3) ** 2)) > 0.5


def test_all_successes_are_nearly_as_telling_as_by_the_binomial_test():
    values = np.repeat([0.05, 0.025], [10, 20])
    found = BoundedSum(values, np.zeros(30), values)
    # All thirty would have the largest value with probability 0.5^30, if means were equal.
    assert 1e-9 <= found.p_value(0.5 * values.sum()) < 1e-3
    assert found.p_value(values.sum()) == 1.0
    assert found.p_value(values.sum() * 1.1) == 1e-9


@pytest.mark.parametrize("points", [1, 2, 3, 7, 10])
def test_the_ends_of_the_range_are_possible_at_every_size(points):
    for n in range(1, 130 // points):
        for sign, wins in itertools.product((-1.0, 1.0), (0, n)):
            weights, sizes = np.full(points, sign / points), [n] * points
            found, value = made([wins] * points, np.full(points, wins / n), weights, sizes)
            assert value == pytest.approx(sign * wins / n)
            assert found.p_value(sign * wins / n) == 1.0
            # One of many runs with another outcome excludes the end.
            other = made([abs(wins - 1)] + [wins] * (points - 1), weights, weights, sizes)[0]
            assert other.p_value(sign * wins / n) == 1e-9
            assert (
                found.p_value(sign * wins / n + (1e-6 if (wins > 0) == (sign > 0) else -1e-6))
                == 1e-9
            )
