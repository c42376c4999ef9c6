"""Intervals for a number of trials that depends on results."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest

from greedyexp.stats.proportions import confidence_sequence
from greedyexp.stats.sequential import (
    anytime_confidence,
    nominal_confidence,
    proportion_interval,
)


def test_a_fixed_number_of_trials_has_wilsons_interval():
    low, high = proportion_interval(7, 20, sequential=False, confidence=0.9)
    expected = binomtest(7, 20).proportion_ci(0.9, method="wilson")
    assert (low, high) == pytest.approx((expected.low, expected.high))
    assert nominal_confidence(0.9, sequential=False) == 0.9


def test_a_sequential_number_of_trials_has_a_wider_interval():
    interval = proportion_interval(7, 20, sequential=True, confidence=0.9)
    assert interval == confidence_sequence(7, 20, confidence=0.9)
    low, high = proportion_interval(7, 20, sequential=False, confidence=0.9)
    assert interval[0] < low < high < interval[1]
    assert nominal_confidence(0.9, sequential=True) == anytime_confidence(0.9) > 0.9
