"""The direction of success along a column, and thresholds of curves that fall."""

import itertools

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom, mannwhitneyu, norm

from greedyexp.stats.crossing import influence
from greedyexp.stats.direction import direction_of, misfit, trend
from greedyexp.stats.sequential import located_crossing

X = np.array([0.1, 0.4, 0.5, 0.9, 1.7])


def rows(x, successes, trials):
    """Return x and outcomes of each trial, where every trial is a data set of its own."""
    at = np.repeat(x, trials)
    won = np.concatenate([np.arange(n) < s for s, n in zip(successes, trials, strict=True)])
    return at, won.astype(float)


def direction_of_counts(*curves):
    parts = [rows(*curve) for curve in curves]
    x, won = (np.concatenate(part) for part in zip(*parts, strict=True))
    curve = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    return direction_of(x, won, curve, np.arange(len(x)))


def pairs_over_bar(x, won):
    """Return the pairs of a success above a failure minus those below, over what is clear."""
    if won.min() == won.max():
        return 0.0
    share, signs, n = won.mean(), np.sign(x[:, None] - x), len(x)
    total = (signs[won == 1][:, won == 0]).sum()
    spread = np.sqrt(np.sum((signs.sum(axis=1) * (won - share)) ** 2))
    test = mannwhitneyu(x[won == 1], x[won == 0], method="asymptotic", use_continuity=False)
    if test.pvalue < 1:
        spread = max(spread, abs(total) / norm.isf(test.pvalue / 2))
    skewness = np.sum(signs.sum(axis=1) ** 3) * np.sum((won - share) ** 3) / n / spread**3
    return total / spread / (3.29 + max(0, np.sign(total) * skewness) * (3.29**2 - 1) / 6)


def test_the_direction_is_that_of_the_pairs_of_a_success_and_a_failure():
    rng, found = np.random.default_rng(2), []
    for _ in range(1000):
        trials = rng.integers(1, 12, len(X))
        successes = rng.binomial(trials, expit(rng.normal(0, 2) * (X - 0.6)))
        statistic = pairs_over_bar(*rows(X, successes, trials))
        expected = None if abs(statistic) < 1 else ("rising" if statistic > 0 else "falling")
        assert trend(X, successes, trials) == expected
        assert direction_of_counts((X, successes, trials)) == expected
        found.append(expected)
    assert min(found.count(one) for one in ("rising", "falling", None)) > 50


@pytest.mark.parametrize(
    ("successes", "trials"),
    [((2, 1, 4, 2, 3), (29, 4, 10, 2, 3)), ((0, 0, 1, 8, 4), (50, 2, 10, 41, 19))],
)
def test_a_long_tail_makes_the_bar_higher(successes, trials):
    """Without the term of the skewness these curves would rise."""
    assert abs(pairs_over_bar(*rows(X, successes, trials))) < 1
    assert direction_of_counts((X, successes, trials)) is None


def test_curves_together_have_a_direction_that_none_has_alone():
    curve = (np.arange(3), [1, 2, 3], [4, 4, 4])
    assert trend(*curve) is None
    assert direction_of_counts(*[curve] * 20) == "rising"
    # Twenty algorithms with the same outcomes on the same data are no more than one.
    x, won = rows(*curve)
    same = np.tile(np.arange(12), 20)
    repeated = (np.tile(x, 20), np.tile(won, 20), np.repeat(np.arange(20), 12), same)
    assert direction_of(*repeated) is None


def test_curves_of_equal_outcomes_and_of_one_point_say_nothing():
    never, always, point = (X, [0] * 5, [9] * 5), (X, [9] * 5, [9] * 5), ([1.0], [4], [9])
    assert direction_of_counts(never, always, point) is None
    fall = (X, [9, 9, 5, 0, 0], [9] * 5)
    assert direction_of_counts(never, always, point, fall) == "falling"
    assert direction_of_counts(fall, (X, [0, 0, 5, 9, 9], [9] * 5)) is None
    assert direction_of(*[np.zeros(0)] * 2, *[np.zeros(0, dtype=int)] * 2) is None


@pytest.mark.parametrize("trials", [(4, 4, 4), (6, 6), (8, 2, 1), (1, 1, 9), (3, 2, 3, 2)])
def test_a_rising_or_flat_curve_is_hardly_ever_called_falling(trials):
    x = np.arange(len(trials))
    outcomes = list(itertools.product(*(range(n + 1) for n in trials)))
    falling = np.array([trend(x, wins, trials) == "falling" for wins in outcomes])
    for share, slope in itertools.product((0.02, 0.1, 0.3, 0.5, 0.7, 0.98), (0.0, 0.3)):
        p = expit(np.log(share / (1 - share)) + slope * x)
        chance = np.array([np.prod(binom.pmf(wins, trials, p)) for wins in outcomes])
        assert chance @ falling <= 0.0005


@pytest.mark.parametrize(
    ("wins", "direction", "expected"),
    [
        ((0, 0, 10, 20, 20), "rising", ""),
        ((0, 0, 10, 20, 20), "falling", "rises, although"),
        ((20, 20, 10, 0, 0), "rising", "falls, although"),
        ((20, 20, 10, 0, 0), "falling", ""),
        ((0, 20, 20, 20, 0), "rising", "upwards and downwards"),
        ((0, 20, 20, 20, 0), "falling", "upwards and downwards"),
        ((20, 0, 0, 0, 20), "rising", "upwards and downwards"),
        # A curve that turns without crossing the level again has one crossing.
        ((0, 20, 20, 20, 15), "rising", ""),
        ((8, 12, 9, 11, 10), "rising", ""),
        ((0, 0, 0, 0, 0), "falling", ""),
    ],
)
def test_a_curve_that_contradicts_its_direction_has_no_crossing(wins, direction, expected):
    given = (X, wins, [20] * 5)
    found = misfit(*given, direction)
    assert (expected in found) if expected else found == ""
    fit = located_crossing(*given, direction, sequential=False)
    assert fit.misfit == found
    if found:
        assert np.isnan(fit.estimate)
        assert (fit.low, fit.high) == (-np.inf, np.inf)


def test_without_a_direction_there_is_no_crossing():
    fit = located_crossing(X, [0, 0, 10, 20, 20], [20] * 5, None, sequential=False)
    assert fit.misfit == "neither rises nor falls clearly"
    assert np.isnan(fit.estimate)
    assert not fit.regular


@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize("level", [0.5, 0.8])
@pytest.mark.parametrize("seed", range(12))
def test_mirroring_x_mirrors_everything(seed, level, sequential):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-1, 3, 9))
    trials = rng.integers(1, 60, 9)
    wins = rng.binomial(trials, expit(rng.choice([2, 6, 40]) * (x - rng.uniform(-2, 4))))
    how = {"level": level, "sequential": sequential}
    rise = located_crossing(x, wins, trials, "rising", **how)
    fall = located_crossing(-x, wins, trials, "falling", **how)
    found = [-rise.estimate, -rise.high, -rise.low, -rise.slope, rise.regular, bool(rise.misfit)]
    assert [
        *(fall.estimate, fall.low, fall.high, fall.slope, fall.regular),
        bool(fall.misfit),
    ] == pytest.approx(found, nan_ok=True)
    assert (fall.step is None) == (rise.step is None)
    if rise.step:
        assert fall.step == (-rise.step[1], -rise.step[0])
    if rise.regular:
        np.testing.assert_allclose(fall.probability(-x), rise.probability(x))
        np.testing.assert_allclose(influence(fall, -x, trials), -influence(rise, x, trials))
    assert (
        trend(-x, wins, trials)
        == {"rising": "falling", None: None, "falling": "rising"}[trend(x, wins, trials)]
    )


def test_the_influence_of_a_trial_on_a_falling_crossing_is_that_of_one_more_success():
    x, trials = np.linspace(0, 4, 9), np.full(9, 4000.0)
    wins = np.round(trials * expit(-1.1 * (x - 1.8)))
    fit = located_crossing(x, wins, trials, "falling", sequential=False)
    assert fit.estimate == pytest.approx(1.8, abs=0.01)
    moved = influence(fit, x, trials)
    for point in np.flatnonzero(moved):
        more = wins + (np.arange(9) == point)
        shift = located_crossing(x, more, trials, "falling", sequential=False).estimate
        assert shift - fit.estimate == pytest.approx(moved[point], rel=0.02)


# Slope, centre and trials: steep and shallow, near an end of the sweep and beyond it.
FALLING = [(8.0, 0.9, 10), (8.0, 0.9, 40), (2.0, 0.9, 20), (8.0, 0.45, 20), (30.0, 1.5, 20)]


def falling_runs(slope, centre, trials, runs):
    """Return how often the reported interval contains the crossing, and whether one is reported."""
    rng, grid, found = np.random.default_rng(17), np.linspace(0.4, 1.4, 11), []
    for _ in range(runs):
        given = (grid, rng.binomial(trials, expit(-slope * (grid - centre))), np.full(11, trials))
        fit = located_crossing(*given, trend(*given), sequential=False)
        found.append((fit.low <= centre <= fit.high, not fit.misfit))
    return np.mean(found, axis=0)


@pytest.mark.parametrize("case", FALLING)
def test_intervals_of_falling_curves_cover_if_the_data_choose_the_direction(case):
    runs = 200
    covered, reported = falling_runs(*case, runs)
    assert covered >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / runs)
    # An interval without ends covers always.
    assert case[1] != 0.9 or reported >= 0.8


@pytest.mark.deep
@pytest.mark.parametrize("case", FALLING)
def test_intervals_of_falling_curves_cover_in_2000_runs(case):
    assert falling_runs(*case, 2000)[0] >= 0.94


def test_intervals_of_nearly_flat_curves_cover_if_the_data_choose_the_direction():
    rng, grid, runs = np.random.default_rng(5), np.linspace(0.4, 1.4, 6), 300
    truth, hits = 2.4, 0
    for _ in range(runs):
        given = (grid, rng.binomial(12, expit(0.5 * (grid - truth))), np.full(6, 12))
        fit = located_crossing(*given, trend(*given), sequential=False)
        hits += fit.low <= truth <= fit.high
    assert hits / runs >= 0.95


UNEQUAL = [
    (5,) * 10 + (500,),
    (500,) + (5,) * 10,
    (20,) * 10 + (640,),
    (20,) * 11,
    (60,) * 5 + (303,),
]


@pytest.mark.parametrize("trials", UNEQUAL)
@pytest.mark.parametrize("share", [0.005, 0.01, 0.03, 0.1, 0.5, 0.97])
def test_flat_curves_with_unequal_trials_have_hardly_ever_a_direction(trials, share):
    rng, x, runs = np.random.default_rng(9), np.arange(len(trials)), 3000
    outcomes = rng.binomial(trials, share, (runs, len(trials)))
    found = {"rising": 0, "falling": 0, None: 0}
    for successes, times in zip(*np.unique(outcomes, axis=0, return_counts=True), strict=True):
        found[trend(x, successes, trials)] += times
    # More would be seen in one of a thousand such experiments.
    most = binom.isf(1e-3, runs, 0.001)
    assert max(found["rising"], found["falling"]) <= most


@pytest.mark.parametrize("trials", [(5,) * 10 + (300,), (300,) + (5,) * 10])
def test_algorithms_on_shared_data_sets_with_unequal_trials_have_hardly_ever_a_direction(trials):
    rng, runs, shares, found = np.random.default_rng(4), 1500, (0.02, 0.03, 0.05), []
    x, n = np.repeat(np.arange(len(trials)), trials), sum(trials)
    curve, data_set = np.repeat(np.arange(3), n), np.tile(np.arange(n), 3)
    for _ in range(runs):
        difficulty = rng.random(n)
        won = np.concatenate([difficulty < share for share in shares]).astype(float)
        found.append(direction_of(np.tile(x, 3), won, curve, data_set))
    assert max(found.count("rising"), found.count("falling")) <= binom.isf(1e-3, runs, 0.001)
