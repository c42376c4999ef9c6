"""Trials that results decide on: a prefix of a fixed run, the same every time, well placed."""

import hashlib
import json
import sqlite3
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from greedyexp import config as experiments
from greedyexp import runner
from greedyexp.core.errors import ConfigError
from greedyexp.experiment.model import Point
from greedyexp.experiment.settings import AdaptiveTrials
from greedyexp.runner.allocation import LocateRule, NarrowRule, series_of
from greedyexp.runner.plan import Batches
from greedyexp.runner.work import Item, Result
from greedyexp.stats.crossing import crossing
from greedyexp.stats.direction import trend
from greedyexp.stats.proportions import confidence_sequence
from greedyexp.stats.rising import rise_shown
from greedyexp.stats.sequential import anytime_confidence, located_crossing

# Success rises with n: the sign of a coefficient is found when the noise allows.
RISING = {"n": [2, 4, 6, 8, 12, 16, 24, 32], "noise": [4.0, 2.0]}
UNTIL = {"until": {"half_width": 0.2}, "min": 5, "max": 40}
LOCATE = {"locate": {"of": "n", "half_width": 3.0}, "min": 5, "max": 40}

SIGN = '''
import numpy as np
from greedyexp import Problem, algorithm, generator


@generator("TAG", provides=("truth",))
def data(rng, *, n: int = 4, noise: float = 1.0):
    X = np.ones((n, 1))
    y = 1.0 + noise * rng.standard_normal(n)
    return Problem((X,), (y,), np.ones((1, 1)), noise, 1)


@algorithm("TAG_mean")
def mean(problem, *, shift: float = 0.0):
    """Right when the mean exceeds the shift; fails on data of seven rows' remainder."""
    value = problem.y[0].mean() - shift
    if FAILS and value < 0.2:
        raise RuntimeError("too small")
    return np.full((1, 1), value)
'''


@pytest.fixture
def adaptive(tmp_path, request):
    """A laboratory whose success probability rises with n."""
    tag = f"ad{hashlib.sha256(request.node.name.encode()).hexdigest()[:8]}"

    def settings(trials, *, fails=False, sweep=RISING, **changes):
        plugin = tmp_path / "parts.py"
        plugin.write_text(SIGN.replace("TAG", tag).replace("FAILS", str(fails)))
        return {
            "name": "adaptive",
            "seed": 3,
            "plugins": [str(plugin)],
            "trials": trials,
            "data": {"generator": tag, "sweep": sweep},
            "algorithms": [f"{tag}_mean", {f"{tag}_mean": {"label": "shifted", "shift": 0.5}}],
            "metrics": ["sign_support", "frobenius_error"],
            **changes,
        }

    def run(trials, *, folder="results", only=(), how=None, **changes):
        experiment = experiments.load(settings(trials, **changes), only=only)
        options = {"engine": "serial", "progress": False, **(how or {})}
        return runner.run(
            experiment, tmp_path / folder / "adaptive" / "quick", runner.RunOptions(**options)
        )

    return SimpleNamespace(run=run, settings=settings, folder=tmp_path)


# Three points of the curve, where runs are compared with runs.
FEW = {"n": [4, 12, 32], "noise": [4.0, 2.0]}


def lines(report) -> list[str]:
    return report.csv.read_text().splitlines()


@pytest.mark.parametrize("rule", [UNTIL, LOCATE], ids=["until", "locate"])
def test_rows_are_a_prefix_of_those_of_a_fixed_run(adaptive, rule):
    sweep = FEW if rule is UNTIL else RISING
    few = pd.read_csv(adaptive.run(rule, sweep=sweep).csv)
    many = pd.read_csv(adaptive.run(40, folder="fixed", sweep=sweep).csv)
    keys = ["n", "noise", "algorithm"]
    assert len(few) < 0.9 * len(many)
    wide = dict(iter(many.groupby(keys)))
    for key, rows in few.groupby(keys):
        fixed = wide[key].head(len(rows))
        pd.testing.assert_frame_equal(rows.reset_index(drop=True), fixed.reset_index(drop=True))


@pytest.mark.parametrize(
    "rule", [UNTIL, pytest.param(LOCATE, marks=pytest.mark.deep)], ids=["until", "locate"]
)
def test_the_table_does_not_depend_on_engine_workers_or_other_rows(adaptive, rule):
    sweep = FEW if rule is UNTIL else RISING
    serial = lines(adaptive.run(rule, sweep=sweep))
    parallel = {"engine": "processes", "jobs": 2}
    assert lines(adaptive.run(rule, folder="parallel", how=parallel, sweep=sweep)) == serial
    # A fixed run in the same folder leaves rows in the journal that no decision may look at.
    adaptive.run(40, folder="shared", sweep=sweep)
    assert lines(adaptive.run(rule, folder="shared", sweep=sweep)) == serial


@pytest.mark.parametrize(
    "rule", [UNTIL, pytest.param(LOCATE, marks=pytest.mark.deep)], ids=["until", "locate"]
)
def test_an_interrupted_run_goes_on_to_the_same_table(adaptive, rule, monkeypatch):
    sweep = FEW if rule is UNTIL else RISING
    whole = adaptive.run(rule, sweep=sweep)
    from greedyexp.runner import session

    class Halting(session.Interruption):
        """Asked to stop after some looks."""

        looks = 0

        @property
        def soon(self):
            Halting.looks += 1
            return Halting.looks > 30

    with monkeypatch.context() as patch:
        patch.setattr(session, "Interruption", Halting)
        part = adaptive.run(rule, folder="parts", sweep=sweep)
    assert part.interrupted
    assert 0 < part.done < whole.done
    assert runner.status(part.csv.parent).missing > 0
    after = adaptive.run(rule, folder="parts", sweep=sweep)
    assert lines(after) == lines(whole)
    assert 0 < after.computed == whole.done - part.done
    assert runner.status(after.csv.parent).missing == 0
    assert adaptive.run(rule, folder="parts", sweep=sweep).computed == 0


def test_force_computes_every_row_once_more_and_gives_the_same(adaptive):
    first = adaptive.run(LOCATE, sweep=FEW)
    again = adaptive.run(LOCATE, how={"force": True}, sweep=FEW)
    assert again.computed == first.done
    assert lines(again) == lines(first)


def test_a_narrowed_run_leaves_the_decisions_of_the_others_alone(adaptive):
    whole = adaptive.run(LOCATE, sweep=FEW)
    one = ["noise=2", "algorithm=shifted"]
    part = adaptive.run(LOCATE, folder="parts", only=one, sweep=FEW)
    assert 0 < part.done < whole.done
    assert set(lines(part)) < set(lines(whole))
    assert lines(adaptive.run(LOCATE, folder="parts", sweep=FEW)) == lines(whole)


def test_part_of_the_axis_of_a_crossing_cannot_be_run_alone(adaptive):
    with pytest.raises(ConfigError, match=r"--only n=4: .* needs all of its values"):
        adaptive.run(LOCATE, only=["n=4"])
    assert adaptive.run(UNTIL, only=["n=4"]).done > 0


def test_every_point_ends_narrow_or_at_the_most_trials(adaptive):
    frame = pd.read_csv(adaptive.run(UNTIL).csv)
    counts = frame.groupby(["n", "noise", "algorithm"])["sign_support"].agg(["sum", "count"])
    low, high = confidence_sequence(counts["sum"], counts["count"])
    narrow = (high - low) / 2 <= 0.2
    assert (narrow | (counts["count"] == 40)).all()
    assert narrow.any()
    assert not narrow.all()
    # Not one batch more than needed: without the last batch the interval was wider.
    for _, rows in frame.groupby(["n", "noise", "algorithm"]):
        if len(rows) > 5:
            before = next(k for k in range(len(rows), 0, -1) if k + max(5, k // 4) <= len(rows))
            early = rows["sign_support"].head(before)
            low, high = confidence_sequence(early.sum(), before)
            assert (high - low) / 2 > 0.2


def test_replicates_gather_around_the_crossing(adaptive):
    frame = pd.read_csv(adaptive.run(LOCATE).csv)
    for _, rows in frame[frame["algorithm"] == "shifted"].groupby("noise"):
        counts = rows.groupby("n")["sign_support"].agg(["sum", "count"])
        found = crossing(counts.index, counts["sum"], counts["count"])
        heaviest = counts["count"].idxmax()
        values = np.array(RISING["n"])
        steps = abs(np.searchsorted(values, heaviest) - np.searchsorted(values, found.estimate))
        assert steps <= 1


def test_failed_replicates_are_trials_without_success(adaptive):
    report = adaptive.run(UNTIL, fails=True)
    frame = pd.read_csv(report.csv)
    counts = frame.groupby(["n", "noise", "algorithm"])["sign_support"].agg(["sum", "size"])
    assert report.failed > 0
    low, high = confidence_sequence(counts["sum"], counts["size"])
    assert (((high - low) / 2 <= 0.2) | (counts["size"] == 40)).all()


def test_retried_failures_are_looked_at_before_anything_is_decided(adaptive):
    first = adaptive.run(UNTIL, fails=True)
    again = adaptive.run(UNTIL, fails=True, how={"retry_failed": True})
    assert again.computed >= first.failed
    assert lines(again) == lines(first)


def test_rounds_that_an_earlier_run_has_finished_do_not_end_the_run(adaptive):
    whole = adaptive.run(UNTIL)
    with sqlite3.connect(whole.csv.parent / "journal.sqlite") as db:
        db.execute("DELETE FROM outcomes WHERE key IN (SELECT key FROM outcomes LIMIT 40)")
    db.close()
    after = adaptive.run(UNTIL)
    assert after.computed == 40
    assert lines(after) == lines(whole)


def test_the_manifest_and_the_resolved_config_hold_the_rule(adaptive):
    folder = adaptive.run(LOCATE).csv.parent
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["trials"]["locate"]["half_width"] == 3.0
    assert manifest["replicates"]["missing"] == 0
    loaded = experiments.load(str(folder / "config.yaml"))
    assert loaded.adaptive == experiments.load(adaptive.settings(LOCATE)).adaptive


def test_a_number_of_trials_replaces_the_rule(adaptive):
    experiment = experiments.load(adaptive.settings(LOCATE), trials=4)
    assert (experiment.trials, experiment.adaptive) == (4, None)
    changed = adaptive.settings(
        LOCATE, profiles={"smoke": {"trials": 3}, "paper": {"trials": UNTIL}}
    )
    assert experiments.load(changed, profile="smoke").adaptive is None
    # A rule replaces another as a whole and is not mixed with it.
    assert experiments.load(changed, profile="paper").adaptive.locate is None


@pytest.mark.parametrize(
    ("trials", "words"),
    [
        ({}, "need either 'until' or 'locate'"),
        ({**UNTIL, **LOCATE}, "need either 'until' or 'locate'"),
        ({**UNTIL, "min": 50}, "min = 50 is more than max = 40"),
        ({**UNTIL, "until": {"half_width": 0.5}}, "half_width must be less than 0.5"),
        ({**UNTIL, "until": {"half_width": 0.1, "of": "n"}}, "unknown key 'of'"),
        ({**LOCATE, "locate": {"of": "m", "half_width": 1}}, "'m' is not swept"),
        ({**LOCATE, "success": {"default": "frobenius_error"}}, "'frobenius_error' is not among"),
        ({**UNTIL, "max": 0}, "max must be at least 1"),
        (
            {**UNTIL, "success": {"shiftd": "sign_support"}},
            "the experiment has no such algorithm. Did you",
        ),
    ],
)
def test_impossible_rules_are_refused_when_loaded(adaptive, trials, words):
    with pytest.raises(ConfigError) as refused:
        experiments.load(adaptive.settings(trials))
    assert words in str(refused.value)


def test_nothing_is_located_along_what_is_no_number_or_goes_with_others(adaptive):
    settings = adaptive.settings(LOCATE)
    data = {"generator": "multitask_overlap", "sweep": {"values": ["sign", "gaussian"]}}
    along = {**LOCATE, "locate": {"of": "values", "half_width": 1}}
    with pytest.raises(ConfigError, match="values is not always a finite number") as refused:
        experiments.load({**settings, "data": data, "trials": along})
    assert refused.value.place == "trials.locate.of"
    data = {**settings["data"], "sweep": {"zip": RISING | {"noise": [4.0] * 4 + [2.0] * 4}}}
    with pytest.raises(ConfigError, match="n is zipped with others") as refused:
        experiments.load({**settings, "data": data})
    assert refused.value.place == "trials.locate.of"


def test_a_rule_may_name_an_algorithm_that_the_command_line_takes_out(adaptive):
    rule = {**UNTIL, "success": {"shifted": "sign_support"}}
    settings = adaptive.settings(rule)
    assert experiments.load(settings).adaptive.success["shifted"] == "sign_support"
    one = [f"algorithms=[{settings['algorithms'][0]}]"]
    narrowed = experiments.load(settings, overrides=one)
    assert narrowed.adaptive.success == {"default": "sign_support"}
    assert experiments.load(narrowed.resolved).adaptive == narrowed.adaptive


def test_one_key_of_a_rule_is_set_alone(adaptive):
    settings = adaptive.settings(UNTIL)
    keys = ["trials.max=30", "trials.until.half_width=0.1", "trials.success.shifted=sign_support"]
    rule = experiments.load(settings, overrides=keys).adaptive
    assert (rule.min, rule.max, rule.until.half_width) == (5, 30, 0.1)
    assert rule.success["shifted"] == "sign_support"
    with pytest.raises(ConfigError, match=r"no setting 'trials.maxi'. Did you mean 'trials.max'"):
        experiments.load(settings, overrides=["trials.maxi=30"])
    with pytest.raises(ConfigError, match=r".trials. is a fixed number here.*--set 'trials=\{"):
        experiments.load(adaptive.settings(3), overrides=["trials.max=30"])


def test_the_metric_of_each_algorithm_is_its_own():
    rule = AdaptiveTrials.model_validate({**LOCATE, "success": {"b": "two", "default": "one"}})
    specs = [SimpleNamespace(label=label, name=label) for label in "ab"]
    points = [Point("g", {"n": n, "noise": noise}) for noise in (1.0, 2.0) for n in (1, 2, 3)]
    experiment = SimpleNamespace(adaptive=rule, algorithms=specs, points=points)
    found = {(tuple(one.points), one.algorithm): one.metric for one in series_of(experiment)}
    assert found == {
        ((0, 1, 2), 0): "one",
        ((0, 1, 2), 1): "two",
        ((3, 4, 5), 0): "one",
        ((3, 4, 5), 1): "two",
    }


def test_batches_ask_for_more_only_when_every_result_is_there():
    later = [[Item(0, "", {}, k, (0, 1))] for k in (1, 2)]
    asked = []

    def more():
        asked.append(len(asked))
        return later.pop(0) if later else []

    batches = Batches([Item(0, "", {}, 0, (0, 1))], more)
    for replicate in range(3):
        (item,) = batches.next(0.3, 500)
        assert item.replicate == replicate
        assert batches.next(0.3, 500) == []
        batches.learn(Result(0, replicate, 0, None))
        assert batches.next(0.3, 500) == []
        assert len(asked) == replicate
        batches.learn(Result(0, replicate, 1, None))
    assert batches.next(0.3, 500) == []


def located(rule, probability, rng, decisions=None):
    """Play a rule against Bernoulli outcomes; counts when it wants no more.

    Runs of one rule that share ``decisions`` make equal decisions once: many begin alike.
    """
    decisions = {} if decisions is None else decisions
    trials = rule.first(len(rule.values))
    successes = rng.binomial(trials, probability)
    while True:
        state = (trials.tobytes(), successes.tobytes())
        if state not in decisions:
            decisions[state] = rule.grown(trials, successes)
        wanted = decisions[state]
        if (wanted == trials).all():
            return trials, successes
        successes = successes + rng.binomial(wanted - trials, probability)
        trials = wanted


THETA = np.round(np.arange(0.4, 2.4001, 0.02), 2)
CURVES = {
    "logistic": lambda x: expit(20 * (x - 0.8123)),
    "steep": lambda x: expit(60 * (x - 0.8123)),
    "skew": lambda x: 1 - np.exp(-np.log(2) * np.exp(14 * (x - 0.8123))),
}


def covered(name: str, runs: int) -> float:
    """Share of runs whose interval holds the crossing."""
    rng = np.random.default_rng(5)
    rule = LocateRule(10, 400, THETA, 0.5, 0.02)
    hits, decisions = 0, {}
    for _ in range(runs):
        trials, successes = located(rule, CURVES[name](THETA), rng, decisions)
        fit = crossing(THETA, successes, trials, confidence=anytime_confidence(0.95), whole=True)
        assert (fit.high - fit.low) / 2 <= 0.02
        hits += fit.low <= 0.8123 <= fit.high
    return hits / runs


@pytest.mark.deep
@pytest.mark.parametrize("name", CURVES)
def test_the_interval_of_a_located_crossing_covers_in_2000_runs(name):
    assert 0.93 <= covered(name, 2000) <= 0.99


@pytest.mark.parametrize(("ceiling", "shown"), [(1.0, True), (0.65, False)])
def test_a_located_curve_is_shown_to_rise_if_it_does(ceiling, shown):
    rule = LocateRule(10, 400, THETA, 0.5, 0.02)
    probability = ceiling * expit(20 * (THETA - 0.8))
    trials, successes = located(rule, probability, np.random.default_rng(2))
    assert rise_shown(THETA, successes, trials, sequential=True) == (True, shown)
    fit = located_crossing(THETA, successes, trials, "rising", sequential=True)
    assert (fit.step is None) == shown


@pytest.mark.parametrize(
    ("probability", "place"), [(np.zeros(40), "high"), (np.ones(40), "low"), (np.full(40, 0.5), "")]
)
def test_a_search_without_a_crossing_ends(probability, place):
    rule = LocateRule(10, 30, np.arange(40.0), 0.5, 0.5)
    trials, successes = located(rule, probability, np.random.default_rng(1))
    assert trials.sum() <= 40 * 30
    if place:
        fit = crossing(rule.values, successes, trials)
        assert np.isinf(getattr(fit, place))
        assert trials.sum() <= 200


def test_a_crossing_between_coarse_points_ends_without_its_width():
    rule = LocateRule(10, 30, np.arange(8.0), 0.5, 0.01)
    trials, _ = located(rule, (rule.values > 3.5).astype(float), np.random.default_rng(1))
    assert trials[3] == trials[4] == 30
    assert trials.sum() <= 120


def test_narrowing_stops_early_where_success_is_certain():
    rule = NarrowRule(20, 400, 0.05)
    certain = rule.grown(np.array([200]), np.array([200]))
    open_point = rule.grown(np.array([200]), np.array([100]))
    assert certain == [200]
    assert open_point == [250]


def test_a_mixed_edge_of_what_was_seen_is_looked_beyond():
    rule = LocateRule(10, 400, np.arange(9.0), 0.5, 0.1)
    trials = np.array([10, 0, 0, 0, 10, 0, 0, 0, 0])
    assert rule.choose(trials, np.array([0, 0, 0, 0, 3, 0, 0, 0, 0])) != []
    grown = trials.copy()
    wins = np.array([0, 0, 0, 0, 6, 0, 0, 0, 0])
    for _ in range(3):
        chosen = rule.choose(grown, wins)
        grown[chosen] += 10
    assert grown[5] > 0


@pytest.mark.parametrize("flipped", [False, True])
def test_a_crossing_beyond_the_tested_points_is_bracketed(flipped):
    """The interval is narrow enough, but the crossing, 47.95, would be extrapolated."""
    values = np.array([44.0, 48, 52, 56, 60, 64, 68])
    trials = np.array([0, 27, 37, 10, 10, 15, 12])
    wins = np.array([0, 15, 23, 9, 9, 14, 12])
    untested = 0
    if flipped:
        values, trials, wins = -values[::-1], trials[::-1], (trials - wins)[::-1]
        untested = 6
    assert LocateRule(10, 400, values, 0.5, 7.0).choose(trials, wins) == [untested]
    trials, wins = trials.copy(), wins.copy()
    # Enough trials at both ends to show that the curve rises.
    trials[[0, -1]] = 40
    wins[[0, -1]] = 0, 40
    assert LocateRule(10, 400, values, 0.5, 7.0).choose(trials, wins) == []


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("count", [40, 41])
def test_trials_of_a_falling_curve_are_the_mirror_image_of_those_of_a_rising_one(seed, count):
    values = np.linspace(0.4, 2.4, count)
    outcomes = np.random.default_rng(seed).random((400, count)) < expit(20 * (values - 0.8123))

    def played(rule, outcomes):
        trials = rule.first(count)
        while True:
            made = np.arange(400)[:, None] < trials
            wanted = rule.grown(trials, (outcomes & made).sum(axis=0))
            if np.array_equal(wanted, trials):
                return trials
            trials = wanted

    rising = LocateRule(10, 400, values, 0.5, 0.03, "rising")
    falling = replace(rising, values=-values[::-1], direction="falling")
    assert np.array_equal(played(falling, outcomes[:, ::-1]), played(rising, outcomes)[::-1])


@pytest.mark.parametrize("centre", [0.45, 0.8123, 1.4, 1.9, 2.35])
@pytest.mark.parametrize("batch", [3, 10])
def test_a_falling_curve_is_located_without_being_told_that_it_falls(centre, batch):
    rule = LocateRule(batch, 200, THETA, 0.5, 0.03)
    probability = expit(-20 * (THETA - centre))
    trials, successes = located(rule, probability, np.random.default_rng(3))
    assert trend(THETA, successes, trials) == "falling"
    fit = located_crossing(THETA, successes, trials, "falling", sequential=True)
    assert fit.low <= centre <= fit.high
    # Without the direction, trials were spent on half of the values.
    assert fit.high - fit.low <= 0.3
    informed = replace(rule, direction="falling")
    fewest, _ = located(informed, probability, np.random.default_rng(3))
    assert trials.sum() <= 2 * fewest.sum()


def test_the_rule_of_an_experiment_has_its_direction(adaptive):
    told = {**LOCATE, "locate": {**LOCATE["locate"], "direction": "falling"}}
    rules = {one.rule.direction for one in series_of(experiments.load(adaptive.settings(told)))}
    assert rules == {"falling"}
    wrong = {**LOCATE, "locate": {**LOCATE["locate"], "direction": "down"}}
    with pytest.raises(ConfigError, match="direction"):
        experiments.load(adaptive.settings(wrong))
