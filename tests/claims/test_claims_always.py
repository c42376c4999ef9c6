"""Relations in every row, on small tables worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from claims_tables import only
from claims_trajectories import course, failure, hits, judge, words
from scipy import stats

from greedyexp.claims.parser import parse
from greedyexp.claims.report import sentence
from greedyexp.core.errors import ConfigError


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
    assert (held.evidence.replicates, held.p) == (30, pytest.approx(0.95**30))
    # Ninety rows would be enough if rows counted.
    assert (held.verdict, held.needed_trials) == ("inconclusive", 59)
    assert judge(bounded(60), "always(gap <= guarantee)", **GD).verdict == "supported"
    broken = only(judge(bounded(60, broken=[7]), "always(gap <= guarantee)", **GD))
    assert (broken.verdict, broken.evidence.violations, broken.evidence.replicates) == (
        "refuted",
        1,
        60,
    )
    where = {"record": "iteration", "iteration": [0, 1]}
    early = judge(bounded(60, broken=[7]), "always(gap <= guarantee)", where=where, **GD)
    assert early.verdict == "supported"


def test_rows_without_the_column_are_ignored():
    some = only(judge(bounded(70, empty=range(8)), "always(gap <= guarantee)", **GD))
    assert (some.evidence.replicates, some.verdict) == (62, "supported")
    none = only(judge(bounded(5, empty=range(5)), "always(gap <= guarantee)", **GD))
    assert (none.p, none.reason) == (None, "gd has no row with both sides")
    wrong = bounded(60)
    wrong[1]["gap"] = math.inf
    assert only(judge(wrong, "always(gap <= guarantee)", **GD)).reason == (
        "a number in the test is not finite at record = iteration, iteration = 1"
    )
    lost = only(judge([*bounded(60), failure(60)], "always(gap <= guarantee)", **GD))
    assert (lost.failed, lost.evidence.replicates, lost.verdict) == (1, 60, "inconclusive")


def test_support_needs_evidence_that_violations_and_failures_are_rare():
    for trials, lost in ((58, 0), (59, 0), (91, 1), (92, 1), (400, 10), (400, 20)):
        rows = bounded(trials) + [failure(trials + i) for i in range(lost)]
        test = only(judge(rows, "always(gap <= guarantee)", **GD))
        p = stats.binom.cdf(lost, trials + lost, 0.05)
        assert test.p == pytest.approx(p)
        assert test.verdict == ("supported" if p <= 0.05 else "inconclusive")
        if not test.decided and test.needed_trials:
            more = stats.binom.cdf(
                lost / (trials + lost) * test.needed_trials, test.needed_trials, 0.05
            )
            assert more <= 0.05
    # A violation refutes, whatever the others would have done.
    rows = bounded(60, broken=[7]) + [failure(60 + i) for i in range(300)]
    assert judge(rows, "always(gap <= guarantee)", **GD).verdict == "refuted"


def test_few_finished_runs_decide_nothing():
    lost = [failure(87 + i) for i in range(393)]
    always = only(judge(bounded(87) + lost, "always(gap <= guarantee)", **GD))
    assert (always.verdict, always.p, always.needed_trials) == ("inconclusive", 1.0, None)
    assert (always.failed, always.runs) == (393, 480)
    assert "0 of 87 replicates violate it and runs failed in 393" in sentence(always)
    assert "Among its rows: 393 of 480 failed. Too many runs failed" in sentence(always)
    for holding, many in ((below(87), "usually(gap < 1)"), (below(87, none=range(87)), "gap < 1")):
        test = only(judge(holding + lost, many if "usually" in many else f"usually({many})", **GD))
        assert (test.verdict, test.p) == ("inconclusive", None)
        assert test.reason == "runs failed in 393 of 480 data sets, which decide it"
    # Failures count against the verdict: 20 of 50 data sets, and 30 of 50.
    for held, verdict in ((range(30), "inconclusive"), (range(5), "supported")):
        rows = below(40, none=held) + [failure(40 + i) for i in range(10)]
        test = only(judge(rows, "usually(gap < 1)", **GD))
        assert test.verdict == verdict
        share = (40 - len(held) + 10 * (verdict != "supported")) / 50
        assert test.estimate == pytest.approx(share)


def below(trials, *, most=(), few=(), none=()):
    """Three rows for each replicate; the gap is below 1 in all, or in two, one or none of them."""
    rows = []
    for i in range(trials):
        high = 1 if i in most else 2 if i in few else 3 if i in none else 0
        rows += course([0.5] * (3 - high) + [3.0] * high, i)
    return rows


def test_usually_counts_data_sets_in_which_most_rows_hold():
    usual = only(judge(below(20, most=[3, 4], few=[5], none=[6]), "usually(gap < 1)", **GD))
    assert (usual.estimate, usual.trials, usual.boundary) == (18 / 20, 20, 0.5)
    exact = stats.binomtest(18, 20).proportion_ci(0.95)
    assert (usual.low, usual.high) == (pytest.approx(exact.low), pytest.approx(exact.high))
    assert usual.verdict == "supported"
    assert judge(below(20, none=range(2, 20)), "usually(gap < 1)", **GD).verdict == "refuted"
    few = only(judge(below(3), "usually(gap < 1)", **GD))
    assert (few.estimate, few.verdict) == (1.0, "inconclusive")
    # With 6 of 6, the p-value is 2 / 2^6.
    assert few.needed_trials in (6, 7)


def test_counts_decide_a_claim_about_exactly_these_data_sets():
    about = {**GD, "exhaustive": True}
    held = judge(below(3), "always(gap < 1)", **about)
    assert (held.verdict, only(held).p) == ("supported", 0.0)
    assert sentence(only(held)).endswith("supported.")
    assert "3 of 3 data sets" in sentence(only(held))
    assert judge(below(3, most=[1]), "always(gap < 1)", **about).verdict == "refuted"
    for none, verdict in (([0], "supported"), ([0, 1], "refuted")):
        judged = judge(below(3, none=none), "usually(gap < 1)", **about)
        assert (judged.verdict, only(judged).evidence.held) == (verdict, 3 - len(none))
    # Half of the data sets are not most of them.
    assert judge(below(2, none=[0]), "usually(gap < 1)", **about).verdict == "refuted"
    lost = only(judge([*below(3), failure(3)], "always(gap < 1)", **about))
    assert lost.verdict == "inconclusive"
    assert lost.reason == "a run failed, and the claim is about every data set"
    for held, verdict in ((2, "inconclusive"), (3, "supported")):
        lost = judge([*below(held), failure(3), failure(4)], "usually(gap < 1)", **about)
        assert lost.verdict == verdict


def test_half_of_the_rows_are_not_most():
    rows = [row for i in range(20) for row in course([0.5, 3.0], i)]
    assert only(judge(rows, "usually(gap < 1)", **GD)).estimate == 0.0


def test_usually_counts_failures_and_needs_every_number():
    lost = only(judge([*below(20), failure(20), failure(21)], "usually(gap < 1)", **GD))
    assert (lost.failed, lost.estimate) == (2, pytest.approx(20 / 22))
    wrong = below(20)
    wrong[4]["gap"] = math.inf
    assert only(judge(wrong, "usually(gap < 1)", **GD)).p is None


def test_a_claim_can_allow_for_rounding():
    rows = [row for i in range(60) for row in course([1.0, 3e-16], i, guarantee=1.0)]
    rows = [row | {"guarantee": 1.0 if row["iteration"] == 0 else 1e-17} for row in rows]
    assert judge(rows, "always(gap <= guarantee)", **GD).verdict == "refuted"
    assert judge(rows, "always(gap <= guarantee + 1e-12)", **GD).verdict == "supported"


def test_relations_with_equality_hold_up_to_rounding():
    for excess, verdict in ((1e-10, "supported"), (1e-8, "refuted")):
        rows = [row for i in range(60) for row in course([1 + excess], i, guarantee=1.0)]
        assert judge(rows, "always(gap <= guarantee)", **GD).verdict == verdict
        assert judge(rows, "always(guarantee >= gap)", **GD).verdict == verdict
    assert judge(rows[:59], "always(gap < guarantee)", **GD).verdict == "refuted"


def test_an_accuracy_that_was_not_reached_does_not_support_a_bound():
    rows = hits([5] * 60) + hits([9] * 59 + [None], 1e-8)
    open_one = only(judge(rows, "always(iterations <= 10)", **GD))
    assert (open_one.verdict, open_one.p) == ("inconclusive", None)
    assert open_one.reason == (
        "a number in the test is not reached or not finite at record = epsilon, epsilon = 1e-08"
    )
    # Rows of another record have no number of iterations.
    rows = hits([5] * 60) + [row for i in range(60) for row in course([1.0], i)]
    assert judge(rows, "always(iterations <= -log(epsilon))", **GD).verdict == "supported"
    assert judge(rows, "always(iterations <= -log(epsilon) / 3)", **GD).verdict == "refuted"


LOST = {"status": "not_converged"}


def test_runs_without_a_certificate_do_not_refute():
    def runs(broken, lost):
        return [r | (LOST if r["replicate"] in lost else {}) for r in bounded(60, broken=broken)]

    held = only(judge(runs([], [7]), "always(gap <= guarantee)", **GD))
    assert (held.verdict, held.unconverged, held.evidence.replicates) == ("supported", 1, 60)
    open_one = only(judge(runs([7], [7]), "always(gap <= guarantee)", **GD))
    assert (open_one.verdict, open_one.p) == ("inconclusive", None)
    assert open_one.reason == (
        "runs that did not converge violate it at record = iteration, iteration = 2,"
        " and have no certificate"
    )
    # Only runs that converged refute and count as violations.
    assert judge(runs([7], [8]), "always(gap <= guarantee)", **GD).verdict == "refuted"
    both = only(judge(runs([7, 8], [7]), "always(gap <= guarantee)", **GD))
    assert (both.verdict, both.evidence.violations, both.evidence.replicates) == ("refuted", 1, 60)


def test_runs_without_a_certificate_do_not_refute_that_it_usually_holds():
    def judged(none, lost):
        rows = below(60, none=none)
        rows = [row | (LOST if row["replicate"] in lost else {}) for row in rows]
        return only(judge(rows, "usually(gap < 1)", **GD))

    some = judged(none=range(10), lost=range(10))
    assert (some.verdict, some.estimate) == ("supported", pytest.approx(50 / 60))
    open_one = judged(none=range(40), lost=range(40))
    assert (open_one.verdict, open_one.p) == ("inconclusive", None)
    assert "runs that did not converge violate it" in open_one.reason
    # Even without the violations in doubt, it holds in fewer than half.
    few = judged(none=range(55), lost=range(5))
    assert (few.verdict, few.estimate) == ("refuted", pytest.approx(10 / 60))


def test_variants_of_an_algorithm_on_the_same_data_are_one_replicate():
    rows = [
        row | {"algorithm": f"rmp (lam={lam})", "lam": lam}
        for lam in (0.1, 0.2)
        for row in bounded(40)
    ]
    swept = [{"rmp": {"sweep": {"lam": [0.1, 0.2]}}}]
    test = only(judge(rows, "always(gap <= guarantee)", algorithms=swept))
    assert (test.evidence.replicates, test.trials, test.verdict) == (40, 40, "inconclusive")


def two(trials, *, shift=0.0, at=None, **more):
    """Two algorithms with the same gaps, one of them shifted in one replicate."""
    rows = []
    for i in range(trials):
        gaps = np.array([1.0, 0.5, 0.25])
        rows += course(gaps, i)
        rows += course(gaps + shift * (i == at), i, algorithm="cd", **more)
    return rows


NEAR = "always(abs(gap(gd) - gap(cd)) <= {})"


def test_algorithms_are_compared_in_every_common_row():
    held = only(judge(two(59), NEAR.format("1e-9")))
    assert (held.evidence.replicates, held.verdict, held.p) == (
        59,
        "supported",
        pytest.approx(0.95**59),
    )
    assert held.group == {}
    assert only(judge(two(58), NEAR.format("1e-9"))).verdict == "inconclusive"
    assert judge(two(60, shift=0.9e-9, at=3), NEAR.format("1e-9")).verdict == "supported"
    broken = only(judge(two(60, shift=-1.1e-9, at=3), NEAR.format("1e-9")))
    assert (broken.verdict, broken.evidence.violations, broken.estimate) == (
        "refuted",
        1,
        round(1 / 60, 9),
    )
    assert judge(two(60, shift=1e-12, at=3), NEAR.format(0)).verdict == "refuted"
    # Without abs(...) the sign of the difference matters.
    for shift, verdict in ((1e-3, "supported"), (-1e-3, "refuted")):
        judged = judge(two(60, shift=shift, at=3), "always(gap(gd) <= gap('cd'))")
        assert judged.verdict == verdict


@pytest.mark.parametrize("name", ["gd", "cd"])
def test_comparisons_with_a_run_without_a_certificate_do_not_refute(name):
    def runs(lost):
        return [
            row | (LOST if (row.get("algorithm", "gd"), row["replicate"]) == (name, lost) else {})
            for row in two(60, shift=1.0, at=3)
        ]

    open_one = only(judge(runs(3), NEAR.format(0)))
    assert (open_one.verdict, open_one.p) == ("inconclusive", None)
    assert "runs that did not converge violate it" in open_one.reason
    assert judge(runs(4), NEAR.format(0)).verdict == "refuted"
    assert judge(runs(4), NEAR.format(1)).verdict == "supported"


def test_algorithms_are_compared_by_replicate_data_and_key():
    rows = [
        row
        for p in (10, 20)
        for i in range(30)
        for name in ("gd", "cd")
        for row in course([i + p, i - p], i, algorithm=name, p=p)
    ]
    sweep = {"p": [10, 20]}
    alike = only(judge(rows, NEAR.format(0), sweep=sweep))
    # Values of p form no groups: all sixty data sets count together.
    assert (alike.group, alike.evidence.replicates, alike.verdict) == ({}, 60, "supported")
    for place in range(4):
        moved = [dict(row) for row in rows]
        moved[place]["gap"] += 1
        assert judge(moved, NEAR.format(0), sweep=sweep).verdict == "refuted"
    shuffled = [row | ({"p": 30 - row["p"]} if row["algorithm"] == "cd" else {}) for row in rows]
    assert judge(shuffled, NEAR.format(0), sweep=sweep).verdict == "refuted"
    # Rows that only one of them has do not count.
    longer = two(60) + course([9.0] * 5, 0, algorithm="cd")[3:]
    assert judge(longer, NEAR.format(0)).verdict == "supported"
    apart = course([1.0]) + course([1.0], 1, algorithm="cd")
    assert (
        only(judge(apart, NEAR.format(0))).reason == "cd and gd have no common row with both sides"
    )
    missing = only(judge(course([1.0]), NEAR.format(0)))
    assert (missing.p, missing.reason) == (None, "the table has no rows of cd")


def test_comparisons_of_algorithms_meet_failures_and_empty_cells():
    rows = [*two(60), failure(60), *course([1.0], 60, algorithm="cd")]
    lost = only(judge(rows, NEAR.format(0)))
    assert (lost.failed, lost.runs, lost.evidence.replicates, lost.evidence.lost) == (1, 122, 60, 1)
    text = "always(abs(iterations(gd) - iterations(cd)) <= 3)"
    for mine in (5, None):
        open_one = [*hits([5] * 59 + [mine]), *hits([5] * 59 + [None], algorithm="cd")]
        found = only(judge(open_one, text))
        assert (found.p, "not reached" in found.reason) == (None, True)
    far = [*hits([5] * 59 + [9]), *hits([5] * 60, algorithm="cd")]
    assert judge(far, text).verdict == "refuted"
    # An algorithm without a guarantee has no row to compare.
    some = [*bounded(60, empty=[4]), *(row for row in two(60) if "algorithm" in row)]
    held = only(judge(some, "always(gap(cd) <= guarantee(gd) + 9)"))
    assert (held.evidence.replicates, held.verdict) == (59, "supported")


def test_data_columns_combine_with_columns_of_algorithms():
    rows = [
        row | {"n_samples": n}
        for n in (20, 50)
        for row in [*hits([n] * 60), *hits([n + 1] * 60, algorithm="cd")]
    ]
    sweep = {"n_samples": [20, 50]}
    assert (
        judge(rows, "always(iterations(cd) <= n_samples + 1)", sweep=sweep).verdict == "supported"
    )
    text = "always(iterations(cd) - iterations(gd) <= {} * n_samples - log(epsilon) / log(1e6))"
    assert judge(rows, text.format(0), sweep=sweep).verdict == "supported"
    assert judge(rows, text.format(-0.01), sweep=sweep).verdict == "refuted"
    # A parameter swept by one of them only has no common value.
    unlike = only(judge(two(60, lam=0.1), "always(gap(gd) <= gap(cd) + lam)"))
    assert (unlike.p, unlike.reason) == (None, "lam is not the same for cd and gd")


def test_variants_are_compared_at_the_same_value():
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
    held = only(judge(rows(alike), NEAR.format(0), algorithms=swept))
    assert (held.evidence.replicates, held.verdict) == (60, "supported")
    assert judge(rows(alike), "always(gap(gd) <= gap(cd) + 1 - lam)", algorithms=swept).verdict == (
        "supported"
    )
    alike[0.4]["cd"] = 1.0
    assert judge(rows(alike), NEAR.format(0), algorithms=swept).verdict == "refuted"
    with pytest.raises(ConfigError) as caught:
        parse("always(gap(gd) <= gap(cd) + lam)", words(algorithms=[*swept[:1], "cd"]))
    assert caught.value.message == ("'lam' is not swept by every algorithm that the test names.")
    # Every variant of a swept algorithm is compared with the algorithm without a sweep.
    plain = [row for row in rows(alike) if row["algorithm"].startswith("gd")]
    plain += [row for i in range(60) for row in course([1.0], i, algorithm="cd")]
    assert judge(plain, NEAR.format(1), algorithms=[*swept[:1], "cd"]).verdict == "supported"
    assert judge(plain, NEAR.format(0.9), algorithms=[*swept[:1], "cd"]).verdict == "refuted"


def test_three_algorithms_meet_in_one_relation():
    def rows(third):
        return [
            row
            for i in range(60)
            for name, gap in (("gd", i), ("cd", 2.0), ("bd", i + 2.0 + third * (i == 7)))
            for row in course([gap], i, algorithm=name)
        ]

    names = ("gd", "cd", "bd")
    for third, verdict in ((0, "supported"), (-0.1, "refuted")):
        judged = judge(rows(third), "always(gap(bd) >= gap(gd) + gap(cd))", algorithms=names)
        assert (judged.verdict, only(judged).evidence.replicates) == (verdict, 60)
