"""Verdicts: which tests are decided, and what would decide the others."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from claims_tables import SWEEP, THETA, curve, judge, latent, only, setting, table, wins
from scipy import stats

from greedyexp.claims import decisions
from greedyexp.claims.entries import compile_claim
from greedyexp.claims.judging import evaluate_claims
from greedyexp.claims.report import reason, sentence, weakest


def repeated(frame: pd.DataFrame, times: int) -> pd.DataFrame:
    """Repeat the outcomes on more replicates, which leaves every estimate unchanged."""
    step = frame["replicate"].max() + 1
    copies = [frame.assign(replicate=frame["replicate"] + step * index) for index in range(times)]
    return pd.concat(copies, ignore_index=True)


def test_a_true_claim_is_supported_and_its_opposite_refuted():
    uniform = latent(1, 60)
    frame = table(SWEEP, {"a": curve(0.8, uniform), "b": curve(1.1, uniform)})
    for text, verdict in (
        ("threshold(a) < threshold(b)", "supported"),
        ("threshold(b) <= threshold(a)", "refuted"),
        ("threshold(a) > threshold(b)", "refuted"),
        ("threshold(b) - threshold(a) >= 0.1", "supported"),
        ("2 * threshold(a) < threshold(b)", "refuted"),
    ):
        assert judge(frame, text, sweep=SWEEP).verdict == verdict, text


@pytest.mark.parametrize(
    ("centre", "margin", "verdict"),
    [(0.8, 0.1, "supported"), (1.1, 0.1, "refuted"), (0.8, 0.01, "inconclusive")],
)
def test_equality_needs_the_interval_inside_or_outside_the_margin(centre, margin, verdict):
    frame = table(SWEEP, {"a": curve(0.8, latent(2, 100))})
    test = only(judge(frame, f"threshold(a) == {centre}", sweep=SWEEP, margin=margin))
    assert test.verdict == verdict
    inside = centre - margin < test.low and test.high < centre + margin
    outside = test.high < centre - margin or test.low > centre + margin
    assert (inside, outside) == (verdict == "supported", verdict == "refuted")


def test_the_p_value_of_equality_is_that_of_the_nearest_edge():
    values = np.random.default_rng(3).standard_normal(40) / 10
    frame = table({}, {"a": lambda _: {"frobenius_error": values}})
    for centre in (0.02, 0.2):
        test = only(judge(frame, f"mean(a, frobenius_error) == {centre}", margin=0.1))
        edges = [stats.ttest_1samp(values, centre + side * 0.1).pvalue for side in (-1, 1)]
        assert test.p == pytest.approx(max(edges), rel=2e-3)


def test_paired_samples_decide_more_than_unpaired_ones():
    uniform, other = latent(0, 80), latent(5, 80)
    paired = table(SWEEP, {"a": curve(0.9, uniform), "b": curve(0.94, uniform)})
    text = "threshold(a) < threshold(b)"
    together = only(judge(paired, text, sweep=SWEEP))
    # The same outcomes, but each algorithm has data sets of its own.
    apart = paired.assign(replicate=paired["replicate"] + 1000 * (paired["algorithm"] == "b"))
    separate = only(judge(apart, text, sweep=SWEEP))
    assert separate.estimate == together.estimate
    assert (together.verdict, separate.verdict) == ("supported", "inconclusive")
    unpaired = table(SWEEP, {"a": curve(0.9, uniform), "b": curve(0.94, other)})
    independent = only(judge(unpaired, text, sweep=SWEEP))
    width = independent.high - independent.low
    assert separate.high - separate.low == pytest.approx(width, rel=0.15)
    assert together.high - together.low < 0.6 * width


@pytest.mark.parametrize(
    ("test", "extra"),
    [
        ("threshold(a) < threshold(b)", {}),
        ("threshold(a) < 0.95", {}),
        ("threshold(a) == 0.93", {"margin": 0.06}),
        ("proportion(a) > proportion(b)", {"where": {"theta": 1.0}}),
        ("proportion(a) > 0.6", {"where": {"theta": 1.0}}),
    ],
)
def test_the_number_of_trials_that_would_decide_decides(test, extra):
    # Evenly spaced, so that the shares of successes remain logistic with more trials.
    rng = np.random.default_rng(6)
    even = [{theta: (rng.permutation(24) + 0.5) / 24 for theta in THETA} for _ in range(2)]
    frame = table(SWEEP, {"a": curve(0.9, even[0]), "b": curve(0.97, even[1])})
    found = only(judge(frame, test, sweep=SWEEP, **extra))
    assert found.verdict == "inconclusive"
    assert 24 < found.needed_trials < 24 * 60
    times = found.needed_trials / 24
    enough = only(judge(repeated(frame, math.ceil(1.2 * times)), test, sweep=SWEEP, **extra))
    assert enough.estimate == pytest.approx(found.estimate, abs=1e-6)
    assert enough.verdict != "inconclusive"
    if times > 3:
        less = only(judge(repeated(frame, int(0.6 * times)), test, sweep=SWEEP, **extra))
        assert less.verdict == "inconclusive"


def test_no_number_of_trials_decides_at_the_boundary_or_at_infinity():
    frame = table({}, {"a": lambda _: wins(5, 10), "b": lambda _: wins(5, 10)})
    tied = only(judge(frame, "proportion(a) > proportion(b)"))
    assert (tied.needed_trials, tied.p) == (None, 1)
    assert "boundary" in tied.obstacle
    never = table(SWEEP, {"a": lambda _: wins(0, 5)})
    open_ended = only(judge(never, "threshold(a, direction=rising) < 9", sweep=SWEEP))
    assert open_ended.estimate == math.inf
    assert (open_ended.verdict, open_ended.needed_trials) == ("inconclusive", None)
    assert "not finite" in open_ended.obstacle


def test_more_trials_decide_on_which_side_of_a_boundary_an_infinite_estimate_is():
    # No run succeeds, and so the threshold is beyond the sweep.
    def one(trials):
        never = table(SWEEP, {"a": lambda _: wins(0, trials)})
        return only(judge(never, "threshold(a, direction=rising) > 1.55", sweep=SWEEP))

    few = one(3)
    assert (few.estimate, few.verdict) == (math.inf, "inconclusive")
    assert few.evidence.decidable(100, 0.95)
    assert 3 < few.needed_trials < 100
    assert one(few.needed_trials).verdict == "supported"
    # Below the boundary, but beyond the sweep, no number of trials says where it is.
    never = table(SWEEP, {"a": lambda _: wins(0, 20)})
    beyond = only(judge(never, "threshold(a, direction=rising) < 9", sweep=SWEEP))
    assert not beyond.evidence.decidable(10_000, 0.95)


def test_a_curve_that_crosses_outside_the_step_of_its_shares_leaves_the_boundary_open():
    sweep = {"theta": [0, 1, 2, 3, 4, 5, 6]}
    counts = [0, 0, 5, 13, 11, 25, 25]
    frame = table(sweep, {"a": lambda point: wins(counts[point["theta"]], 25)})
    test = only(judge(frame, "threshold(a) < 3.6", sweep=sweep))
    assert test.estimate < 3.6
    assert math.isfinite(test.high)
    assert "may be too far apart" in test.obstacle


def test_rounding_errors_decide_nothing():
    def errors(**values):
        samples = {label: (lambda _, n=label: {"frobenius_error": values[n]}) for label in values}
        return table({}, samples)

    constant = errors(a=[0.7] * 100, b=[0.4] * 100)
    for text in (
        "mean(a, frobenius_error) > 0.7",
        "mean(a, frobenius_error) <= 0.7",
        "mean(a, frobenius_error) - mean(b, frobenius_error) < 0.3",
    ):
        test = only(judge(constant, text))
        assert (test.verdict, test.needed_trials) == ("inconclusive", None), text
        assert "boundary" in test.obstacle
    rng = np.random.default_rng(8)
    b = 10 + rng.random(60)
    for noise in (1e-8, 1e-15):
        near = errors(a=b + 10 * noise * rng.standard_normal(60), b=b)
        for text in (
            "ratio(mean(a, frobenius_error), mean(b, frobenius_error)) <= 1",
            "mean(a, frobenius_error) <= mean(b, frobenius_error)",
        ):
            assert only(judge(near, text)).verdict == "inconclusive", (noise, text)


@pytest.mark.parametrize("noise", [0.0, 1e-16, 1e-13])
def test_values_that_differ_by_rounding_are_as_few_as_equal_ones(noise):
    # The true mean of a is 10 times that of its usual value, which three trials do not show.
    def made(n):
        rng = np.random.default_rng(n)
        base = rng.random(n)
        near = 1 + noise * rng.standard_normal((3, n))
        values = {"a": 0.3 * near[0], "b": base * near[1], "c": (base - 0.2) * near[2]}
        outcomes = {k: (lambda _, k=k: {"frobenius_error": values[k]}) for k in values}
        return table({}, outcomes)

    words = setting(algorithms=["a", "b", "c"])
    for text in (
        "mean(a, frobenius_error) < 1.5",
        "mean(b, frobenius_error) > mean(c, frobenius_error)",
        "mean(b, frobenius_error) - mean(c, frobenius_error) < 3",
        "2 * mean(a, frobenius_error) < 9",
    ):
        for n in (3, 58):
            test = only(judge(made(n), text, words=words))
            assert (test.verdict, test.evidence.contrast.all_equal) == ("inconclusive", True), (
                text,
                n,
            )
            assert test.p == pytest.approx(0.95**n)
            assert test.low <= test.boundary <= test.high
        assert only(judge(made(60), text, words=words)).verdict == "supported"
    # The same for a ratio of values that are equal, and of proportional ones.
    for top in ("a", "b"):
        text = f"ratio(mean({top}, frobenius_error), mean({top}, frobenius_error)) < 2"
        assert only(judge(made(3), text, words=words)).verdict == "inconclusive"


def test_values_that_are_usually_equal_up_to_rounding_rarely_decide_wrongly():
    # One value in twenty is 100, and so the mean is 5.285.
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(100):
        rare = rng.random(3) < 0.05
        values = np.where(rare, 100.0, 0.3 * (1 + 1e-15 * rng.standard_normal(3)))
        frame = table({}, {"a": lambda _, v=values: {"frobenius_error": v}})
        wrong += judge(frame, "mean(a, frobenius_error) < 2.6").verdict == "supported"
    assert wrong == 0


def test_a_huge_number_of_trials_is_not_suggested(monkeypatch):
    frame = table({}, {"a": lambda _: wins(51, 100)})
    needed = only(judge(frame, "proportion(a) > 0.5")).needed_trials
    monkeypatch.setattr(decisions, "MOST_TRIALS", needed)
    assert only(judge(frame, "proportion(a) > 0.5")).needed_trials == needed
    monkeypatch.setattr(decisions, "MOST_TRIALS", needed - 1)
    far = only(judge(frame, "proportion(a) > 0.5"))
    assert far.needed_trials is None
    assert f"more than {needed - 1} trials" in far.obstacle


def test_holm_corrects_all_tests_of_a_figure_and_no_others():
    # Binomial tests with p = 0.0124, 0.0181 and 0.2517.
    counts = {"a": 129, "b": 128, "c": 119}
    frame = table({}, {label: (lambda _, c=c: wins(c, 220)) for label, c in counts.items()})
    words = setting(algorithms=list(counts))

    def claims(figures):
        entries = [
            {"id": label, "quote": "q", "test": f"proportion({label}) > 0.5", "figure": figure}
            for label, figure in zip(counts, figures, strict=True)
        ]
        return [compile_claim(entry, words, "other") for entry in entries]

    together = evaluate_claims(claims("111"), frame, words).judged
    p = [only(one).p for one in together]
    assert p == pytest.approx([stats.binomtest(c, 220).pvalue for c in counts.values()], rel=1e-6)
    adjusted = [3 * p[0], max(3 * p[0], 2 * p[1]), max(3 * p[0], 2 * p[1], p[2])]
    assert [only(one).p_adjusted for one in together] == pytest.approx(adjusted)
    levels = [only(one).confidence for one in together]
    assert levels == pytest.approx([1 - 0.05 / 3, 1 - 0.05 / 2, 0.95])
    assert [str(one.verdict) for one in together] == ["supported", "supported", "inconclusive"]
    apart = evaluate_claims(claims("123"), frame, words).judged
    assert [only(one).p_adjusted for one in apart] == pytest.approx(p)
    assert [only(one).confidence for one in apart] == [0.95] * 3


def test_correction_for_many_tests_leaves_a_chance_result_undecided():
    sweep = {"p": list(range(20))}
    # One point of twenty has p about .03, the others none.
    frame = table(sweep, {"a": lambda point: wins(61 if point["p"] == 3 else 50, 100)})
    alone = judge(frame, "proportion(a) > 0.5", sweep=sweep, where={"p": 3})
    among = judge(frame, "proportion(a) > 0.5", sweep=sweep)
    assert (alone.verdict, among.verdict) == ("supported", "inconclusive")
    lucky = among.tests[3]
    assert (lucky.group, lucky.verdict) == ({"p": 3}, "inconclusive")
    assert lucky.confidence == pytest.approx(1 - 0.05 / 20)
    assert lucky.low < 0.5 < lucky.high


def test_one_refuted_test_refutes_and_one_open_test_leaves_open():
    sweep = {"p": [1, 2, 3]}
    counts = {1: 90, 2: 50, 3: 95}
    frame = table(sweep, {"a": lambda point: wins(counts[point["p"]], 100)})
    assert judge(frame, "proportion(a) > 0.7", sweep=sweep).verdict == "refuted"
    open_one = judge(frame, "proportion(a) > 0.48", sweep=sweep)
    assert [str(test.verdict) for test in open_one.tests] == [
        "supported", "inconclusive", "supported",
    ]  # fmt: skip
    assert open_one.verdict == "inconclusive"
    assert weakest(open_one).group == {"p": 2}
    assert reason(open_one).startswith("1 of 3 tests is undecided; p = 2: 0.5 [")
    assert judge(frame, "proportion(a) > 0.7", sweep=sweep, where={"p": [1, 3]}).verdict \
        == "supported"  # fmt: skip
    several = judge(frame, ["proportion(a) > 0.1", "proportion(a) < 0.7"], sweep=sweep)
    assert (several.verdict, len(several.tests)) == ("refuted", 6)


def test_failed_replicates_count_as_trials_and_prevent_means():
    frame = table(
        {}, {"a": lambda _: {"support": wins(15, 20), "frobenius_error": np.arange(20.0)}}
    )
    lost = frame.index[:5]
    frame["support"] = frame["support"].astype(float)
    frame.loc[lost, ["support", "frobenius_error"]] = np.nan
    frame.loc[lost, "status"] = "timeout"
    frame.loc[19, "status"] = "not_converged"
    share = only(judge(frame, "proportion(a) > 0.95"))
    assert (share.estimate, share.trials) == (0.5, 20)
    assert (share.failed, share.unconverged) == (5, 1)
    assert share.verdict == "refuted"
    assert "Among its rows: 5 of 20 failed, 1 not converged." in sentence(share)
    # The five runs that failed would make it 0.75 if they were successes.
    open_one = only(judge(frame, "proportion(a) < 0.75"))
    assert (open_one.p, open_one.verdict) == (1.0, "inconclusive")
    assert (open_one.needed_trials, "failed runs decide it" in open_one.obstacle) == (None, True)
    assert not open_one.evidence.decidable(10_000, 0.95)
    mean = only(judge(frame, "mean(a, frobenius_error) > 0"))
    assert (mean.verdict, mean.p) == ("inconclusive", None)
    assert "5 of 20 replicates of a have no frobenius_error" in mean.reason
    words = setting(algorithms=["a"])
    bound = only(judge(frame, "always(frobenius_error <= 17)", words=words))
    assert (bound.failed, bound.estimate, bound.verdict) == (5, round(1 / 15, 8), "refuted")
    doubtful = only(judge(frame, "always(frobenius_error <= 18)", words=words))
    assert doubtful.verdict == "inconclusive"
    assert "did not converge" in doubtful.reason


def test_the_interval_of_a_threshold_holds_whether_failed_runs_are_successes_or_not():
    uniform = latent(7, 20)
    frame = table(SWEEP, {"a": curve(0.8, uniform)})
    zero, ones, lost = frame.copy(), frame.copy(), frame.copy()
    zero.loc[frame.index % 3 == 0, "support"] = 0
    ones.loc[frame.index % 3 == 0, "support"] = 1
    lost["support"] = lost["support"].astype(float)
    lost.loc[frame.index % 3 == 0, "support"] = np.nan
    lost.loc[frame.index % 3 == 0, "status"] = "error"
    text = "threshold(a) < 9"
    expected, other, found = (only(judge(f, text, sweep=SWEEP)) for f in (zero, ones, lost))
    assert found.estimate == expected.estimate
    assert (found.low, found.high) == (
        min(expected.low, other.low), max(expected.high, other.high),
    )  # fmt: skip
    assert found.estimate > only(judge(frame, "threshold(a) < 9", sweep=SWEEP)).estimate
    for boundary, verdict in ((0.5, "inconclusive"), (0.65, "inconclusive"), (1.55, "refuted")):
        test = only(judge(lost, f"threshold(a) > {boundary}", sweep=SWEEP))
        assert test.verdict == verdict
        alone = judge(zero, f"threshold(a) > {boundary}", sweep=SWEEP)
        assert alone.verdict == ("refuted" if boundary > 1 else "supported")


def test_missing_data_make_a_test_inconclusive_with_the_reason():
    sweep = {"p": [1, 2], "theta": THETA}
    uniform = latent(8, 20)
    frame = table(sweep, {"a": curve(0.8, uniform), "b": curve(1.4, uniform)})
    frame = frame[(frame.algorithm == "a") | (frame.p == 1)]
    judged = judge(frame, "threshold(a) < threshold(b)", sweep=sweep)
    assert [str(test.verdict) for test in judged.tests] == ["supported", "inconclusive"]
    assert judged.tests[1].reason == "the table has no rows of b at p = 2"
    # Holm's method still counts it as a test.
    assert judged.tests[0].confidence == pytest.approx(1 - 0.05 / 2)
    assert judged.tests[0].p_adjusted == pytest.approx(2 * judged.tests[0].p)
    assert judged.verdict == "inconclusive"
    gone = frame[frame.algorithm == "a"]
    for text in (
        "threshold(b) < 1",
        "mean(b, frobenius_error) < 1",
        "ratio(mean(a, support), mean(b, support)) < 1",
        "slope(threshold(b), p) < 1",
        "increasing(threshold(b), p)",
        "always(support <= 1)",
    ):
        assert judge(gone, text, sweep=sweep).verdict == "inconclusive", text
    for text in ("threshold(a) < n_samples", "mean(a, frobenius_error) < 1", "threshold(a) < s"):
        assert judge(gone, text, sweep=sweep).verdict == "inconclusive", text
    nowhere = judge(frame, "threshold(a) < 1", sweep=sweep, where={"p": 99})
    assert reason(nowhere) == "the table has no rows with p = 99."
    empty = judge(frame[:0], "threshold(a) < 1", sweep=sweep)
    assert reason(empty) == "the table has no rows."
    assert judge(frame[:0], "always(support <= 1)", sweep=sweep).verdict == "inconclusive"


def test_numbers_must_have_one_finite_value_in_a_group():
    sweep = {"p": [0, 3]}
    frame = table(sweep, {"a": lambda _: wins(9, 10)})
    frame["n_samples"] = np.arange(len(frame))
    frame["s"] = 2
    judged = judge(frame, "proportion(a) > 1 / p", sweep=sweep)
    assert judged.tests[0].reason == "a number in the test is not finite at p = 0"
    assert judged.tests[1].boundary == pytest.approx(1 / 3)
    many = judge(frame, "proportion(a) < n_samples", sweep=sweep)
    assert many.tests[0].reason == "n_samples takes several values at p = 0"
    assert judge(frame, "proportion(a) < s / 2 + 1", sweep=sweep).verdict == "supported"


def test_a_boundary_near_the_estimate_has_a_p_value_near_one():
    counts = [0, 0, 0, 0, 0, 1, 8, 35, 52, 71, 77, 92, 95, 96, 96, 100, 100, 100, 100, 100, 100]
    sweep = {"theta": np.round(np.arange(0.4, 4.41, 0.2), 10).tolist()}
    frame = table(
        sweep, {"a": lambda point: wins(counts[sweep["theta"].index(point["theta"])], 100)}
    )
    middle = only(judge(frame, "threshold(a) < 9", sweep=sweep)).estimate
    for shift in (1e-7, 1e-5, 1e-3):
        beside = only(judge(frame, f"threshold(a) < {middle + shift!r}", sweep=sweep))
        assert 0.9 < beside.p <= 1
        assert beside.verdict == "inconclusive"


def test_several_rows_for_one_replicate_are_not_trials():
    frame = table({}, {"a": lambda _: wins(9, 10)})
    twice = pd.concat([frame, frame], ignore_index=True)
    assert "several rows for one replicate" in only(judge(twice, "proportion(a) > 0.1")).reason


def test_equal_values_need_many_replicates():
    # The t interval of equal values is a point, however few there are.
    def one(trials):
        frame = table({}, {"a": lambda _: {"frobenius_error": [2.0] * trials}})
        return only(judge(frame, "mean(a, frobenius_error) < 3"))

    assert (one(4).verdict, one(4).needed_trials) == ("inconclusive", 59)
    assert one(4).p == pytest.approx(0.95**4)
    assert (one(58).verdict, one(58).needed_trials) == ("inconclusive", 59)
    assert one(59).verdict == "supported"
    assert one(1).verdict == "inconclusive"


def test_equal_differences_need_many_data_sets():
    def one(trials):
        values = [float(index) for index in range(trials)]
        more = [value + 1 for value in values]
        errors = {"a": values, "b": more}
        frame = table(
            {}, {name: lambda _, n=name: {"frobenius_error": errors[n]} for name in errors}
        )
        return only(judge(frame, "mean(a, frobenius_error) < mean(b, frobenius_error)"))

    # The differences are all 1, and so their t interval is a point.
    assert (one(2).verdict, one(2).needed_trials) == ("inconclusive", 59)
    assert one(3).p == pytest.approx(0.95**3)
    assert one(59).verdict == "supported"


def test_proportional_values_need_many_data_sets():
    def one(trials):
        values = [float(index) for index in range(1, trials + 1)]
        errors = {"a": [value / 2 for value in values], "b": values}
        frame = table(
            {}, {name: lambda _, n=name: {"frobenius_error": errors[n]} for name in errors}
        )
        text = "ratio(mean(a, frobenius_error), mean(b, frobenius_error)) < 1"
        return only(judge(frame, text))

    assert (one(3).verdict, one(3).needed_trials) == ("inconclusive", 59)
    assert one(59).verdict == "supported"


def test_a_ratio_counts_the_runs_of_both_means_and_is_given_up_for_none():
    errors = {"a": [1.0, 3.0] * 30, "b": [3.0, 1.0] * 30}
    frame = table({}, {name: lambda _, n=name: {"frobenius_error": errors[n]} for name in errors})
    frame.loc[frame.algorithm == "b", "status"] = "not_converged"
    test = only(judge(frame, "ratio(mean(a, frobenius_error), mean(b, frobenius_error)) < 1"))
    assert (test.unconverged, test.verdict) == (60, "inconclusive")
    assert test.evidence.decidable(6000, 0.95)


def test_the_units_of_a_comparison_change_no_verdict():
    frame = table({}, {"a": lambda _: wins(5, 20), "b": lambda _: wins(10, 20)})
    one, two = (
        only(judge(frame, f"{factor} * proportion(a) < {factor} * proportion(b)"))
        for factor in (1, 2)
    )
    assert one.p == two.p == pytest.approx(stats.binomtest(0, 5).pvalue)
    assert one.verdict == two.verdict == "inconclusive"


def test_proportions_on_different_data_are_tested_by_fisher():
    sweep = {"p": [10, 20]}
    frame = table(sweep, {"a": lambda point: wins(3 if point["p"] == 10 else 10, 20)})
    test = only(judge(frame, "increasing(proportion(a), p)", sweep=sweep))
    exact = stats.fisher_exact([[3, 17], [10, 10]]).pvalue
    assert test.p == pytest.approx(exact)


def test_a_violation_is_the_clearest_refutation():
    errors = [0.0] * 59 + [2.0]
    frame = table({}, {"a": lambda _: {"frobenius_error": errors, "support": wins(0, 60)}})
    judged = judge(frame, ["proportion(a) > 0.7", "always(frobenius_error(a) <= 1)"])
    assert {test.verdict for test in judged.tests} == {"refuted"}
    assert weakest(judged).text == "always(frobenius_error(a) <= 1)"


def test_tables_with_different_numbers_of_replicates():
    uniform = latent(9, 60)
    frame = table(SWEEP, {"a": curve(0.8, uniform), "b": curve(1.1, uniform)})
    near = (frame.theta - 0.95).abs() < 0.3
    frame = frame[(frame.replicate < 20) | near | ((frame.algorithm == "a") & (frame.theta > 1))]
    judged = judge(frame, "threshold(a) < threshold(b)", words=setting(sweep=SWEEP, adaptive=True))
    test = only(judged)
    assert test.verdict == "supported"
    points = frame.groupby(["algorithm", "theta"]).ngroups
    assert test.trials == math.ceil(len(frame) / points)


def test_a_test_runs_along_zipped_columns_together():
    frame = table({"p": [10, 20, 30]}, {"a": lambda point: wins(point["p"], 40)})
    frame["s"] = frame["p"] // 10
    words = setting(sweep={"zip": {"p": [10, 20, 30], "s": [1, 2, 3]}})
    judged = judge(frame, "slope(proportion(a), log(p)) > 0", words=words)
    assert only(judged).group == {}
    steps = judge(frame, "increasing(proportion(a), p)", words=words)
    assert [test.group for test in steps.tests] == [{"p": [10, 20]}, {"p": [20, 30]}]
    uneven = setting(sweep={"zip": {"p": [10, 10, 20, 30], "s": [1, 2, 1, 1]}})
    three = pd.concat(
        [table({"p": [p]}, {"a": lambda _, n=n: wins(n, 40)}, s=s)
         for p, s, n in ((10, 1, 10), (10, 2, 20), (20, 1, 40), (30, 1, 30))]
    )  # fmt: skip
    found = only(judge(three.reset_index(drop=True), "limit(proportion(a), p) > 0", words=uneven))
    assert found.estimate == pytest.approx(
        np.polyfit([10, 10, 20, 30], [0.25, 0.5, 1.0, 0.75], 1)[1]
    )
    each = judge(frame, "proportion(a) > s / 100", words=words)
    assert [test.group for test in each.tests] == [{"p": 10 * i, "s": i} for i in (1, 2, 3)]


def test_where_on_a_parameter_does_not_restrict_other_algorithms():
    outcomes = {"a (nu=0.1)": lambda _: wins(5, 40), "a (nu=0.5)": lambda _: wins(35, 40),
                "b": lambda _: wins(20, 40)}  # fmt: skip
    frame = table({}, outcomes)
    frame["nu"] = frame["algorithm"].map({"a (nu=0.1)": 0.1, "a (nu=0.5)": 0.5})
    words = setting(algorithms=[{"a": {"sweep": {"nu": [0.1, 0.5]}}}, "b"])
    test = only(judge(frame, "proportion(a) > proportion(b)", words=words, where={"nu": 0.5}))
    assert (test.group, test.estimate) == ({"nu": 0.5}, 0.375)
    both = judge(frame, "proportion(a) > proportion(b)", words=words)
    assert [one.estimate for one in both.tests] == [-0.375, 0.375]


def test_a_value_of_where_without_rows_leaves_the_claim_open():
    frame = table({"s": [1, 2]}, {"a": lambda _: wins(40, 40)})
    for where, verdicts in (
        ({"s": [1, 2]}, ["supported", "supported"]),
        ({"s": [1, 3]}, ["supported", "inconclusive"]),
        ({"s": 3}, ["inconclusive"]),
    ):
        judged = judge(frame, "proportion(a) > 0.5", sweep={"s": [1, 2]}, where=where)
        assert [test.verdict for test in judged.tests] == verdicts
        assert judged.verdict == verdicts[-1]
        if 3 in np.atleast_1d(where["s"]):
            assert judged.tests[-1].reason == "the table has no rows with s = 3"


def test_the_undecided_test_that_needs_most_trials_is_reported():
    sweep = {"p": [1, 2, 3]}
    counts = {1: 55, 2: 51, 3: 57}
    frame = table(sweep, {"a": lambda point: wins(counts[point["p"]], 100)})
    judged = judge(frame, "proportion(a) > 0.5", sweep=sweep)
    needed = [test.needed_trials for test in judged.tests]
    assert max(needed) == needed[1] > needed[0] > needed[2] > 100
    assert weakest(judged).group == {"p": 2}
