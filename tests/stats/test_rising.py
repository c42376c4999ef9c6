"""Intervals of a crossing without a model, and when they replace those of a logistic curve."""

import itertools

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from greedyexp.stats.crossing import crossing
from greedyexp.stats.rising import enclosing_step, logistic_fits, rise_shown, rising_interval
from greedyexp.stats.sequential import located_crossing

X = np.arange(8.0)
TRIALS = np.full(8, 40)
# Shares of a logistic curve through 3.4, rounded to counts.
RISE = np.round(40 * expit(1.3 * (X - 3.4)))


@pytest.mark.parametrize("confidence", [0.6, 0.9])
@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize(
    "p",
    [[0.5, 0.5, 0.5], [0.2, 0.5, 0.5], [0.5, 0.5, 0.9], [0.1, 0.45, 0.5], [0.0, 0.0, 1.0]],
)
def test_the_coverage_is_exact(p, sequential, confidence):
    trials = np.array([6, 9, 5])
    covered = np.zeros(2)
    for wins in itertools.product(*(range(n + 1) for n in trials)):
        chance = np.prod(binom.pmf(wins, trials, p))
        low, high = rising_interval(
            [1, 2, 3], wins, trials, confidence=confidence, sequential=sequential
        )
        # Every place between these points is a crossing.
        places = max((x for x, q in zip((1, 2, 3), p, strict=True) if q < 0.5), default=-np.inf), 3
        covered += [chance * (low <= place <= high) for place in places]
    assert np.all(covered >= confidence)


@pytest.mark.parametrize("sequential", [False, True])
def test_many_groups_do_not_add_up_to_more_errors(sequential):
    rng, points, runs = np.random.default_rng(3), np.arange(16.0), 300
    ends = [
        rising_interval(
            points, rng.binomial(6, 0.5, 16), [6] * 16, confidence=0.6, sequential=sequential
        )
        for _ in range(runs)
    ]
    # Every place is a crossing of a constant probability at the level.
    for missed in np.isfinite(ends).mean(axis=0):
        assert missed <= 0.2 + 2 * np.sqrt(0.16 / runs)


def test_groups_of_points_place_a_crossing_that_single_points_do_not():
    # 5 losses have p = 1/32, tested at 1/40; 10 losses at two points have p = 1/1024.
    assert rising_interval([1], [0], [5]) == (-np.inf, np.inf)
    assert rising_interval([1, 2, 3, 4], [0] * 4, [5] * 4) == (3, np.inf)
    # 10 losses at each side of the step are enough.
    assert rising_interval([0, 1, 2], [0, 0, 10], [10] * 3) == (1, 2)
    # Data that fall from one side of the level to the other contradict no place.
    assert rising_interval([0, 1, 2], [10, 10, 0], [10] * 3) == (-np.inf, np.inf)


def test_a_level_and_a_reflection():
    wins = [0, 3, 22, 36, 40]
    low, high = rising_interval(X[:5], wins, TRIALS[:5], level=0.8)
    mirrored = rising_interval(-X[:5], 40 - np.array(wins), TRIALS[:5], level=0.2)
    assert (low, high) == (-mirrored[1], -mirrored[0]) == (2, 4)


def test_a_curve_that_ends_below_the_level_has_no_upper_end():
    wins = [0, 0, 12, 17, 19, 20, 22, 23]
    assert located_crossing(X, wins, TRIALS, "rising", sequential=False).high == np.inf
    assert crossing(X, wins, TRIALS).high < np.inf


def test_intervals_at_any_stopping_time_are_wider():
    # 7 losses have p = 1/128, and a likelihood ratio of 255/8, which must be 40.
    assert rising_interval([1], [0], [7]) == (1, np.inf)
    assert rising_interval([1], [0], [7], sequential=True) == (-np.inf, np.inf)
    assert rising_interval([1], [0], [8], sequential=True) == (1, np.inf)


def test_peeking_at_a_sequential_interval_rarely_misses():
    rng, runs, missed = np.random.default_rng(5), 100, np.zeros(2)
    for _ in range(runs):
        wins = np.cumsum(rng.random(400) < 0.5)
        for i, sequential in enumerate((False, True)):
            ends = [
                rising_interval([1], wins[n - 1 : n], [n], confidence=0.8, sequential=sequential)
                for n in range(10, 400, 10)
            ]
            missed[i] += any(low == 1 or high == 1 for low, high in ends)
    # Both ends of a single point that is the crossing are correct; only a rejection sets them.
    assert missed[1] <= 0.2 * runs + 3 * np.sqrt(0.16 * runs)
    assert missed[0] > missed[1]


def test_a_logistic_curve_is_believed_where_the_data_show_one():
    fit = crossing(X, RISE, TRIALS)
    assert logistic_fits(fit, X, RISE, TRIALS)
    assert located_crossing(X, RISE, TRIALS, "rising", sequential=False) == fit
    assert rise_shown(X, RISE, TRIALS) == (True, True)


@pytest.mark.parametrize(
    "wins",
    [
        pytest.param([0, 0, 1, 14, 38, 40, 40, 40], id="rises within a step"),
        pytest.param([0, 0, 20, 11, 30, 29, 40, 40], id="not logistic"),
        pytest.param([0, 1, 12, 19, 29, 30, 30, 29], id="not shown to rise above the range"),
        pytest.param([11, 10, 12, 19, 26, 34, 40, 40], id="not shown to start below the range"),
        pytest.param([0, 0, 0, 0, 40, 40, 40, 40], id="separated"),
    ],
)
def test_otherwise_the_interval_contains_the_whole_step(wins):
    fit = crossing(X, wins, TRIALS)
    assert not logistic_fits(fit, X, wins, TRIALS)
    found = located_crossing(X, wins, TRIALS, "rising", sequential=False)
    assert found.step == enclosing_step(X, wins, TRIALS)
    assert found.low <= min(found.step[0], found.estimate)
    assert found.high >= max(found.step[1], found.estimate)
    assert not found.regular


def test_the_enclosing_step_may_be_open():
    assert enclosing_step([1, 2, 3], [0, 5, 10], [10] * 3) == (1, 3)
    assert enclosing_step([1, 2], [0, 1], [10] * 2) == (2, np.inf)
    assert enclosing_step([], [], []) == (-np.inf, np.inf)


@pytest.mark.parametrize(
    ("wins", "trials"),
    [([0, 46, 7, 20], [20, 84, 22, 20]), ([0, 46, 12, 20], [20, 86, 30, 20])],
)
def test_pooled_shares_of_one_half_are_on_neither_side(wins, trials):
    # The pooled shares are 53 / 106 and 58 / 116, and are rounded up and down.
    assert enclosing_step(range(4), wins, trials) == (0, 3)


def test_no_data_place_nothing():
    found = located_crossing([], [], [], "rising", sequential=True)
    assert (found.low, found.high) == (-np.inf, np.inf)
    assert np.isnan(found.estimate)
