"""Progress, interruption, status and rehearsal: what a user sees of a run."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest
from runner_lab import Laboratory, rows_of

from greedyexp import runner
from greedyexp.core.errors import StorageError
from greedyexp.runner import progress


@pytest.fixture
def lab(tmp_path):
    return Laboratory(tmp_path)


SLOW = """
import sys
from greedyexp import config as experiment, runner
from greedyexp.runner import processes
processes._GRACE = float(sys.argv[3])
options = runner.RunOptions(jobs=2, progress=False)
report = runner.run(experiment.load(sys.argv[1]), sys.argv[2], options)
print(report.interrupted, report.computed, report.done, flush=True)
"""


def interrupt(lab, *, pause: float, times: int, grace: float = 2.0) -> tuple[list[str], float]:
    """Start a run, press Ctrl-C when it has computed something; its last words, and how long.

    The first four replicates make no pause.
    """
    quick = "time.sleep(pause if sum(1 for line in open('LOG') if 'ridge' in line) > 4 else 0)"
    source = lab.plugin.read_text().replace("time.sleep(pause)", quick.replace("LOG", str(lab.log)))
    lab.plugin.write_text(source)
    config = lab.write_yaml(algorithms=[{f"{lab.tag}_ridge": {"pause": pause}}], trials=200)
    run = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(config), str(lab.results), str(grace)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while len(lab.calls("ridge")) < 6 and run.poll() is None:
        time.sleep(0.02)
    pressed = time.monotonic()
    for _ in range(times):
        # The terminal sends it to every process of the group, the workers too.
        os.killpg(run.pid, signal.SIGINT)
        time.sleep(0.3)
    words = run.communicate(timeout=60)[0].split()
    return words, time.monotonic() - pressed


def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(lab):
    words, _ = interrupt(lab, pause=0.05, times=1)
    assert words[0] == "True"
    computed = int(words[1])
    assert 4 <= computed < 400
    assert len(rows_of(lab.results / "lab.csv")) == computed
    state = runner.status(lab.results)
    # No worker heard the Ctrl-C of the terminal.
    assert (state.done, state.missing, state.failed) == (computed, 400 - computed, {})
    # Rows that a second run adds do not touch those of the first.
    before = set(rows_of(lab.results / "lab.csv"))
    report = lab.run(algorithms=[{f"{lab.tag}_ridge": {"pause": 0.05}}], trials=4)
    assert {row for row in before if row.split(",")[5] in set("0123")} <= set(rows_of(report.csv))


@pytest.mark.deep
def test_a_long_replicate_is_waited_for_only_a_moment(lab):
    """From the fifth on every replicate takes a minute; one Ctrl-C ends the run all the same."""
    words, seconds = interrupt(lab, pause=60.0, times=1)
    assert words[0] == "True"
    assert int(words[1]) >= 4
    assert 1.5 < seconds < 15


def test_a_second_ctrl_c_waits_for_nothing(lab):
    words, seconds = interrupt(lab, pause=60.0, times=2, grace=1000.0)
    assert words[0] == "True"
    assert seconds < 15


def test_interruption_outside_the_main_thread_changes_nothing(lab):
    done = []
    thread = threading.Thread(target=lambda: done.append(lab.run(how={"jobs": 1})))
    thread.start()
    thread.join()
    assert done[0].done == 24


def test_the_handler_of_ctrl_c_is_given_back(lab):
    before = signal.getsignal(signal.SIGINT)
    lab.run(how={"jobs": 1})
    assert signal.getsignal(signal.SIGINT) is before


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_on_a_terminal(lab, monkeypatch):
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    lab.run(how={"progress": True})
    assert re.search(r"lab: 100%.*24/24", stderr.getvalue())
    assert "\r" in stderr.getvalue()


def test_plain_lines_when_piped(lab, capsys, monkeypatch):
    monkeypatch.setattr(progress, "_FIRST", 0.0)
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    monkeypatch.setattr(progress, "_FEWEST", 1)
    lab.run(algorithms=[lab.trouble("raise", below=1.0)], how={"progress": True})
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == "lab: 12/12 (100%), 12 failed"
    assert any(re.search(r"about \d\d:\d\d left", line) for line in lines)
    assert not any("\r" in line for line in lines)


def test_lines_come_now_and_then(capsys, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    lines = progress.Lines("lab", total=100, done=40)
    for second in range(1, 31):
        clock[0] = float(second)
        lines.advance(1, 0)
    said = capsys.readouterr().err.splitlines()
    assert said[:2] == ["lab: 42/100 (42%)", "lab: 52/100 (52%), about 00:48 left"]
    assert len(said) == 3


def test_nothing_when_quiet_or_nothing_to_do(lab, capfd):
    lab.run(how={"progress": False})
    lab.run(how={"progress": True})
    assert capfd.readouterr().err == ""


def test_status_counts_and_estimates(lab):
    entry = [lab.trouble("raise"), {f"{lab.tag}_ridge": {"label": "ridge", "pause": 0.02}}]
    lab.run(algorithms=entry, only=("n=8",))
    state = runner.status(lab.results)
    failed = sum(",error," in row for row in rows_of(lab.results / "lab.csv"))
    assert (state.name, state.profile) == ("lab", "quick")
    assert (state.done, state.missing, state.failed) == (12, 12, {"error": failed})
    assert 6 * 0.02 < state.seconds_spent < 2
    # The missing point is reckoned like the one that is finished.
    assert state.seconds_left == pytest.approx(state.seconds_spent, rel=1e-6)
    assert state.bytes_on_disk == sum(
        path.stat().st_size for path in lab.results.rglob("*") if path.is_file()
    )


def test_status_without_a_journal_reads_the_manifest(lab):
    lab.run()
    before = runner.status(lab.results)
    for path in lab.results.glob("journal*"):
        path.unlink()
    after = runner.status(lab.results)
    assert (
        (after.done, after.missing, after.failed)
        == (24, 0, {})
        == (
            before.done,
            before.missing,
            before.failed,
        )
    )
    assert after.seconds_spent == pytest.approx(before.seconds_spent, abs=1e-3)


def test_status_of_a_folder_without_a_run(tmp_path):
    with pytest.raises(StorageError, match="no run here"):
        runner.status(tmp_path)


def test_folders_whose_status_can_be_told_are_found(lab):
    lab.run()
    for name, files in {
        "begun": ["config.yaml", "journal.sqlite"],
        "cloned": ["config.yaml", "manifest.json", "lab.csv"],
        "drawn": ["config.yaml", "lab.csv"],
        "other": ["manifest.json"],
    }.items():
        (lab.folder / name).mkdir()
        for file in files:
            (lab.folder / name / file).write_bytes((lab.results / file).read_bytes())
    found = runner.folders_below(lab.folder)
    assert found == sorted([lab.folder / "begun", lab.folder / "cloned", lab.results])
    assert all(runner.status(folder).done == 24 for folder in found[1:])


def test_a_rehearsal_gives_the_numbers_of_the_run_and_writes_nothing(lab):
    changes = {"algorithms": [f"{lab.tag}_ridge", lab.trouble("raise", below=1.0)]}
    found = runner.rehearse(lab.experiment(**changes))
    assert [(label, str(outcome.status)) for label, outcome, _ in found] == [
        (f"{lab.tag}_ridge", "ok"),
        ("trouble", "error"),
    ]
    assert not lab.results.exists()
    report = lab.run(**changes)
    error = repr(found[0][1].rows[0]["frobenius_error"])
    assert f",{error}," in rows_of(report.csv)[0]


def test_a_rehearsal_of_data_that_cannot_be_made(lab):
    # With this seed the first data set is one of those that fail.
    changes = {"data": {"trouble": "raise", "sweep": {"n": [8]}}, "seed": 5}
    found = runner.rehearse(lab.experiment(**changes))
    said = "no data: parts.py:23: ValueError: no data at <object object at 0x...>"
    outcomes = [(label, str(outcome.status), outcome.message) for label, outcome, _ in found]
    assert outcomes == [(f"{lab.tag}_{name}", "error", said) for name in ("median", "ridge")]
    assert f",error,{said}," in rows_of(lab.run(**changes).csv)[0]


@pytest.mark.deep
def test_a_rehearsal_ends_what_takes_longer_than_the_limit(lab):
    changes = {"algorithms": [f"{lab.tag}_ridge", lab.trouble("spin", below=1.0)]}
    found = runner.rehearse(lab.experiment(**changes, time_limit=0.5))
    assert [(label, str(outcome.status), outcome.message) for label, outcome, _ in found] == [
        (f"{lab.tag}_ridge", "ok", ""),
        ("trouble", "timeout", "longer than the time limit of 0.5 s"),
    ]
    plain = runner.rehearse(lab.experiment(algorithms=[f"{lab.tag}_ridge"]))
    assert found[0][1].rows == plain[0][1].rows
