"""Looks at tests whose trials continue by results: the error of all looks together."""

import numpy as np
import pytest
from scipy.special import ndtr

from greedyexp.stats.level import ALPHA
from greedyexp.stats.multiplicity import Looks, holm

LOOKS = Looks(25)


def test_trials_double_and_the_errors_of_all_looks_sum_to_alpha():
    assert [LOOKS.trials(k) for k in (1, 2, 3, 4)] == [25, 50, 100, 200]
    assert sum(LOOKS.share(k) for k in range(1, 60)) == pytest.approx(1.0, abs=1e-15)
    # There is no last look: any limit on the trials may be raised.
    assert sum(LOOKS.share(k) for k in range(1, 40)) < 1


@pytest.mark.parametrize(
    ("most", "looks"), [(24, 0), (25, 1), (49, 1), (50, 2), (399, 4), (400, 5)]
)
def test_a_limit_allows_the_looks_with_at_most_so_many_trials(most, looks):
    assert LOOKS.up_to(most) == looks


def test_one_look_is_holms_method_at_its_share():
    p = np.array([0.001, 0.004, 0.0061, 0.5])
    for look in (1, 2, 3):
        found = LOOKS.decide(look, p, np.zeros(4, bool))
        alone = holm(p, ALPHA / 2**look)
        np.testing.assert_array_equal(found.levels, alone.levels)
        np.testing.assert_array_equal(found.adjusted <= ALPHA, alone.adjusted <= ALPHA / 2**look)


def test_hypotheses_rejected_before_make_the_levels_of_the_others_less_strict():
    p = np.array([1.0, 0.007, 1.0])
    alone = LOOKS.decide(2, p, np.array([False, False, False]))
    after = LOOKS.decide(2, p, np.array([True, False, True]))
    assert alone.adjusted[1] > ALPHA >= after.adjusted[1]
    assert after.levels[1] == 1 - ALPHA / 4


def test_leaving_tests_out_of_a_look_only_removes_rejections():
    rng = np.random.default_rng(0)
    for _ in range(300):
        p = rng.uniform(size=6) ** 4
        before = rng.uniform(size=6) < 0.3
        all_in = LOOKS.decide(1, p, before).adjusted <= ALPHA
        some = LOOKS.decide(1, np.where(rng.uniform(size=6) < 0.5, 1.0, p), before)
        assert not ((some.adjusted <= ALPHA) & ~all_in & ~before).any()


def wrong_decisions(rule, *, runs: int = 4000, tests: int = 5, looks: int = 6) -> float:
    """The share of runs that reject any of the true hypotheses, all of them but the first.

    The z-statistics of a run depend on each other, and the test with the largest one always gets
    more trials; the others get more trials if they look close to a decision.
    """
    rng = np.random.default_rng(7)
    wrong = 0
    for _ in range(runs):
        most = LOOKS.trials(looks)
        values = 0.5 * rng.standard_normal(most)[:, None] + rng.standard_normal((most, tests))
        values[:, 0] += 2.0
        active, rejected = np.ones(tests, bool), np.zeros(tests, bool)
        for look in range(1, looks + 1):
            trials = LOOKS.trials(look)
            z = values[:trials].sum(axis=0) / np.sqrt(1.25 * trials)
            p = np.where(active, 2 * ndtr(-np.abs(z)), 1.0)
            rejected |= rule(look, p, rejected) & active
            active &= ~rejected & ((np.abs(z) > 0.5) | (z == z.max()))
        assert rejected[0]
        wrong += rejected[1:].any()
    return wrong / runs


def test_a_true_hypothesis_is_rejected_in_at_most_one_run_of_twenty():
    def rule(look, p, rejected):
        return LOOKS.decide(look, p, rejected).adjusted <= ALPHA

    assert 0.01 < wrong_decisions(rule) <= 0.05


def test_looks_that_are_ignored_reject_too_many():
    def naive(_, p, rejected):
        return holm(np.where(rejected, 0.0, p)).adjusted <= ALPHA

    assert wrong_decisions(naive, runs=1000) > 0.08
