"""Shards are disjoint parts of a run, and merging them gives what one run writes."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import zlib
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import pytest
from cli_process import refused, write_toy
from runner_lab import Laboratory, rows_of

import greedyexp
from greedyexp import report, runner
from greedyexp.cli.commands import merge
from greedyexp.core.errors import ConfigError, StorageError
from greedyexp.runner.journal import Journal
from greedyexp.runner.plan import Plan
from greedyexp.runner.shards import Shard

# The end of what the plugin of the laboratory says about its data.
DECLARED = '_data", provides=("truth",)'


@pytest.fixture
def lab(tmp_path):
    return Laboratory(tmp_path)


def claim(lab, boundary: str = "0") -> dict:
    test = f"mean({lab.tag}_ridge, frobenius_error) > {boundary}"
    return {"id": "positive", "quote": "q", "test": test}


def shard(lab, number: int, of: int, **changes) -> Path:
    """Run one shard; returns its folder."""
    folder = lab.folder / f"{number}-of-{of}"
    lab.run(folder=folder, how={"shard": Shard(number, of)}, **changes)
    return folder


def shards(lab, of: int, **changes) -> list[Path]:
    return [shard(lab, number, of, **changes) for number in range(1, of + 1)]


def data_sets(experiment, one: Shard, journal) -> set[tuple[str, int]]:
    """The parameters and replicates of a shard."""
    items = Plan(experiment, shard=one).missing(journal)
    return {(json.dumps(item.params), item.replicate) for item in items}


@pytest.fixture
def empty(tmp_path):
    (tmp_path / "empty").mkdir()
    with Journal(tmp_path / "empty") as journal:
        yield journal


@pytest.mark.parametrize("of", [1, 2, 3, 8])
def test_shards_divide_every_point_evenly(lab, empty, of):
    experiment = lab.experiment(trials=7)
    parts = [data_sets(experiment, Shard(number, of), empty) for number in range(1, of + 1)]
    assert sum(map(len, parts)) == len(set().union(*parts)) == 2 * 7
    for number, part in enumerate(parts, start=1):
        assert len(Plan(experiment, shard=Shard(number, of))) == 2 * len(part)
        of_point = Counter(params for params, _ in part)
        assert set(of_point.values()) <= {7 // of, -(-7 // of)} - {0}


def test_shards_from_python(lab, capsys):
    how = {"out": lab.folder, "engine": "serial"}
    settings = lab.settings(trials=1, data={"sweep": {"n": [8]}})
    tables = [greedyexp.run(settings, shard=shard, **how) for shard in ("1/2", "2/2")]
    # One trial is in one of two shards.
    assert sorted(map(len, tables)) == [0, 2]
    folders = [lab.folder / "lab" / f"quick.shard-{number}-of-2" for number in (1, 2)]
    assert [table.attrs["folder"] for table in tables] == list(map(str, folders))
    assert f"lab (quick, shard 2/2): {len(tables[1])} of " in capsys.readouterr().err
    runner.merge(folders, lab.folder / "merged")
    whole = greedyexp.run(settings, **how)
    both = lab.folder / "merged", Path(whole.attrs["folder"])
    assert both[0].joinpath("lab.csv").read_bytes() == both[1].joinpath("lab.csv").read_bytes()
    for wrong in ("3/2", "half", (1, 2)):
        with pytest.raises(ConfigError, match="shard"):
            greedyexp.run(settings, shard=wrong, **how)


def test_single_trials_are_not_all_in_one_shard(lab):
    experiment = lab.experiment(trials=1, data={"sweep": {"n": list(range(5, 25))}})
    sizes = [len(Plan(experiment, shard=Shard(number, 3))) for number in (1, 2, 3)]
    assert sum(sizes) == 2 * 20
    assert min(sizes) > 0


def test_a_data_set_stays_in_its_shard(lab, empty):
    before = data_sets(lab.experiment(), Shard(2, 3), empty)
    changed = {
        "trials": 20,
        "data": {"sweep": {"n": [12, 10, 8]}},
        "algorithms": [f"{lab.tag}_median"],
    }
    lab.plugin.write_text(lab.plugin.read_text().replace("np.eye", "1.0 * np.eye"))
    after = data_sets(lab.experiment(**changed), Shard(2, 3), empty)
    assert before < after
    others = [data_sets(lab.experiment(**changed), Shard(k, 3), empty) for k in (1, 3)]
    assert not before & set().union(*others)


def test_merged_shards_are_the_run_without_shards(lab):
    lab.run()
    whole = lab.results
    lab.log.unlink()
    folders = shards(lab, 3)
    drawn = lab.calls("data")
    assert len(drawn) == len(set(drawn)) == 12
    into = lab.folder / "merged"
    done = runner.merge(folders, into)
    assert (done.done, done.total, done.added, done.missing) == (24, 24, 24, 0)
    for name in ("lab.csv", "config.yaml", "plugins/parts.py"):
        assert (into / name).read_bytes() == (whole / name).read_bytes(), name
    merged = json.loads((into / "manifest.json").read_text())
    single = json.loads((whole / "manifest.json").read_text())
    assert merged["replicates"] == {**single["replicates"], "computed": 0}
    assert merged["profile"] == "quick"
    assert "shard" not in merged
    assert [run["shard"] for run in merged["merged"]] == ["1/3", "2/3", "3/3"]
    assert all(run["machine"] == single["machine"] for run in merged["merged"])
    assert runner.status(into).missing == 0


def test_merging_again_and_running_again_add_nothing(lab):
    folders, into = shards(lab, 2), lab.folder / "merged"
    runner.merge(folders[:1], into)
    assert runner.merge([*folders, folders[1], into], into).added < 24
    before = (into / "manifest.json").read_text()
    assert runner.merge(folders, into).added == 0
    assert lab.run(folder=into).computed == 0
    after = json.loads((into / "manifest.json").read_text())
    assert after["merged"] == json.loads(before)["merged"]
    assert len(after["merged"]) == 2


def test_a_run_computes_what_shards_have_not(lab):
    folders, into = shards(lab, 3)[:2], lab.folder / "merged"
    done = runner.merge(folders, into)
    assert done.missing == 24 - done.done > 0
    assert done.incomplete == (Shard(3, 3),)
    assert runner.status(into).missing == done.missing
    assert lab.run(folder=into).computed == done.missing
    lab.run()
    assert (into / "lab.csv").read_bytes() == (lab.results / "lab.csv").read_bytes()


def test_a_shard_knows_its_size(lab):
    folder = shard(lab, 2, 4)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["shard"] == "2/4"
    counts = manifest["replicates"]
    assert counts["total"] == counts["done"] == len(rows_of(folder / "lab.csv")) < 24
    (folder / "manifest.json").write_text(json.dumps({**manifest, "journal": ""}))
    status = runner.status(folder)
    assert (status.missing, status.seconds_left) == (0, 0.0)


def test_shards_of_adaptive_trials_are_refused(lab):
    rule = {"until": {"half_width": 0.3}, "success": {"default": "sign_support"}}
    with pytest.raises(ConfigError, match="depend on the results of all shards"):
        shard(lab, 1, 2, trials=rule)


def rewrite(folder: Path, change) -> None:
    """Change the rows of one replicate in a journal."""
    with sqlite3.connect(folder / "journal.sqlite") as db:
        key, *old = db.execute("SELECT key, status, message, facts, rows FROM outcomes").fetchone()
        new = change(*old)
        check = zlib.crc32("\0".join(new).encode())
        db.execute(
            "UPDATE outcomes SET status = ?, message = ?, facts = ?, rows = ?, checksum = ?"
            " WHERE key = ?",
            (*new, check, key),
        )
    db.close()


def another_error(status, message, facts, rows):
    return status, message, facts, json.dumps([{**json.loads(rows)[0], "frobenius_error": 123.25}])


def timeout(*_):
    return "timeout", "longer than 1 s", "{}", "[]"


def test_two_results_of_one_replicate_are_refused(lab):
    one, into = shard(lab, 1, 2), lab.folder / "merged"
    two = lab.folder / "again"
    lab.run(folder=two)
    rewrite(one, another_error)
    runner.merge([one], into)
    before = (into / "lab.csv").read_bytes()
    with pytest.raises(StorageError) as error:
        runner.merge([one, two], into)
    said = str(error.value)
    assert "frobenius_error = 123.25" in said
    assert said.count("frobenius_error = ") == 2
    assert "replicate" in said
    assert "n = " in said
    assert str(two) in said
    with Journal(into, read_only=True) as journal:
        assert sum(map(len, journal.everything())) == len(rows_of(into / "lab.csv"))
    assert (into / "lab.csv").read_bytes() == before


def test_other_times_are_no_other_result(lab):
    for name in ("one", "two"):
        lab.run(folder=lab.folder / name)
    with Journal(lab.folder / "two") as journal:
        for entries in list(journal.everything()):
            journal.add(dataclasses.replace(entry, seconds=1000.0) for entry in entries)
    into = lab.folder / "merged"
    assert runner.merge([lab.folder / "one", lab.folder / "two"], into).added == 24
    assert (into / "timings.csv").read_bytes() == (lab.folder / "one/timings.csv").read_bytes()


@pytest.mark.parametrize("order", [1, -1])
def test_a_result_replaces_a_failure_of_the_machine(lab, order):
    folders = [lab.folder / "one", lab.folder / "two"]
    for folder in folders:
        lab.run(folder=folder)
    rewrite(folders[0], timeout)
    done = runner.merge(folders[::order], lab.folder / "merged")
    assert (done.done, done.failed, done.added) == (24, 0, 24)
    assert (lab.folder / "merged/lab.csv").read_bytes() == (folders[1] / "lab.csv").read_bytes()


def test_of_two_failures_the_first_stays(lab):
    folders = [lab.folder / "one", lab.folder / "two"]
    for folder in folders:
        lab.run(folder=folder)
        rewrite(folder, timeout if folder is folders[0] else lambda *_: ("error", "x", "{}", "[]"))
    assert runner.merge(folders, lab.folder / "merged").failed == 1
    assert "timeout,longer than 1 s" in (lab.folder / "merged/lab.csv").read_text()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seed": 12}, "seed: "),
        ({"trials": 9}, "trials: 6 -> 9"),
        ({"name": "other"}, "name: 'lab' -> 'other'"),
        ({"data": {"noise": 0.25}}, "data.noise: 0.5 -> 0.25"),
    ],
)
def test_other_experiments_are_refused(lab, changes, words):
    one, two = shard(lab, 1, 2), shard(lab, 2, 2, **changes)
    with pytest.raises(StorageError, match="has other settings") as error:
        runner.merge([one, two], lab.folder / "merged")
    assert words in str(error.value)
    assert not (lab.folder / "merged").exists()


def test_more_trials_go_into_a_folder_with_fewer(lab):
    lab.run(trials=2)
    into = lab.results
    done = runner.merge(shards(lab, 2), into)
    assert (done.done, done.total, done.added) == (24, 24, 16)
    with pytest.raises(StorageError, match="trials: 2 -> 6"):
        runner.merge([shard(lab, 1, 3, trials=2)], into)


def test_results_of_other_code_are_refused(lab):
    one = shard(lab, 1, 2)
    lab.plugin.write_text(lab.plugin.read_text().replace("np.eye", "1.0 * np.eye"))
    two = shard(lab, 2, 2)
    for folders in ([one, two], [two, one]):
        with pytest.raises(StorageError, match="computed by other code or from other data"):
            runner.merge(folders, lab.folder / "merged")
    assert not (lab.folder / "merged").exists()


def test_a_folder_without_a_journal_or_its_settings_is_refused(lab):
    one, two, three = shards(lab, 3)
    (two / "journal.sqlite").unlink()
    with pytest.raises(StorageError, match="there is no journal here"):
        runner.merge([one, two], lab.folder / "merged")
    config = three / "config.yaml"
    config.write_text(config.read_text().replace("seed: 7", "seed: 8"))
    with pytest.raises(StorageError, match="the file has been changed since"):
        runner.merge([one, three], lab.folder / "merged")
    config.unlink()
    with pytest.raises(StorageError) as error:
        runner.merge([one, three], lab.folder / "merged")
    assert str(error.value) == (
        f"{config}: not a readable configuration (No such file or directory). Restore the file, or"
        " run the experiment again."
    )
    assert not (lab.folder / "merged").exists()


def test_the_profile_is_that_of_the_journals_in_any_folder(lab):
    folders = shards(lab, 2, claims=[claim(lab)])
    for into in (lab.folder / "merged", folders[0]):
        runner.merge(folders, into)
        report.verify(into)
        assert json.loads((into / "claims.json").read_text())["profile"] == "quick"
    # The name of a folder with changed settings says which.
    changed = lab.folder / "quick+noise=0.25"
    lab.run(folder=changed, data={"noise": 0.25}, claims=[claim(lab)])
    assert report.verify(changed).profile == "quick+noise=0.25"


def test_claims_about_data_that_no_shard_has_are_inconclusive(lab):
    lab.plugin.write_text(lab.plugin.read_text().replace(DECLARED, f'{DECLARED}, facts=("draw",)'))
    # One trial is in one of two shards, and the other has no row.
    settings = {"trials": 1, "data": {"sweep": {"n": [8]}}, "claims": [claim(lab, "draw")]}
    folders = shards(lab, 2, **settings)
    (lacking,) = [folder for folder in folders if not rows_of(folder / "lab.csv")]
    into = lab.folder / "merged"
    done = runner.merge([lacking], into)
    assert (done.done, done.missing) == (0, 2)
    assert [one["verdict"] for one in report.verdicts(into)["claims"]] == ["inconclusive"]
    assert runner.merge(folders, into).missing == 0


def test_failures_without_data_leave_claims_inconclusive(lab):
    text = lab.plugin.read_text().replace(DECLARED, f'{DECLARED}, facts=("draw",)')
    lab.plugin.write_text(text.replace("draw < 0.5:\n        raise", "draw < 2:\n        raise"))
    assert lab.run(data={"trouble": "raise"}, claims=[claim(lab, "draw")]).failed == 24
    assert [one["verdict"] for one in report.verdicts(lab.results)["claims"]] == ["inconclusive"]


@pytest.mark.parametrize(
    ("incomplete", "words"),
    [
        ((), "  9 missing. Run the experiment without --shard,"),
        ((3, 4), "  9 missing, in shards 3/20, 4/20. Run and merge these, or run the experiment"),
        (range(1, 12), ", in shards 1/20, 2/20, 3/20, 4/20, 5/20, 6/20, 7/20, 8/20 and 3 more. "),
    ],
)
def test_missing_shards_are_named(incomplete, words):
    shards = tuple(Shard(number, 20) for number in incomplete)
    done = runner.Merged("lab", "quick", 2, 24, 15, 0, 15, shards, False, 1.0, Path("lab.csv"))
    assert words in merge.words(done)[1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0/16", ("there is no shard 0 of 16", "1 to 16", "--array=1-16")),
        ("17/16", ("there is no shard 17 of 16", "array job")),
        ("1/0", ("a shard is written K/N",)),
        ("3", ("a shard is written K/N",)),
        ("-1/4", ("a shard is written K/N",)),
    ],
)
def test_wrong_shards_are_refused(call, tmp_path, text, words):
    write_toy(tmp_path)
    refused(call("run", "toy.yaml", "--shard", text, cwd=tmp_path), *words, f"--shard {text}")
    assert not (tmp_path / "results").exists()


def test_a_target_inside_a_run_is_refused(lab):
    one = shard(lab, 1, 2)
    with pytest.raises(StorageError, match="inside the run folder"):
        runner.merge([one], one / "figures")
    assert not (one / "figures").exists()


@pytest.mark.parametrize("name", ["config.yaml", "figures/mine.png", "notes.txt"])
def test_files_of_the_user_in_a_target_stay(lab, name):
    file = lab.folder / "project" / name
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    refusal = pytest.raises(StorageError, match=r"did not write this file.*Move it away")
    with refusal if name == "config.yaml" else nullcontext():
        runner.merge([shard(lab, 1, 2)], lab.folder / "project")
    assert file.read_text() == "mine"
    assert (lab.folder / "project" / "journal.sqlite").exists() == (name != "config.yaml")


def test_a_target_without_its_journal_is_refused(lab):
    target = lab.folder / "merged"
    one, two = shards(lab, 2)
    runner.merge([one], target)
    (target / "journal.sqlite").unlink()
    before = (target / "lab.csv").read_text()
    with pytest.raises(StorageError, match=r"has no journal\.sqlite, so its replicates would be"):
        runner.merge([two], target)
    assert (target / "lab.csv").read_text() == before


def test_a_target_that_cannot_be_written_is_refused(call, lab):
    (lab.folder / "file").write_text("")
    done = call("merge", shard(lab, 1, 2), "--into", "file/merged", cwd=lab.folder)
    refused(done, "file/merged: this cannot be written: Not a directory", "to another folder.")
    assert "--out" not in done.stderr


def test_an_array_job(call, tmp_path):
    write_toy(tmp_path)
    command = ("run", "toy.yaml", "--engine", "serial", "--shard")
    for number in (1, 2, 3):
        done = call(*command, f"{number}/3", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"toy (quick, shard {number}/3): ")
    folders = sorted((tmp_path / "results/toy").iterdir())
    assert [path.name for path in folders[:2]] == ["quick.shard-1-of-3", "quick.shard-2-of-3"]
    assert Shard(3, 16).suffix == ".shard-03-of-16"
    refused(call("plot", "results", cwd=tmp_path), "only shards", "greedyexp merge")
    some = [path for path in folders if rows_of(path / "toy.csv")]
    merged = call("merge", *some[:-1], "--into", "results/toy/quick", cwd=tmp_path)
    assert merged.returncode == 0, merged.stderr
    last = some[-1].name[12]
    assert f" missing, in shards {last}/3. " in merged.stdout
    merged = call("merge", *folders, "--into", "results/toy/quick", cwd=tmp_path)
    lines = merged.stdout.splitlines()
    assert lines[0].startswith("toy (quick): 6 of 6 done, 0 failed; ")
    assert lines[1] == "results/toy/quick/toy.csv"
    assert "missing" not in merged.stdout
    assert call("plot", "results", cwd=tmp_path).returncode == 0
    status = call("status", "results", cwd=tmp_path).stdout
    assert "toy/quick.shard-3-of-3" in status


def test_merged_claims_are_judged(call, tmp_path):
    config = write_toy(tmp_path)
    claim = "claims: [{id: exact, quote: q, test: proportion(toy_exact) > 0.1}]\n"
    config.write_text(config.read_text() + claim)
    for number in (1, 2):
        call("run", "toy.yaml", "--engine", "serial", "--shard", f"{number}/2", cwd=tmp_path)
    done = call("run", "toy.yaml", "--engine", "serial", "--out", "one", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folders = sorted((tmp_path / "results/toy").iterdir())
    assert not (folders[0] / "claims.json").exists()
    merged = call("merge", *folders, "--into", "results/toy/quick", cwd=tmp_path)
    assert "exact  supported" in merged.stdout
    one, all_of_it = (tmp_path / place / "toy/quick/claims.json" for place in ("one", "results"))
    assert one.read_bytes() == all_of_it.read_bytes()
