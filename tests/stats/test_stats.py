"""Wilson intervals against published values, their defining equation, and coverage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from greedyexp.stats.proportions import wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    # Newcombe (1998), Two-sided confidence intervals for the single proportion, Table I, method 3.
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_published_intervals(successes, trials, low, high):
    assert np.round(wilson(successes, trials), 4) == pytest.approx([low, high], abs=1e-9)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.integers(1, 500), st.data(), st.floats(0.5, 0.999))
def test_ends_solve_the_score_equation_and_match_scipy(trials, data, confidence):
    successes = data.draw(st.integers(0, trials))
    low, high = wilson(successes, trials, confidence=confidence)
    assert 0 <= low <= successes / trials <= high <= 1
    z = stats.norm.ppf(0.5 + confidence / 2)
    for end in (low, high):
        if 0 < end < 1:
            score = abs(successes / trials - end) / np.sqrt(end * (1 - end) / trials)
            assert score == pytest.approx(z, rel=1e-6)
    reference = stats.binomtest(successes, trials).proportion_ci(confidence, method="wilson")
    assert (low, high) == pytest.approx(tuple(reference), abs=1e-9)


def test_no_trials_give_the_whole_range_and_arrays_broadcast():
    low, high = wilson([0, 0, 10], [0, 10, 10])
    assert (low[0], high[0]) == (0, 1)
    assert low[1] == 0
    assert high[2] == 1


@pytest.mark.parametrize("proportion", [0.05, 0.3, 0.5, 0.9])
def test_mean_coverage_is_near_nominal(proportion):
    # Coverage oscillates with n, so average it exactly over a range of n.
    coverage = []
    for n in range(40, 120):
        k = np.arange(n + 1)
        low, high = wilson(k, n)
        inside = (low <= proportion) & (proportion <= high)
        coverage.append(stats.binom.pmf(k[inside], n, proportion).sum())
    assert 0.94 < np.mean(coverage) < 0.965


@pytest.mark.parametrize("bad", [(3, 2), (-1, 2)])
def test_impossible_counts_are_an_error(bad):
    with pytest.raises(ValueError, match="between 0 and trials"):
        wilson(*bad)
