"""Coverage of intervals in simulated trials."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit
from stats_trials import (
    GRID,
    adaptive,
    difference_of_means,
    one_crossing,
    ratio_of_means,
    two_crossings,
    two_proportions,
)

from greedyexp.stats.crossing import crossing

REGULAR = {
    "crossing": (one_crossing, {}),
    "crossing, few trials": (one_crossing, {"trials": 5, "slope": 5.0}),
    "crossing, steep": (one_crossing, {"trials": 40, "slope": 20.0}),
    "crossing, between two points": (one_crossing, {"trials": 20, "slope": 40.0}),
    "crossing of 80%": (one_crossing, {"level": 0.8}),
    "difference of crossings": (two_crossings, {}),
    "equal crossings": (two_crossings, {"taus": (0.85, 0.85), "slopes": (10.0, 10.0)}),
    "difference of proportions": (two_proportions, {}),
    "difference of means": (difference_of_means, {}),
    "ratio of means": (ratio_of_means, {}),
}
# With few possible outcomes no interval is exact; these are conservative.
CAREFUL = {
    "step inside a gap": (one_crossing, {"slope": 1000.0}),
    "crossing beyond the data": (one_crossing, {"tau": 1.6, "slope": 30.0}),
    "always lost": (one_crossing, {"tau": 3.0, "slope": 30.0}),
    "always won": (one_crossing, {"tau": -3.0, "slope": 30.0}),
    "single point": (one_crossing, {"grid": GRID[:1], "tau": 0.45}),
    "one separated": (two_crossings, {"slopes": (10.0, 1000.0)}),
    "near 1": (two_proportions, {"rates": (0.95, 0.9), "trials": 30}),
    "at 1": (two_proportions, {"rates": (1.0, 0.999), "trials": 30}),
}


def coverage(case, runs, seed=11):
    interval, settings = case
    rng = np.random.default_rng(seed)
    return np.mean([interval(rng, **settings) for _ in range(runs)])


def margin(runs):
    return 4 * np.sqrt(0.95 * 0.05 / runs)


@pytest.mark.parametrize("name", REGULAR)
def test_coverage_is_compatible_with_95_percent(name):
    runs = 400
    # With fewer runs an interval that always covers would pass.
    assert 0.95 + margin(runs) < 1
    assert coverage(REGULAR[name], runs) == pytest.approx(0.95, abs=margin(runs))


@pytest.mark.parametrize("name", CAREFUL)
def test_coverage_of_degenerate_trials_is_at_least_95_percent(name):
    assert coverage(CAREFUL[name], 100) >= 0.95 - margin(100)


@pytest.mark.deep
@pytest.mark.parametrize("name", REGULAR)
def test_coverage_lies_between_93_and_97_percent(name):
    assert 0.93 <= coverage(REGULAR[name], 2000) <= 0.97


@pytest.mark.deep
@pytest.mark.parametrize("name", CAREFUL)
def test_degenerate_trials_are_always_covered(name):
    assert coverage(CAREFUL[name], 2000) >= 0.95


@pytest.mark.deep
@pytest.mark.parametrize("slope", [10.0, 20.0])
def test_coverage_survives_trials_that_follow_the_estimate(slope):
    assert 0.93 <= coverage((adaptive, {"slope": slope}), 1000) <= 0.97


@pytest.mark.deep
@pytest.mark.parametrize("slope", [5.0, 10.0, 20.0])
def test_a_logistic_curve_fitted_near_its_crossing_only_is_covered_at_least_as_often(slope):
    assert coverage((one_crossing, {"slope": slope, "whole": False}), 1000) >= 0.93


@pytest.fixture
def measured(monkeypatch):
    """The script that measures the coverage of thresholds."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    monkeypatch.delitem(sys.modules, "measure_coverage", raising=False)
    import measure_coverage

    yield measure_coverage
    sys.modules.pop("measure_coverage", None)


@pytest.mark.parametrize(
    ("name", "grid"),
    [("long upper tail", "coarse"), ("jump to 0.9", "medium"), ("ceiling 0.45", "fine")],
)
def test_reported_intervals_cover_curves_that_are_not_logistic(measured, name, grid):
    before, after = measured.measure(name, measured.GRIDS[grid], located=False, runs=60)
    assert after.coverage >= 0.95 - margin(60)
    # The interval of a logistic curve alone would not.
    assert before.coverage < 0.95 - margin(60)


@pytest.mark.deep
@pytest.mark.parametrize("located", [False, True], ids=["fixed", "located"])
def test_reported_intervals_cover_all_curves_and_grids(measured, located):
    runs = 20 if located else 60
    cells = [
        measured.measure(name, grid, located=located, runs=runs)[1].coverage
        for name in measured.CURVES
        for grid in measured.GRIDS.values()
    ]
    assert min(cells) >= 0.95 - margin(runs)
    assert np.mean(cells) >= 0.95


@pytest.mark.deep
@pytest.mark.parametrize("name", ["logistic", "long upper tail", "jump", "ceiling 0.65"])
def test_differences_of_thresholds_are_covered_on_all_grids(measured, name):
    for grid in measured.GRIDS.values():
        assert measured.measure_difference(name, grid, runs=40).coverage >= 0.95 - margin(40)


SKEW = {
    "long upper tail": lambda x: np.exp(-np.log(2) * np.exp(-(x - 2.03) / 0.25)),
    "long lower tail": lambda x: 1 - np.exp(-np.log(2) * np.exp((x - 2.03) / 0.25)),
    "below one": lambda x: 0.9 * expit(6 * (x - 2.03) + np.log(0.5 / 0.4)),
}


@pytest.mark.parametrize("name", SKEW)
def test_the_middle_decides_the_crossing_of_other_curves(name):
    x = np.round(np.arange(0.4, 4.41, 0.2), 2)
    rng = np.random.default_rng(11)
    p, trials = SKEW[name](x), np.full(21, 100)
    hits = {True: 0, False: 0}
    for _ in range(200):
        wins = rng.binomial(100, p)
        for whole in hits:
            fit = crossing(x, wins, trials, whole=whole)
            hits[whole] += fit.low <= 2.03 <= fit.high
    # Nominally 190; the tails would decide a fit to all points.
    assert hits[False] >= 172
    assert hits[True] <= 80
