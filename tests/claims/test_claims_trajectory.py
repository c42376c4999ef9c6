"""Claims about several rows per replicate, on small tables worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from claims_tables import only
from claims_trajectories import course, failure, hits, judge, words
from scipy import stats

from greedyexp.claims.parser import parse
from greedyexp.claims.report import reason
from greedyexp.core.errors import ConfigError
from greedyexp.stats.means import peaks_of

# Keys are columns of a sweep.

FAST, SLOW = [3.0, 5.0, 4.0, 6.0], [9.0, 10.0, 12.0, 12.0]


def both_accuracies():
    return [
        *hits(FAST, 1e-2),
        *hits(SLOW, 1e-6),
        *hits([7.0, 8.0, 7.0, 9.0], 1e-2, algorithm="cd"),
        *hits([20.0, 25.0, 22.0, 27.0], 1e-6, algorithm="cd"),
        *(row for i in range(4) for row in course([1.0, 0.1], i)),
        *(row for i in range(4) for row in course([1.0, 0.1], i, algorithm="cd")),
    ]


def test_each_accuracy_is_a_group_and_other_records_are_not():
    judged = judge(both_accuracies(), "mean(gd, iterations) < mean(cd, iterations)")
    assert [test.group for test in judged.tests] == [
        {"record": "epsilon", "epsilon": 1e-6},
        {"record": "epsilon", "epsilon": 1e-2},
    ]
    pairs = [(SLOW, [20.0, 25.0, 22.0, 27.0]), (FAST, [7.0, 8.0, 7.0, 9.0])]
    for test, (gd, cd) in zip(judged.tests, pairs, strict=True):
        reference = stats.ttest_rel(gd, cd)
        assert test.p == pytest.approx(reference.pvalue, rel=2e-3)
        assert test.trials == 4
    gaps = judge(both_accuracies(), "mean(gd, gap) <= 2")
    assert [test.group for test in gaps.tests] == [
        {"record": "iteration", "iteration": 0},
        {"record": "iteration", "iteration": 1},
    ]


def test_where_chooses_keys_and_tests_may_count_with_them():
    chosen = judge(both_accuracies(), "mean(gd, iterations) < 40", where={"epsilon": 1e-6})
    assert only(chosen).estimate == pytest.approx(np.mean(SLOW))
    judged = judge(both_accuracies(), "mean(gd, iterations) <= 2 * log(1 / epsilon)")
    assert [test.boundary for test in judged.tests] == pytest.approx(
        [2 * math.log(1e6), 2 * math.log(1e2)]
    )


def test_steps_along_a_key_are_paired_on_the_same_data():
    test = only(judge(both_accuracies(), "decreasing(mean(gd, iterations), epsilon)"))
    assert test.group == {"record": "epsilon", "epsilon": [1e-6, 1e-2]}
    reference = stats.ttest_rel(FAST, SLOW)
    assert test.p == pytest.approx(reference.pvalue, rel=2e-3)
    assert (test.low, test.high) == pytest.approx(reference.confidence_interval(0.95))


def test_replicates_without_a_row_do_not_lack_columns_of_other_records():
    # With p = 20 no run reached the chosen iteration, whose rows have no accuracies anyway.
    rows = [
        *({**row, "p": p} for p in (10, 20) for row in hits(FAST)),
        *course([1.0, 0.1, 0.01], p=10),
        *course([1.0, 0.1], p=20),
    ]
    swept = {"sweep": {"p": [10, 20]}, "algorithms": ("gd",)}
    for more in ([], [failure(9, p=20)]):
        at = {"record": "iteration", "iteration": 2}
        judged = judge([*rows, *more], "mean(gd, iterations) < 5", where=at, **swept)
        assert only(judged).p is None
        assert reason(judged) == "no row of the table has a number of iterations."
    # For accuracies it would be a test: no run reached it with p = 20.
    rows = [*({**row, "p": 10} for row in hits(FAST)), failure(0, p=20)]
    judged = judge(rows, "mean(gd, iterations) < 5", where={"epsilon": 1e-6}, **swept)
    assert [test.group.get("p") for test in judged.tests] == [10, 20]
    lost = judge([failure(i) for i in range(3)], "mean(gd, iterations) < 5")
    assert reason(lost).startswith("3 of 3 replicates of gd have no iterations")


def test_a_claim_about_other_records_is_inconclusive_with_the_reason():
    rows = both_accuracies()
    judged = judge(rows, "mean(gd, rate) < 1")
    assert (judged.verdict, only(judged).p) == ("inconclusive", None)
    assert reason(judged) == "no row of the table has a number of rate."
    other = judge(rows, "mean(gd, iterations) < 40", where={"record": "iteration"})
    assert reason(other) == "no row of the table has a number of iterations."
    nowhere = judge(rows, "mean(gd, iterations) < 40", where={"record": "epsilom"})
    assert reason(nowhere) == "the table has no rows with record = epsilom."
    # Failures count at every value of a key, but not without any value.
    failed = judge([*rows, failure(4)], "mean(gd, gap) < 1", where={"record": "epsilom"})
    assert reason(failed) == reason(nowhere)


def test_a_value_that_was_not_reached_has_no_mean():
    rows = hits([3, 4, 5, 6, 7], 1e-2) + hits([30, None, 50, None, 60], 1e-6)
    judged = judge(rows, "mean(gd, iterations) < 99")
    assert "gd: not reached in 2 of 5 replicates" in judged.tests[0].reason
    assert judged.tests[1].estimate == 5
    # An accuracy that no replicate reached is still a test.
    never = judge([*hits([3, 4], 1e-2), *hits([None, None])], "mean(gd, iterations) < 99")
    assert "not reached in 2 of 2" in never.tests[0].reason
    assert never.verdict == "inconclusive"


def test_a_failed_replicate_is_missing_from_every_group():
    rows = [*both_accuracies(), failure(4)]
    judged = judge(rows, "mean(gd, iterations) < 99")
    assert len(judged.tests) == 2
    for test in judged.tests:
        assert "1 of 5 replicates of gd have no iterations" in test.reason
    where = {"record": "epsilon", "epsilon": 1e-2}
    assert "1 of 5" in only(judge(rows, "mean(gd, iterations) < 99", where=where)).reason
    assert judge(rows, "mean(cd, iterations) < 99").verdict == "supported"
    # If all replicates failed, there are no keys but still a test.
    sweep = {"p": [10, 20]}
    lost = [*hits(FAST, p=10), *(failure(i, p=20) for i in range(4))]
    found = judge(lost, "mean(gd, iterations) < 99", sweep=sweep).tests
    assert [test.group for test in found] == [
        {"p": 10, "record": "epsilon", "epsilon": 1e-6},
        {"p": 20},
    ]
    assert "4 of 4 replicates" in found[1].reason


def test_a_run_that_ended_before_an_iteration_is_not_left_out_of_its_mean():
    rows = [*course([1.0, 0.5, 0.2], 0), *course([1.0, 0.4, 0.1], 1), *course([1.0, 0.6], 2)]
    judged = judge(rows, "mean(gd, gap) < 9")
    assert "1 of 3 replicates of gd have no row" in judged.tests[2].reason
    assert judged.tests[1].estimate == pytest.approx(0.5)
    chosen = only(judge(rows, "mean(gd, gap) < 9", where={"iteration": 2}))
    assert "1 of 3 replicates of gd have no gap" in chosen.reason


def test_parameters_of_an_algorithm_are_groups():
    strong, weak = [5.0, 6.0, 5.0, 7.0], [9.0, 11.0, 9.0, 12.0]
    rows = [
        *hits(weak, algorithm="rmp (lam=0.1)", lam=0.1),
        *hits(strong, algorithm="rmp (lam=0.4)", lam=0.4),
        *hits([1.0] * 4, 1e-2, algorithm="rmp (lam=0.1)", lam=0.1),
        *hits([1.0] * 4, 1e-2, algorithm="rmp (lam=0.4)", lam=0.4),
        *course([1.0, 0.1], algorithm="rmp (lam=0.1)", lam=0.1),
    ]
    swept = [{"rmp": {"sweep": {"lam": [0.1, 0.4]}}}]
    judged = judge(
        rows,
        "decreasing(mean(rmp, iterations), lam)",
        where={"record": "epsilon", "epsilon": 1e-6},
        algorithms=swept,
    )
    test = only(judged)
    assert test.group == {"record": "epsilon", "epsilon": 1e-6, "lam": [0.1, 0.4]}
    assert test.p == pytest.approx(stats.ttest_rel(strong, weak).pvalue, rel=2e-3)
    apart = judge(rows, "mean(rmp, iterations) < 8", where={"epsilon": 1e-6}, algorithms=swept)
    assert [test.estimate for test in apart.tests] == [np.mean(weak), np.mean(strong)]


# Peaks.


def by_hand(curves, ps=(10, 20, 40, 50, 100), **more):
    """Iterations of each replicate at each p."""
    return [
        row for j, p in enumerate(ps) for row in hits([curve[j] for curve in curves], p=p, **more)
    ]


SWEEP = {"p": [10, 20, 40, 50, 100]}
# At p / n of 0.2, 0.4, 0.8, 1 and 2: largest at 0.8, at 1, at 1 (not reached), at 0.8 and 1.
CURVES = [(5, 6, 9, 8, 3), (4, 5, 7, 9, 2), (5, 9, 9, None, 1), (1, 2, 4, 4, 3)]


def test_a_peak_is_the_mean_place_of_the_largest_value():
    test = only(judge(by_hand(CURVES), "peak(gd, iterations, p / n_samples) < 3", sweep=SWEEP))
    assert test.estimate == pytest.approx(np.mean([0.8, 1, 1, 0.9]))
    below = [(0.8 + 0.4) / 2, (1 + 0.8) / 2, (1 + 0.8) / 2, (0.8 + 0.4) / 2]
    above = [(0.8 + 1) / 2, (1 + 2) / 2, (1 + 2) / 2, (1 + 2) / 2]
    half = stats.t.ppf(0.975, 3) * np.array([stats.sem(below), stats.sem(above)])
    assert test.low == pytest.approx(np.mean(below) - half[0])
    assert test.high == pytest.approx(np.mean(above) + half[1])
    assert (test.trials, test.group) == (4, {"record": "epsilon", "epsilon": 1e-6})


def test_two_runs_that_reached_nothing_tie():
    rows = by_hand([(5, None, None, None, 1)] * 8)
    test = only(judge(rows, "peak(gd, iterations, p) > 14", sweep=SWEEP))
    assert (test.estimate, test.low, test.high) == (35, 15, 75)
    # 2 / 2^8: eight equal peaks if either side of the mean is equally likely.
    assert test.p == pytest.approx(2 / 2**8)
    assert test.verdict == "supported"
    assert only(judge(rows, "peak(gd, iterations, p) > 16", sweep=SWEEP)).verdict == "inconclusive"
    assert only(judge(rows, "peak(gd, iterations, p) > 76", sweep=SWEEP)).verdict == "refuted"


def test_few_equal_replicates_decide_nothing():
    for trials, verdict in ((5, "inconclusive"), (6, "supported")):
        rows = by_hand([(1, 2, 3, 2, 1)] * trials)
        test = only(judge(rows, "peak(gd, iterations, p) < 60", sweep=SWEEP))
        assert (test.verdict, test.p) == (verdict, pytest.approx(2 * 0.5**trials))


def test_more_trials_locate_a_peak_only_between_its_neighbours():
    rows = by_hand(CURVES)
    test = only(judge(rows, "peak(gd, iterations, p / n_samples) < 1.26", sweep=SWEEP))
    assert (test.verdict, test.needed_trials) == ("inconclusive", None)
    assert "points of the sweep are too far apart" in test.obstacle
    # The upper limits are 0.9 and three times 1.5; their mean is 1.35.
    some = only(judge(rows, "peak(gd, iterations, p / n_samples) < 1.5", sweep=SWEEP))
    width = stats.t.ppf(0.975, 3) * stats.sem([0.9, 1.5, 1.5, 1.5])
    assert some.needed_trials == math.ceil(4 * (width / 0.15) ** 2)
    apart = by_hand([(1, 2, 3, 4, 2)] * 9) + by_hand([(1, 2, 4, 3, 2)] * 9, algorithm="cd")
    near = only(judge(apart, "peak(gd, iterations, p) > peak(cd, iterations, p)", sweep=SWEEP))
    # Each may be anywhere between its neighbours: 50 in [45, 75], 40 in [30, 45].
    assert (near.estimate, near.low, near.high) == (10, 0, 45)
    assert (near.verdict, near.needed_trials) == ("inconclusive", None)
    assert "too far apart" in near.obstacle


def test_a_peak_at_the_end_of_the_sweep_may_lie_beyond():
    rows = by_hand([(1, 2, 3, 4, 5)] * 9)
    test = only(judge(rows, "peak(gd, iterations, p) > 60", sweep=SWEEP))
    assert (test.low, test.high, test.verdict) == (75, math.inf, "supported")
    assert judge(rows, "peak(gd, iterations, p) < 300", sweep=SWEEP).verdict == "inconclusive"
    first = only(judge(by_hand([(5, 4, 3, 2, 1)] * 9), "peak(gd, iterations, p) < 30", sweep=SWEEP))
    assert (first.low, first.high, first.verdict) == (-math.inf, 15, "supported")


def test_peaks_of_two_algorithms_are_paired_by_replicate():
    late = [(1, 2, 3, 4, 2), (1, 2, 3, 5, 2), (1, 2, 3, 9, 3), (1, 2, 3, 9, 3)]
    early = [(1, 2, 3, 2, 1), (1, 5, 3, 2, 1), (9, 2, 3, 2, 1), (1, 2, 5, 4, 3)]
    rows = by_hand(late) + by_hand(early, algorithm="cd")
    test = only(judge(rows, "peak(gd, iterations, p) > peak(cd, iterations, p)", sweep=SWEEP))
    assert test.estimate == pytest.approx(50 - np.mean([40, 20, 10, 40]))


def test_a_failure_leaves_no_peak():
    rows = [*by_hand(CURVES), failure(9, p=20)]
    lost = only(judge(rows, "peak(gd, iterations, p) > 9", sweep=SWEEP))
    assert (lost.verdict, lost.p) == ("inconclusive", None)
    gone = [row for row in by_hand(CURVES) if (row["p"], row["replicate"]) != (40, 2)]
    lack = only(judge(gone, "peak(gd, iterations, p) > 9", sweep=SWEEP)).reason
    assert lack == "gd does not have every replicate at every point"
    # An empty cell means a larger number for steps only.
    rates = [
        {"record": "rate", "rate": rate, "replicate": i, "p": p}
        for p, rate in ((10, 0.5), (20, None))
        for i in range(3)
    ]
    unknown = judge(rates, "peak(gd, rate, p) > 9", sweep={"p": [10, 20]})
    assert only(unknown).reason == "3 of 6 runs of gd have no rate"


def test_intervals_of_peaks_hold_where_curves_have_their_mean_peak():
    rng = np.random.default_rng(5)
    x = np.linspace(0, 2, 11)
    held, runs = 0, 400
    for _ in range(runs):
        centre = rng.uniform(0.8, 1.2)
        tops = centre + 0.15 * rng.standard_normal((6, 1))
        found = peaks_of(x, -np.abs(x - tops))
        low = found.below.mean() - stats.t.ppf(0.975, 5) * stats.sem(found.below)
        high = found.above.mean() + stats.t.ppf(0.975, 5) * stats.sem(found.above)
        held += low <= centre <= high
        assert (found.below <= tops[:, 0]).all()
        assert (tops[:, 0] <= found.above).all()
    assert held >= 0.97 * runs


# The language.


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("peak(gd, iterations) > 1", "peak must be written peak(ALGORITHM, METRIC, expression)"),
        ("peak(gd, iterations, n_samples) > 1", "peak needs a swept column"),
        ("peak(gdd, iterations, p) > 1", "no algorithm 'gdd'"),
        ("peak(gd, iteration, p) > 1", "no metric 'iteration'"),
        ("peak(gd, gap, p) > mean(gd, gap)", "a mean cannot be compared with a peak"),
        ("peak(gd, gap, p) > peak(cd, gap, log(p))", "along different expressions"),
        ("peak(gd, gap, p) > p", "'p' takes several values"),
        ("same(gd, cd, gap, 1)", "no function 'same'"),
        ("always(gap(gd) == gap(cd))", "always needs one of <, <=, > and >="),
        ("always(gap(gd) <= guarantee)", "'guarantee' needs an algorithm"),
        ("always(gap(gdd) <= 1)", "no algorithm 'gdd'"),
        ("always(gap(gd, cd) <= 1)", "gap must be written gap(ALGORITHM)"),
        ("always(gap() <= 1)", "gap must be written gap(ALGORITHM)"),
        ("always(gap(gd + cd) <= 1)", "the algorithm of gap must be a name"),
        ("always(gapp(gd) <= 1)", "no function 'gapp'"),
        ("always(epsilon(gd) <= 1)", "'epsilon' is not measured, so it takes no algorithm"),
        ("always(mean(gd, gap) <= gap(cd))", "mean(...) is not allowed here"),
        ("gap(gd) <= gap(cd)", "'gap(gd)' differs between replicates"),
        ("mean(gd, gap) <= abs(gap(cd))", "there is no function 'gap'"),
        ("pek(gd, gap, p) > 1", "no function 'pek'"),
        ("decreasing(mean(gd, gap), epsilonn)", "'epsilonn' is not swept"),
    ],
)
def test_an_invalid_test_is_an_error(text, said):
    with pytest.raises(ConfigError) as caught:
        parse(text, words(sweep=SWEEP))
    assert said in caught.value.message


def test_the_nearest_name_is_suggested():
    for text, meant in (("pek(gd, gap, p) > 1", "peak"), ("always(gapp(gd) <= 1)", "gap"),
                        ("decreasing(mean(gd, gap), epsilonn)", "epsilon")):  # fmt: skip
        with pytest.raises(ConfigError) as caught:
            parse(text, words(sweep=SWEEP))
        assert f"Did you mean '{meant}'?" in caught.value.remedy
