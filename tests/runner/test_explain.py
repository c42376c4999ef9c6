"""``explain`` counts what a run then computes, and says why."""

from __future__ import annotations

import json
import sqlite3

import pytest
from cli_process import write_toy
from runner_lab import Laboratory

from greedyexp import runner
from greedyexp.core.errors import StorageError
from greedyexp.report.replay import replay
from greedyexp.runner import fingerprint
from greedyexp.runner import manifest as manifests
from greedyexp.runner.explanation import Group
from greedyexp.runner.plan import Plan
from greedyexp.runner.shards import Shard

# 2 points, 6 trials, 2 algorithms.
ALL = 24

READING = '''

@generator(
    "TAG_reading", provides=("truth",), reads=lambda path, n: [path], left_out=lambda path, n: None
)
def reading(rng, *, path: str, n: int = 12):
    """Rows around the number in a file."""
    X = rng.standard_normal((n, 2))
    return Problem((X,), (X[:, 0] + float(open(path).read()),), np.ones((2, 1)), 1.0, 1)
'''


@pytest.fixture
def lab(tmp_path):
    return Laboratory(tmp_path)


def explained(lab, *, only=(), how=None, **changes) -> dict[str, int]:
    """Explain a run, hold the number against what the run then computes, and return the reasons."""
    how = {"engine": "serial", "progress": False, **(how or {})}
    folder = lab.results
    if how.get("shard"):
        folder = lab.results.with_name(f"quick{how['shard'].suffix}")
    experiment = lab.experiment(only=only, **changes)
    found = runner.explain(experiment, folder, runner.RunOptions(**how))
    done = lab.run(only=only, how=how, folder=folder, **changes)
    assert done.computed == found.missing
    return {"; ".join(group.reasons): group.replicates for group in found.groups}


def edit(lab, old: str, new: str) -> None:
    text = lab.plugin.read_text()
    assert old in text
    lab.plugin.write_text(text.replace(old, new))


def test_a_first_run_computes_everything_and_a_second_nothing(lab):
    assert explained(lab) == {"nothing is computed yet": ALL}
    assert explained(lab) == {}


def test_new_trials_points_and_algorithms(lab):
    ridge = f"{lab.tag}_ridge"
    lab.run(trials=2, algorithms=[ridge])
    assert explained(lab, algorithms=[ridge]) == {"new trial": 8}
    assert explained(lab) == {"new algorithm": 12}
    assert explained(lab, data={"sweep": {"n": [8, 10, 12]}}) == {"new point": 12}
    assert explained(lab, data={"sweep": {"n": [8, 14]}}, trials=7) == {
        "new trial": 2,
        "new point": 14,
    }


def test_changed_parameters_have_both_values(lab):
    ridge, median = f"{lab.tag}_ridge", f"{lab.tag}_median"
    lab.run()
    assert explained(lab, data={"noise": 0.25}) == {"data.noise: 0.5 -> 0.25": ALL}
    # What the journal has is not computed again.
    assert explained(lab) == {}
    assert explained(lab, metrics=["sign_support"]) == {
        "metrics: ['frobenius_error', 'sign_support'] -> ['sign_support']": ALL
    }
    other = [{ridge: {"penalty": 3.0}}, median]
    assert explained(lab, algorithms=other, metrics=["sign_support"]) == {
        f"algorithms.{ridge}.penalty: 1.0 -> 3.0": 12
    }


def test_a_change_and_more_trials(lab):
    lab.run(trials=4)
    assert explained(lab, data={"noise": 0.25}) == {"data.noise: 0.5 -> 0.25": 16, "new trial": 8}


def test_a_swept_value_that_is_new_is_a_point(lab):
    lab.run()
    sweep = {"sweep": {"n": [8, 12], "noise": [0.5, 0.25]}}
    assert explained(lab, data=sweep) == {"new point": ALL}


def test_edited_code_is_named(lab):
    lab.run()
    edit(lab, "np.eye", "1.0 * np.eye")
    parts = f"generator {lab.tag}_data, algorithm {lab.tag}"
    assert explained(lab) == {
        f"code of {parts}_median: parts.py": 12,
        f"code of {parts}_ridge: parts.py": 12,
    }
    edit(lab, "Ridge regression.", "A comment is no code.")
    assert explained(lab) == {}


def test_the_module_of_greedyexp_that_changed_is_named(lab, monkeypatch):
    lab.run()
    read = fingerprint.code_version._source

    def edited(path):
        found = read(path)
        if path.name != "evaluator.py":
            return found
        return fingerprint.SourceFile(f"{found.version}0", found.text, found.imports)

    monkeypatch.setattr(fingerprint.code_version, "_source", edited)
    found = runner.explain(lab.experiment(), lab.results)
    assert [group.reasons for group in found.groups] == [
        ("code of the runner: runner/evaluator.py",)
    ]
    assert found.missing == ALL


def test_versions_of_packages_are_named(lab, monkeypatch):
    lab.run()
    real = fingerprint.version
    monkeypatch.setattr(
        fingerprint, "version", lambda name: "0.1" if name == "scipy" else real(name)
    )
    assert explained(lab) == {f"version of scipy: {real('scipy')} -> 0.1": ALL}


def test_a_changed_data_file_is_named(lab):
    lab.plugin.write_text(lab.plugin.read_text() + READING.replace("TAG", lab.tag))
    path = lab.folder / "number.txt"
    settings = {
        "data": {"generator": f"{lab.tag}_reading", "path": str(path)},
        "algorithms": [f"{lab.tag}_ridge"],
    }
    path.write_text("1")
    lab.run(**settings)
    path.write_text("2.0")
    assert explained(lab, **settings) == {"data file changed: number.txt": 12}


def test_failures_and_force(lab):
    settings = {"algorithms": [lab.trouble("raise")]}
    failed = lab.run(**settings).failed
    assert 0 < failed < 12
    assert explained(lab, **settings) == {}
    again = explained(lab, how={"retry_failed": True}, **settings)
    assert again == {"computed again by --retry-failed": failed}
    assert explained(lab, how={"force": True}, trials=7, **settings) == {
        "computed again by --force": 12,
        "new trial": 2,
    }


def test_parts_of_an_experiment(lab):
    lab.run(trials=2)
    assert explained(lab, only=[f"algorithm={lab.tag}_ridge"]) == {"new trial": 8}
    assert explained(lab) == {"new trial": 8}
    # A point that is left out is not an earlier one with another value.
    sweep = {"sweep": {"n": [8, 12, 10]}}
    assert explained(lab, only=["n=10"], data=sweep) == {"new point": 12}
    one = Shard(2, 5)
    size = len(Plan(lab.experiment(), shard=one))
    assert explained(lab, how={"shard": one}) == {"nothing is computed yet": size}


def test_a_folder_is_explained_by_its_own_settings(lab):
    lab.run()
    assert runner.explain_folder(lab.results).missing == 0
    folder = lab.folder / "shard"
    lab.run(folder=folder, how={"shard": Shard(1, 3)})
    assert runner.explain_folder(folder).missing == 0


def test_merged_journals_say_why(lab):
    for number in (1, 2):
        lab.run(folder=lab.folder / str(number), how={"shard": Shard(number, 2)})
    runner.merge([lab.folder / "1", lab.folder / "2"], lab.results)
    assert explained(lab, data={"noise": 0.25}) == {"data.noise: 0.5 -> 0.25": ALL}


def test_an_empty_journal_has_no_earlier_replicates(lab):
    folder = lab.folder / "1"
    lab.run(folder=folder, how={"shard": Shard(1, 2)})
    with sqlite3.connect(folder / "journal.sqlite") as db:
        db.execute("DELETE FROM outcomes")
    db.close()
    size = runner.explain_folder(folder).missing
    (group,) = runner.explain_folder(folder).groups
    assert group == Group(("no journal has the replicates of the earlier run",), size)
    (folder / "manifest.json").unlink()
    (folder / "lab.csv").unlink()
    runner.merge([folder], lab.results)
    assert explained(lab) == {"nothing is computed yet": ALL}


def test_without_a_journal_versions_are_compared(lab, monkeypatch):
    monkeypatch.setattr(manifests, "git_state", lambda *_: {"commit": "c" * 40, "dirty": False})
    lab.run()
    (lab.results / "journal.sqlite").unlink()
    manifest = lab.results / "manifest.json"
    text = manifest.read_text()
    version = fingerprint.version("scipy")
    manifest.write_text(text.replace(f'"scipy": "{version}"', '"scipy": "0.1"'))
    before = json.loads(text)["algorithm_seconds"]
    found = runner.explain_folder(lab.results, runner.RunOptions(jobs=2))
    assert [group.reasons for group in found.groups] == [
        ("no journal has the replicates of the earlier run",)
    ]
    assert found.missing == ALL
    assert found.since == (f"scipy 0.1 -> {version}",)
    assert (found.seconds, found.timed) == (pytest.approx(before / 2), ALL)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("config.yaml", "name: ["),
        ("config.yaml", "seed: 8"),
        ("config.yaml", "name: lab\nseed: 8"),
        ("config.yaml", None),
        ("manifest.json", "{"),
        ("manifest.json", '{"replicates": {}}'),
        ("lab.csv", "a,b"),
    ],
)
def test_damaged_folders_are_refused_as_by_replay(lab, file, text):
    lab.run()
    path = lab.results / file
    path.unlink()
    if text is not None:
        path.write_text(text)
    said = []
    for action in (runner.explain_folder, replay):
        with pytest.raises(StorageError) as error:
            action(lab.results)
        said.append(str(error.value))
    assert said[0] == said[1]
    assert "config.yaml" in said[0] if file == "config.yaml" else file in said[0]
    assert "run the experiment again" in said[0].lower()


def test_a_journal_of_an_earlier_version_does_not_know(lab):
    lab.run()
    with sqlite3.connect(lab.results / "journal.sqlite") as db:
        db.execute("DROP TABLE components")
    db.close()
    edit(lab, "np.eye", "1.0 * np.eye")
    (reason,) = explained(lab, data={"noise": 0.25})
    assert "an earlier version of greedyexp" in reason
    assert explained(lab, data={"noise": 0.25}, trials=7) == {"new trial": 4}
    # The rows of the earlier version are still there.
    (reason,) = explained(lab, data={"noise": 0.25, "sweep": {"n": [8, 9, 12]}}, trials=7)
    assert "an earlier version of greedyexp" in reason


def test_time_is_that_of_finished_replicates(lab):
    lab.run(trials=2)
    with sqlite3.connect(lab.results / "journal.sqlite") as db:
        db.execute("UPDATE outcomes SET seconds = 3.0")
    db.close()
    options = runner.RunOptions(jobs=4)
    found = runner.explain(lab.experiment(), lab.results, options)
    assert (found.seconds, found.timed, found.jobs) == (16 * 3.0 / 4, 8, 4)
    # The times of earlier code and parameters are the best guess.
    found = runner.explain(lab.experiment(data={"noise": 0.25}), lab.results, options)
    assert (found.seconds, found.timed) == (24 * 3.0 / 4, 8)


def test_the_command(call, tmp_path):
    config = write_toy(tmp_path)
    assert "6 of 6 replicates to compute" in call("run", config, "-n", cwd=tmp_path).stdout
    call("run", "toy.yaml", "--engine", "serial", cwd=tmp_path)
    said = call("explain", cwd=tmp_path)
    assert said.returncode == 0
    assert said.stdout == "toy/quick: all 6 replicates are done\n"
    before = sorted(path for path in (tmp_path / "results").rglob("*"))
    said = call("run", config, "-n", "--trials", "5", "-j", "2", cwd=tmp_path).stdout
    assert "\ntoy/quick: 4 of 10 replicates to compute\n    4  new trial\n" in said
    times = "by the times of 6 finished replicates, without the generation of data."
    assert f" with 2 workers, {times}" in said
    said = call("run", config, "-n", "--trials", "5", "--shard", "1/5", cwd=tmp_path).stdout
    assert "toy/quick.shard-1-of-5: 2 of 2 replicates to compute" in said
    assert sorted(path for path in (tmp_path / "results").rglob("*")) == before
