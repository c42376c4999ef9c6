"""A run folder holds one state of one experiment, whenever the run dies and whoever reads."""

from __future__ import annotations

import gzip
import hashlib
import inspect
import json
import os
import shutil
import signal
import sys
import traceback
from pathlib import Path

import pytest
import yaml
from PIL import Image
from runner_lab import Laboratory

from greedyexp import config as experiments
from greedyexp import report, runner
from greedyexp.core.errors import StorageError, UserError
from greedyexp.runner import rows
from greedyexp.runner.journal import Journal
from greedyexp.runner.run_contents import read_run

FIGURE = '''

from matplotlib.figure import Figure

from greedyexp import figure


@figure("TAG_dots")
def dots(frame, context):
    """The error of every row."""
    picture = Figure(figsize=(1, 1))
    picture.subplots().plot(frame["frobenius_error"])
    return picture
'''


class Runs:
    """One folder, in which the same experiment is run with another noise level.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path):
        self.lab = Laboratory(folder)
        source = self.lab.plugin.read_text() + FIGURE.replace("TAG", self.lab.tag)
        self.lab.plugin.write_text(source)
        self.results = self.lab.results

    def complete(self, noise: float, *, figures: bool = False, **changes) -> runner.Report:
        """Compute, draw and judge, as ``greedyexp run`` does."""
        done = self.lab.run(
            how={"engine": "serial", "jobs": None},
            data={"noise": noise, "sweep": {"n": [8, 9]}},
            trials=2,
            algorithms=[f"{self.lab.tag}_ridge"],
            figures=[f"{self.lab.tag}_dots"] * figures,
            claims=[
                {
                    "id": "small",
                    "quote": "small",
                    "test": f"mean({self.lab.tag}_ridge, frobenius_error) < 1",
                }
            ],
            **changes,
        )
        if figures:
            report.draw(self.results)
        report.verify(self.results)
        return done

    def noise(self) -> float:
        """The noise level of the folder, after checking that all that is there has this one."""
        source = read_run(self.results)
        (noise,) = source.frame["noise"].unique()
        assert source.design.settings["data"]["noise"] == noise
        claims = self.results / "claims.json"
        if claims.exists():
            assert json.loads(claims.read_text())["digests"] == source.digests
        digest = hashlib.sha256(source.config_text.encode()).hexdigest()[:16]
        for picture in self.results.glob("figures/*.png"):
            assert f'"config": "{digest}"' in Image.open(picture).text["Description"]
        return float(noise)


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path)


def _killed_at(step: int, runs: Runs, action, *, journal_only: bool = False) -> bool:
    """Do it in a child that kills itself at its n-th step; whether it came so far."""
    child = os.fork()
    if child == 0:
        _count_steps(step, None if journal_only else str(runs.results))
        try:
            action()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def _count_steps(last: int, folder: str | None) -> None:
    """Kill this process before the n-th change of its journal, or of the folder if one is given."""
    left = last

    def step() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event: str, arguments: tuple) -> None:
        writes = event in ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate")
        if event == "open":
            writes = bool((arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        # Names without a folder are below a handle of one.
        path = str(arguments[0])
        if writes and folder and (path.startswith(folder) or "/" not in path):
            step()

    add = Journal.add

    def counted(self, entries):
        step()
        add(self, entries)
        step()

    Journal.add = counted
    sys.addaudithook(hook)


@pytest.mark.deep
def test_a_run_killed_at_any_step_leaves_the_old_state_or_the_new_one(runs):
    runs.complete(0.1, figures=True)
    clean = runs.lab.folder / "clean"
    shutil.copytree(runs.results, clean)
    seen, step = [], 0
    while _killed_at(step, runs, lambda: runs.complete(5.0, figures=True)):
        seen.append(runs.noise())
        assert runner.status(runs.results).done >= 0
        report.verify(runs.results)
        assert runs.noise() == seen[-1]
        shutil.rmtree(runs.results)
        shutil.copytree(clean, runs.results)
        step += 1
    # From one step on the folder has the new state.
    assert set(seen) == {0.1, 5.0}
    assert seen == sorted(seen)
    assert step > 20


@pytest.mark.deep
def test_the_next_run_completes_whatever_a_killed_one_left(runs):
    table = runs.complete(0.1, figures=True).csv.read_bytes()
    for step in range(3, 99, 16):
        _killed_at(step, runs, lambda: runs.complete(5.0, figures=True))
        assert runs.complete(0.1, figures=True).csv.read_bytes() == table
        assert runs.noise() == 0.1
        assert not (runs.results / ".next").exists()
        assert not list(runs.results.rglob("*.tmp"))


@pytest.mark.deep
def test_who_reads_during_a_run_sees_one_state(runs):
    known = {}
    for noise in (0.1, 5.0):
        runs.complete(noise)
        known[noise] = report.verify(runs.results).contents
    child = os.fork()
    if child == 0:
        for _ in range(6):
            runs.complete(0.1)
            runs.complete(5.0)
        os._exit(0)
    seen = []
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        assert report.run_folders(runs.lab.folder) == [runs.results]
        assert runner.status(runs.results).name == "lab"
        seen.append(report.verify(runs.results).contents)
    assert all(contents in known.values() for contents in seen)
    assert len(seen) > 5
    assert runs.noise() == 5.0


@pytest.mark.deep
@pytest.mark.parametrize("before", [True, False])
def test_tables_that_change_their_form_are_replaced_whole(runs, monkeypatch, before):
    """A table is compressed from some size on, and a run may be killed while it replaces one."""
    limits = (0, rows.LARGE) if before else (rows.LARGE, 0)
    monkeypatch.setattr(rows, "LARGE", limits[0])
    runs.complete(0.1)
    clean = runs.lab.folder / "clean"
    shutil.copytree(runs.results, clean)
    monkeypatch.setattr(rows, "LARGE", limits[1])
    seen, step = [], 14
    while _killed_at(step, runs, lambda: runs.complete(5.0)):
        seen.append(runs.noise())
        shutil.rmtree(runs.results)
        shutil.copytree(clean, runs.results)
        step += 1
    assert set(seen) == {0.1, 5.0}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "text", ["readings: 2024-13-45", "data: {1: 2, a: 3}", "data: &a [*a]", "[", "5"]
)
def test_settings_that_nothing_can_be_read_from_are_a_sentence(runs, text):
    runs.complete(0.1)
    config = runs.results / "config.yaml"
    config.write_text(config.read_text() + text if ":" in text else text)
    for read in (report.verify, runner.status):
        with pytest.raises(UserError) as refused:
            read(runs.results)
        assert str(runs.results) in str(refused.value)


def test_verdicts_of_a_state_that_was_replaced_are_not_written(runs, monkeypatch):
    runs.complete(0.1)
    judge = inspect.unwrap(report.verify).__globals__["_judged"]
    replaced = []

    def slow(source):
        found = judge(source)
        if not replaced:
            replaced.append(True)
            runs.complete(5.0)
        return found

    monkeypatch.setitem(inspect.unwrap(report.verify).__globals__, "_judged", slow)
    (verdict,) = report.verify(runs.results).judged
    assert replaced
    assert verdict.verdict.value == "refuted"
    assert runs.noise() == 5.0


def test_figures_and_verdicts_go_with_their_rows_and_stay_without_a_change(runs):
    runs.complete(0.1)
    runs.complete(0.1, figures=True)
    made = [runs.results / name for name in ("claims.json", "figures")]
    settings = {**yaml.safe_load((runs.results / "config.yaml").read_text())}
    settings["plugins"] = [str(runs.lab.plugin)]
    for seed, kept in ((settings["seed"], True), (8, False)):
        experiment = experiments.load({**settings, "seed": seed})
        runner.run(experiment, runs.results, runner.RunOptions(engine="serial", progress=False))
        assert [path.exists() for path in made] == [kept, kept]


@pytest.mark.deep
@pytest.mark.usefixtures("impatient")
def test_files_of_two_runs_are_refused_by_name(runs):
    runs.complete(5.0)
    other = runs.lab.folder / "other"
    shutil.copytree(runs.results, other)
    runs.complete(0.1)
    for name, foreign in (
        ("config.yaml", "config.yaml"),
        ("lab.csv", "lab.csv"),
        ("timings.csv", "timings.csv"),
        ("manifest.json", "config.yaml, lab.csv, timings.csv"),
    ):
        own = (runs.results / name).read_bytes()
        (runs.results / name).write_bytes((other / name).read_bytes())
        for read in (report.verify, report.draw, runner.status):
            with pytest.raises(StorageError, match="files of another run") as refused:
                read(runs.results)
            assert str(runs.results) in str(refused.value)
            assert f"manifest.json describes: {foreign}." in str(refused.value)
        if name != "manifest.json":
            (runs.results / name).write_bytes(own)
    runs.complete(5.0)
    assert runs.noise() == 5.0


def test_a_missing_table_is_reported(runs):
    runs.complete(0.1).csv.unlink()
    assert report.run_folders(runs.results) == [runs.results]
    for read in (report.verify, report.draw, runner.status):
        with pytest.raises(StorageError, match="there is no table to read") as refused:
            read(runs.results)
        assert str(runs.results) in str(refused.value)


def test_settings_that_change_no_row_may_be_edited(runs):
    runs.complete(0.1)
    config = runs.results / "config.yaml"
    settings = yaml.safe_load(config.read_text())
    settings["claims"][0]["test"] = settings["claims"][0]["test"].replace("< 1", "> 1")
    config.write_text(yaml.safe_dump({**settings, "description": "edited", "figures": []}))
    (verdict,) = report.verify(runs.results).judged
    assert verdict.verdict.value == "refuted"


def test_a_table_may_be_compressed_or_have_other_line_ends(runs):
    runs.complete(0.1)
    table = runs.results / "lab.csv"
    content = table.read_bytes().replace(b"\n", b"\r\n")
    table.unlink()
    (runs.results / "lab.csv.gz").write_bytes(gzip.compress(content))
    assert runs.noise() == 0.1


def test_a_run_that_was_killed_shows_in_the_status(runs):
    runs.complete(0.1)
    assert not runner.status(runs.results).unfinished
    assert _killed_at(0, runs, lambda: runs.complete(5.0), journal_only=True)
    found = runner.status(runs.results)
    assert found.unfinished
    assert found.missing == 4
    assert runs.noise() == 0.1
    runs.complete(5.0)
    assert not runner.status(runs.results).unfinished


def test_a_first_run_that_was_killed_is_no_finished_run(runs):
    assert _killed_at(0, runs, lambda: runs.complete(5.0), journal_only=True)
    assert runner.folders_below(runs.lab.folder) == [runs.results]
    with pytest.raises(StorageError, match="no finished run"):
        report.run_folders(runs.lab.folder)


def test_a_run_says_which_settings_it_replaced(runs):
    assert runs.complete(0.1).replaced == ()
    assert runs.complete(0.1).replaced == ()
    assert runs.complete(5.0).replaced == ("data.noise: 0.1 -> 5.0",)


@pytest.mark.parametrize("trials", ["", "trials: many\n"])
def test_an_edited_number_of_trials_does_not_end_a_run(runs, trials):
    runs.complete(0.1)
    config = runs.results / "config.yaml"
    lines = [one for one in config.read_text().splitlines(True) if not one.startswith("trials")]
    config.write_text("".join(lines) + trials)
    assert any("trials" in one for one in runs.complete(0.1).replaced)
    assert runs.complete(0.1).replaced == ()
