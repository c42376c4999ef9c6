"""Each quantity of the language against formulas and independent code."""

from __future__ import annotations

import math

import numpy as np
import pytest
from claims_tables import judge, only, setting, table, wins
from scipy import optimize, stats
from scipy.special import expit, log_expit

from greedyexp.stats.bounded_sums import BoundedSum
from greedyexp.stats.crossing import crossing
from greedyexp.stats.sequential import located_crossing

Z95 = stats.norm.ppf(0.975)


def score_limits(successes, trials, z=Z95):
    """Return Wilson's limits as roots of the score equation."""
    p = successes / trials
    roots = np.roots([1 + z**2 / trials, -(2 * p + z**2 / trials), p**2])
    return min(roots), max(roots)


def draws(seed, shape):
    return np.random.default_rng(seed).standard_normal(shape)


def test_a_proportion_has_the_binomial_test_and_its_interval():
    frame = table({}, {"a": lambda _: wins(9, 12)})
    test = only(judge(frame, "proportion(a) > 0.5"))
    assert test.estimate == 0.75
    assert test.p == pytest.approx(stats.binomtest(9, 12).pvalue)
    assert (test.low, test.high) == pytest.approx(stats.binomtest(9, 12).proportion_ci(0.95))
    assert (test.trials, test.verdict) == (12, "inconclusive")


def test_a_number_may_be_on_the_left():
    frame = table({}, {"a": lambda _: wins(9, 12)})
    one, two = (only(judge(frame, text)) for text in ("0.5 <= proportion(a)", "proportion(a)>=0.5"))
    assert (one.evidence.relation, one.estimate, one.p, one.low) == (
        ">=",
        two.estimate,
        two.p,
        two.low,
    )


def test_a_difference_of_paired_proportions_has_newcombes_interval_and_mcnemars_test():
    both, first, second, neither = 20, 12, 2, 6
    frame = table(
        {},
        {
            "a": lambda _: [1] * (both + first) + [0] * (second + neither),
            "b": lambda _: [1] * both + [0] * first + [1] * second + [0] * neither,
        },
    )
    test = only(judge(frame, "proportion(a) > proportion(b)"))
    n = both + first + second + neither
    p1, p2 = (both + first) / n, (both + second) / n
    l1, u1 = score_limits(both + first, n)
    l2, u2 = score_limits(both + second, n)
    margins = (both + first) * (second + neither) * (both + second) * (first + neither)
    phi = max(both * neither - first * second - n / 2, 0) / math.sqrt(margins)
    low = p1 - p2 - math.sqrt((p1 - l1) ** 2 - 2 * phi * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2)
    high = p1 - p2 + math.sqrt((u1 - p1) ** 2 - 2 * phi * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2)
    assert phi > 0
    assert (test.low, test.high) == pytest.approx((low, high))
    exact = stats.binomtest(first, first + second).pvalue
    assert test.p == pytest.approx(exact, rel=1e-6)
    assert test.verdict == "supported"


def test_the_exact_test_needs_the_same_data():
    # Steps between values of p compare different data sets, which are not paired.
    sweep = {"p": [1, 2]}
    frame = table(sweep, {"a": lambda point: wins(5 if point["p"] == 1 else 35, 40)})
    test = only(judge(frame, "increasing(proportion(a), p)", sweep=sweep))
    assert test.verdict == "supported"
    (l1, u1), (l2, u2) = score_limits(35, 40), score_limits(5, 40)
    low = 0.75 - math.hypot(35 / 40 - l1, u2 - 5 / 40)
    high = 0.75 + math.hypot(u1 - 35 / 40, 5 / 40 - l2)
    assert (test.low, test.high) == pytest.approx((low, high))


def test_means_have_the_t_test():
    values = draws(1, 15) + 0.6
    frame = table({}, {"a": lambda _: {"frobenius_error": values}})
    test = only(judge(frame, "mean(a, frobenius_error) > 0"))
    reference = stats.ttest_1samp(values, 0)
    assert test.p == pytest.approx(reference.pvalue, rel=2e-3)
    interval = reference.confidence_interval(0.95)
    assert (test.low, test.high) == pytest.approx(interval)


def test_a_difference_of_means_has_the_paired_t_test():
    common, own = draws(2, 12), draws(3, (2, 12)) / 4
    frame = table(
        {},
        {
            "a": lambda _: {"frobenius_error": common + own[0] + 0.2},
            "b": lambda _: {"frobenius_error": common + own[1]},
        },
    )
    test = only(judge(frame, "mean(a, frobenius_error) >= mean(b, frobenius_error)"))
    reference = stats.ttest_rel(common + own[0] + 0.2, common + own[1])
    assert test.p == pytest.approx(reference.pvalue, rel=2e-3)
    assert (test.low, test.high) == pytest.approx(reference.confidence_interval(0.95))


def test_coefficients_may_contain_columns():
    values = draws(4, (2, 9)) + 3
    frame = table(
        {"kappa": [0.25]},
        {
            "a": lambda _: {"frobenius_error": values[0]},
            "b": lambda _: {"frobenius_error": values[1]},
        },
        s=4,
    )
    text = "(1 - kappa) * mean(a, frobenius_error) - 1 < sqrt(s) * mean(b, frobenius_error) / 4"
    test = only(judge(frame, text, sweep={"kappa": [0.25]}))
    reference = stats.ttest_1samp(0.75 * values[0] - 0.5 * values[1], 1)
    assert test.boundary == 1
    assert test.estimate == pytest.approx(np.mean(0.75 * values[0] - 0.5 * values[1]))
    assert test.p == pytest.approx(reference.pvalue, rel=2e-3)


def test_means_over_partly_common_replicates_are_partly_correlated():
    values = draws(5, (2, 30))
    values[1] += 2 * values[0]
    frame = table(
        {},
        {
            "a": lambda _: {"frobenius_error": values[0]},
            "b": lambda _: {"frobenius_error": values[1, :20]},
        },
    )
    test = only(judge(frame, "mean(a, frobenius_error) < mean(b, frobenius_error)"))
    a, b = values[0], values[1, :20]
    t_a, t_b = stats.t.ppf(0.975, 29), stats.t.ppf(0.975, 19)
    e_a, e_b = t_a * stats.sem(a), t_b * stats.sem(b)
    # Cov(mean a, mean b) = cov * 20 / (30 * 20).
    r = np.corrcoef(a[:20], b)[0, 1] * 20 / math.sqrt(30 * 20)
    half = math.sqrt(e_a**2 + e_b**2 - 2 * r * e_a * e_b)
    assert test.high - test.estimate == pytest.approx(half)
    assert test.trials == 25


def test_a_ratio_has_fiellers_test():
    values = np.abs(draws(6, (2, 14))) / 3 + [[1.0], [2.0]]
    frame = table(
        {},
        {
            "a": lambda _: {"frobenius_error": values[0]},
            "b": lambda _: {"frobenius_error": values[1]},
        },
    )
    text = "ratio(mean(a, frobenius_error), mean(b, frobenius_error)) < 0.6"
    test = only(judge(frame, text))
    assert test.estimate == pytest.approx(values[0].mean() / values[1].mean())
    # The interval excludes a ratio r exactly if the paired t-test rejects mean(a) = r mean(b).
    reference = stats.ttest_1samp(values[0] - 0.6 * values[1], 0)
    assert test.p == pytest.approx(reference.pvalue, rel=2e-3)


def test_the_slope_of_a_ratio_compares_growth_relative_to_size():
    # The mean of a doubles and that of b grows by a half, although b grows by more.
    values = np.abs(draws(7, (2, 2, 60))) / 3 + np.array([[10, 100], [20, 150]])[..., None]
    sweep = {"p": [10, 40]}

    def at(method):
        return lambda point: {"frobenius_error": values[sweep["p"].index(point["p"]), method]}

    frame = table(sweep, {"a": at(0), "b": at(1)})
    slopes = [f"slope(mean({name}, frobenius_error), log(p))" for name in "ab"]
    assert only(judge(frame, " < ".join(slopes), sweep=sweep)).verdict == "supported"
    text = "slope(ratio(mean(a, frobenius_error), mean(b, frobenius_error)), log(p)) < 0"
    test = only(judge(frame, text, sweep=sweep))
    assert test.verdict == "refuted"

    def slope(of):
        means = of.mean(axis=-1)
        return np.diff(means[:, 0] / means[:, 1])[0] / np.log(4)

    assert test.estimate == pytest.approx(slope(values))
    rng = np.random.default_rng(8)
    again = rng.integers(60, size=(4000, 2, 1, 60))
    drawn = [slope(np.take_along_axis(values, drawn_again, axis=-1)) for drawn_again in again]
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert test.high - test.low == pytest.approx(high - low, rel=0.1)


THETA = np.round(np.arange(0.4, 1.61, 0.2), 10).tolist()
# All close enough to one half to be fitted.
COUNTS = [5, 6, 8, 10, 12, 14, 15]


def logistic_loss(tau, b, counts=COUNTS, trials=20):
    logits = b * (np.array(THETA) - tau)
    counts = np.array(counts)
    return -np.sum(counts * log_expit(logits) + (trials - counts) * log_expit(-logits))


# Points that show that the curve rises from 0 to 1; a curve is not fitted to them.
BELOW, ABOVE = [0.0, 0.2], [1.8, 2.0]
WHOLE = [*BELOW, *THETA, *ABOVE]


def at_theta(counts):
    whole = [0, 0, *counts, 20, 20]
    return lambda point: wins(whole[WHOLE.index(point["theta"])], 20)


def test_a_threshold_has_the_likelihood_ratio_and_score_tests():
    sweep = {"theta": WHOLE}
    frame = table(sweep, {"a": at_theta(COUNTS)})
    test = only(judge(frame, "threshold(a) < 1.1", sweep=sweep))
    best = optimize.minimize(lambda t: logistic_loss(*t), [1, 5], method="Nelder-Mead",
                             options={"xatol": 1e-10, "fatol": 1e-12})  # fmt: skip
    assert test.estimate == pytest.approx(best.x[0], abs=1e-5)
    profile = optimize.minimize_scalar(lambda b: logistic_loss(1.1, b), bounds=(0, 100),
                                       method="bounded", options={"xatol": 1e-10})  # fmt: skip
    ratio = 2 * (profile.fun - best.fun)
    x, share = np.array(THETA), expit(profile.x * (np.array(THETA) - 1.1))
    design, weight = np.stack([np.ones_like(x), x]), 20 * share * (1 - share)
    score = design @ (COUNTS - 20 * share)
    rao = score @ np.linalg.solve(design * weight @ design.T, score)
    # The interval excludes a value if both the likelihood ratio and the score reject it.
    assert test.p == pytest.approx(stats.chi2.sf(min(ratio, rao), 1), rel=2e-3)


def test_a_threshold_at_another_level_and_along_another_column():
    frame = table({"p": WHOLE}, {"a": lambda point: at_theta(COUNTS)({"theta": point["p"]})})
    sweep = {"p": WHOLE}
    tests = [
        only(judge(frame, f"threshold(a, support, of=p, level={level}) < 9", sweep=sweep))
        for level in (0.45, 0.55)
    ]
    fit = optimize.minimize(lambda t: logistic_loss(*t), [1, 5], method="Nelder-Mead",
                            options={"xatol": 1e-10, "fatol": 1e-12})  # fmt: skip
    tau, b = fit.x
    expected = [tau + math.log(level / (1 - level)) / b for level in (0.45, 0.55)]
    assert [test.estimate for test in tests] == pytest.approx(expected, abs=1e-4)
    for test, level in zip(tests, (0.45, 0.55), strict=True):
        fit = crossing(THETA, COUNTS, [20] * len(THETA), level=level)
        assert (test.low, test.high) == pytest.approx((fit.low, fit.high))


def test_slope_and_limit_are_least_squares_over_groups():
    p = [64, 128, 512]
    means = {64: 3.0, 128: 2.2, 512: 1.9}
    noise = draws(7, 10)
    frame = table(
        {"p": p, "kappa": [0.1, 0.2]},
        {"a": lambda point: {"frobenius_error": means[point["p"]] + noise * point["p"] / 99}},
    )
    sweep = {"p": p, "kappa": [0.1, 0.2]}
    x = 1 / np.log(p)
    y = [frame[frame.p == value].frobenius_error.mean() for value in p]
    slope, intercept = np.polyfit(x, y, 1)
    half = stats.t.ppf(0.975, 9) * np.array([stats.sem(noise * value / 99) for value in p])
    centred = (x - x.mean()) / np.sum((x - x.mean()) ** 2)
    for name, expected, weights in (
        ("slope", slope, centred),
        ("limit", intercept, 1 / 3 - x.mean() * centred),
    ):
        judged = judge(frame, f"{name}(mean(a, frobenius_error), 1/log(p)) < 99", sweep=sweep)
        assert [test.group for test in judged.tests] == [{"kappa": 0.1}, {"kappa": 0.2}]
        for test in judged.tests:
            assert test.estimate == pytest.approx(expected)
            low, high = test.evidence.contrast.interval(0.95)
            # Different data are independent: the squares of the distances add up.
            assert high - test.estimate == pytest.approx(np.linalg.norm(weights * half))
            assert test.estimate - low == pytest.approx(np.linalg.norm(weights * half))


def test_an_average_weighs_the_values_of_a_column_equally():
    # The differences of two success curves, averaged over unequally spaced points.
    theta, n = [0.6, 0.8, 3.0], 40
    shared, own = draws(8, (3, n)), draws(9, (3, n))
    frame = table(
        {"theta": theta},
        {
            "a": lambda point: {"support": shared[theta.index(point["theta"])] > -0.5},
            "b": lambda point: {"support": (shared + own / 2)[theta.index(point["theta"])] > 0},
        },
    )
    sweep = {"theta": theta}
    text = "average(proportion(a, support), theta) > average(proportion(b, support), theta)"
    test = only(judge(frame, text, sweep=sweep))
    rates = [frame[frame.algorithm == label].support.mean() for label in "ab"]
    assert test.estimate == pytest.approx(rates[0] - rates[1])
    assert test.group == {}
    # Its test is that of all paired differences, which lie between -1 and 1.
    values = frame.pivot(index=["theta", "replicate"], columns="algorithm", values="support")
    paired = (values["a"].astype(float) - values["b"].astype(float)).to_numpy() / (3 * n)
    whole = BoundedSum(paired, np.full(3 * n, -1 / (3 * n)), np.full(3 * n, 1 / (3 * n)))
    assert test.p == pytest.approx(whole.p_value(0.0))
    assert (test.low, test.high) == pytest.approx(whole.interval(0.95))
    # It differs from the proportion over all points, whose weights follow the trials.
    uneven = frame[(frame.theta != 3.0) | (frame.replicate < 10)]
    again = only(judge(uneven, text, sweep=sweep))
    means = uneven.groupby(["algorithm", "theta"]).support.mean().groupby("algorithm").mean()
    assert again.estimate == pytest.approx(means["a"] - means["b"])


def test_trends_of_differences_keep_the_pairing():
    p = [10, 20, 40]
    shared = draws(8, (3, 8)) * 5
    own = draws(9, (2, 3, 8))
    frame = table(
        {"p": p},
        {
            "a": lambda point: {"frobenius_error": shared[p.index(point["p"])]
                                + own[0][p.index(point["p"])]},
            "b": lambda point: {"frobenius_error": shared[p.index(point["p"])]
                                + own[1][p.index(point["p"])]},
        },
    )  # fmt: skip
    text = "slope(mean(a, frobenius_error) - mean(b, frobenius_error), p) < 0"
    test = only(judge(frame, text, sweep={"p": p}))
    difference = own[0] - own[1]
    weights = (np.array(p) - np.mean(p)) / np.sum((np.array(p) - np.mean(p)) ** 2)
    assert test.estimate == pytest.approx(weights @ difference.mean(axis=1))
    half = stats.t.ppf(0.975, 7) * stats.sem(difference, axis=1)
    assert test.high - test.estimate == pytest.approx(np.linalg.norm(weights * half))
    # The same trend as a difference of trends.
    parts = [f"slope(mean({label}, frobenius_error), p)" for label in "ab"]
    again = only(judge(frame, f"{parts[0]} < {parts[1]}", sweep={"p": p}))
    assert (again.estimate, again.low, again.p) == pytest.approx((test.estimate, test.low, test.p))


def test_a_trend_along_a_parameter_of_an_algorithm_is_paired_across_its_values():
    nu, n = [0.1, 0.5], 10
    shared, own = draws(10, n) * 9, draws(11, (2, n))
    rows = table({}, {f"a (nu={v})": lambda _, i=i: {"frobenius_error": shared + own[i]}
                      for i, v in enumerate(nu)})  # fmt: skip
    rows["nu"] = rows["algorithm"].map({"a (nu=0.1)": 0.1, "a (nu=0.5)": 0.5})
    words = setting(algorithms=[{"a": {"sweep": {"nu": nu}}}, "b"])
    test = only(judge(rows, "increasing(mean(a, frobenius_error), nu)", words=words))
    reference = stats.ttest_rel(shared + own[1], shared + own[0])
    assert test.group == {"nu": [0.1, 0.5]}
    assert test.p == pytest.approx(reference.pvalue, rel=2e-3)
    # Without a trend each value forms its own group.
    assert [test.group for test in judge(rows, "mean(a, frobenius_error) < 0", words=words).tests] \
        == [{"nu": 0.1}, {"nu": 0.5}]  # fmt: skip


def test_a_violation_does_not_relax_the_other_tests_of_a_figure():
    error = np.concatenate([[1.0], np.zeros(19)])
    # Student's t is 2.2 with 19 degrees of freedom, so p = 0.04.
    other = 0.5 + draws(3, 20)
    other = (other - other.mean()) / other.std(ddof=1) + 2.2 / np.sqrt(20)
    outcomes = {"a": error, "b": other}
    frame = table({}, {
        name: lambda _, values=values: {"frobenius_error": values}
        for name, values in outcomes.items()
    })  # fmt: skip
    tests = ["always(frobenius_error(a) < 1)", "mean(b, frobenius_error) > 0"]
    found = judge(frame, tests).tests
    assert [one.verdict for one in found] == ["refuted", "inconclusive"]
    assert found[1].p == pytest.approx(0.04, abs=0.005)
    alone = only(judge(frame, tests[1]))
    assert alone.verdict == "supported"


def test_always_counts_replicates_and_one_violation_refutes():
    error = np.linspace(0, 1, 100)
    frame = table({}, {"a": lambda _: {"frobenius_error": error}}, s=4)
    words = setting(algorithms=["a"])
    held = only(judge(frame, "always(frobenius_error <= sqrt(s) / 2)", words=words))
    assert held.verdict == "supported"
    assert held.p == pytest.approx(0.95**100)
    assert held.high == pytest.approx(1 - 0.05 ** (1 / 100))
    broken = only(judge(frame, "always(frobenius_error < 1)", words=words))
    assert (broken.verdict, broken.estimate, broken.p) == ("refuted", 0.01, 1)
    few = only(judge(frame[:20], "always(frobenius_error <= 1)", words=words))
    # 0.95^59 is the first power below 5%.
    assert (few.verdict, few.needed_trials) == ("inconclusive", 59)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_bound_that_is_not_a_number_somewhere_is_not_supported(value):
    sweep = {"kappa": [0.3, 0.8]}
    frame = table(sweep, {"a": lambda _: {"frobenius_error": [0.5] * 60}}, s=4.0)
    words = setting(sweep=sweep, algorithms=["a"])
    text = "always(frobenius_error <= s)"
    assert only(judge(frame, text, words=words)).verdict == "supported"
    frame.loc[7, "s"] = value
    untold = only(judge(frame, text, words=words))
    assert (untold.verdict, untold.p) == ("inconclusive", None)
    assert untold.reason == "a number in the test is not finite at kappa = 0.3"
    # The numbers of a failed replicate are not needed.
    failed = only(judge(frame.assign(status=["ok"] * 7 + ["error"] + ["ok"] * 112), text,
                        words=words))  # fmt: skip
    assert (failed.verdict, failed.failed) == ("supported", 1)
    # One violation refutes, whatever the other rows are.
    frame.loc[90, "frobenius_error"] = 5.0
    assert only(judge(frame, text, words=words)).verdict == "refuted"


def test_two_algorithms_in_every_data_set():
    sweep = {"kappa": [0.3, 0.8]}
    error = np.linspace(0, 1, 30)
    frame = table(
        sweep,
        {
            "a": lambda _: {"frobenius_error": error},
            "b": lambda _: {"frobenius_error": 1.5 * error},
        },
    )
    words = setting(sweep=sweep, algorithms=["a", "b"])
    text = "always(frobenius_error(b) <= {} * frobenius_error(a))"
    held = only(judge(frame, text.format(1.5), words=words))
    assert (held.group, held.evidence.replicates, held.trials, held.verdict) == (
        {},
        60,
        30,
        "supported",
    )
    assert held.p == pytest.approx(0.95**60)
    # All data sets except the first, where both are zero.
    broken = only(judge(frame, text.format(1.499), words=words))
    assert (broken.verdict, broken.evidence.violations) == ("refuted", 58)
    half = only(judge(frame, text.format(1.5), where={"kappa": 0.3}, words=words))
    assert (half.verdict, half.needed_trials) == ("inconclusive", 59)
    # A failure of either excludes the data set; an empty cell without one decides nothing.
    frame.loc[(frame["algorithm"] == "b") & (frame["replicate"] == 4), "frobenius_error"] = math.nan
    assert only(judge(frame, text.format(1.5), words=words)).p is None
    frame.loc[(frame["algorithm"] == "b") & (frame["replicate"] == 4), "status"] = "error"
    lost = only(judge(frame, text.format(1.5), words=words))
    assert (lost.failed, lost.evidence.replicates, lost.verdict) == (2, 58, "inconclusive")


def test_adaptive_trials_get_intervals_that_hold_at_any_stopping_time():
    frame = table({}, {"a": lambda _: wins(9, 12)})
    fixed, adaptive = (
        only(judge(frame, "proportion(a) > 0.5", words=setting(adaptive=flag)))
        for flag in (False, True)
    )
    assert adaptive.low < fixed.low < fixed.high < adaptive.high
    # Robbins' mixture: B(1 + s, 1 + f) / (p^s (1 - p)^f) reaches 1 / alpha at the ends.
    mixture = math.gamma(10) * math.gamma(4) / math.gamma(14)
    for end in (adaptive.low, adaptive.high):
        assert mixture / (end**9 * (1 - end) ** 3) == pytest.approx(20, rel=1e-6)


@pytest.mark.parametrize("points", [WHOLE, THETA], ids=["logistic", "exact"])
def test_adaptive_thresholds_have_the_interval_of_located_trials(points):
    sweep = {"theta": points}
    frame = table(sweep, {"a": at_theta(COUNTS)})
    counts = frame.groupby("theta")["support"].agg(["sum", "count"])
    ends = []
    for flag in (False, True):
        test = only(judge(frame, "threshold(a) < 1.1", words=setting(sweep=sweep, adaptive=flag)))
        fit = located_crossing(points, counts["sum"], counts["count"], "rising", sequential=flag)
        assert (test.low, test.high) == pytest.approx((fit.low, fit.high))
        ends.append((test.low, test.high))
    assert ends[0] != ends[1]


def test_places_within_steps_do_not_cancel_in_a_difference():
    steep = {"a": [0, 0, 0, 20, 20, 20, 20], "b": [0, 0, 0, 0, 20, 20, 20]}
    frame = table(
        {"theta": THETA},
        {
            label: lambda at, c=c: wins(c[THETA.index(at["theta"])], 20)
            for label, c in steep.items()
        },
    )
    test = only(judge(frame, "threshold(b) > threshold(a)", sweep={"theta": THETA}))
    # One crossing lies between 0.8 and 1, the other between 1 and 1.2.
    assert (test.low, test.high) == pytest.approx((0.0, 0.4), abs=1e-9)
    assert (test.verdict, test.needed_trials) == ("inconclusive", None)
    assert "are too far apart" in test.obstacle
    assert not test.evidence.decidable(2000, 0.95)


def test_few_trials_do_not_say_that_more_cannot_decide():
    points = [15, 20, 25, 30, 40, 60]
    # The shares of `b` are one half at 30, so its crossing may be in either step.
    counts = {"a": [5, 9, 14, 20, 20, 20], "b": [1, 3, 6, 10, 17, 20]}
    more = {"a": [10, 20, 29, 37, 40, 40], "b": [1, 7, 12, 22, 32, 40]}
    found = []
    for trials, won in ((20, counts), (40, more)):
        outcomes = {
            label: lambda at, c=c, n=trials: wins(c[points.index(at["theta"])], n)
            for label, c in won.items()
        }
        sweep = {"theta": points}
        found.append(
            only(judge(table(sweep, outcomes), "threshold(a) < threshold(b)", sweep=sweep))
        )
    few, many = found
    assert (few.verdict, few.needed_trials) == ("inconclusive", None)
    assert "may be too far apart" in few.obstacle
    assert few.evidence.decidable(40, 0.95)
    assert many.verdict == "supported"


def test_errors_of_exact_thresholds_add_up_in_a_difference():
    few = {"a": [0, 0, 0, 0, 6, 6, 6], "b": [0, 0, 0, 6, 6, 6, 6]}
    frame = table(
        {"theta": THETA},
        {label: lambda at, c=c: wins(c[THETA.index(at["theta"])], 6) for label, c in few.items()},
    )
    test = only(judge(frame, "threshold(a) > threshold(b)", sweep={"theta": THETA}))
    a, b = (located_crossing(THETA, few[one], [6] * 7, "rising", sequential=False) for one in "ab")
    assert (a.low, a.high) != a.step
    assert (test.low, test.high) == pytest.approx((a.low - b.high, a.high - b.low))


@pytest.mark.parametrize("points", [1, 2])
def test_the_share_of_points_with_different_probabilities_has_their_test(points):
    sweep = {"kappa": [0.3, 0.8][:points]}
    first = [0.5] + [1.5] * (40 // points - 1)
    errors = {0.3: first, 0.8: [1.5] * (40 // points)}
    frame = table(sweep, {"a": lambda at: {"frobenius_error": errors[at["kappa"]]}})
    test = only(judge(frame, "usually(frobenius_error < 1)", words=setting(sweep=sweep,
                      algorithms=["a"])))  # fmt: skip
    # The chance of at least one success is largest for equal probabilities only if they are known
    # to be equal; otherwise it is at most their sum.
    expected = 1 - 0.975 ** (1 / 40) if points == 1 else 0.025 / 40
    assert test.low == pytest.approx(expected, rel=1e-4)
