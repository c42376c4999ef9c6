"""A failure is data: a row with a status and a message, and every other row as if nothing was."""

from __future__ import annotations

import csv
import os
import time
from pathlib import Path

import pytest
from runner_lab import Laboratory

from greedyexp import runner
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError, PluginError


@pytest.fixture
def lab(tmp_path):
    return Laboratory(tmp_path)


def read(report) -> list[dict]:
    with report.csv.open(newline="") as stream:
        return list(csv.DictReader(stream))


def run_with(lab, mode: str, **changes) -> list[dict]:
    """Rows of a run with a failing algorithm; those of the others must be what they always are."""
    how = changes.pop("how", {"jobs": 2})
    sound = [f"{lab.tag}_ridge", f"{lab.tag}_median"]
    report = lab.run(algorithms=[*sound, lab.trouble(mode)], how=how, **changes)
    rows = read(report)
    assert report.done == len(rows) == 36
    others = [row for row in rows if row["algorithm"] != "trouble"]
    calm = read(lab.run(algorithms=sound, folder=lab.folder / "calm", how={"engine": "serial"}))
    assert others == calm
    troubled = [row for row in rows if row["algorithm"] == "trouble"]
    bad = [row for row in troubled if float(row["draw"]) < 0.5]
    assert 0 < len(bad) < len(troubled)
    assert {row["status"] for row in troubled if row not in bad} == {"ok"}
    assert report.failed == len(bad)
    return bad


@pytest.mark.parametrize(
    ("mode", "status", "message"),
    [
        (
            "raise",
            "error",
            "parts.py:57: RuntimeError: broken, <object object at 0x...> second line",
        ),
        ("nan", "nonfinite", "an estimate is not finite"),
        ("diverge", "nonfinite", "frobenius_error is not finite, or beyond 1e+100"),
        (
            "kill",
            "error",
            "the worker was killed by signal 9 (SIGKILL); out of memory is the usual cause",
        ),
        pytest.param(
            "segfault",
            "error",
            "the worker was killed by signal 11 (SIGSEGV)",
            marks=pytest.mark.deep,
        ),
        pytest.param(
            "exit",
            "error",
            "the worker process ended with exit code 3",
            marks=pytest.mark.deep,
        ),
    ],
)
def test_a_failure_is_a_row_and_the_run_goes_on(lab, mode, status, message):
    for row in run_with(lab, mode):
        assert (row["status"], row["message"]) == (status, message)
        assert row["frobenius_error"] == row["sign_support"] == ""
        # What is known of the data is kept.
        assert float(row["draw"]) < 0.5


@pytest.mark.deep
def test_compiled_code_that_never_returns_is_killed_at_its_limit(lab):
    rows = run_with(lab, "spin", time_limit=0.5)
    assert {(row["status"], row["message"]) for row in rows} == {
        ("timeout", "longer than the time limit of 0.5 s")
    }
    with (lab.results / "timings.csv").open(newline="") as stream:
        seconds = [float(row["seconds"]) for row in csv.DictReader(stream)]
    late = [value for value in seconds if value >= 0.5]
    assert len(late) == len(rows)
    assert max(late) < 1.0


SOLVER = '''
import subprocess
import sys


@algorithm("TAG_solver")
def solver(problem, *, wait: bool = True):
    """Starts another program, and may wait for it."""
    program = "import time; time.sleep(600)"
    started = subprocess.Popen([sys.executable, "-c", program])
    with open("PIDS", "a") as pids:
        pids.write(f"{started.pid}\\n")
    if wait:
        started.wait()
    return np.zeros((problem.n_features, 1))
'''


@pytest.mark.parametrize("wait", [True, False])
def test_programs_that_an_algorithm_starts_end_with_its_worker(lab, wait):
    pids = lab.folder / "pids"
    source = SOLVER.replace("TAG", lab.tag).replace("PIDS", str(pids))
    lab.plugin.write_text(f"{lab.plugin.read_text()}{source}")
    entry = {f"{lab.tag}_solver": {"wait": wait}}
    report = lab.run(algorithms=[entry], trials=1, time_limit=1.0, how={"jobs": 1})
    assert report.failed == (2 if wait else 0)
    started = [int(pid) for pid in pids.read_text().split()]
    assert len(started) >= 2
    deadline = time.monotonic() + 5
    while any(map(alive, started)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended may wait for its parent."""
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_data_that_cannot_be_made_fail_for_every_algorithm(lab):
    report = lab.run(data={"trouble": "raise"}, how={"jobs": 2})
    rows = read(report)
    assert report.done == len(rows) == 24
    failed = [row for row in rows if row["status"] == "error"]
    assert {row["message"] for row in failed} == {
        "no data: parts.py:23: ValueError: no data at <object object at 0x...>"
    }
    assert {row["draw"] for row in failed} == {""}
    assert 0 < len(failed) < 24
    assert len(failed) % 2 == 0


def test_data_that_take_too_long_time_out_for_every_algorithm(lab):
    changes = {"data": {"trouble": "hang", "sweep": {"n": [8]}}, "time_limit": 0.5, "trials": 4}
    rows = read(lab.run(**changes, how={"jobs": 2}))
    late = [row for row in rows if row["status"] == "timeout"]
    assert len(rows) == 8
    assert 0 < len(late) < 8
    assert len(late) % 2 == 0


def test_failures_are_tried_again_only_when_asked(lab):
    entry = [lab.trouble("raise")]
    first = lab.run(algorithms=entry)
    assert first.failed > 0
    assert lab.run(algorithms=entry).computed == 0
    again = lab.run(algorithms=entry, how={"retry_failed": True})
    assert again.computed == again.failed == first.failed


def test_the_serial_engine_says_that_it_does_not_enforce_a_time_limit(lab, capsys):
    slow = [{f"{lab.tag}_ridge": {"pause": 0.02}}]
    report = lab.run(time_limit=0.01, how={"engine": "serial"}, algorithms=slow)
    assert (report.done, report.failed) == (12, 0)
    assert capsys.readouterr().err == (
        "Warning: the serial engine does not enforce the time limit of 0.01 s.\n"
    )
    lab.run(how={"engine": "serial"})
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"engine": "process"}, "there is no engine 'process'. Did you mean 'processes'?"),
        ({"jobs": 0}, "jobs must be a whole number of at least 1, but is 0"),
        ({"jobs": "two"}, "jobs must be a whole number of at least 1, but is 'two'"),
    ],
)
def test_impossible_options_are_refused_before_anything_is_written(lab, how, words):
    with pytest.raises(ConfigError, match=words.replace("?", r"\?")):
        lab.run(how=how)
    assert not lab.results.exists()


def only_in_workers(lab, line):
    """Let the plugin do something on import, but not in this process, which imports it too."""
    guarded = f"import os\nif os.getpid() != {os.getpid()}:\n    {line}\n"
    lab.plugin.write_text(f"{lab.plugin.read_text()}\n{guarded}")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("raise RuntimeError('boom')", "RuntimeError on import: boom"),
        pytest.param("os._exit(4)", r"on import: os\._exit\(4\)", marks=pytest.mark.deep),
        ("os.kill(os.getpid(), 9)", "killed by signal 9 .* before it was ready"),
    ],
)
def test_a_worker_that_cannot_start_ends_the_run(lab, line, words):
    experiment = lab.experiment()
    only_in_workers(lab, line)
    with pytest.raises(PluginError, match=words):
        runner.run(experiment, lab.results, runner.RunOptions(jobs=2, progress=False))


def test_a_part_of_a_session_is_refused_by_workers_and_runs_in_the_serial_engine(lab):
    experiment = lab.experiment()
    registry.find("algorithm", f"{lab.tag}_ridge").function.__module__ = "__main__"
    with pytest.raises(PluginError, match="_ridge' is defined in the running script"):
        runner.run(experiment, lab.results, runner.RunOptions(progress=False))
    assert (
        runner.run(experiment, lab.results, runner.RunOptions(engine="serial", progress=False)).done
        == 24
    )


def test_code_edited_during_a_run_makes_no_row_of_that_run(lab):
    """A worker that is started anew would load the new code under the old version's name."""
    source = lab.plugin.read_text()
    edit = f"open({str(lab.plugin)!r}, 'a').write('EDITED = 1\\n')"
    lab.plugin.write_text(source.replace("os._exit(3)", f"{edit}; os._exit(3)"))
    with pytest.raises(PluginError, match="edited during the run"):
        lab.run(algorithms=[lab.trouble("exit")], how={"jobs": 1})


def test_a_fact_with_the_name_of_a_column_is_refused(lab):
    lab.plugin.write_text(lab.plugin.read_text().replace('{"draw": draw}', '{"status": draw}'))
    with pytest.raises(PluginError, match="returned a fact 'status', which names another column"):
        lab.run(algorithms=[f"{lab.tag}_median"])
