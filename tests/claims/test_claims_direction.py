"""Claims about thresholds of curves that rise, fall, or do neither."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from claims_tables import SWEEP, THETA, curve, judge, latent, only, setting, table, wins

from greedyexp.claims.entries import BadClaim, compile_claim
from greedyexp.claims.judging import evaluate_claims
from greedyexp.claims.report import sentence
from greedyexp.stats.multiplicity import Looks

# Recoveries by OMP and by subspace pursuit in 40 data sets with 16 to 20 nonzero values.
SIZES = {"theta": [16, 17, 18, 19, 20]}
OMP, PURSUIT = (
    dict(zip(SIZES["theta"], won, strict=True)) for won in ((9, 2, 4, 0, 3), (37, 32, 30, 29, 26))
)


def mirrored(frame):
    """Return the table with the outcomes at theta moved to 2 - theta."""
    return frame.assign(theta=np.round(2 - frame["theta"], 10))


@pytest.fixture
def frame():
    uniform = latent(1, 60)
    return table(SWEEP, {"a": curve(0.8, uniform), "b": curve(1.1, uniform)})


@pytest.mark.parametrize("direction", ["", ", direction=falling"])
def test_the_larger_critical_sparsity_is_that_of_the_method_that_recovers_more(direction):
    frame = table(
        SIZES,
        {
            "a": lambda at: wins(OMP[at["theta"]], 40),
            "b": lambda at: wins(PURSUIT[at["theta"]], 40),
        },
    )
    a, b = (f"threshold({one}{direction})" for one in "ab")
    for text, verdict in ((f"{b} > {a}", "supported"), (f"{b} < {a}", "refuted")):
        assert judge(frame, text, sweep=SIZES).verdict == verdict, text


def test_the_tolerated_noise_is_where_success_falls_through_one_half():
    sweep = {"nu": [0.2, 0.6, 1.0, 1.4, 1.8, 2.2, 2.6, 3.0]}
    rng = np.random.default_rng(4)
    frame = table(
        sweep, {"a": lambda at: (rng.random(80) < 1 / (1 + math.exp(4 * (at["nu"] - 1.8)))) * 1}
    )
    test = only(judge(frame, "threshold(a, of=nu) > 0.6", sweep=sweep))
    assert test.verdict == "supported"
    assert test.estimate == pytest.approx(1.8, abs=0.15)
    assert test.low < 1.8 < test.high < 2.2


@pytest.mark.parametrize(
    "text",
    [
        "threshold(a) < threshold(b)",
        "threshold(a) > 0.9",
        "threshold(a) == 0.83",
        "threshold(b) - threshold(a) >= 0.1",
    ],
)
def test_mirroring_the_column_mirrors_the_test(frame, text):
    """The threshold t becomes 2 - t, so that differences change their sign."""
    other = re.sub(r"threshold\(.\)", r"(2 - \g<0>)", text)
    margin = {"margin": 0.1} if "==" in text else {}
    rise = only(judge(frame, text, sweep=SWEEP, **margin))
    fall = only(judge(mirrored(frame), other, sweep=SWEEP, **margin))
    assert fall.verdict == rise.verdict
    # The constant of the mirrored form is part of its boundary, and its sign may differ.
    centre = abs(fall.estimate - fall.boundary)
    assert centre == pytest.approx(abs(rise.estimate - rise.boundary), abs=1e-6)
    assert fall.high - fall.low == pytest.approx(rise.high - rise.low, abs=1e-6)
    assert fall.p == pytest.approx(rise.p)


def test_an_algorithm_that_never_or_always_succeeds_has_the_direction_of_the_others(frame):
    ends = table(SWEEP, {"c": lambda _: wins(0, 60), "d": lambda _: wins(60, 60)})
    both = pd.concat([frame, ends], ignore_index=True)
    words = setting(sweep=SWEEP, algorithms="abcd")
    for rows, signs in ((both, (1, -1)), (mirrored(both), (-1, 1))):
        for label, sign in zip("cd", signs, strict=True):
            test = only(judge(rows, f"threshold({label}) > 1", words=words))
            assert test.estimate == sign * math.inf
            assert test.verdict == ("supported" if sign > 0 else "refuted")


def test_a_threshold_without_a_clear_direction_is_open_and_says_what_to_do():
    flat = table(SWEEP, {"a": lambda _: wins(0, 20)})
    test = only(judge(flat, "threshold(a) > 0.1", sweep=SWEEP))
    assert (test.verdict, test.p) == ("inconclusive", 1.0)
    assert (test.low, test.high) == (-math.inf, math.inf)
    assert "Along theta, success of a neither rises nor falls clearly." in sentence(test)
    assert "direction=rising or direction=falling" in sentence(test)
    # In more trials some may succeed.
    assert test.evidence.decidable(100, 0.95)
    known = "threshold(a, direction=rising) > 0.5"
    assert judge(flat, known, sweep=SWEEP).verdict == "supported"
    assert judge(flat, known.replace("rising", "falling"), sweep=SWEEP).verdict == "refuted"


@pytest.mark.parametrize(
    ("outcomes", "text", "reason"),
    [
        (lambda x: 60 * (0.75 < x < 1.25), "threshold(a) < 9", "upwards and downwards"),
        (lambda x: 60 * (x < 1), "threshold(a) < 9", "falls, although it should rise"),
        (lambda x: 60 * (x > 1), "threshold(a, direction=falling) < 9", "although it should fall"),
    ],
)
def test_a_curve_that_contradicts_the_direction_leaves_the_claim_open(outcomes, text, reason):
    uniform = latent(3, 60)
    others = {one: curve(tau, uniform) for one, tau in (("b", 0.8), ("c", 1.0), ("d", 1.2))}
    frame = table(SWEEP, {"a": lambda at: wins(outcomes(at["theta"]), 60), **others})
    test = only(judge(frame, text, words=setting(sweep=SWEEP, algorithms="abcd")))
    assert test.verdict == "inconclusive"
    assert reason in sentence(test)
    assert not test.evidence.decidable(10_000, 0.95)


def test_looks_go_on_while_the_direction_is_unclear():
    sweep, rng = {"theta": THETA[:3]}, np.random.default_rng(1)
    chances = dict(zip(THETA, (0.7, 0.5, 0.3), strict=False))
    frame = table(sweep, {"a": lambda at: (rng.random(64) < chances[at["theta"]]) * 1})
    words = setting(sweep=sweep, algorithms="a")
    claim = compile_claim(
        {"id": "one", "quote": "-", "test": "threshold(a) < 2"}, words, "Figure 1"
    )
    looks = Looks(4)
    first = evaluate_claims([claim], frame[frame["replicate"] < 4], words, looks)
    assert "neither" in sentence(first.judged[0].tests[0])
    assert len(first.open_arms(64)) == 3
    last = evaluate_claims([claim], frame, words, looks)
    assert "neither" not in sentence(last.judged[0].tests[0])


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ("threshold(a, direction=down) < 1", "direction must be rising or falling"),
        ("threshold(a, direction=rising) < threshold(b)", "different directions"),
        (
            "threshold(a, direction=rising) < threshold(b, direction=falling)",
            "different directions",
        ),
    ],
)
def test_directions_are_checked_before_the_run(test, words):
    with pytest.raises(BadClaim, match=words):
        compile_claim({"id": "one", "quote": "-", "test": test}, setting(sweep=SWEEP), "Figure 1")
