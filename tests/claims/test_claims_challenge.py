"""Verdicts that can fail and verdicts that cannot, on tables where the answer is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from claims_tables import judge, setting, table, wins
from claims_trajectories import course, frame_of, hits, words

from greedyexp.claims.challenge import _Challenger, _sources, challenge
from greedyexp.claims.entries import compile_claim
from greedyexp.claims.judging import evaluate_claims
from greedyexp.claims.table import Table

POINTS = [0.4, 0.8, 1.2, 1.6]


def challenged(frame, test, *, names, **entry):
    """Challenge the tests of one claim, which the table must support."""
    claim = compile_claim({"id": "one", "quote": "q", "test": test, **entry}, names, "1")
    assert evaluate_claims([claim], frame, names).judged[0].verdict == "supported"
    before = frame.copy()
    found = challenge([claim], frame, names)
    pd.testing.assert_frame_equal(frame, before)
    return found


def reasons(frame, test, **more):
    return [one.reason for one in challenged(frame, test, **more)]


def errors(*, a=1.0, b=2.0, by=0.0, replicates=40):
    """A table of errors around a and b, which rise with theta by a multiple of it."""
    rng = np.random.default_rng(3)

    def around(level):
        def outcome(point):
            values = level + by * point["theta"] + 0.1 * rng.uniform(-1, 1, replicates)
            return {"support": wins(replicates, replicates), "frobenius_error": values.tolist()}

        return outcome

    return table({"theta": POINTS}, {"a": around(a), "b": around(b)})


SWEPT = setting(sweep={"theta": POINTS})


@pytest.mark.parametrize(
    ("test", "alteration"),
    [
        ("mean(a, frobenius_error) < mean(b, frobenius_error)", "a exchanged with"),
        ("mean(a, frobenius_error) <= 0.7 * mean(b, frobenius_error)", "a exchanged with"),
        ("mean(a, frobenius_error) < 3", "a exchanged with"),
        ("slope(mean(a, frobenius_error), theta) > 0.5", "a reversed along theta"),
        ("increasing(mean(b, frobenius_error), theta)", "b reversed along theta"),
        ("always(frobenius_error(a) < frobenius_error(b))", "a exchanged with"),
        ("usually(frobenius_error(a) < frobenius_error(b))", "a exchanged with"),
        ("always(abs(frobenius_error(a) + 2 - frobenius_error(b)) <= 0.3)", "a exchanged with"),
    ],
)
def test_a_difference_can_be_overturned(test, alteration):
    frame = errors(a=1.0, b=3.0, by=1.0)
    (found,) = challenged(frame, test, names=SWEPT)
    assert not found.reason
    assert alteration in found.tried[-1]


@pytest.mark.parametrize(
    "test",
    [
        "mean(a, frobenius_error) >= 0",
        "average(mean(a, frobenius_error), theta) >= 0",
        "mean(a, frobenius_error) + mean(b, frobenius_error) > 0",
        "always(frobenius_error >= 0)",
        "always(frobenius_error(a) <= frobenius_error(b) + 1000)",
        "proportion(a) >= 0.8",
    ],
)
def test_what_no_row_of_the_table_could_contradict_is_listed(test):
    frame = errors(a=1.0, b=2.0, by=1.0)
    # With this value, the interval of a permuted mean contains negative numbers.
    frame.loc[0, "frobenius_error"] = 900.0
    (reason,) = reasons(frame, test, names=SWEPT, where={"theta": POINTS[1:]})
    whose = "For a and b, it" if test == "always(frobenius_error >= 0)" else "It"
    assert reason == f"{whose} holds whatever is altered."


# By hand: a mean of 2, and thresholds between the points, before them and beyond them.
CONTRADICTED = {
    "mean(a, frobenius_error) < 2": True,
    "mean(a, frobenius_error) <= 2": False,
    "mean(a, frobenius_error) > 2": True,
    "mean(a, frobenius_error) >= 2": False,
    "mean(a, frobenius_error) >= 2.001": True,
    "mean(a, frobenius_error) <= 1.999": True,
    "mean(a, frobenius_error) < 2.001": False,
    "mean(a, frobenius_error) == 2.5": False,
    "mean(a, frobenius_error) == 2.501": True,
    "threshold(a) < 1.2": False,
    "threshold(a) > 1.2": True,
    # This threshold lies anywhere above 1.6.
    "threshold(never) < 1.5": True,
    "threshold(never) <= 1.7": False,
    "threshold(never) > 1.6": False,
    "threshold(always_) > 0.5": True,
    "threshold(always_) > 0.3": False,
    "threshold(a) + 1000 > threshold(never)": False,
    "threshold(never) - threshold(always_) < 1": True,
    # A difference of infinite numbers is unknown.
    "threshold(never) - 2 * threshold(never) < 1000": False,
    "threshold(never) < threshold(other)": False,
    "usually(frobenius_error(a) < 2)": True,
    "usually(frobenius_error(a) <= 2)": True,
    "usually(frobenius_error(a) <= 3)": False,
    "always(frobenius_error(a) < 3)": True,
    "always(frobenius_error(a) <= 3)": False,
}


@pytest.mark.parametrize(("test", "contradicted"), CONTRADICTED.items())
def test_only_a_false_relation_contradicts(test, contradicted):
    successes = {"a": 0.9, "never": 9.0, "other": 9.0, "always_": 0.0}

    def outcome(threshold):
        return lambda at: {
            "support": wins(40 * (at["theta"] > threshold), 40),
            "frobenius_error": [1.0, 3.0] * 20,
        }

    algorithms = {label: outcome(threshold) for label, threshold in successes.items()}
    frame = table({"theta": POINTS}, algorithms)
    names = setting(sweep={"theta": POINTS}, algorithms=tuple(algorithms))
    tests = judge(frame, test, words=names, margin=0.5 if "==" in test else None).tests
    assert {one.evidence.contradicted for one in tests} == {contradicted}


MEASURED = ("test_error", "training_error", "support_size", "false_positives", "f_measure")


def measured(**levels):
    """Return a table from label -> function of theta, which gives the test and training error."""
    rng = np.random.default_rng(4)

    def outcome(level):
        def values(point):
            noise = 0.05 * rng.uniform(-1, 1, (2, 40))
            test, training = np.array(level(point["theta"]))[:, None] + noise
            fixed = {"support_size": [5] * 40, "false_positives": [0] * 40, "f_measure": [1.0] * 40}
            return {"test_error": test.tolist(), "training_error": training.tolist(), **fixed}

        return values

    return table({"theta": POINTS}, {label: outcome(level) for label, level in levels.items()})


OVERFIT = setting(sweep={"theta": POINTS}, metrics=MEASURED)


@pytest.mark.parametrize(
    "test",
    [
        "mean(a, test_error) - mean(a, training_error)"
        " < mean(b, test_error) - mean(b, training_error)",
        "mean(b, test_error) - mean(b, training_error) > 0.5",
        "always(test_error(a) - training_error(a) <= test_error(b) - training_error(b) + 0.6)",
        "mean(a, training_error) <= 0.9 * mean(a, test_error)",
        "always(support_size <= 5)",
        "always(support_size(a) >= 5)",
        "always(false_positives <= 0)",
        "always(f_measure >= 0.5)",
    ],
)
def test_two_columns_and_constants_can_be_overturned(test):
    frame = measured(a=lambda at: (1.2, 1.0), b=lambda at: (1.6, 0.6))
    assert reasons(frame, test, names=OVERFIT) == [""]


@pytest.mark.parametrize(
    "test",
    [
        "slope(mean(a, test_error) - mean(a, training_error), theta) > 0.1",
        "increasing(mean(a, test_error) - mean(a, training_error), theta)",
    ],
)
def test_a_growing_difference_can_be_overturned(test):
    grow = {"a": lambda at: (1 + at, 3 - 0.5 * at), "b": lambda at: (1 + at, 3 - 0.5 * at)}
    assert reasons(measured(**grow), test, names=OVERFIT) == [""]


@pytest.mark.parametrize(
    "test",
    [
        "mean(a, test_error) >= 0",
        "average(mean(a, test_error), theta) >= 0",
        "mean(a, test_error) <= 2 * mean(a, test_error)",
        "mean(a, test_error) <= 1000 * mean(a, training_error)",
        "always(test_error <= 1000 * training_error)",
        "always(test_error(a) - training_error(a) <= test_error(b) + 1000)",
        "mean(a, test_error) < 1000",
        "mean(a, training_error) <= 1000 * mean(b, test_error)",
        "ratio(mean(a, test_error), mean(b, test_error)) > -1000",
        "always(false_positives >= 0)",
        "always(f_measure <= 1)",
    ],
)
def test_what_cannot_be_false_is_listed_although_values_are_zero(test):
    frame = measured(a=lambda at: (1.2, 1.0), b=lambda at: (1.6, 0.6))
    # A zero is on the boundary of what is never negative.
    frame.loc[frame["replicate"] == 0, "test_error"] = 0.0
    (reason,) = reasons(frame, test, names=OVERFIT)
    assert reason.endswith("holds whatever is altered.")


@pytest.mark.parametrize(("margin", "listed"), [(0.2, False), (1000, True)])
def test_equality_is_listed_if_the_margin_exceeds_the_numbers(margin, listed):
    frame = measured(a=lambda at: (1.2, 1.0), b=lambda at: (1.2, 1.0))
    test = "mean(a, test_error) == mean(b, test_error)"
    assert bool(reasons(frame, test, names=OVERFIT, margin=margin)[0]) is listed


@pytest.mark.parametrize(
    ("test", "listed"),
    [
        ("slope(threshold(a), kappa) > -1000000", True),
        ("threshold(a) + 1000 > threshold(b)", True),
        ("threshold(a) < 10", True),
        ("threshold(a) < threshold(b)", False),
        ("threshold(a) < 1.3", False),
        ("slope(threshold(a), kappa) > 0", False),
    ],
)
def test_thresholds_that_do_not_exist_overturn_nothing(test, listed):
    sweep = {"kappa": [0.2, 0.5, 0.8], "theta": np.round(np.arange(0.4, 1.61, 0.1), 10).tolist()}
    rng = np.random.default_rng(5)

    def curve(start):
        def outcome(at):
            middle = start + 0.5 * at["kappa"]
            chance = 1 / (1 + np.exp((middle - at["theta"]) / 0.05))
            return (rng.random(60) < chance).astype(int).tolist()

        return outcome

    frame = table(sweep, {"a": curve(0.6), "b": curve(0.9)})
    assert bool(reasons(frame, test, names=setting(sweep=sweep))[0]) is listed


def test_a_success_needs_a_failure_somewhere():
    test, where = "proportion(a) >= 0.8", {"theta": 1.6}

    def frame(*, there, others):
        outcome = {1.6: wins(40, 40), **dict.fromkeys(POINTS[:3], wins(there, 40))}
        rivals = wins(others, 40)
        return table(
            {"theta": POINTS}, {"a": lambda at: outcome[at["theta"]], "b": lambda at: rivals}
        )

    assert reasons(frame(there=40, others=40), test, names=SWEPT, where=where) == [
        "It holds whatever is altered."
    ]
    # A single run without success, at any point.
    assert reasons(frame(there=39, others=40), test, names=SWEPT, where=where) == [""]
    # Fewer successes at other points, or of another algorithm.
    assert reasons(frame(there=0, others=40), test, names=SWEPT, where=where) == [""]
    assert reasons(frame(there=40, others=0), test, names=SWEPT, where=where) == [""]
    # A failure is no success, of the algorithm itself or of another one.
    lost = frame(there=40, others=40)
    lost.loc[0, ["support", "status"]] = [np.nan, "error"]
    assert (lost["theta"][0], lost["algorithm"][0]) == (POINTS[0], "a")
    assert reasons(lost, test, names=SWEPT, where=where) == [""]
    failing = frame(there=40, others=40)
    failed = failing["algorithm"] == "b"
    failing = failing.assign(
        support=failing["support"].where(~failed), status=np.where(failed, "error", "ok")
    )
    assert reasons(failing, test, names=SWEPT, where=where) == [""]


def bounded(gap, guarantee, *, replicates=70, algorithm="gd"):
    """Return rows of iterations; both arguments map replicate and iteration to a number."""
    return [
        row | {"guarantee": guarantee(i, row["iteration"]), "algorithm": algorithm}
        for i in range(replicates)
        for row in course([gap(i, k) for k in range(4)], i)
    ]


GD = words(algorithms=("gd",))
FALLING = "always(gap <= guarantee)"


def test_a_bound_of_what_is_never_positive_is_listed():
    def bound(i, k):
        return 0.5**k * (1 + i / 100)

    def holds(gap):
        return challenged(frame_of(bounded(gap, bound)), FALLING, names=GD)[0]

    zero = holds(lambda i, k: 0.0)
    assert zero.reason == "For gd, it holds whatever is altered."
    assert zero.tried == ["gap = 0", "guarantee = 0"]
    assert holds(lambda i, k: -0.1 - i / 100).reason
    # One positive row is enough: without the bound it is a violation.
    assert not holds(lambda i, k: 0.1 if (i, k) == (5, 3) else 0.0).reason


def test_a_lower_bound_of_zero_is_listed():
    def holds(bound):
        rows = bounded(lambda i, k: 1.0 + i / 100, bound)
        return reasons(frame_of(rows), "always(gap >= guarantee)", names=GD)[0]

    assert holds(lambda i, k: 0.0)
    assert not holds(lambda i, k: 0.5)


def test_sides_that_are_equal_in_every_row_are_listed():
    def equal(i, k):
        return 0.5**k * (1 + i / 100)

    (same,) = challenged(frame_of(bounded(equal, equal)), FALLING, names=GD)
    assert (bool(same.reason), same.tried) == (True, ["the two sides exchanged"])
    frame = frame_of(bounded(equal, lambda i, k: equal(i, k) + ((i, k) == (3, 2))))
    assert reasons(frame, FALLING, names=GD) == [""]


def test_arithmetic_on_the_settings_is_listed():
    test = "always(guarantee <= 0.6 ** iteration)"

    def frame(bound, gap=lambda i, k: i / 100):
        return frame_of(bounded(gap, bound))

    (fixed,) = challenged(frame(lambda i, k: 0.5**k), test, names=GD)
    assert (fixed.reason, fixed.tried) == (
        "For equal settings, guarantee is the same in all data sets and algorithms.",
        [],
    )
    assert reasons(frame(lambda i, k: 0.5**k * (1 - i / 1000)), test, names=GD) == [""]
    # If nothing differs between replicates, nothing says which columns are arithmetic.
    same = frame(lambda i, k: 0.5**k, gap=lambda i, k: 0.3**k)
    assert reasons(same, test, names=GD) == [""]
    (known,) = reasons(frame(lambda i, k: 0.5**k), "always(n_samples <= 60)", names=GD)
    assert known == "The settings determine both sides, whatever a run does."


def test_a_relation_is_a_statement_about_each_algorithm():
    def bound(i, k):
        return 0.5**k * (1 + i / 100)

    rows = bounded(lambda i, k: 0.3**k, bound, replicates=100)
    rows += bounded(lambda i, k: 0.0, bound, replicates=100, algorithm="cd")
    (reason,) = reasons(frame_of(rows), FALLING, names=words())
    assert reason == "For cd, it holds whatever is altered."


def test_a_claim_about_no_effect_can_fail_if_the_values_vary_elsewhere():
    test = "slope(mean(gd, gap), lam) == 0"
    names = words(sweep={"lam": [0.1, 0.2, 0.4]}, algorithms=("gd",))

    def frame(slower):
        rows = []
        for lam in (0.1, 0.2, 0.4):
            for i in range(40):
                values = [slower**k * (1 + 0.01 * ((i * 7) % 5)) for k in range(4)]
                rows += [row | {"lam": lam} for row in course(values, i)]
        return frame_of(rows)

    where = {"record": "iteration", "iteration": 3}
    assert reasons(frame(0.3), test, names=names, margin=0.2, where=where) == [""]
    (flat,) = reasons(frame(1.0), test, names=names, margin=0.2, where=where)
    assert flat == "It holds whatever is altered."


def test_runs_that_did_not_reach_an_accuracy_are_moved_as_well():
    """The slowest point is the one that no run left; elsewhere, all values are small."""
    names = words(sweep={"lam": [1, 2, 3, 4, 5, 6, 7, 8, 9]}, algorithms=("gd",))
    rows = []
    for lam in range(1, 10):
        counts = [None if lam == 5 else 10 - abs(lam - 5)] * 40
        rows += hits(counts, lam=lam)
    frame = frame_of(rows)
    for test in ("peak(gd, iterations, lam) > 4", "peak(gd, iterations, lam) < 6"):
        assert reasons(frame, test, names=names, where={"record": "epsilon"}) == [""]


def test_a_peak_is_moved_although_several_points_share_it():
    """Wherever three equal values are moved to, the middle of them is not at an end."""
    names = words(sweep={"lam": list(range(9))}, algorithms=("gd",))
    counts = [9, 10, 11, None, None, None, 12, 11, 10]
    frame = frame_of([row for lam in range(9) for row in hits([counts[lam]] * 40, lam=lam)])
    for test in ("peak(gd, iterations, lam) > 0", "peak(gd, iterations, lam) < 8"):
        assert reasons(frame, test, names=names, where={"record": "epsilon"}) == [""]


@pytest.mark.parametrize(("margin", "listed"), [(0.1, False), (0.2, True)])
def test_a_slope_is_compared_with_a_line_through_the_observed_range(margin, listed):
    frame = measured(a=lambda at: (1.2, 1.0), b=lambda at: (1.6, 0.6))
    # The numbers of a lie in an interval of length 0.2, and theta in one of length 1.2.
    frame.loc[0, "test_error"] = 1.35
    test = "slope(mean(a, test_error), theta) == 0"
    assert bool(reasons(frame, test, names=OVERFIT, margin=margin)[0]) is listed


def test_a_peak_at_the_end_of_a_sweep_overturns_although_it_refutes_nothing():
    names = words(sweep={"lam": list(range(9))}, algorithms=("gd",))
    rows = [row for lam in range(9) for row in hits([10 - abs(lam - 4)] * 40, lam=lam)]
    where = {"record": "epsilon"}
    for test in ("peak(gd, iterations, lam) > 0", "peak(gd, iterations, lam) < 8"):
        assert reasons(frame_of(rows), test, names=names, where=where) == [""]
    beyond = reasons(frame_of(rows), "peak(gd, iterations, lam) < 100", names=names, where=where)
    # No peak of the table could be there.
    assert beyond == ["It holds whatever is altered."]


def test_values_are_permuted_within_their_groups():
    rng = np.random.default_rng(1)
    group, along, by = rng.integers(0, 4, 50), rng.permutation(50), rng.permutation(50)
    sources = _sources(group, along, by)
    assert sorted(sources) == list(range(50))
    assert (group[sources] == group).all()
    for one in range(4):
        places = [place for place in np.argsort(along) if group[place] == one]
        assert [by[sources[place]] for place in places] == sorted(by[group == one])


def test_algorithms_are_exchanged_on_the_same_data():
    frame = errors().sample(frac=1, random_state=4).reset_index(drop=True)
    claim = compile_claim({"id": "one", "quote": "q", "test": "proportion(a) > 0"}, SWEPT, "1")
    challenger = _Challenger(claim, Table(frame.assign(**{"#row": range(len(frame))}), SWEPT))
    change = challenger._exchanged((("frobenius_error", "a"), ("frobenius_error", "b")))
    keys = ["theta", "replicate", "algorithm"]
    before = frame.set_index(keys)["frobenius_error"]
    after = frame.assign(frobenius_error=change.columns["frobenius_error"]).set_index(keys)
    for (theta, replicate, label), value in after["frobenius_error"].items():
        assert value == before[theta, replicate, {"a": "b", "b": "a"}[label]]


def test_all_columns_of_two_algorithms_are_exchanged_together():
    frame = measured(a=lambda at: (1.2, 1.0), b=lambda at: (1.6, 0.6))
    test = {"test": "mean(a, test_error) - mean(b, training_error) > 0"}
    claim = compile_claim({"id": "one", "quote": "q", **test}, OVERFIT, "1")
    challenger = _Challenger(claim, Table(frame.assign(**{"#row": range(len(frame))}), OVERFIT))
    names = ["test_error", "training_error"]
    change = challenger._exchanged(*(((name, "a"), (name, "b")) for name in names))
    renamed = frame.assign(algorithm=frame["algorithm"].map({"a": "b", "b": "a"}))
    keys = ["theta", "replicate", "algorithm"]
    after = frame.assign(**change.columns)[[*keys, *names]].set_index(keys).sort_index()
    pd.testing.assert_frame_equal(after, renamed[[*keys, *names]].set_index(keys).sort_index())


def test_two_columns_are_exchanged_in_each_row_of_each_algorithm():
    frame = measured(a=lambda at: (1.2, 1.0), b=lambda at: (1.6, 0.6))
    test = {"test": "always(training_error <= test_error)"}
    claim = compile_claim({"id": "one", "quote": "q", **test}, OVERFIT, "1")
    challenger = _Challenger(claim, Table(frame.assign(**{"#row": range(len(frame))}), OVERFIT))
    change = challenger._exchanged((("test_error", ""), ("training_error", "")))
    np.testing.assert_array_equal(change.columns["test_error"], frame["training_error"])
    np.testing.assert_array_equal(change.columns["training_error"], frame["test_error"])
