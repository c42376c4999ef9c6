"""Sequential intervals, violations, Holm, McNemar and means against closed forms and scipy."""

import numpy as np
import pytest
from scipy import stats

from greedyexp.stats.contrasts import correlation, uncentred_correlation
from greedyexp.stats.means import fieller, t_interval
from greedyexp.stats.multiplicity import holm
from greedyexp.stats.proportions import (
    clopper_pearson_upper,
    confidence_sequence,
    mcnemar,
    phi,
    wilson,
)

LENGTH = 400


@pytest.fixture(scope="module")
def sequence_at_90():
    """Both ends of the confidence sequence after every number of successes and trials."""
    wins, trials = np.tril_indices(LENGTH + 1)[::-1]
    ends = np.full((2, LENGTH + 1, LENGTH + 1), np.nan)
    ends[:, wins, trials] = confidence_sequence(wins, trials, confidence=0.9)
    return ends


@pytest.mark.parametrize("p", [0.02, 0.5, 0.8])
def test_a_sequence_rarely_ever_misses(p, sequence_at_90):
    runs, length = 1000, LENGTH
    wins = np.cumsum(np.random.default_rng(3).random((runs, length)) < p, axis=1)
    low, high = sequence_at_90[:, wins, np.arange(1, length + 1)]
    missed = np.mean(np.any((low > p) | (high < p), axis=1))
    assert missed <= 0.1 + 3 * np.sqrt(0.09 / runs)
    # In the same simulation an interval for one fixed time misses at some time.
    low, high = wilson(wins, np.arange(1, length + 1), confidence=0.9)
    assert np.mean(np.any((low > p) | (high < p), axis=1)) > 0.2


def test_sequence_ends_solve_the_mixture_equation_and_contain_wilson():
    wins, trials = np.array([0, 3, 40, 100, 0]), np.array([20, 10, 90, 100, 0])
    low, high = confidence_sequence(wins, trials)
    inner = wilson(wins, trials)
    assert np.all(low <= inner[0])
    assert np.all(high >= inner[1])
    assert (low[0], high[3], low[4], high[4]) == (0, 1, 0, 1)
    for end, s, n in [(high[0], 0, 20), (low[1], 3, 10), (high[2], 40, 90), (low[3], 100, 100)]:
        # The posterior density is the likelihood divided by the mixture.
        assert stats.beta.pdf(end, 1 + s, 1 + n - s) == pytest.approx(0.05, rel=1e-9)
    wide = confidence_sequence(wins, trials, confidence=1 - 1e-6)
    assert np.all(wide[0] <= low)
    assert np.all(wide[1] >= high)


@pytest.mark.parametrize(("violations", "trials"), [(0, 10), (2, 50), (49, 50), (7, 7), (0, 0)])
def test_upper_limit_matches_scipy(violations, trials):
    limit = clopper_pearson_upper(violations, trials, confidence=0.99)
    if trials in (0, violations):
        assert limit == 1
    else:
        test = stats.binomtest(violations, trials, alternative="less")
        assert limit == pytest.approx(test.proportion_ci(0.99, method="exact").high, rel=1e-9)


def test_holm_by_hand():
    result = holm([0.01, 0.04, 0.03, 0.005])
    # 4 * .005, 3 * .01, 2 * .03, then the maximum so far.
    assert result.adjusted == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert 1 - result.levels == pytest.approx([0.05 / 3, 0.05 / 2, 0.05 / 2, 0.05 / 4])
    everything = holm([0.001, 0.002], alpha=0.1)
    assert 1 - everything.levels == pytest.approx([0.05, 0.1])
    nothing = holm([0.9, 0.6, 0.6])
    assert nothing.adjusted.tolist() == [1, 1, 1]
    assert 1 - nothing.levels == pytest.approx([0.05 / 3] * 3)
    assert holm([]).levels.shape == (0,)


@pytest.mark.parametrize("bad", [[0.1, np.nan], [-0.1], [1.1]])
def test_impossible_p_values_are_refused(bad):
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm(bad)


def test_mcnemar_by_hand():
    assert mcnemar(30, 6, 0, 9) == pytest.approx(2 / 64)
    assert mcnemar(1, 1, 5, 100) == pytest.approx(2 * (1 + 6) / 64)
    assert mcnemar(5, 0, 0, 3) == 1


def test_phi_shrinks_positive_correlations_only():
    assert phi(10, 10, 10, 0) == pytest.approx(-0.5)
    assert phi(20, 5, 5, 20) == pytest.approx((400 - 25 - 25) / 625)
    assert phi(5, 4, 4, 5) == 0
    assert phi(0, 0, 4, 5) == 0


def test_t_interval_matches_scipy_and_degenerate_samples():
    values = np.random.default_rng(0).normal(size=9)
    test = stats.ttest_1samp(values, 0).confidence_interval(1 - 1e-6)
    assert t_interval(values, 1 - 1e-6)[1:] == pytest.approx((test.low, test.high), rel=1e-8)
    assert t_interval([2.0]) == (2, -np.inf, np.inf)
    assert t_interval([2.0, 2.0]) == (2, 2, 2)
    assert np.isnan(t_interval([])[0])


def test_fieller_ends_are_where_the_paired_t_test_rejects():
    rng = np.random.default_rng(1)
    b = rng.normal(3, 1, 15)
    a = 0.5 * b + rng.normal(1, 0.5, 15)
    ratio, low, high = fieller(a, b)
    assert ratio == pytest.approx(a.mean() / b.mean())
    assert low < ratio < high
    for end in (low, high):
        assert stats.ttest_1samp(a - end * b, 0).pvalue == pytest.approx(0.05, rel=1e-9)
    assert fieller(a, b - b.mean() + 0.01)[1:] == (-np.inf, np.inf)
    assert fieller([2.0, 2.0], [4.0, 4.0]) == (0.5, 0.5, 0.5)
    assert fieller([1.0], [2.0]) == (0.5, -np.inf, np.inf)


@pytest.mark.parametrize("noise", [1e-3, 1e-6, 1e-8])
def test_fieller_ends_of_nearly_proportional_samples(noise):
    rng = np.random.default_rng(5)
    b = 10 + rng.random(60)
    a = 3 * b * (1 + noise * rng.standard_normal(60))
    ratio, low, high = fieller(a, b)
    for end in (low, high):
        difference = (a - ratio * b) - (end - ratio) * b
        assert stats.ttest_1samp(difference, 0).pvalue == pytest.approx(0.05, rel=1e-3)


def test_equal_values_have_their_exact_mean_and_no_spread():
    assert np.full(59, 0.7).mean() != 0.7
    assert t_interval(np.full(59, 0.7)) == (0.7, 0.7, 0.7)


def test_correlations_match_numpy_and_are_0_without_variation():
    samples = np.random.default_rng(2).normal(size=(3, 8))
    assert correlation(samples) == pytest.approx(np.corrcoef(samples))
    assert correlation([[0.1, 0.1, 0.1], [1, 2, 4]]).tolist() == [[1, 0], [0, 1]]
    assert uncentred_correlation([[1, 1], [1, 0]])[0, 1] == pytest.approx(np.sqrt(0.5))
