"""Crossings against scipy's optimisers, closed forms, symmetries and perturbed data."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_expit, logit
from scipy.stats import norm
from stats_trials import GRID

from greedyexp.stats.crossing import crossing, influence

TRIALS = np.full(len(GRID), 30)
WINS = np.random.default_rng(4).binomial(TRIALS, expit(9 * (GRID - 0.87)))


def log_likelihood(tau, b, level=0.5, wins=WINS):
    eta = logit(level) + b * (GRID - tau)
    return wins @ log_expit(eta) + (TRIALS - wins) @ log_expit(-eta)


def roots(tau, fit):
    """Roots of the likelihood ratio and of Rao's statistic of tau, by other means."""
    best = minimize_scalar(
        lambda b: -log_likelihood(tau, b, fit.level),
        bounds=(0, 200),
        options={"xatol": 1e-10},
        method="bounded",
    )
    ratio = np.sqrt(2 * (log_likelihood(fit.estimate, fit.slope, fit.level) + best.fun))
    design = np.column_stack([np.ones_like(GRID), GRID])
    p = expit(logit(fit.level) + best.x * (GRID - tau))
    score = design.T @ (WINS - TRIALS * p)
    information = (design.T * (TRIALS * p * (1 - p))) @ design
    return ratio, np.sqrt(score @ np.linalg.solve(information, score))


@pytest.mark.parametrize("level", [0.5, 0.8])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 1 - 1e-6])
def test_estimate_is_most_likely_and_ends_solve_their_equation(level, confidence):
    fit = crossing(GRID, WINS, TRIALS, level=level, confidence=confidence, whole=True)
    reference = minimize(
        lambda v: -log_likelihood(*v, level),
        [0.9, 5.0],
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 2000},
    )
    assert (fit.estimate, fit.slope) == pytest.approx(reference.x, rel=1e-6)
    for end in (fit.low, fit.high):
        assert min(roots(end, fit)) == pytest.approx(norm.ppf(0.5 + confidence / 2), abs=1e-4)


def test_order_repetition_and_empty_points_do_not_matter():
    fit = crossing(GRID, WINS, TRIALS)
    halves = crossing(
        np.concatenate([GRID[::-1], GRID, [np.nan]]),
        np.concatenate([WINS[::-1] // 2, WINS - WINS // 2, [0]]),
        np.concatenate([TRIALS - TRIALS // 2, TRIALS // 2, [0]]),
    )
    assert halves == fit


def test_positions_that_differ_by_rounding_are_one():
    apart = crossing([0.1, 0.2, 0.3, 0.1 * 3, 0.4], [0, 10, 55, 45, 100], [100] * 5)
    together = crossing([0.1, 0.2, 0.3, 0.4], [0, 10, 100, 100], [100, 100, 200, 100])
    assert apart == together


def test_units_and_reflection():
    fit = crossing(GRID, WINS, TRIALS, level=0.7)
    scaled = crossing(5 + 100 * GRID, WINS, TRIALS, level=0.7)
    assert scaled.low == pytest.approx(5 + 100 * fit.low)
    assert scaled.slope == pytest.approx(fit.slope / 100)
    mirrored = crossing(-GRID, TRIALS - WINS, TRIALS, level=0.3)
    assert (-mirrored.high, -mirrored.low) == pytest.approx((fit.low, fit.high))


@pytest.mark.parametrize(
    ("wins", "expected"),
    [
        ([0, 0, 10], (1.5, 1.0, 2.0, np.inf)),
        ([0, 0, 0], (np.inf, 2.0, np.inf, 0.0)),
        ([10, 10, 10], (-np.inf, -np.inf, 0.0, 0.0)),
        ([4, 4, 4], (np.inf, -np.inf, np.inf, 0.0)),
        ([8, 5, 2], (np.nan, -np.inf, np.inf, 0.0)),
    ],
)
def test_separated_and_falling_data(wins, expected):
    fit = crossing([0, 1, 2], wins, [10] * 3)
    got = (fit.estimate, fit.low, fit.high, fit.slope)
    assert got == pytest.approx(expected, nan_ok=True, abs=0)


def test_falling_data_far_below_the_level_only_bound_it_from_below():
    fit = crossing([0, 1, 2], [2, 2, 0], [10] * 3)
    assert fit.estimate == fit.high == np.inf
    assert 2 <= fit.low < np.inf


def test_one_mixed_point_between_losses_and_wins_is_the_crossing():
    fit = crossing([0, 1, 2], [0, 9, 10], [10] * 3, whole=True)
    # 9 of 10 reject one half at x = 1: the crossing lies before it.
    assert (fit.estimate, fit.high, fit.slope) == (1, 1, np.inf)
    assert 0 < fit.low < 0.7
    even = crossing([0, 1, 2], [0, 5, 10], [10] * 3)
    assert even.high - 1 == pytest.approx(1 - even.low)
    assert 0 < even.low < 1


def test_one_point_and_no_data():
    assert crossing([4], [1], [10]).low == 4
    assert crossing([4], [3], [10]).low == -np.inf
    nothing = crossing([], [], [])
    assert np.isnan(nothing.estimate)
    assert (nothing.low, nothing.high) == (-np.inf, np.inf)


def test_intervals_are_nested_in_confidence():
    for wins in (WINS, np.where(GRID > 0.85, 30, 0), np.minimum(WINS, 3)):
        fits = [crossing(GRID, wins, TRIALS, confidence=c) for c in (0.01, 0.5, 0.95, 1 - 1e-6)]
        assert np.all(np.diff([f.low for f in fits if np.isfinite(f.low)]) <= 0)
        assert np.all(np.diff([f.high for f in fits if np.isfinite(f.high)]) >= 0)
        assert all(f.low <= f.estimate <= f.high for f in fits)


def test_points_that_rise_determine_the_slope_if_the_nearest_ones_do_not():
    x = np.arange(70.0, 107.0, 2.0)
    wins = np.array([0, 0, 2, 1, 0, 3, 3, 5, 15, 9, 15, 21, 21, 20, 21, 23, 23, 25, 25])
    trials = np.full(len(x), 25)
    # Shares between 0.2 and 0.8 are those of 15, 9 and 15 successes, which do not rise.
    fit = crossing(x, wins, trials)
    assert fit.near[0] < 86 < fit.low <= fit.estimate <= fit.high < 91 < fit.near[1]
    used = (fit.near[0] <= x) & (x <= fit.near[1])
    fitted = crossing(x[used], wins[used], trials[used], whole=True)
    assert (fit.estimate, fit.slope) == pytest.approx((fitted.estimate, fitted.slope))
    # All successes are few: no point is above the level, and the curve crosses it nowhere.
    assert crossing(x, np.minimum(wins, 12), trials).estimate > x[-1]


def test_influence_is_the_derivative_of_the_estimate():
    fit = crossing(GRID, WINS, TRIALS)
    weight = influence(fit, GRID, TRIALS)
    h = 1e-4
    for k in range(2, 8):
        one = np.arange(len(GRID)) == k
        change = [crossing(GRID, WINS + s * h * one, TRIALS).estimate for s in (1, -1)]
        assert weight[k] == pytest.approx((change[0] - change[1]) / (2 * h), rel=1e-3)
    assert not influence(crossing([0, 1], [0, 5], [5, 5]), [0, 1], [5, 5]).any()


@pytest.mark.parametrize(
    "bad", [([0, 1], [3, 1], [2, 2]), ([0, np.inf], [1, 1], [2, 2]), ([0, 1], [1], [2])]
)
def test_impossible_data_are_refused(bad):
    with pytest.raises(ValueError, match="must"):
        crossing(*bad)


@pytest.mark.parametrize("keyword", ["level", "confidence"])
def test_levels_outside_0_and_1_are_refused(keyword):
    with pytest.raises(ValueError, match=keyword):
        crossing(GRID, WINS, TRIALS, **{keyword: 1.0})


def test_an_end_that_the_first_step_hits_is_found():
    wins = [0, 0, 0, 0, 0, 1, 8, 35, 52, 71, 77, 92, 95, 96, 96, 100, 100, 100, 100, 100, 100]
    x = np.round(np.linspace(0.4, 4.4, 21), 10)
    for confidence in np.geomspace(1.1e-5, 1.3e-5, 40):
        fit = crossing(x, wins, np.full(21, 100), confidence=confidence)
        assert fit.low <= fit.estimate <= fit.high, confidence
        assert fit.high - fit.low < 1e-5, confidence


@pytest.mark.parametrize(
    ("wins", "end"), [([3, 5, 9, 9], "low"), ([0, 4, 5, 7], "high"), ([4, 9, 9], "low")]
)
def test_an_end_is_infinite_without_a_trend(wins, end):
    x, wins, trials = np.arange(len(wins)), np.array(wins), np.full(len(wins), 10)
    share = wins.sum() / trials.sum()
    # At infinity the score test is that of Cochran and Armitage, here the weaker of the two.
    away = x - x.mean()
    trend = away @ wins / np.sqrt(share * (1 - share) * trials @ away**2)
    for factor, finite in ((0.999, True), (1.001, False)):
        confidence = 2 * norm.cdf(factor * trend) - 1
        fit = crossing(x, wins, trials, confidence=confidence, whole=True)
        assert np.isfinite(getattr(fit, end)) == finite
        assert np.isfinite([fit.low, fit.high]).sum() == 1 + finite


def test_points_that_are_certain_bound_the_interval_if_the_slope_is_unknown():
    x, trials = [1.0, 2.0, 3.0, 4.0], [100] * 4
    fit = crossing(x, [0, 40, 60, 100], trials, confidence=0.9999)
    assert (fit.low, fit.high) == (1.0, 4.0)
    # Three successes of ten do not place a point with certainty.
    assert crossing(x, [3, 4, 6, 7], [10] * 4, confidence=0.9999).low == -np.inf
