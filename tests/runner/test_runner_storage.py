"""The results folder: one writer, whole files, clear errors that keep what was there."""

from __future__ import annotations

import contextlib
import csv
import errno
import gzip
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from runner_lab import Laboratory, rows_of

from greedyexp.core import files
from greedyexp.core.errors import StorageError
from greedyexp.core.files import folder_lock
from greedyexp.runner import manifest, rows
from greedyexp.runner.rows import cell


@pytest.fixture
def lab(tmp_path):
    return Laboratory(tmp_path)


HOLD = """
import sys, time
from pathlib import Path
from greedyexp.runner.rows import cell
from greedyexp.core.files import folder_lock
with folder_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(1000)
"""


@pytest.fixture
def holder(lab):
    """Another process that writes to the lab's folder."""
    lab.results.mkdir(parents=True)
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(lab.results)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_second_run_on_a_folder_is_refused_by_name(lab, holder):
    with pytest.raises(StorageError, match=rf"process {holder.pid}\) is writing to this folder"):
        lab.run()
    assert not (lab.results / "journal.sqlite").exists()


def test_the_lock_of_a_killed_run_is_free(lab, holder):
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert lab.run().done == 24


def test_the_lock_is_free_after_a_run(tmp_path):
    for _ in range(2):
        with folder_lock(tmp_path):
            assert (tmp_path / ".lock").read_text() == f"{os.getpid()}\n"


def test_a_file_in_the_place_of_the_folder_is_a_clear_error(lab):
    lab.results.parent.mkdir(parents=True)
    lab.results.write_text("mine")
    with pytest.raises(StorageError, match="cannot be written: File exists"):
        lab.run()
    assert lab.results.read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_a_clear_error(lab):
    (lab.folder / "results").write_text("mine")
    with pytest.raises(StorageError, match="cannot be written: Not a directory"):
        lab.run()


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS, errno.ENOSPC])
def test_a_folder_without_permission_or_space_is_a_clear_error(lab, monkeypatch, code):
    def refused(path, *_, **__):
        raise OSError(code, os.strerror(code), path)

    monkeypatch.setattr("greedyexp.core.files.os.open", refused)
    with pytest.raises(StorageError, match=os.strerror(code)):
        lab.run()


def test_a_damaged_journal_ends_the_run_and_keeps_the_table(lab):
    lab.run()
    table = (lab.results / "lab.csv").read_bytes()
    (lab.results / "journal.sqlite").write_bytes(b"not a journal at all" * 500)
    with pytest.raises(StorageError, match="not a database") as caught:
        lab.run()
    assert caught.value.exit_code == 2
    assert (lab.results / "lab.csv").read_bytes() == table
    (lab.results / "journal.sqlite").unlink()
    assert lab.run().csv.read_bytes() == table


def test_rows_that_a_damaged_journal_hides_are_no_success(lab):
    """A changed bit in the key of a row leaves the rest of the file readable.

    It hides this row, or also others, which it leads the search past. They are computed again.
    """
    lab.run(trials=6)
    path, table = lab.results / "journal.sqlite", lab.results / "lab.csv"
    kept, sound = table.read_bytes(), path.read_bytes()
    with contextlib.closing(sqlite3.connect(path)) as database:
        keys = [key for (key,) in database.execute("SELECT key FROM outcomes")]
    messages = []
    for key in keys:
        path.write_bytes(sound.replace(key, bytes([key[0] ^ 0x80]) + key[1:]))
        try:
            assert lab.run(trials=6, how={"engine": "serial", "jobs": None}).computed >= 1
        except StorageError as error:
            messages.append(str(error))
        assert table.read_bytes() == kept
    assert messages
    assert all("not found in the journal, which is damaged" in said for said in messages)


def test_a_disk_that_fills_up_during_a_run_keeps_what_was_there(lab):
    """A limit on the size of files stands in for the disk."""
    lab.run(trials=2)
    table = (lab.results / "lab.csv").read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, hard))
    try:
        with pytest.raises(StorageError, match="free space"):
            lab.run(trials=400, how={"jobs": 1})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (lab.results / "lab.csv").read_bytes() == table
    again = lab.run(trials=400)
    assert again.done == 1600
    assert set(table.decode().splitlines()) <= set(again.csv.read_text().splitlines())


def write_and_fail(target, error: BaseException) -> None:
    with files.replacing(target) as stream:
        stream.write(b"new, but")
        raise error


@pytest.mark.parametrize(
    ("error", "seen"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), StorageError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, error, seen):
    target = tmp_path / "table.csv"
    files.write_text(target, "old")
    with pytest.raises(seen):
        write_and_fail(target, error)
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]
    assert target.read_text() == "old"
    files.write_text(target, "new")
    assert target.read_text() == "new"


def test_the_table_is_tidy(lab):
    lab.run(
        algorithms=[
            {f"{lab.tag}_ridge": {"label": "ridge", "sweep": {"penalty": [0.1, 2.0]}}},
            lab.trouble("raise", below=0.3),
        ]
    )
    with (lab.results / "lab.csv").open(newline="") as stream:
        reader = csv.DictReader(stream)
        rows = list(reader)
    assert reader.fieldnames == [
        *("n", "p", "noise", "trouble", "draw", "replicate", "algorithm", "penalty"),
        *("status", "message", "tuning", "frobenius_error", "sign_support"),
    ]
    order = [(int(row["n"]), int(row["replicate"]), row["algorithm"]) for row in rows]
    assert order == sorted(order)
    assert len(order) == len(set(order)) == 2 * 6 * 3
    assert {row["penalty"] for row in rows} == {"0.1", "2.0", ""}
    assert {row["penalty"] for row in rows if row["algorithm"] == "trouble"} == {""}
    assert {row["sign_support"] for row in rows} == {"0", ""}
    with (lab.results / "timings.csv").open(newline="") as stream:
        timings = list(csv.DictReader(stream))
    keys = ("n", "p", "noise", "trouble", "replicate", "algorithm", "penalty")
    assert list(timings[0]) == [*keys, "seconds", "fit_seconds"]
    assert [[row[k] for k in keys] for row in timings] == [[row[k] for k in keys] for row in rows]
    assert "seconds" not in rows[0]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1 + 0.2, "0.30000000000000004"),
        (1e-300, "1e-300"),
        (np.float64(0.1), "0.1"),
        (3, "3"),
        (True, "1"),
        (np.bool_(False), "0"),
        (None, ""),
        ([1, 2.5], "[1,2.5]"),
        ("a,b", "a,b"),
    ],
)
def test_cells(value, text):
    assert cell(value) == text


def test_a_large_table_is_compressed_the_same_way_every_time(lab, monkeypatch):
    plain = lab.run().csv
    content = plain.read_bytes()
    monkeypatch.setattr(rows, "LARGE", len(content) - 1)
    packed = lab.run().csv
    assert packed.name == "lab.csv.gz"
    assert not plain.exists()
    first = packed.read_bytes()
    assert gzip.decompress(first) == content
    # Bytes 4 to 7 of a gzip header are the time.
    assert first[4:8] == b"\0\0\0\0"
    assert lab.run().csv.read_bytes() == first
    monkeypatch.setattr(rows, "LARGE", len(content))
    assert lab.run().csv == plain
    assert not packed.exists()
    assert plain.read_bytes() == content


def test_the_config_gives_the_same_experiment_again(lab):
    from greedyexp import config as experiment

    lab.run()
    # The copy of the plugin in the run folder is the plugin.
    lab.plugin.unlink()
    again = experiment.load(lab.results / "config.yaml", profile="quick")
    lab.plugin.write_text((lab.results / "plugins" / "parts.py").read_text())
    first = lab.experiment()
    assert (again.points, again.algorithms, again.seed) == (
        first.points,
        first.algorithms,
        first.seed,
    )


def test_the_manifest_says_what_the_run_was_made_with(lab):
    lab.run(algorithms=[f"{lab.tag}_ridge", lab.trouble("raise")], how={"jobs": 2})
    made = json.loads((lab.results / "manifest.json").read_text())
    failed = sum(",error," in row for row in rows_of(lab.results / "lab.csv"))
    assert made["replicates"] == {
        "total": 24,
        "done": 24,
        "failed": {"error": failed},
        "not_converged": 0,
        "missing": 0,
        "computed": 24,
    }
    assert (made["seed"], made["jobs"], made["engine"]) == (7, 2, "processes")
    assert made["packages"]["numpy"] == np.__version__
    assert all(library["threads_per_worker"] == 1 for library in made["blas"])
    assert made["blas"]
    assert made["wall_seconds"] > 0
    assert made["cpu_seconds"] > 0
    assert made["started"] <= made["finished"]


def git(folder, *arguments) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_the_state_of_the_repository_leaves_results_out(tmp_path):
    assert manifest.git_state(tmp_path, tmp_path / "results") is None
    git(tmp_path, "init", "-q")
    (tmp_path / "results").mkdir()
    for name in ("code.py", "results/table.csv"):
        (tmp_path / name).write_text("1")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    clean = {"commit": git(tmp_path, "rev-parse", "HEAD"), "dirty": False}
    assert manifest.git_state(tmp_path, tmp_path / "results") == clean
    (tmp_path / "results" / "table.csv").write_text("2")
    assert manifest.git_state(tmp_path, tmp_path / "results") == clean
    (tmp_path / "code.py").write_text("2")
    assert manifest.git_state(tmp_path, tmp_path / "results") == {**clean, "dirty": True}
    # A status that cannot be read proves no clean state.
    git(tmp_path, "commit", "-qam", "second")
    (tmp_path / ".git" / "index").write_text("damaged")
    assert manifest.git_state(tmp_path, tmp_path / "results")["dirty"]


def test_workers_use_one_thread_each(lab):
    source = lab.plugin.read_text()
    probe = "{'draw': draw, 'threads': THREADS}"
    lab.plugin.write_text(
        source.replace('{"draw": draw}', probe)
        + "\nfrom threadpoolctl import threadpool_info\n"
        + "THREADS = max(e['num_threads'] for e in threadpool_info())\n"
    )
    report = lab.run(algorithms=[f"{lab.tag}_median"], how={"jobs": 1})
    with report.csv.open(newline="") as stream:
        assert {row["threads"] for row in csv.DictReader(stream)} == {"1"}


def test_a_run_without_a_finished_row_has_a_table_with_a_header(tmp_path):
    """What an interruption in the first second leaves must be readable."""
    from greedyexp.runner.journal import Journal
    from greedyexp.runner.plan import Plan

    lab = Laboratory(tmp_path)
    plan = Plan(lab.experiment())
    with Journal(tmp_path) as journal:
        table = rows.write_tables(plan.experiment, plan.finished, journal, tmp_path)
    assert table.read_text().startswith("n,p,noise,trouble,replicate,algorithm,status,message")
    assert rows_of(table) == []
    assert sqlite3.connect(tmp_path / "journal.sqlite").execute("PRAGMA journal_mode").fetchone()
