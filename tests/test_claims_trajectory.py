"""Claims about tables with several rows for each replicate, by small tables worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from greedyexp.claims.evaluation import evaluate_claims
from greedyexp.claims.language import parse
from greedyexp.claims.model import compile_claim
from greedyexp.claims.peaks import places
from greedyexp.claims.sentences import reason
from greedyexp.claims.setting import setting_of
from greedyexp.errors import ConfigError
from greedyexp.protocols.measured import Measured

KEYS = ("record", "epsilon", "iteration")
NUMBERS = ("iterations", "gap", "guarantee", "rate")
MEASURED = [Measured(name, "key") for name in KEYS] + [Measured(n, "number") for n in NUMBERS]


def words(*, sweep=None, algorithms=("gd", "cd")):
    config = {
        "data": {"generator": "g", "sweep": sweep or {}},
        "algorithms": list(algorithms),
        "trials": 10,
    }
    return setting_of(config, MEASURED, ("p", "n_samples", "lam"))


def judge(rows, test, *, where=None, margin=None, **given):
    """One claim on rows, whose cells are empty where nothing is said."""
    empty = dict.fromkeys([*KEYS, *NUMBERS])
    plain = {"p": 10, "n_samples": 50, "lam": None, "algorithm": "gd", "status": "ok"}
    frame = pd.DataFrame([plain | empty | row for row in rows])
    frame[list(KEYS[1:] + NUMBERS)] = frame[list(KEYS[1:] + NUMBERS)].astype(float)
    setting = words(**given)
    entry = {"id": "one", "quote": "q", "test": test, "where": where, "margin": margin}
    return evaluate_claims([compile_claim(entry, setting, "1")], frame, setting)[0]


def only(judged):
    (test,) = judged.tests
    return test


def hits(counts, epsilon=1e-6, **more):
    """Rows of record epsilon, one for each replicate; None has not reached it."""
    return [
        {"record": "epsilon", "epsilon": epsilon, "iterations": k, "replicate": i} | more
        for i, k in enumerate(counts)
    ]


def course(gaps, replicate=0, **more):
    """Rows of record iteration."""
    return [
        {"record": "iteration", "iteration": k, "gap": gap, "replicate": replicate} | more
        for k, gap in enumerate(gaps)
    ]


def failure(replicate, **more):
    return {"replicate": replicate, "status": "timeout"} | more


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


def test_each_accuracy_is_a_group_and_other_records_are_none():
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


def test_a_claim_about_other_records_only_is_open_and_says_so():
    rows = both_accuracies()
    judged = judge(rows, "mean(gd, rate) < 1")
    assert (judged.verdict, only(judged).p) == ("inconclusive", None)
    assert reason(judged) == "no row of the table has a number of rate."
    other = judge(rows, "mean(gd, iterations) < 40", where={"record": "iteration"})
    assert reason(other) == "no row of the table has a number of iterations."
    nowhere = judge(rows, "mean(gd, iterations) < 40", where={"record": "epsilom"})
    assert reason(nowhere) == "the table has no rows with record = epsilom."
    # Failures are everywhere but not where nothing is.
    failed = judge([*rows, failure(4)], "mean(gd, gap) < 1", where={"record": "epsilom"})
    assert reason(failed) == reason(nowhere)


def test_what_was_not_reached_has_no_mean():
    rows = hits([3, 4, 5, 6, 7], 1e-2) + hits([30, None, 50, None, 60], 1e-6)
    judged = judge(rows, "mean(gd, iterations) < 99")
    assert "gd: not reached in 2 of 5 replicates" in judged.tests[0].reason
    assert judged.tests[1].estimate == 5
    # An accuracy that no replicate reached is a test all the same.
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
    # Where all failed there are no keys, but a test.
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
    # 2 / 2^8: eight alike, were either side of the mean as likely.
    assert test.p == pytest.approx(2 / 2**8)
    assert test.verdict == "supported"
    assert only(judge(rows, "peak(gd, iterations, p) > 16", sweep=SWEEP)).verdict == "inconclusive"
    assert only(judge(rows, "peak(gd, iterations, p) > 76", sweep=SWEEP)).verdict == "refuted"


def test_few_replicates_alike_decide_nothing():
    for trials, verdict in ((5, "inconclusive"), (6, "supported")):
        rows = by_hand([(1, 2, 3, 2, 1)] * trials)
        test = only(judge(rows, "peak(gd, iterations, p) < 60", sweep=SWEEP))
        assert (test.verdict, test.p) == (verdict, pytest.approx(2 * 0.5**trials))


def test_trials_narrow_a_peak_down_to_its_neighbours_only():
    rows = by_hand(CURVES)
    test = only(judge(rows, "peak(gd, iterations, p / n_samples) < 1.26", sweep=SWEEP))
    assert (test.verdict, test.needed_trials) == ("inconclusive", None)
    assert "points of the sweep are too far apart" in test.obstacle
    # The upper limits are 0.9 and three times 1.5, so that their mean is 1.35.
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
    # Only of steps does an empty cell say that there were more of them.
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
        found = places(x, -np.abs(x - tops))
        low = found.below.mean() - stats.t.ppf(0.975, 5) * stats.sem(found.below)
        high = found.above.mean() + stats.t.ppf(0.975, 5) * stats.sem(found.above)
        held += low <= centre <= high
        assert (found.below <= tops[:, 0]).all()
        assert (tops[:, 0] <= found.above).all()
    assert held >= 0.97 * runs


# Relations in every row.


def bounded(trials, *, broken=(), empty=()):
    rows = []
    for i in range(trials):
        for row in course([1.0, 0.5, 0.3 if i not in broken else 0.7], i):
            bound = None if i in empty else 0.6 ** row["iteration"]
            rows.append(row | {"guarantee": bound})
        rows += [hits([7])[0] | {"replicate": i}, {"record": "rate", "rate": 0.5, "replicate": i}]
    return rows


GD = {"algorithms": ("gd",)}


def test_always_counts_replicates_not_rows():
    held = only(judge(bounded(30), "always(gap <= guarantee)", **GD))
    assert (held.replicates, held.p) == (30, pytest.approx(0.95**30))
    # Ninety rows would have been enough.
    assert (held.verdict, held.needed_trials) == ("inconclusive", 59)
    assert judge(bounded(60), "always(gap <= guarantee)", **GD).verdict == "supported"
    broken = only(judge(bounded(60, broken=[7]), "always(gap <= guarantee)", **GD))
    assert (broken.verdict, broken.violations, broken.replicates) == ("refuted", 1, 60)
    where = {"record": "iteration", "iteration": [0, 1]}
    early = judge(bounded(60, broken=[7]), "always(gap <= guarantee)", where=where, **GD)
    assert early.verdict == "supported"


def test_rows_to_which_a_column_does_not_apply_are_left_out():
    some = only(judge(bounded(70, empty=range(8)), "always(gap <= guarantee)", **GD))
    assert (some.replicates, some.verdict) == (62, "supported")
    none = only(judge(bounded(5, empty=range(5)), "always(gap <= guarantee)", **GD))
    assert (none.p, none.reason) == (None, "gd has no row with both sides")
    wrong = bounded(60)
    wrong[1]["gap"] = math.inf
    assert only(judge(wrong, "always(gap <= guarantee)", **GD)).reason == (
        "a number in the test is not finite at record = iteration, iteration = 1"
    )
    lost = only(judge([*bounded(60), failure(60)], "always(gap <= guarantee)", **GD))
    assert (lost.failed, lost.replicates, lost.verdict) == (1, 60, "supported")


def test_rounding_is_allowed_for_by_the_claim():
    rows = [row for i in range(60) for row in course([1.0, 3e-16], i, guarantee=1.0)]
    rows = [row | {"guarantee": 1.0 if row["iteration"] == 0 else 1e-17} for row in rows]
    assert judge(rows, "always(gap <= guarantee)", **GD).verdict == "refuted"
    assert judge(rows, "always(gap <= guarantee + 1e-12)", **GD).verdict == "supported"


def test_an_accuracy_that_was_not_reached_holds_no_bound():
    rows = hits([5] * 60) + hits([9] * 59 + [None], 1e-8)
    open_one = only(judge(rows, "always(iterations <= 10)", **GD))
    assert (open_one.verdict, open_one.p) == ("inconclusive", None)
    assert open_one.reason == (
        "a number in the test is not reached or not finite at record = epsilon, epsilon = 1e-08"
    )
    # Rows of another record have no number of iterations to miss.
    rows = hits([5] * 60) + [row for i in range(60) for row in course([1.0], i)]
    assert judge(rows, "always(iterations <= -log(epsilon))", **GD).verdict == "supported"
    assert judge(rows, "always(iterations <= -log(epsilon) / 3)", **GD).verdict == "refuted"


def test_variants_of_an_algorithm_on_the_same_data_are_one_replicate():
    rows = [
        row | {"algorithm": f"rmp (lam={lam})", "lam": lam}
        for lam in (0.1, 0.2)
        for row in bounded(40)
    ]
    swept = [{"rmp": {"sweep": {"lam": [0.1, 0.2]}}}]
    test = only(judge(rows, "always(gap <= guarantee)", algorithms=swept))
    assert (test.replicates, test.trials, test.verdict) == (40, 40, "inconclusive")


def two(trials, *, shift=0.0, at=None, **more):
    """Two algorithms with the same gaps, one of them shifted in one replicate."""
    rows = []
    for i in range(trials):
        gaps = np.array([1.0, 0.5, 0.25])
        rows += course(gaps, i)
        rows += course(gaps + shift * (i == at), i, algorithm="cd", **more)
    return rows


def test_same_is_within_a_tolerance_in_every_common_row():
    text = "same(gd, cd, gap, 1e-9)"
    held = only(judge(two(59), text))
    assert (held.replicates, held.verdict, held.p) == (59, "supported", pytest.approx(0.95**59))
    assert only(judge(two(58), text)).verdict == "inconclusive"
    assert judge(two(60, shift=0.9e-9, at=3), text).verdict == "supported"
    broken = only(judge(two(60, shift=-1.1e-9, at=3), text))
    assert (broken.verdict, broken.violations, broken.estimate) == ("refuted", 1, 1 / 60)
    assert judge(two(60, shift=1e-12, at=3), "same(gd, cd, gap, 0)").verdict == "refuted"


def test_same_goes_by_replicate_data_and_key():
    rows = [
        row
        for p in (10, 20)
        for i in range(30)
        for name in ("gd", "cd")
        for row in course([i + p, i - p], i, algorithm=name, p=p)
    ]
    assert judge(rows, "same(gd, cd, gap, 0)", sweep={"p": [10, 20]}).verdict == "supported"
    shuffled = [row | ({"p": 30 - row["p"]} if row["algorithm"] == "cd" else {}) for row in rows]
    assert judge(shuffled, "same(gd, cd, gap, 0)", sweep={"p": [10, 20]}).verdict == "refuted"
    # Rows that one of them lacks say nothing.
    longer = two(60) + course([9.0] * 5, 0, algorithm="cd")[3:]
    assert judge(longer, "same(gd, cd, gap, 0)").verdict == "supported"
    none = only(judge(course([1.0]) + course([1.0], 1, algorithm="cd"), "same(gd, cd, gap, 0)"))
    assert none.reason == "gd and cd have no gap in a common row"


def test_same_meets_failures_and_empty_cells():
    rows = [*two(60), failure(60), *course([1.0], 60, algorithm="cd")]
    lost = only(judge(rows, "same(gd, cd, gap, 0)"))
    assert (lost.failed, lost.replicates, lost.verdict) == (1, 60, "supported")
    reached = [*hits([5] * 60), *hits([5] * 59 + [None], algorithm="cd")]
    open_one = only(judge(reached, "same(gd, cd, iterations, 3)"))
    assert (open_one.p, "not reached" in open_one.reason) == (None, True)
    # What neither reached is no difference.
    neither = [*hits([5] * 60 + [None]), *hits([5] * 60 + [None], algorithm="cd")]
    assert only(judge(neither, "same(gd, cd, iterations, 3)")).replicates == 60


def test_same_pairs_variants_with_the_same_value():
    def rows(values):
        return [
            row
            for lam, value in values.items()
            for name in ("gd", "cd")
            for i in range(60)
            for row in course([value[name]], i, algorithm=f"{name} (lam={lam})", lam=lam)
        ]

    swept = [{name: {"sweep": {"lam": [0.1, 0.4]}}} for name in ("gd", "cd")]
    alike = {0.1: {"gd": 1.0, "cd": 1.0}, 0.4: {"gd": 2.0, "cd": 2.0}}
    assert judge(rows(alike), "same(gd, cd, gap, 0)", algorithms=swept).verdict == "supported"
    alike[0.4]["cd"] = 1.0
    assert judge(rows(alike), "same(gd, cd, gap, 0)", algorithms=swept).verdict == "refuted"


# The language.


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("peak(gd, iterations) > 1", "peak is written peak(ALGORITHM, METRIC, expression)"),
        ("peak(gd, iterations, n_samples) > 1", "names no swept column, as peak needs"),
        ("peak(gdd, iterations, p) > 1", "no algorithm 'gdd'"),
        ("peak(gd, iteration, p) > 1", "no metric 'iteration'"),
        ("peak(gd, gap, p) > mean(gd, gap)", "a mean cannot be compared with a peak"),
        ("peak(gd, gap, p) > peak(cd, gap, log(p))", "along different expressions"),
        ("peak(gd, gap, p) > p", "'p' takes many values"),
        ("same(gd, cd, gap)", "same is written same(a, b, metric, tolerance)"),
        ("same(gd, gd, gap, 1)", "same compares two algorithms"),
        ("same(gd, cd, gapp, 1)", "no metric 'gapp'"),
        ("same(gd, cd, gap, -1)", "must be a number of at least 0"),
        ("same(gd, cd, gap, p)", "must be a number of at least 0"),
        ("same(gd, cd, gap, 1) < 1", "same(...) is a test of its own"),
        ("pek(gd, gap, p) > 1", "no function 'pek'"),
        ("sam(gd, cd, gap, 1)", "no function 'sam'"),
        ("decreasing(mean(gd, gap), epsilonn)", "'epsilonn' is not swept"),
    ],
)
def test_a_test_that_means_nothing_is_refused(text, said):
    with pytest.raises(ConfigError) as caught:
        parse(text, words(sweep=SWEEP))
    assert said in caught.value.message


def test_the_nearest_word_is_named():
    for text, meant in (("pek(gd, gap, p) > 1", "peak"), ("sam(gd, cd, gap, 1)", "same"),
                        ("decreasing(mean(gd, gap), epsilonn)", "epsilon")):  # fmt: skip
        with pytest.raises(ConfigError) as caught:
            parse(text, words(sweep=SWEEP))
        assert f"Did you mean '{meant}'?" in caught.value.remedy
