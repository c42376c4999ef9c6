"""Claims that are judged look by look, and the arms that they ask further trials of."""

import importlib
import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from claims_tables import setting, table

from greedyexp.claims.entries import compile_claim
from greedyexp.claims.judging import evaluate_claims
from greedyexp.claims.table import arms_of
from greedyexp.stats.multiplicity import Looks

REPOSITORY = Path(__file__).resolve().parents[2]
LOOKS = Looks(20)
SWEEP = {"p": [1, 2]}
WORDS = setting(sweep=SWEEP)
# Half, nine tenths and three quarters of every twenty trials.
EVEN, OFTEN, MOSTLY = [0, 1], [1] * 9 + [0], [1, 1, 0, 1]


def claims(*tests, **more):
    return [
        compile_claim({"id": f"c{k}", "quote": "q", "test": test, **more}, WORDS, "Figure 1")
        for k, test in enumerate(tests)
    ]


def repeated(pattern, trials: int) -> list:
    return list(itertools.islice(itertools.cycle(pattern), trials))


def frame(trials: dict, *, a=EVEN, b=EVEN) -> pd.DataFrame:
    """The table with numbers of trials by point, or by label and point."""

    def outcomes(label, pattern):
        def of(point):
            count = trials.get((label, point["p"]), trials.get(point["p"]))
            chosen = pattern[point["p"]] if isinstance(pattern, dict) else pattern
            return repeated(chosen, count)

        return of

    return table(SWEEP, {"a": outcomes("a", a), "b": outcomes("b", b)})


def looked(rows, *tests, **more):
    return evaluate_claims(claims(*tests, **more), rows, WORDS, LOOKS)


def state(found, claim: int = 0) -> list:
    return [(test.verdict.value, test.look, test.trials) for test in found.judged[claim].tests]


def open_points(rows, found, most: int) -> set:
    """The points and algorithms of the open arms."""
    chosen = np.isin(arms_of(rows, WORDS), list(found.open_arms(most)))
    return set(map(tuple, rows.loc[chosen, ["algorithm", "p"]].to_numpy().tolist()))


def test_a_test_is_decided_at_the_first_look_that_excludes_the_boundary():
    rows = frame({1: 160, 2: 160}, a={1: OFTEN, 2: MOSTLY})
    found = looked(rows, "proportion(a) > 0.5")
    assert found.taken == 4
    assert state(found) == [("supported", 1, 20), ("supported", 2, 40)]
    # The numbers are those of the look, not of all trials.
    first = found.judged[0].tests[0]
    alone = evaluate_claims(
        claims("proportion(a) > 0.5"), rows[rows["replicate"] < 20], WORDS
    ).judged[0]
    assert first.p == alone.tests[0].p
    assert first.confidence == 1 - 0.05 / 2 / 2


def test_the_level_of_a_look_is_its_share():
    found = looked(frame({1: 80, 2: 80}), "proportion(a) > 0.5")
    assert state(found) == [("inconclusive", 3, 80)] * 2
    assert [test.confidence for test in found.judged[0].tests] == [1 - 0.05 / 8 / 2] * 2


def test_later_trials_do_not_change_a_decision():
    twenty = looked(frame({1: 20, 2: 20}, a=OFTEN), "proportion(a) > 0.5")
    fails = {1: [*repeated(OFTEN, 20), *[0] * 140], 2: OFTEN}
    later = looked(frame({1: 160, 2: 20}, a=fails), "proportion(a) > 0.5")
    assert state(later) == state(twenty) == [("supported", 1, 20)] * 2


def test_only_tests_with_all_trials_take_part():
    rows = frame({1: 80, 2: 40}, a={1: EVEN, 2: EVEN})
    found = looked(rows, "proportion(a) > 0.5", "proportion(a) < proportion(b)")
    assert (found.taken, state(found)) == (3, [("inconclusive", 3, 80), ("inconclusive", 2, 40)])
    # One arm of the difference lacks trials.
    rows = frame({1: 20, 2: 20, ("a", 1): 40})
    assert state(looked(rows, "proportion(a) < proportion(b)")) == [("inconclusive", 1, 20)] * 2


def test_a_test_that_lacks_trials_does_not_relax_the_level_of_the_others():
    # Its p-value from 38 of 40 trials would be rejected.
    late = [*repeated(EVEN, 20), *[1] * 20]
    rows = frame({1: 40, 2: 38}, a={1: EVEN, 2: late})
    one, other = looked(rows, "proportion(a) > 0.5").judged[0].tests
    assert (one.look, one.confidence) == (2, 1 - 0.05 / 4 / 2)
    assert (other.look, other.verdict) == (1, "inconclusive")


def test_an_unfinished_look_decides_nothing():
    rows = frame({1: 31, 2: 31}, a=[1] * 20 + [0] * 11)
    assert looked(rows, "proportion(a) > 0.5").taken == 1
    few = looked(frame({1: 19, 2: 19}, a=[1]), "proportion(a) > 0.5")
    assert (few.taken, few.open_arms(320)) == (0, frozenset())
    test = few.judged[0].tests[0]
    assert (test.verdict, test.p) == ("inconclusive", None)
    assert "the first one needs 20 trials" in test.reason


def test_decisions_do_not_depend_on_the_trials_of_closed_points():
    whole = frame({1: 320, 2: 320}, a={1: OFTEN, 2: MOSTLY})
    both = looked(whole, "proportion(a) > 0.5")
    short = whole[(whole["p"] == 2) | (whole["replicate"] < 20)]
    assert state(looked(short.reset_index(drop=True), "proportion(a) > 0.5")) == state(both)


def test_a_violation_refutes_a_supported_relation():
    good, bad = [0] * 160, [0] * 70 + [1] * 90
    held = looked(frame({1: 160, 2: 80}, a=good), "always(support(a) <= 0)")
    assert (held.judged[0].tests[0].verdict, held.judged[0].tests[0].look) == ("supported", 3)
    # The arms of the other point have no rows of the fourth look.
    refuted = looked(
        frame({1: 160, 2: 160}, a={1: [0] * 100 + [1] * 60, 2: good}), "always(support(a) <= 0)"
    )
    assert (refuted.judged[0].tests[0].verdict, refuted.judged[0].tests[0].look) == ("refuted", 4)
    early = looked(frame({1: 81, 2: 80}, a={1: [0] * 80 + [1], 2: bad}), "always(support(a) <= 0)")
    assert early.judged[0].tests[0].verdict == "refuted"
    first = looked(frame({1: 80, 2: 80}, a=[1, *[0] * 79]), "always(support(a) <= 0)")
    assert (first.judged[0].tests[0].verdict, first.judged[0].tests[0].look) == ("refuted", 1)


def test_a_violation_leaves_the_levels_of_other_tests_as_they_are():
    rows = frame({1: 40, 2: 40}, a=EVEN)
    tests = "always(support(a) <= 0)", "proportion(a) > 0.5"
    violated, other = looked(rows, *tests, where={"p": 1}).judged
    assert (violated.verdict, violated.tests[0].look) == ("refuted", 1)
    assert other.tests[0].confidence == 1 - 0.05 / 4 / 2


def test_open_claims_ask_for_trials_of_their_own_arms_only():
    rows = frame({1: 20, 2: 20}, a={1: OFTEN, 2: MOSTLY})
    assert open_points(rows, looked(rows, "proportion(a) > 0.5"), 320) == {("a", 2)}
    one = looked(rows, "proportion(a) > 0.5", where={"p": 1})
    assert one.judged[0].verdict == "supported"
    assert one.open_arms(320) == frozenset()
    pair = looked(rows, "proportion(a) > proportion(b)", where={"p": 2})
    assert open_points(rows, pair, 320) == {("a", 2), ("b", 2)}
    share = looked(rows, "ratio(mean(a, support), mean(b, support)) > 1.3", where={"p": 2})
    assert open_points(rows, share, 320) == {("a", 2), ("b", 2)}


def test_a_test_that_was_given_up_is_not_taken_up_again():
    rows = frame({1: 40, 2: 20}, a={1: EVEN, 2: MOSTLY})
    found = looked(rows, "proportion(a) > 0.5")
    assert state(found) == [("inconclusive", 2, 40), ("inconclusive", 1, 20)]
    # The claim cannot be supported any more, and nothing points at a refutation.
    assert found.open_arms(320) == frozenset()


def test_a_refuted_claim_asks_for_nothing():
    rows = frame({1: 20, 2: 20}, a={1: [0], 2: MOSTLY})
    found = looked(rows, "proportion(a) > 0.5")
    assert [test.verdict.value for test in found.judged[0].tests] == ["refuted", "inconclusive"]
    assert found.open_arms(320) == frozenset()


def test_a_tie_cannot_be_decided_and_closes_its_claim():
    slightly = [*repeated(EVEN, 10), 1, 1]
    rows = frame({1: 80, 2: 80}, a={1: EVEN, 2: slightly}, b=EVEN)
    found = looked(rows, "proportion(a) > proportion(b)")
    tie, other = found.judged[0].tests
    assert "no number of trials" in tie.obstacle
    assert other.needed_trials
    # The claim could only be refuted, but the other test points the other way.
    assert found.open_arms(1280) == frozenset()
    against = looked(rows, "proportion(a) < proportion(b)")
    assert open_points(rows, against, 1280) == {("a", 2), ("b", 2)}


def test_twenty_equal_replicates_are_no_tie_yet():
    rows = frame({1: 20, 2: 20}, a=EVEN, b=EVEN)
    found = looked(rows, "proportion(a) > proportion(b)", where={"p": 1})
    assert open_points(rows, found, 320) == {("a", 1), ("b", 1)}
    # In 59 replicates, a difference in one of twenty would have shown.
    more = frame({1: 80, 2: 80}, a=EVEN, b=EVEN)
    assert looked(more, "proportion(a) > proportion(b)", where={"p": 1}).open_arms(1280) == set()


def test_an_estimate_on_the_boundary_by_chance_stays_open():
    rows = frame({1: 80, 2: 80})
    found = looked(rows, "proportion(a) > 0.5", where={"p": 1})
    assert open_points(rows, found, 1280) == {("a", 1)}


def test_tests_that_the_limit_cannot_decide_are_given_up():
    rows = frame({1: 80, 2: 80})
    found = looked(rows, "proportion(a) > 0.5", where={"p": 1})
    # Half of the trials of the limit are done, and the estimate is exactly on the boundary.
    assert found.open_arms(160) == frozenset()
    assert open_points(rows, found, 1280) == {("a", 1)}


def test_the_trials_that_would_decide_are_those_of_a_look():
    rows = frame({1: 20, 2: 20}, a=[1, 1, 0, 1, 0])
    test = looked(rows, "proportion(a) > 0.5", where={"p": 1}).judged[0].tests[0]
    assert test.needed_trials in [20 * 2**k for k in range(1, 12)]
    more = frame({1: test.needed_trials, 2: 20}, a=[1, 1, 0, 1, 0])
    assert looked(more, "proportion(a) > 0.5", where={"p": 1}).judged[0].verdict == "supported"
    less = frame({1: test.needed_trials // 2, 2: 20}, a=[1, 1, 0, 1, 0])
    assert looked(less, "proportion(a) > 0.5", where={"p": 1}).judged[0].verdict == "inconclusive"


def test_tests_of_one_figure_share_the_error_of_a_look():
    rows = frame({1: 20, 2: 20}, a=MOSTLY)
    alone = looked(rows, "proportion(a) > 0.45", where={"p": 1})
    assert state(alone) == [("supported", 1, 20)]
    others = ["proportion(b) > 0.45", "proportion(b) < 0.55", "proportion(b) < 0.6"]
    among = looked(rows, "proportion(a) > 0.45", *others, where={"p": 1})
    assert state(among) == [("inconclusive", 1, 20)]


@pytest.mark.deep
def test_wrong_decisions_at_the_boundary_are_rare_and_too_many_without_the_rule(monkeypatch):
    monkeypatch.syspath_prepend(str(REPOSITORY / "benchmarks"))
    simulated = importlib.import_module("measure_looks").simulated
    (with_rule, without), easy, _ = simulated(range(200))
    assert 0 < with_rule <= 0.05 * 200
    assert without > 0.1 * 200
    assert easy >= 0.99 * 400


@pytest.mark.parametrize("missing", ["status", "value"])
def test_a_test_that_cannot_be_computed_asks_for_nothing(missing):
    rows = frame({1: 20, 2: 20})
    rows["frobenius_error"] = 1.0
    if missing == "status":
        rows.loc[3, ["status", "frobenius_error"]] = ["error", np.nan]
    else:
        rows.loc[3, "frobenius_error"] = np.nan
    found = looked(rows, "mean(a, frobenius_error) < 2", where={"p": 1})
    assert found.judged[0].tests[0].p is None
    assert found.open_arms(320) == frozenset()
