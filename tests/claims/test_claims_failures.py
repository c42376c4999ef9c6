"""Claims about tables with failed runs: no outcome that these might have had changes a verdict."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from claims_tables import judge, only, table, wins

from greedyexp.claims.report import sentence
from greedyexp.results.context import Context
from greedyexp.results.successes import thresholds

CONTEXT = Context("demo", "smoke", 40, "A paper", {"a": "a", "b": "b"}, {})


def with_failures(frame, failed):
    """Return the table with failed runs in the rows of a mask."""
    frame = frame.astype({"support": float})
    frame.loc[failed, "status"] = "timeout"
    frame.loc[failed, "support"] = np.nan
    return frame


def completed(frame, failed, outcomes):
    frame = frame.astype({"support": float})
    frame.loc[failed, "support"] = outcomes
    return frame


@pytest.mark.parametrize(
    "form",
    [
        "proportion(a) < 0.5",
        "proportion(a) >= 0.6",
        "proportion(a) == 0.5",
        "1 - 2 * proportion(a) > -0.1",
    ],
)
def test_one_proportion_is_decided_if_every_number_of_successes_decides_it_alike(form):
    n = 24
    margin = {"margin": 0.45} if "==" in form else {}
    known = [
        only(judge(table({}, {"a": lambda _, k=k: wins(k, n)}), form, **margin)).verdict
        for k in range(n + 1)
    ]
    seen = set()
    for won in range(n + 1):
        for lost in range(1, n - won + 1):
            frame = table({}, {"a": lambda _, k=won: wins(k, n)})
            test = only(judge(with_failures(frame, frame.index >= n - lost), form, **margin))
            verdicts = set(known[won : won + lost + 1])
            expected = verdicts.pop() if len(verdicts) == 1 else "inconclusive"
            assert test.verdict == expected, (won, lost)
            # The interval and the p-value say the same.
            assert (test.p <= 0.05) == test.decided
            seen.add(str(expected))
    assert len(seen) >= 2


@pytest.mark.parametrize(
    "form",
    [
        "proportion(a) < proportion(b)",
        "proportion(b) - proportion(a) > 0.1",
        "proportion(a) < 0.3 + 0.9 * proportion(b)",
        "slope(proportion(a), kappa) < 2 + slope(proportion(b), kappa)",
    ],
)
def test_contrasts_are_decided_if_all_outcomes_of_the_failed_runs_decide_them_alike(form):
    """Every assignment of outcomes to the failed runs, in tables of random ones."""
    rng, decided = np.random.default_rng(3), 0
    sweep = {"kappa": [0.25, 0.75]} if "slope" in form else {}
    for _ in range(24):
        n, (low, high) = int(rng.integers(10, 30)), np.sort(rng.random(2))
        frame = table(
            sweep,
            {
                "a": lambda _, n=n, p=low: (rng.random(n) < p / 2) * 1,
                "b": lambda _, n=n, p=high: (rng.random(n) < 1 - (1 - p) / 2) * 1,
            },
        )
        failed = np.isin(np.arange(len(frame)), rng.choice(len(frame), 4, replace=False))
        verdicts = {
            str(only(judge(completed(frame, failed, outcomes), form, sweep=sweep)).verdict)
            for outcomes in itertools.product((0, 1), repeat=4)
        }
        expected = verdicts.pop() if len(verdicts) == 1 else "inconclusive"
        assert only(judge(with_failures(frame, failed), form, sweep=sweep)).verdict == expected
        decided += expected != "inconclusive"
    assert 1 < decided < 24


SIZES = {"theta": [1, 2, 3, 4, 5, 6]}


def of_thresholds(lost_from, wins_of_b):
    """Return a table in which a never succeeds and b fails from a value of theta."""
    frame = table(
        SIZES, {"a": lambda _: wins(0, 40), "b": lambda at: wins(wins_of_b[at["theta"] - 1], 40)}
    )
    return with_failures(frame, (frame["algorithm"] == "b") & (frame["theta"] >= lost_from))


@pytest.mark.parametrize("counts", [[38] * 6, [8, 16, 28, 36, 40, 40]])
@pytest.mark.parametrize("lost_from", [3, 4, 5])
def test_failed_runs_of_another_algorithm_do_not_decide_the_direction(lost_from, counts):
    frame = of_thresholds(lost_from, counts)
    for form in ("threshold(a) < 3", "threshold(a) > 6"):
        test = only(judge(frame, form, sweep=SIZES))
        assert test.verdict == "inconclusive"
        assert f"the {(7 - lost_from) * 40} failed runs are successes" in sentence(test)
    found = thresholds(frame, CONTEXT, of="theta", success={"default": "support"},
                       by=["algorithm"])  # fmt: skip
    assert found["estimate"].isna().all()
    assert set(found["misfit"]) == {"neither rises nor falls clearly"}


def test_a_direction_that_is_clear_whatever_failed_runs_gave_is_used():
    frame = of_thresholds(6, [0, 0, 5, 35, 40, 40])
    assert judge(frame, "threshold(a) > 6", sweep=SIZES).verdict == "inconclusive"
    assert only(judge(frame, "threshold(a) > 5", sweep=SIZES)).estimate == np.inf


def test_a_threshold_is_open_if_the_failed_runs_could_move_it():
    steps = {"theta": list(range(1, 9))}
    base = table(steps, {"a": lambda at: wins(0 if at["theta"] < 5 else 40, 40)})
    for lost, verdict in ((0, "supported"), (2, "supported"), (19, "inconclusive")):
        failed = (base["theta"] < 5) & (base["replicate"] >= 40 - lost)
        test = only(judge(with_failures(base, failed), "threshold(a) > 3.5", sweep=steps))
        assert test.verdict == verdict, lost
        as_successes = only(judge(completed(base, failed, 1), "threshold(a) > 3.5", sweep=steps))
        assert as_successes.verdict == verdict
