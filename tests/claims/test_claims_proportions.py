"""Claims about proportions at the levels of many tests, and intervals that agree with verdicts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from claims_tables import judge, only, setting, table, wins
from scipy import stats

from greedyexp.claims.report import sentence
from greedyexp.stats.proportions import confidence_sequence

FORMS = (
    "average(proportion(a), kappa) >= 0.95",
    "average(proportion(a), kappa) + average(proportion(b), kappa) >= 1.9",
    "slope(proportion(a), kappa) > 0",
    "average(proportion(a), kappa) <= 0.9 * average(proportion(b), kappa) + 0.095",
    "average(proportion(a), kappa) - 2 * average(proportion(b), kappa) == -0.95",
)


@pytest.mark.parametrize("form", FORMS)
def test_forty_true_boundaries_are_rarely_decided(form):
    # The boundary is the truth in each of 40 groups of two points with 10 data sets.
    rng = np.random.default_rng(FORMS.index(form))
    sweep = {"p": list(range(40)), "kappa": [0.25, 0.75]}
    margin = {"margin": 1e-9} if "==" in form else {}
    wrong = 0
    draw = np.zeros((40, 2, 10))
    for _ in range(12):
        draw[:] = rng.random(draw.shape)
        frame = table(
            sweep,
            {
                "a": lambda at: (draw[at["p"], int(at["kappa"] > 0.5)] < 0.95).astype(int),
                "b": lambda at: (draw[at["p"], int(at["kappa"] > 0.5)] > 0.05).astype(int),
            },
        )
        judged = judge(frame, form, sweep=sweep, **margin)
        assert len(judged.tests) == 40
        wrong += any(test.decided for test in judged.tests)
    # More would be seen in one of a thousand such experiments with 5% of wrong families.
    assert wrong <= stats.binom.isf(1e-3, 12, 0.05)


@pytest.mark.parametrize("seed", range(6))
def test_an_interval_contains_a_boundary_exactly_if_the_test_leaves_it_open(seed):
    rng = np.random.default_rng(seed)
    sweep = {"kappa": [0.2, 0.5, 0.8]}
    forms = [
        "proportion(a) > 0.8", "proportion(a) < proportion(b)", "proportion(a) >= 0.1",
        "proportion(a) - proportion(b) <= 0.3", "proportion(b) <= 0.5 * proportion(a)",
        "average(proportion(a), kappa) > average(proportion(b), kappa)",
        "average(proportion(a), kappa) <= 0.6", "slope(proportion(a), kappa) > 0",
        "increasing(proportion(b), kappa)", "mean(a, frobenius_error) < 1.2",
        "mean(a, frobenius_error) < mean(b, frobenius_error)",
        "mean(a, frobenius_error) == 1.1", "ratio(mean(a, frobenius_error), mean(b, support)) < 9",
    ]  # fmt: skip
    seen = set()
    for n in (3, 6, 20, 60):
        rates = rng.beta(0.5, 0.5, 2)

        def outcomes(rate, n=n):
            errors = 1 + rng.integers(0, 2, n) * rng.integers(0, 2)
            return {"support": (rng.random(n) < rate).astype(int), "frobenius_error": errors}

        rows = {"a": lambda _, p=rates[0]: outcomes(p), "b": lambda _, p=rates[1]: outcomes(p)}
        frame = table(sweep, rows)
        for form in forms:
            margin = {"margin": 0.2} if "==" in form else {}
            for test in judge(frame, form, sweep=sweep, **margin).tests:
                if test.p is None:
                    continue
                ends = [test.boundary + way * test.evidence.margin for way in (-1, 1)]
                if test.evidence.relation == "==":
                    inside = ends[0] < test.low and test.high < ends[1]
                    decided = inside or test.high < ends[0] or test.low > ends[1]
                else:
                    decided = not test.low <= test.boundary <= test.high
                assert test.decided == decided, (form, test)
                # The estimate of a ratio may be nan.
                assert not test.estimate < test.low
                assert not test.estimate > test.high
                seen.add(str(test.verdict))
    assert seen == {"supported", "refuted", "inconclusive"}


def test_equal_values_do_not_exclude_a_boundary_before_there_are_enough():
    for n, decided in ((3, False), (58, False), (59, True)):
        frame = table({}, {"a": lambda _, n=n: {"frobenius_error": np.full(n, 0.3)}})
        test = only(judge(frame, "mean(a, frobenius_error) < 0.5"))
        assert (test.decided, test.low, test.high) == (decided, 0.3, 0.3 if decided else 0.5)


def test_results_that_decide_the_number_of_trials_leave_the_level():
    """All outcomes of two points with 12 data sets each, at the levels of many tests."""
    sweep, n = {"kappa": [0.25, 0.75]}, 12
    words = setting(sweep=sweep, adaptive=True)
    ends = {}
    for i, j in itertools.product(range(n + 1), repeat=2):
        frame = table(sweep, {"a": lambda at, k=(i, j): wins(k[int(at["kappa"] > 0.5)], n)})
        test = only(judge(frame, "average(proportion(a), kappa) >= 0.5", words=words))
        ends[i, j] = {
            level: test.evidence.contrast.interval(1 - level) for level in (0.05, 1e-3, 1e-4)
        }
        # The union bound of two confidence sequences.
        lows, highs = confidence_sequence([i, j], n, confidence=1 - 1e-3 / 2)
        assert ends[i, j][1e-3] == pytest.approx((lows.mean(), highs.mean()))
        low, high = test.evidence.contrast.interval(1 - test.p)
        assert test.p == 1 or not low <= 0.5 <= high
    for p, q in itertools.product((0.05, 0.4, 0.9, 0.98), repeat=2):
        for level in (0.05, 1e-3, 1e-4):
            wrong = sum(
                stats.binom.pmf(i, n, p) * stats.binom.pmf(j, n, q)
                for (i, j), found in ends.items()
                if not found[level][0] <= (p + q) / 2 <= found[level][1]
            )
            assert wrong <= level


def test_sums_and_weights_of_proportions_are_decided_where_the_results_are_clear():
    sweep = {"kappa": [0.2, 0.5, 0.8]}
    frame = table(
        sweep,
        {
            "a": lambda at: wins(round(40 * at["kappa"]), 40),
            "b": lambda at: wins(36, 40)[::-1],
        },
    )
    for form, verdict in (
        ("average(proportion(a), kappa) < 0.7", "supported"),
        ("slope(proportion(a), kappa) > 0", "supported"),
        ("slope(proportion(a), kappa) == 1", "inconclusive"),
        ("average(proportion(a), kappa) <= 0.8 * average(proportion(b), kappa)", "supported"),
        ("average(proportion(b), kappa) - average(proportion(a), kappa) >= 0.1", "supported"),
        ("average(proportion(b), kappa) - average(proportion(a), kappa) >= 0.7", "refuted"),
    ):
        margin = {"margin": 0.1} if "==" in form else {}
        assert judge(frame, form, sweep=sweep, **margin).verdict == verdict, form


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("points", [1, 3, 6])
def test_a_boundary_at_the_end_of_the_possible_range_is_open_at_every_size(points, adaptive):
    """Such boundaries are sums of rounded shares, here of 1 / (points * n)."""
    sweep = {"kappa": np.linspace(0.1, 0.9, points).tolist()}
    words = setting(sweep=sweep, adaptive=adaptive)
    for n in (5, 7, 50, 55, 60):
        frame = table(sweep, {"a": lambda _, n=n: wins(n, n), "b": lambda _, n=n: wins(0, n)})
        for form in (
            "average(proportion(a), kappa) < 1", "average(proportion(a), kappa) >= 1",
            "average(proportion(b), kappa) > 0", "average(proportion(b), kappa) <= 0",
            "1 - average(proportion(a), kappa) > 0", "2 * average(proportion(a), kappa) < 2",
            "average(proportion(b), kappa) - average(proportion(a), kappa) > -1",
        ):  # fmt: skip
            test = only(judge(frame, form, words=words))
            assert (test.verdict, test.p) == ("inconclusive", 1.0), (form, n)


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize(
    "form",
    [
        "{}(a, support) > 0.95",
        "{}(a, support) >= {}(b, support)",
        "average({}(a, support), kappa) > 0.95",
        "average({}(a, support), kappa) - average({}(b, support), kappa) == 0",
        "slope({}(a, support), kappa) > 0",
        "increasing({}(a, support), kappa)",
    ],
)
def test_the_mean_of_a_success_has_the_test_of_a_proportion(form, adaptive):
    sweep = {"kappa": [0.2, 0.6]}
    frame = table(sweep, {"a": lambda at: wins(99 if at["kappa"] > 0.5 else 60, 100),
                          "b": lambda _: wins(97, 100)[::-1]})  # fmt: skip
    words = setting(sweep=sweep, adaptive=adaptive)
    margin = {"margin": 0.3} if "==" in form else {}
    mean, share = (
        judge(frame, form.replace("{}", name), words=words, **margin).tests
        for name in ("mean", "proportion")
    )
    for one, two in zip(mean, share, strict=True):
        numbers = ("verdict", "estimate", "p", "low", "high", "trials", "failed", "expected")
        assert [getattr(one, name) for name in numbers] == [getattr(two, name) for name in numbers]


def test_the_mean_of_a_success_with_failures_is_open():
    frame = table({}, {"a": lambda _: wins(99, 100)}).astype({"support": float})
    frame.loc[0, ["support", "status"]] = np.nan, "timeout"
    test = only(judge(frame, "mean(a, support) > 0.5"))
    assert "1 of 100 replicates of a have no support" in test.reason


def test_sentences_say_which_intervals_ignore_that_results_decided_the_trials():
    frame = table({}, {"a": lambda _: {"support": wins(20, 30),
                                       "frobenius_error": np.arange(30.0)}})  # fmt: skip
    ignored = "as if results had not decided the number of trials"
    for form, ignores in (
        ("mean(a, frobenius_error) < 9", True),
        ("ratio(mean(a, frobenius_error), mean(a, support)) < 9", True),
        ("proportion(a) > 0.1", False),
    ):
        for adaptive in (False, True):
            said = sentence(only(judge(frame, form, words=setting(adaptive=adaptive))))
            assert (ignored in said) == (ignores and adaptive), said
