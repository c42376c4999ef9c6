"""Runs until their claims are decided: a prefix of a fixed run, with verdicts from the table."""

import json

import numpy as np
import pandas as pd
import pytest
import yaml
from runner_lab import Laboratory
from scipy.stats import binomtest

import greedyexp
from greedyexp import config as experiments
from greedyexp import report, runner
from greedyexp.core.errors import ConfigError
from greedyexp.report.site.run_page import run_page
from greedyexp.runner import session, work
from greedyexp.runner.run_contents import read_run

MOST = 48


@pytest.fixture
def lab(tmp_path):
    return Laboratory(tmp_path)


def claims(lab) -> list[dict]:
    """Claims that are decided at different looks, for different arms."""
    ridge, median = f"{lab.tag}_ridge", f"{lab.tag}_median"
    tests = {
        "easy": f"mean({ridge}, frobenius_error) < mean({median}, frobenius_error)",
        "near": f"proportion({ridge}, sign_support) > 0.2",
        "tie": f"proportion({median}, sign_support) > 0",
    }
    where = {"near": {"n": 8}, "tie": {"n": 8}}
    return [
        {"id": name, "quote": "It is so.", "test": test, "where": where.get(name, {})}
        for name, test in tests.items()
    ]


def run(lab, *, folder="until", how=None, most=MOST, **changes):
    settings = lab.settings(**{"claims": claims(lab), **changes})
    experiment = experiments.load(settings, until_decided=True, max_trials=most)
    options = runner.RunOptions(**{"engine": "serial", "progress": False, **(how or {})})
    return runner.run(experiment, lab.folder / folder / "lab" / "quick", options)


def text(done) -> str:
    return done.csv.read_text()


def verdicts(done) -> dict:
    """The contents of ``claims.json``, from the table and the configuration alone."""
    return report.verify(done.csv.parent, write=False).contents


def trials(done) -> dict:
    frame = pd.read_csv(done.csv)
    labels = frame["algorithm"].str.rpartition("_")[2]
    return frame.groupby([labels, "n"]).size().to_dict()


def test_trials_go_where_claims_are_open(lab):
    done = run(lab)
    found = verdicts(done)
    state = {
        one["id"]: [(t["verdict"], t.get("look")) for t in one["tests"]] for one in found["claims"]
    }
    assert [verdict for verdict, _ in state["easy"]] == ["supported"] * 2
    counts = trials(done)
    # All counts are those of looks. A claim about one point needs no more of the other.
    assert set(counts.values()) <= {6 * 2**k for k in range(5)}
    assert counts["ridge", 8] >= 6 * 2 ** (max(look for _, look in state["near"]) - 1)
    assert counts["ridge", 8] > counts["ridge", 12]
    # Algorithms can be compared at each point.
    assert all(counts["ridge", n] == counts["median", n] for n in (8, 12))
    assert found["looks"]["trials"] == [6 * 2**k for k in range(found["looks"]["taken"])]
    assert sum(found["looks"]["alpha"]) < 0.05


def test_rows_are_the_first_rows_of_a_fixed_run(lab):
    few = pd.read_csv(run(lab).csv)
    many = pd.read_csv(lab.run(trials=MOST).csv)
    assert len(few) < len(many)
    wide = dict(iter(many.groupby(["n", "algorithm"])))
    for key, rows in few.groupby(["n", "algorithm"]):
        fixed = wide[key].head(len(rows))
        pd.testing.assert_frame_equal(rows.reset_index(drop=True), fixed.reset_index(drop=True))


def test_verdicts_come_from_the_table_alone(lab):
    done = run(lab)
    before = verdicts(done)
    (done.csv.parent / "journal.sqlite").unlink()
    assert verdicts(done) == before
    # More rows than the looks asked for change no decision.
    fixed = lab.run(trials=MOST, folder=lab.folder / "fixed")
    done.csv.write_text(fixed.csv.read_text())
    (done.csv.parent / "manifest.json").unlink()
    after = verdicts(done)
    for old, new in zip(before["claims"], after["claims"], strict=True):
        for one, other in zip(old["tests"], new["tests"], strict=True):
            if one["verdict"] != "inconclusive":
                assert other == one


@pytest.mark.parametrize(
    "how",
    [
        {"engine": "processes", "jobs": 2},
        pytest.param({"engine": "dask", "jobs": 2}, marks=pytest.mark.deep),
    ],
    ids=["processes", "dask"],
)
def test_the_outcome_does_not_depend_on_engine_or_other_rows(lab, how):
    if how["engine"] == "dask":
        pytest.importorskip("distributed")
    serial = run(lab)
    other = run(lab, folder="other", how=how)
    assert (text(other), verdicts(other)) == (text(serial), verdicts(serial))
    # The journal has rows of later looks, which nobody may look at before.
    lab.run(trials=MOST, folder=lab.folder / "shared" / "lab" / "quick")
    shared = run(lab, folder="shared")
    assert (text(shared), shared.computed) == (text(serial), 0)


def test_an_interrupted_run_goes_on_to_the_same_verdicts(lab, monkeypatch):
    whole = run(lab)

    class Halting(session.Interruption):
        """Asked to stop after some checks."""

        checks = 0

        @property
        def soon(self):
            Halting.checks += 1
            return Halting.checks > 70

    with monkeypatch.context() as patch:
        patch.setattr(session, "Interruption", Halting)
        part = run(lab, folder="parts")
    assert part.interrupted
    assert 0 < part.done < part.total <= whole.total
    assert runner.status(part.csv.parent).missing == part.total - part.done
    after = run(lab, folder="parts")
    assert (text(after), verdicts(after)) == (text(whole), verdicts(whole))
    assert after.computed == whole.done - part.done
    assert runner.status(after.csv.parent).missing == 0
    assert run(lab, folder="parts").computed == 0


def test_the_time_ends_a_run_without_loss(lab, monkeypatch):
    whole = run(lab)
    clock = iter(range(100_000))
    with monkeypatch.context() as patch:
        patch.setattr(session.time, "monotonic", lambda: float(next(clock)))
        part = run(lab, folder="parts", how={"max_time": 60.0})
    assert part.late
    assert not part.interrupted
    assert 0 < part.done < whole.done
    # Decisions stay as they are.
    for early, late in zip(verdicts(part)["claims"], verdicts(whole)["claims"], strict=True):
        for one, other in zip(early["tests"], late["tests"], strict=True):
            assert one["verdict"] == "inconclusive" or one == other
    after = run(lab, folder="parts", how={"max_time": 3600.0})
    assert not after.late
    assert (text(after), verdicts(after)) == (text(whole), verdicts(whole))


def test_a_raised_limit_continues_the_looks(lab):
    first = run(lab, most=12)
    taken = verdicts(first)["looks"]["taken"]
    assert taken == 2
    assert max(trials(first).values()) == 12
    more = run(lab)
    assert text(more) == text(run(lab, folder="other"))
    assert more.replaced == ()


@pytest.mark.parametrize("most", [6, 13, 25])
def test_no_point_gets_more_trials_than_the_limit(lab, most):
    assert max(trials(run(lab, most=most)).values()) <= most


def test_intervals_are_those_of_a_fixed_number_of_trials(lab):
    done = run(lab)
    found = next(one for one in verdicts(done)["claims"] if one["id"] == "near")["tests"][0]
    frame = pd.read_csv(done.csv)
    rows = frame[(frame["n"] == 8) & frame["algorithm"].str.endswith("ridge")]
    wins = rows["sign_support"].head(found["trials"]).sum()
    ends = binomtest(int(wins), found["trials"]).proportion_ci(found["confidence"])
    assert [found["low"], found["high"]] == pytest.approx(list(ends), abs=1e-7)


def test_figures_know_the_looks(lab):
    context = read_run(run(lab).csv.parent).context
    assert (context.adaptive, context.placed, context.looks) == (True, False, 4)
    assert context.confidence == 0.9875
    fixed = read_run(lab.run().csv.parent).context
    assert (fixed.adaptive, fixed.looks, fixed.confidence) == (False, 0, 0.95)


def test_the_page_of_a_run_says_how_verdicts_came_about(lab):
    content = run_page(run(lab).csv.parent).content
    assert "The claims were judged 4 times, at 6, 12, 24 and 48 trials" in content["looks"]
    assert content["command"].endswith("config.yaml")
    rows = {one["id"]: [row["look"] for row in one["rows"]] for one in content["claims"]}
    # The look of a decision; the tie has none.
    assert all(rows["easy"])
    assert rows["tie"] == [None]
    assert run_page(lab.run(claims=claims(lab)).csv.parent).content["looks"] == ""


def test_a_fixed_run_is_continued_and_nothing_is_replaced(lab):
    fixed = lab.run(folder=lab.folder / "until" / "lab" / "quick")
    more = run(lab)
    assert more.computed == more.done - fixed.done
    assert more.replaced == ()


def test_failed_replicates_are_computed_before_the_next_look(lab):
    changes = {"algorithms": [f"{lab.tag}_ridge", f"{lab.tag}_median", lab.trouble("raise")]}
    first = run(lab, **changes)
    assert first.failed
    again = run(lab, how={"retry_failed": True}, **changes)
    assert again.computed >= first.failed
    assert text(again) == text(first)
    forced = run(lab, how={"force": True}, **changes)
    assert (forced.computed, text(forced)) == (first.done, text(first))


FLAKY = '''

@algorithm("TAG_flaky")
def flaky(problem):
    """Fails on every other data set while a file exists."""
    if problem.facts["draw"] < 0.5 and os.path.exists("LOG"):
        raise RuntimeError("broken")
    return ridge(problem)
'''


def test_retried_failures_leave_no_trace_in_decisions(lab):
    lab.plugin.write_text(
        lab.plugin.read_text()
        + FLAKY.replace("TAG", lab.tag).replace("LOG", str(lab.folder / "broken"))
    )
    flaky, median = f"{lab.tag}_flaky", f"{lab.tag}_median"
    test = f"mean({flaky}, frobenius_error) < mean({median}, frobenius_error) - 0.35"
    changes = {
        "algorithms": [flaky, median],
        "claims": [{"id": "better", "quote": "It is better.", "test": test}],
    }
    whole = run(lab, folder="whole", **changes)
    assert max(trials(whole).values()) > 6
    (lab.folder / "broken").touch()
    broken = run(lab, **changes)
    assert broken.failed
    (lab.folder / "broken").unlink()
    again = run(lab, how={"retry_failed": True}, **changes)
    assert (again.failed, text(again)) == (0, text(whole))


def test_claims_about_seconds_are_judged_as_in_the_table(lab):
    ridge, median = f"{lab.tag}_ridge", f"{lab.tag}_median"
    entry = {
        "id": "slow",
        "quote": "It is slow.",
        "test": f"mean({ridge}, fit_seconds) > mean({median}, fit_seconds)",
    }
    done = run(lab, algorithms=[{ridge: {"pause": 0.005}}, median], claims=[entry])
    assert [one["verdict"] for one in verdicts(done)["claims"]] == ["supported"]
    assert max(trials(done).values()) < MOST


def test_python_runs_until_decided_as_the_command_does(lab):
    frame = greedyexp.run(
        lab.settings(claims=claims(lab)),
        out=lab.folder / "results",
        engine="serial",
        until_decided=True,
        max_trials=24,
        max_time="1h",
        progress=False,
    )
    rule = yaml.safe_load((lab.results / "config.yaml").read_text())["trials"]
    assert (rule["until"], rule["min"], rule["max"]) == ("decided", 6, 24)
    assert json.loads((lab.results / "manifest.json").read_text())["trials"] == rule
    same = run(lab, most=24)
    assert (lab.results / "lab.csv").read_text() == text(same)
    assert len(frame) == same.done


def test_the_rule_may_be_in_the_file(lab):
    rule = {"until": "decided", "min": 6, "max": MOST}
    in_file = lab.run(claims=claims(lab), trials=rule)
    assert text(in_file) == text(run(lab))


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({}, {"only": ["n=8"]}, "--only n=8: trials until the claims are decided need all points"),
        ({"claims": []}, {}, "--until-decided: the experiment has no claims"),
        ({}, {"max_trials": 5}, "--max-trials 5: the first look needs 6 trials"),
        ({}, {"max_trials": 2.5}, "--max-trials: it must be a whole number, but is 2.5"),
        ({}, {"until_decided": False, "max_trials": 50}, "--max-trials: it needs --until-decided"),
        ({"trials": {"until": {"half_width": 0.2}}}, {}, "already follow a rule"),
        ({"trials": {"until": "done"}}, {"until_decided": False}, "until"),
        (
            {"trials": {"until": "decided"}, "claims": []},
            {"until_decided": False},
            "trials: the experiment has no claims",
        ),
        (
            {"trials": {"until": "decided", "min": 9, "max": 8}},
            {"until_decided": False},
            "min = 9 is more than max = 8",
        ),
        (
            {"trials": {"until": "decided", "success": {"default": "sign_support"}}},
            {"until_decided": False},
            "success",
        ),
    ],
)
def test_impossible_requests_are_refused(lab, changes, options, message):
    settings = lab.settings(**{"claims": claims(lab), **changes})
    with pytest.raises(ConfigError) as caught:
        experiments.load(settings, **{"until_decided": True, **options})
    assert message in str(caught.value)


def test_shards_and_time_limits_of_other_runs_are_refused(lab):
    with pytest.raises(ConfigError, match="shard 1/2: adaptive trials depend"):
        run(lab, how={"shard": runner.Shard.parse("1/2")})
    with pytest.raises(ConfigError, match="until the claims are decided"):
        lab.run(how={"max_time": 5.0})


@pytest.mark.parametrize(
    ("given", "seconds"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("0.5h", 1800)]
)
def test_durations(given, seconds):
    assert work.seconds_of(given) == seconds


@pytest.mark.parametrize(
    "given", ["0", "0s", "-1m", "h", "", "infh", "nanh", "2d", "2 hours", 7200]
)
def test_other_durations_are_refused(given):
    with pytest.raises(ConfigError, match="is not a duration"):
        work.seconds_of(given)


@pytest.mark.parametrize("until_decided", [True, False])
@pytest.mark.parametrize(
    ("data", "algorithm", "refusal"),
    [
        ({}, {"lasso": {"tuning": "end"}}, "the same rows in every replicate"),
        # Folds of cross-validation differ, but the rows do not.
        ({}, {"lasso": {"tuning": "cv"}}, "the same rows in every replicate"),
        ({"test_fraction": 0.3}, {"lasso": {"tuning": "end"}}, None),
        ({"resample": "halves"}, {"lasso": {"tuning": "end"}}, None),
        ({"resample": "bootstrap"}, {"lasso": {"tuning": "end"}}, None),
    ],
)
def test_replicates_with_the_same_rows_are_refused(
    tmp_path, data, algorithm, refusal, until_decided
):
    columns = np.random.default_rng(0).standard_normal((30, 3))
    pd.DataFrame(columns, columns=["a", "b", "y"]).to_csv(tmp_path / "d.csv", index=False)
    settings = {
        "name": "own",
        "trials": 2,
        "data": {"generator": "file", "path": str(tmp_path / "d.csv"), **data},
        "algorithms": [algorithm],
        "metrics": ["row_support_size"],
        "claims": [{"id": "c", "quote": "q", "test": "mean(lasso, row_support_size) > 1"}],
    }
    if refusal:
        with pytest.raises(ConfigError, match=refusal) as refused:
            experiments.load(settings, until_decided=until_decided)
        assert "trials: 1, or draw rows with test_fraction or resample" in refused.value.remedy
        assert experiments.load(settings | {"trials": 1}).trials == 1
        return
    experiment = experiments.load(settings, until_decided=until_decided)
    options = runner.RunOptions(engine="serial", progress=False)
    # More splits of one table decide nothing, so a run until decided stops at the first look.
    assert runner.run(experiment, tmp_path / "results", options).done == 2
