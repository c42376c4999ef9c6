"""Combined intervals against published tables, scipy, their equations and interval arithmetic."""

import numpy as np
import pytest
from scipy import stats

from greedyexp.stats.contrasts import (
    assumed_worst,
    combined_interval,
    correlation,
    line_weights,
    p_value_of,
)
from greedyexp.stats.means import t_interval
from greedyexp.stats.proportions import phi, wilson

INF = np.inf


def marginals(both, first, second, neither):
    n = both + first + second + neither
    wins = np.array([both + first, both + second])
    return wins / n, *wilson(wins, n)


@pytest.mark.parametrize(
    ("table", "low", "high"),
    [
        # Newcombe (1998), paired data, method 10.
        ((36, 12, 2, 0), 0.0569, 0.3404),
        # Fagerland, Lydersen and Laake, Statistical Analysis of Contingency Tables, chapter 8.
        ((59, 6, 16, 80), -0.1186, -0.0046),
    ],
)
def test_published_differences_of_paired_proportions(table, low, high):
    r = phi(*table)
    _, *ends = combined_interval([1, -1], *marginals(*table), [[1, r], [r, 1]])
    assert ends == pytest.approx([low, high], abs=5e-5)


def test_t_intervals_combine_to_the_paired_t_interval():
    samples = np.random.default_rng(0).multivariate_normal([1, 2], [[1, 0.8], [0.8, 3]], 12).T
    parts = np.array([t_interval(s, 0.9) for s in samples]).T
    _, low, high = combined_interval([2, -3], *parts, correlation(samples))
    test = stats.ttest_1samp(2 * samples[0] - 3 * samples[1], 0).confidence_interval(0.9)
    assert (low, high) == pytest.approx((test.low, test.high), rel=1e-12)


def test_skewed_intervals_and_three_terms():
    value = combined_interval([1, 1, -2], [3, 5, 1], [2, 4, 0.5], [7, 6, 3], np.eye(3))
    assert value == pytest.approx((6, 6 - np.sqrt(1 + 1 + 16), 6 + np.sqrt(16 + 1 + 1)))


def test_infinite_terms_use_interval_arithmetic():
    eye = np.eye(2)
    assert combined_interval([1, -1], [INF, 1], [5, 0.5], [INF, 2], eye) == (INF, 3, INF)
    nan, low, high = combined_interval([1, -1], [INF, INF], [5, 7], [INF, INF], eye)
    assert np.isnan(nan)
    assert (low, high) == (-INF, INF)
    nan, low, high = combined_interval([1, 1], [np.nan, 1], [-INF, 0], [INF, 2], eye)
    assert np.isnan(nan)
    assert (low, high) == (-INF, INF)
    # A finite side keeps the narrower end.
    value = combined_interval([1, 1], [1, 1], [0, 0], [INF, 2], eye)
    assert value == pytest.approx((2, 2 - np.sqrt(2), INF))
    assert combined_interval([0, 1], [INF, 1], [5, 0], [INF, 2], eye) == (1, 0, 2)


def test_level_by_inversion_is_the_p_value():
    values = np.random.default_rng(3).normal(0.4, 1, 25)
    for value in (0.0, 0.3, 1.0, 1.5):
        calls = []

        def interval_at(confidence, calls=calls):
            calls.append(confidence)
            return t_interval(values, confidence)[1:]

        p = stats.ttest_1samp(values, value).pvalue
        got = p_value_of(interval_at, value)
        assert p <= got <= 1.001 * p
        assert len(calls) <= 20
    assert p_value_of(lambda confidence: (0.0, 1.0), 0.5) == 1
    assert p_value_of(lambda confidence: (0.0, 1.0), 2.0) == 1e-9


def test_equal_samples_have_the_same_interval_despite_rounding():
    rng = np.random.default_rng(0)
    sample = rng.standard_normal(40)
    mean, low, high = t_interval(sample)
    for ulps in range(10):
        near = 1.0 - ulps * 2**-53
        matrix = np.array([[1.0, near], [near, 1.0]])
        estimate, lower, upper = combined_interval(
            [1.0, -1.0], [mean, mean], [low, low], [high, high], matrix
        )
        assert estimate == 0.0
        assert -lower == upper == pytest.approx(2e-7 * (high - mean), rel=1e-12)
    # Nor is there an interval so short about a mean that has one.
    assert combined_interval([1.0], [mean], [low], [high], np.eye(1)) == (mean, low, high)
    # The difference of constants is rounded.
    constants = [0.7, 0.4]
    _, lower, upper = combined_interval([1.0, -1.0], constants, constants, constants, np.eye(2))
    assert 0.7 - 0.4 < 0.3
    assert lower < 0.3 < upper
    assert upper - lower < 1e-13


@pytest.mark.parametrize("x", [(1, 2, 3), (0.1, 0.2, 0.3), (0.3, 0.4, 0.5), (0.7, 0.8, 0.9)])
def test_the_slope_does_not_depend_on_the_value_in_the_middle(x):
    _, slope = line_weights(x)
    assert slope[1] == 0
    assert slope == pytest.approx(np.array([-1, 0, 1]) / (x[2] - x[0]))


def test_errors_with_unknown_correlations_add_up():
    parts = [1.0, 2.0, 4.0], [0.9, 1.8, 3.9], [1.3, 2.1, 4.4]
    coefficients = np.array([1.0, -1.0, 0.5])
    worst = assumed_worst(np.eye(3), coefficients, np.zeros((3, 3), dtype=bool))
    estimate, low, high = combined_interval(coefficients, *parts, worst)
    assert estimate - low == pytest.approx(0.1 + 0.1 + 0.05)
    assert high - estimate == pytest.approx(0.3 + 0.2 + 0.2)
    # Correlations that are known remain.
    pairs = np.outer([True, True, False], [True, True, False])
    known = assumed_worst([[1, 0.3, 0], [0.3, 1, 0], [0, 0, 1]], coefficients, pairs)
    assert known.tolist() == [[1, 0.3, 1], [0.3, 1, -1], [1, -1, 1]]
