"""Replicates that resample one data set: shares, intervals for new data, verdicts."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from greedyexp.claims.judging import judge
from greedyexp.claims.report import sentence
from greedyexp.core import registry
from greedyexp.core.errors import PluginError
from greedyexp.experiment.design import design_of
from greedyexp.experiment.resampling import INDEPENDENT, Resampling, Source
from greedyexp.results.comparisons import MetricStyle, compare
from greedyexp.results.context import context_of
from greedyexp.results.notes import interval_text
from greedyexp.stats.means import fieller, t_interval
from greedyexp.stats.row_shares import Split, share_interval

# What a replicate leaves out, by generator and parameters; None for independent data sets.
SHARES = [
    ("file", {"path": "d.csv"}, 0.0),
    ("file", {"path": "d.csv", "test_fraction": 0.25}, 0.25),
    ("file", {"path": "d.csv", "resample": "halves"}, 0.5),
    ("file", {"path": "d.csv", "resample": "bootstrap"}, 0.5),
    ("digits_mfeat", {"samples_per_digit": 20}, 0.9),
    ("leukemia", {}, None),
    ("leukemia", {"noise_std": 0.0}, 0.0),
    ("leukemia", {"n_samples": 36}, 0.5),
    ("leukemia_classes", {}, 0.0),
    ("leukemia_classes", {"n_samples": 60}, 1 / 6),
    ("random_features", {}, None),
    ("random_features", {"n_samples": 18}, 0.75),
    ("libsvm_binary", {}, 0.0),
    ("uci_adl", {"train_share": 0.2}, 0.8),
    ("casas", {"path": "d.txt"}, 0.5),
]


@pytest.mark.parametrize(("name", "params", "share"), SHARES)
def test_generators_say_what_replicates_leave_out(name, params, share):
    found = registry.find("generator", name).left_out_at(params)
    assert found == (None if share is None else pytest.approx(share))


def test_every_generator_of_real_data_is_in_the_list():
    real = {name for name, part in registry.parts("generator").items() if part.reads is not None}
    assert real == {name for name, *_ in SHARES}
    others = (p for n, p in registry.parts("generator").items() if n not in real and p.shipped)
    assert all(part.left_out is None for part in others)


def test_the_share_is_that_of_the_problem():
    try:
        made = registry.find("generator", "digits_mfeat").function(
            np.random.default_rng(0), samples_per_digit=20
        )
    except Exception as error:
        pytest.skip(f"the digits are not here: {error}")
    n, n_test = made.facts["n_samples"], made.facts["n_test"]
    assert n_test / (n + n_test) == pytest.approx(0.9)


# --- simulation -------------------------------------------------------------------------------


def noise_errors(rng, n, splits, n_test):
    """Test errors (2, splits) of the least-squares fits to each of two useless features."""
    X, y = rng.standard_normal((2, n)), rng.standard_normal(n)
    order = rng.permuted(np.tile(np.arange(n), (splits, 1)), axis=1)
    test, train = order[:, :n_test], order[:, n_test:]
    centre = y[train].mean(axis=1, keepdims=True)
    errors = []
    for x in X:
        mean = x[train].mean(axis=1, keepdims=True)
        moved = x[train] - mean
        slope = (moved * y[train]).sum(axis=1) / (moved**2).sum(axis=1)
        errors.append(((y[test] - centre - slope[:, None] * (x[test] - mean)) ** 2).mean(axis=1))
    return np.array(errors)


def wrong_shares(sets, splits, fraction, n=50, seed=0):
    """Shares of wrong decisions at 5% by Student's interval and by the corrected one."""
    rng, n_test = np.random.default_rng(seed), round(fraction * n)
    wrong = np.zeros(2)
    for _ in range(sets):
        one, two = noise_errors(rng, n, splits, n_test)
        for place, added in enumerate((0.0, fraction / (1 - fraction))):
            _, low, high = t_interval(one - two, added=added)
            wrong[place] += low > 0 or high < 0
    return wrong / sets


def test_few_comparisons_of_useless_features_are_decided():
    student, corrected = wrong_shares(sets=200, splits=100, fraction=0.2)
    assert student > 0.25
    assert corrected <= 0.05


def sign_rules(rng, n, share, splits):
    """Differences of the errors of two useless rules: a feature, or its opposite, is the label."""
    X, y = rng.choice([-1.0, 1.0], (n, 2)), rng.choice([-1.0, 1.0], n)
    differences = np.empty(splits)
    for k in range(splits):
        order = rng.permutation(n)
        test, train = np.split(order, [round(share * n)])
        signs = np.where(X[train].T @ y[train] >= 0.0, 1.0, -1.0)
        wrong = (X[test] * signs != y[test, None]).mean(axis=0)
        differences[k] = wrong[0] - wrong[1]
    return differences


def test_rules_that_are_the_same_in_most_splits_are_rarely_decided():
    """The factor for test rows decides a fifth of such tables, that for shares of rows few."""
    rng = np.random.default_rng(0)
    setting = Resampling(
        (
            Source(
                registry.find("generator", "file"), {"path": "d.csv", "test_fraction": 0.1}, (), {}
            ),
        ),
        {"error": True, "residual": True},
        frozenset({"error"}),
    )
    rows = pd.DataFrame({"replicate": range(5)})
    factors = [setting.added(rows, column) for column in ("residual", "error")]
    assert factors == [pytest.approx(1 / 9), pytest.approx(9.0)]
    wrong = np.zeros(2)
    for _ in range(200):
        values = sign_rules(rng, 200, 0.1, 50)
        for k, factor in enumerate(factors):
            low, high = t_interval(values, 0.95, factor)[1:]
            wrong[k] += not low <= 0.0 <= high
    assert wrong[0] > 20
    assert wrong[1] <= 10


@pytest.mark.deep
@pytest.mark.parametrize("splits", [20, 100, 300])
@pytest.mark.parametrize("fraction", [0.1, 0.2, 0.5])
def test_at_most_one_in_twenty_comparisons_of_noise_is_decided(splits, fraction):
    student, corrected = wrong_shares(sets=1000, splits=splits, fraction=fraction, seed=splits)
    assert student > 0.1
    assert corrected <= 0.05


@pytest.mark.parametrize(("fraction", "held_out"), [(0.2, True), (0.2, False), (0.5, False)])
def test_intervals_of_plain_averages_cover_the_mean_of_new_data(fraction, held_out):
    # For the average of the response both formulas are exact but for Student's approximation.
    rng, n, sets, splits = np.random.default_rng(5), 50, 400, 60
    n_test = round(fraction * n)
    ratio = fraction / (1 - fraction)
    missed = np.zeros(2)
    for _ in range(sets):
        y = rng.standard_normal(n)
        order = rng.permuted(np.tile(np.arange(n), (splits, 1)), axis=1)
        rows = order[:, :n_test] if held_out else order[:, n_test:]
        averages = y[rows].mean(axis=1)
        for place, added in enumerate((0.0, ratio if held_out else 1 / ratio)):
            _, low, high = t_interval(averages, added=added)
            missed[place] += not low <= 0 <= high
    assert missed[0] / sets > 0.3
    assert stats.binomtest(int(missed[1]), sets, 0.05).pvalue > 1e-3


def test_the_corrected_interval_of_a_ratio_inverts_the_corrected_test():
    rng = np.random.default_rng(1)
    a, b, added = rng.normal(3, 1, 12), rng.normal(5, 1, 12), 0.25
    _, low, high = fieller(a, b, added=added)
    for end, step in ((low, 1e-6), (high, -1e-6)):
        inside, outside = ((a - r * b) for r in (end + step, end - step))
        for values, holds in ((inside, True), (outside, False)):
            t = values.mean() / (values.std(ddof=1) * np.sqrt(1 / 12 + added))
            assert (abs(t) < stats.t.ppf(0.975, 11)) == holds
    assert fieller(a, b, added=np.inf)[1:] == (-np.inf, np.inf)
    assert t_interval(np.ones(3), added=np.inf)[1:] == (-np.inf, np.inf)


# --- verdicts and summaries -------------------------------------------------------------------


def settings(claims, data=None, **more):
    return {
        "name": "own",
        "trials": 200,
        "data": data or {"generator": "file", "path": "d.csv", "test_fraction": 0.2},
        "algorithms": [{"omp": {"label": "one"}}, {"omp": {"label": "two"}}],
        "metrics": ["test_error", "support_size", "sign_support"],
        "claims": [
            {"id": f"c{k}", "quote": "q", "test": test, "margin": None, "where": {}}
            for k, test in enumerate(claims)
        ],
        **more,
    }


def table_of(errors, **columns):
    frames = []
    for label, values in zip(("one", "two"), errors, strict=True):
        numbers = np.arange(len(values))
        frames.append(
            pd.DataFrame(
                {
                    "path": "d.csv",
                    "test_fraction": 0.2,
                    "n_samples": 40,
                    **columns,
                    "replicate": numbers,
                    "algorithm": label,
                    "status": "ok",
                    "message": "",
                    "tuning": "end",
                    "test_error": values,
                    "support_size": 1 + numbers % 2,
                    "sign_support": numbers % 2,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def judged(claims, frame, data=None, **more):
    found = judge(design_of(settings(claims, data, **more)), frame).judged
    return [(claim.verdict.value, [sentence(test) for test in claim.tests]) for claim in found]


def test_verdicts_on_splits_of_noise():
    rng, decided, naive = np.random.default_rng(2), 0, 0
    for _ in range(20):
        errors = noise_errors(rng, 50, 200, 10)
        ((verdict, (text,)),) = judged(
            ["mean(one, test_error) < mean(two, test_error)"], table_of(errors)
        )
        decided += verdict != "inconclusive"
        naive += stats.ttest_rel(*errors).pvalue < 0.05
        assert "would decide" not in text
        assert "which resample one data set" in text
    assert decided <= 1
    assert naive >= 6


@pytest.mark.parametrize(
    "claim",
    [
        "proportion(one, sign_support) > 0.1",
        "usually(test_error(one) < 1e6)",
        "threshold(one, of=test_fraction, metric=sign_support) > 0",
        "peak(one, test_error, test_fraction) > 0",
    ],
)
def test_quantities_without_an_interval_for_new_data(claim):
    fractions = [0.2, 0.3, 0.4]
    frame = table_of(noise_errors(np.random.default_rng(0), 50, 200, 10))
    data = {"generator": "file", "path": "d.csv"}
    if "test_fraction" in claim:
        frame = pd.concat([frame.assign(test_fraction=f) for f in fractions], ignore_index=True)
        data["sweep"] = {"test_fraction": fractions}
    else:
        data["test_fraction"] = 0.2
    ((verdict, texts),) = judged([claim], frame, data)
    assert verdict == "inconclusive"
    assert all("the replicates resample one data set" in text for text in texts)
    # The same rows of independent data sets have an answer.
    ((verdict, texts),) = judged([claim], frame, data | {"generator": "gaussian"})
    assert not any("resample" in text for text in texts)


def test_equal_values_in_all_splits_decide_nothing():
    frame = table_of(np.stack([np.full(200, 1.0), np.full(200, 2.0)]))
    claims = ["mean(one, test_error) < mean(two, test_error)"]
    assert judged(claims, frame)[0][0] == "inconclusive"
    assert judged(claims, frame, {"generator": "gaussian"})[0][0] == "supported"


def test_relations_in_every_row_say_that_they_are_about_splits():
    frame = table_of(np.stack([np.full(200, 1.0), np.full(200, 2.0)]))
    ((verdict, (text,)),) = judged(["always(test_error(one) < test_error(two))"], frame)
    assert verdict == "supported"
    assert "this is about its splits only" in text


def test_points_of_one_data_set_are_not_independent():
    rng = np.random.default_rng(3)
    parts = [table_of(rng.normal(5, 1, (2, 50)), test_fraction=fraction) for fraction in (0.2, 0.3)]
    frame = pd.concat(parts, ignore_index=True)
    data = {"generator": "file", "path": "d.csv", "sweep": {"test_fraction": [0.2, 0.3]}}
    claims = ["average(mean(one, test_error), test_fraction) > 0"]
    found = judge(design_of(settings(claims, data)), frame)
    (test,) = found.judged[0].tests
    halves = []
    for part, fraction in zip(parts, (0.2, 0.3), strict=True):
        values = part.loc[part["algorithm"] == "one", "test_error"]
        factor = np.sqrt(1 / 50 + fraction / (1 - fraction))
        halves.append(stats.t.ppf(0.975, 49) * values.std(ddof=1) * factor)
    # The errors of the two estimates add up, since both have the same rows.
    assert test.high - test.low == pytest.approx(sum(halves), rel=1e-6)


def test_figures_and_tables_have_the_same_intervals():
    rng = np.random.default_rng(4)
    frame = table_of(rng.normal(5, 1, (2, 30)))
    context = context_of(design_of(settings([])), ["one", "two"])
    styles = {"test_error": MetricStyle(), "support_size": MetricStyle()}
    means = compare(frame, context, row="n_samples", metrics=styles, published={})
    added = {"test_error": 0.25, "support_size": 4.0}
    for cell in means.itertuples():
        values = frame.loc[frame["algorithm"] == cell.algorithm, cell.metric]
        factor = np.sqrt(1 / 30 + added[cell.metric])
        half = stats.t.ppf(0.975, 29) * values.std(ddof=1) * factor
        assert cell.high - cell.estimate == pytest.approx(half)
    given = {"row": "n_samples", "published": {}, "against": {"one": "two"}}
    given["metrics"] = {"test_error": MetricStyle()}
    one, two = (frame.loc[frame["algorithm"] == x, "test_error"].to_numpy() for x in ("one", "two"))
    (pair,) = compare(frame, context, by="difference", **given).itertuples()
    half = stats.t.ppf(0.975, 29) * (one - two).std(ddof=1) * np.sqrt(1 / 30 + 0.25)
    assert pair.high - pair.estimate == pytest.approx(half)
    (pair,) = compare(frame, context, by="ratio", **given).itertuples()
    assert (pair.low, pair.high) == pytest.approx(fieller(one, two, added=0.25)[1:])
    assert "corrected for replicates that resample one data set" in interval_text(
        "t", frame, context
    )


def many_tested(rng, trials=30, n_train=20, **columns):
    """Rows of splits of 200 rows, with shares of test rows, and the settings of their claims."""
    frame = table_of(rng.uniform(1, 2, (2, trials)))
    shares = rng.uniform(0.1, 0.3, len(frame))
    more = {"test_fraction": 1 - n_train / 200, "n_samples": n_train, "test_sign_error": shares}
    return frame.assign(**(more | columns))


def share_settings(claims, **data):
    data = {"generator": "file", "path": "d.csv", "test_fraction": 0.9} | data
    return settings(claims, data, metrics=["test_sign_error", "test_error"])


def shares_of(frame, label):
    return frame.loc[frame["algorithm"] == label, "test_sign_error"].to_numpy()


def test_shares_of_rows_are_combined_split_by_split():
    frame = many_tested(np.random.default_rng(6))
    claims = ["mean(one, test_sign_error) <= 0.75 * mean(two, test_sign_error)"]
    (test,) = judge(design_of(share_settings(claims)), frame).judged[0].tests
    both = [shares_of(frame, label) for label in ("one", "two")]
    _, low, high = share_interval(both, Split(20, 180), (1.0, -0.75))
    assert (test.low, test.high) == pytest.approx((low, high))


def test_shares_of_rows_at_two_points_add_up():
    rng = np.random.default_rng(7)
    frame = pd.concat([many_tested(rng), many_tested(rng, n_train=40)], ignore_index=True)
    claims = ["average(mean(one, test_sign_error) - mean(two, test_sign_error), test_fraction) > 0"]
    swept = share_settings(claims, sweep={"test_fraction": [0.9, 0.8]})
    del swept["data"]["test_fraction"]
    (test,) = judge(design_of(swept), frame).judged[0].tests
    length = 0.0
    for size in (20, 40):
        part = frame[frame["n_samples"] == size]
        both = [shares_of(part, label) for label in ("one", "two")]
        _, low, high = share_interval(both, Split(size, 200 - size), (0.5, -0.5))
        length += high - low
    assert test.high - test.low == pytest.approx(length)


def test_figures_and_tables_have_the_intervals_of_shares():
    frame = many_tested(np.random.default_rng(8))
    context = context_of(design_of(share_settings([])), ["one", "two"])
    given = {"row": "n_samples", "published": {}}
    given["metrics"] = {"test_sign_error": MetricStyle(scale=100)}
    one, two = (shares_of(frame, label) for label in ("one", "two"))
    means = compare(frame, context, **given)
    (cell,) = means[means["algorithm"] == "one"].itertuples()
    percent = [100 * number for number in share_interval([one], Split(20, 180))]
    assert (cell.estimate, cell.low, cell.high) == pytest.approx(percent)
    (pair,) = compare(frame, context, by="difference", against={"one": "two"}, **given).itertuples()
    percent = [100 * number for number in share_interval([one, two], Split(20, 180), (1, -1))]
    assert (pair.estimate, pair.low, pair.high) == pytest.approx(percent)


def test_only_shares_of_independent_rows_have_the_interval_of_shares():
    frame = many_tested(np.random.default_rng(9))
    resampling = design_of(share_settings([])).resampling
    assert resampling.split(frame, "test_sign_error") == pytest.approx((20, 180))
    assert resampling.split(frame, "test_error") is None
    # The least error of a path depends on all test rows at once.
    assert resampling.split(frame.assign(tuning="oracle"), "test_sign_error") is None
    two = pd.concat([frame, frame.assign(test_fraction=0.8, n_samples=40)])
    swept = share_settings([], sweep={"test_fraction": [0.9, 0.8]})
    assert design_of(swept).resampling.split(two, "test_sign_error") is None
    half = frame.assign(test_fraction=0.5, n_samples=100)
    assert design_of(swept).resampling.split(half, "test_sign_error") is None
    assert INDEPENDENT.split(frame, "test_sign_error") is None
    # Words of one day depend on each other.
    days = settings([], {"generator": "uci_adl", "train_share": 0.2}, metrics=["argmax_error"])
    words = frame.assign(train_share=0.2, argmax_error=0.1)
    assert design_of(days).resampling.covers(words)
    assert design_of(days).resampling.split(words, "argmax_error") is None


def test_blocks_of_independent_data_keep_their_intervals():
    data = [
        {"generator": "file", "label": "own", "path": "d.csv", "test_fraction": 0.2},
        {"generator": "gaussian", "label": "drawn"},
    ]
    resampling = design_of(settings([], data)).resampling
    frame = pd.DataFrame({"data": ["own", "drawn"]})
    assert resampling.added(frame, "test_error") == pytest.approx(0.25)
    assert resampling.added(frame[frame["data"] == "drawn"], "test_error") == 0.0
    # A column that nobody knows may be of either kind.
    assert resampling.added(frame, "unknown") == pytest.approx(4.0)
    assert design_of(settings([], {"generator": "gaussian"})).resampling is INDEPENDENT


def test_a_generator_that_reads_files_says_what_replicates_leave_out():
    with pytest.raises(PluginError, match="reads files, so it must have 'left_out'") as refused:

        @registry.generator("reads_something", reads=lambda path: [path])
        def reads_something(rng, *, path: str):
            """Read a file."""

    assert "None for independent data sets" in refused.value.remedy


def test_rows_that_are_the_same_in_all_replicates_have_no_interval():
    data = {"generator": "file", "path": "d.csv"}
    frame = table_of(np.random.default_rng(0).normal(5, 1, (2, 50))).assign(test_fraction=0.0)
    ((verdict, (text,)),) = judged(["mean(one, test_error) > 1"], frame, data)
    assert verdict == "inconclusive"
    assert "[no lower limit, no upper limit]" in text
