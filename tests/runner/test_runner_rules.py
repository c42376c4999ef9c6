"""Seeds by meaning, resumption, and tables equal byte for byte, through real workers."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest
from runner_lab import Laboratory, rows_of

from greedyexp.runner.seeds import data_stream


@pytest.fixture
def lab(tmp_path):
    return Laboratory(tmp_path)


def reference(lab) -> bytes:
    return lab.run(folder=lab.folder / "reference", how={"engine": "serial"}).csv.read_bytes()


@pytest.mark.parametrize("jobs", [1, 2])
def test_workers_give_the_same_bytes_as_the_serial_engine(lab, jobs):
    report = lab.run(how={"jobs": jobs})
    assert report.csv.read_bytes() == reference(lab)
    assert (report.done, report.failed, report.computed) == (24, 0, 24)
    assert not report.interrupted


def test_the_order_of_the_sweep_and_of_the_algorithms_does_not_matter(lab):
    turned = lab.run(
        data={"sweep": {"n": [12, 8]}},
        algorithms=[f"{lab.tag}_median", f"{lab.tag}_ridge"],
    )
    assert turned.csv.read_bytes() == reference(lab)


def test_the_shipped_algorithms_give_the_same_bytes_in_any_process(tmp_path):
    lab = Laboratory(tmp_path)
    changes = {
        "data": {
            "generator": "multitask_overlap",
            "sweep": {"theta": [1.0, 3.0]},
            "p": 32,
            "kappa": 0.5,
        },
        "trials": 3,
        "algorithms": ["greedy_dirty", {"omp": {"tuning": "cv", "folds": 3}}],
        "metrics": ["sign_support", "frobenius_error"],
    }
    one = lab.run(**changes, how={"jobs": 2})
    other = lab.run(**changes, folder=tmp_path / "other", how={"engine": "serial"})
    assert one.csv.read_bytes() == other.csv.read_bytes()
    assert one.failed == 0


def test_the_data_are_those_of_the_semantic_stream(lab):
    """An oracle that knows only the seed's definition and the generator's first lines."""
    lab.run()
    params = {"n": 8, "p": 4, "noise": 0.5, "trouble": ""}
    rng = data_stream(7, f"{lab.tag}_data", params, 2)
    rng.standard_normal((8, 4))
    rng.standard_normal(8)
    expected = f"8,4,0.5,,{rng.random()!r},2,"
    assert sum(row.startswith(expected) for row in rows_of(lab.results / "lab.csv")) == 2


def test_all_algorithms_see_the_same_data_made_once(lab):
    lab.run(how={"jobs": 2})
    assert len(lab.calls("data")) == len(set(lab.calls("data"))) == 12


@pytest.mark.parametrize(
    "more",
    [
        {"data": {"sweep": {"n": [4, 8, 10, 12]}}},
        {"trials": 9},
        {"algorithms": ["TAG_ridge", "TAG_median", {"TAG_ridge": {"label": "a", "penalty": 3.0}}]},
    ],
    ids=["sweep", "trials", "algorithm"],
)
def test_adding_changes_no_row_and_computes_only_what_is_new(lab, more):
    more = json.loads(json.dumps(more).replace("TAG", lab.tag))
    small = lab.run()
    before = set(rows_of(small.csv))
    calls = set(lab.calls("ridge"))
    large = lab.run(**more)
    after = rows_of(large.csv)
    assert before < set(after)
    assert large.computed == len(after) - len(before)
    assert len(lab.calls("ridge")) == len(set(lab.calls("ridge"))) > len(calls) == 12


def test_nothing_is_computed_twice(lab):
    first = lab.run()
    content, calls = first.csv.read_bytes(), lab.log.read_text()
    again = lab.run(how={"jobs": 2})
    assert (again.computed, again.done) == (0, 24)
    assert again.csv.read_bytes() == content
    assert lab.log.read_text() == calls


def test_force_computes_everything_anew(lab):
    lab.run()
    assert lab.run(how={"force": True}).computed == 24
    assert len(lab.calls("data")) == 24


def test_narrowing_computes_a_part_and_keeps_the_rest_of_the_table(lab):
    part = lab.run(only=(f"algorithm={lab.tag}_median", "n=12"))
    assert part.computed == len(rows_of(part.csv)) == 6
    lab.run()
    whole = (lab.results / "lab.csv").read_bytes()
    again = lab.run(only=("n=8",), how={"force": True})
    assert (again.computed, again.done) == (12, 12)
    assert again.csv.read_bytes() == whole


RUN = """
import sys
from pathlib import Path
from greedyexp import config as experiment, runner
plan = experiment.load(sys.argv[1])
options = runner.RunOptions(jobs=int(sys.argv[3]), progress=False)
report = runner.run(plan, Path(sys.argv[2]), options)
print(report.computed, flush=True)
"""


def start(config, folder, jobs: int) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(config), str(folder), str(jobs)],
        stdout=subprocess.PIPE,
        text=True,
    )


def journaled(folder) -> int:
    try:
        with sqlite3.connect(f"file:{folder}/journal.sqlite?mode=ro", uri=True) as journal:
            return journal.execute("SELECT count(*) FROM outcomes").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


@pytest.mark.deep
def test_killed_at_random_moments_and_resumed_gives_the_same_bytes(lab):
    pausing = {f"{lab.tag}_ridge": {"pause": 0.02, "label": "ridge"}}
    changes = {"trials": 40, "algorithms": [pausing, f"{lab.tag}_median"]}
    config = lab.write_yaml(**changes)
    rng = np.random.default_rng(5)
    kept = [0]
    for jobs in (2, 1):
        run = start(config, lab.results, jobs)
        while journaled(lab.results) <= kept[-1] and run.poll() is None:
            time.sleep(0.02)
        time.sleep(rng.uniform(0, 0.4))
        os.kill(run.pid, signal.SIGKILL)
        run.communicate()
        kept.append(journaled(lab.results))
    assert 0 < kept[1] < kept[2] < 160
    last = start(config, lab.results, 2)
    computed = int(last.communicate()[0])
    assert last.returncode == 0
    assert computed == 160 - kept[2]
    whole = lab.run(**changes, folder=lab.folder / "reference", how={"jobs": 2})
    assert (lab.results / "lab.csv").read_bytes() == whole.csv.read_bytes()


def test_workers_die_with_the_run(lab):
    run = start(lab.write_yaml(data={"trouble": "hang"}), lab.results, 2)
    while not lab.log.exists() and run.poll() is None:
        time.sleep(0.02)
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(run.pid)], capture_output=True, text=True, check=True
    ).stdout.split()
    assert len(children) == 2
    os.kill(run.pid, signal.SIGKILL)
    run.communicate()
    deadline = time.monotonic() + 5
    while any(alive(int(pid)) for pid in children):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.deep
def test_a_script_needs_no_main_guard(lab):
    script = lab.folder / "script.py"
    script.write_text(
        "import sys\nfrom greedyexp import config as experiment, runner\n"
        f"plan = experiment.load({str(lab.write_yaml())!r})\n"
        "options = runner.RunOptions(jobs=2, progress=False)\n"
        f"print(runner.run(plan, {str(lab.results)!r}, options).done)\n"
    )
    # A file named like a library beside the script must not reach the workers either.
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=True, cwd=lab.folder
    )
    assert done.stdout == "24\n"


def test_a_local_file_does_not_shadow_a_library_in_workers(lab, monkeypatch):
    (lab.folder / "tqdm.py").write_text("raise RuntimeError('shadowed')\n")
    monkeypatch.chdir(lab.folder)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    assert lab.run(how={"jobs": 1}).done == 24
