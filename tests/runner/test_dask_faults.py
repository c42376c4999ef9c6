"""Faults of a Dask cluster of real processes on this machine; tables equal those of `serial`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest
from dask_processes import Cluster
from runner_lab import Laboratory, rows_of

from greedyexp.core.errors import UserError

pytestmark = pytest.mark.deep

# Replicates take a tenth of a second, and batches about a second.
_PAUSE = 0.1
_BATCH = 20


@pytest.fixture
def lab(tmp_path):
    return Laboratory(tmp_path)


@pytest.fixture
def cluster(tmp_path):
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.close()


def settings(lab, trials: int = 40) -> dict:
    return {"algorithms": [{f"{lab.tag}_ridge": {"pause": _PAUSE}}], "trials": trials}


def start_run(lab, scheduler, *, cwd=None, **changes) -> subprocess.Popen:
    command = [sys.executable, "-m", "greedyexp", "run", str(lab.write_yaml(**changes))]
    command += ["--engine", "dask", "--scheduler", str(scheduler)]
    with (lab.folder / "run.log").open("w") as log:
        return subprocess.Popen(
            [*command, "--out", str(lab.folder / "results")], stdout=log, stderr=log, cwd=cwd
        )


def wait_for_replicates(lab, count: int) -> None:
    end = time.monotonic() + 120
    while len(lab.calls("ridge")) < count:
        log = lab.folder / "run.log"
        assert time.monotonic() < end, log.read_text() if log.exists() else "nothing happens"
        time.sleep(0.05)


def wait_for_file(path) -> None:
    end = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.05)


def finish(lab, run: subprocess.Popen, code: int = 0) -> str:
    status = run.wait(timeout=240)
    output = (lab.folder / "run.log").read_text()
    assert status == code, output
    return output


def require_same_table(lab, **changes) -> None:
    """The table equals that of the serial engine, which then computes it without the pauses."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "sleep", lambda _: None)
        report = lab.run(**changes, folder=lab.folder / "serial/lab/quick")
    assert (lab.results / "lab.csv").read_bytes() == report.csv.read_bytes()


def repeated(lab) -> int:
    """Number of replicates that were computed more than once."""
    return sum(count - 1 for count in Counter(lab.calls("ridge")).values())


def test_one_worker_is_killed(lab, cluster):
    one, _ = cluster.start_worker(), cluster.start_worker()
    run = start_run(lab, cluster.address, **settings(lab))
    wait_for_replicates(lab, 25)
    one.kill()
    finish(lab, run)
    assert repeated(lab) <= _BATCH
    require_same_table(lab, **settings(lab))


def test_all_workers_are_killed_and_others_come(lab, cluster):
    workers = [cluster.start_worker(), cluster.start_worker()]
    run = start_run(lab, cluster.address, **settings(lab))
    wait_for_replicates(lab, 25)
    for worker in workers:
        worker.kill()
    time.sleep(3)
    cluster.start_worker()
    finish(lab, run)
    assert repeated(lab) <= 2 * _BATCH
    require_same_table(lab, **settings(lab))


def test_the_nanny_is_killed(lab, cluster):
    nanny, _ = cluster.start_worker("--nanny"), cluster.start_worker()
    run = start_run(lab, cluster.address, **settings(lab))
    wait_for_replicates(lab, 25)
    nanny.kill()
    finish(lab, run)
    assert repeated(lab) <= _BATCH
    require_same_table(lab, **settings(lab))


def test_a_lost_scheduler_ends_the_run(lab, cluster):
    cluster.start_worker()

    def kill() -> None:
        wait_for_replicates(lab, 25)
        cluster.scheduler.kill()

    thread = threading.Thread(target=kill)
    thread.start()
    how = {"engine": "dask", "jobs": None, "scheduler": cluster.address}
    with pytest.raises(UserError, match="the Dask scheduler was lost"):
        lab.run(**settings(lab), how=how)
    thread.join()
    computed = len(lab.calls("ridge"))
    report = lab.run(**settings(lab))
    assert computed >= 25
    assert report.computed <= 80 - computed + 2 * _BATCH


def test_a_worker_stands_still_for_a_minute(lab, cluster):
    one, _ = cluster.start_worker(), cluster.start_worker()
    run = start_run(lab, cluster.address, **settings(lab))
    wait_for_replicates(lab, 25)
    os.kill(one.pid, signal.SIGSTOP)
    time.sleep(60)
    os.kill(one.pid, signal.SIGCONT)
    finish(lab, run)
    assert repeated(lab) == 0
    require_same_table(lab, **settings(lab))


def test_workers_are_added_midway(lab, cluster):
    cluster.start_worker()
    wait_for_file(cluster.scheduler_file)
    run = start_run(lab, cluster.scheduler_file, **settings(lab, 100))
    wait_for_replicates(lab, 10)
    cluster.start_worker(threads=2)
    finish(lab, run)
    assert json.loads((lab.results / "manifest.json").read_text())["jobs"] == 3
    assert repeated(lab) == 0
    require_same_table(lab, **settings(lab, 100))


def test_the_client_is_killed_and_run_again(lab, cluster):
    cluster.start_worker()
    run = start_run(lab, cluster.address, **settings(lab))
    wait_for_replicates(lab, 40)
    run.kill()
    run.wait()
    time.sleep(2)
    before = len(lab.calls("ridge"))
    time.sleep(1)
    assert len(lab.calls("ridge")) == before, "the workers go on for nobody"
    finish(lab, start_run(lab, cluster.address, **settings(lab)))
    assert repeated(lab) <= 2 * _BATCH
    require_same_table(lab, **settings(lab))


def test_an_interrupted_run_keeps_what_workers_have_finished(lab, cluster):
    cluster.start_worker()
    run = start_run(lab, cluster.address, **settings(lab))
    wait_for_replicates(lab, 40)
    run.send_signal(signal.SIGINT)
    finish(lab, run, 130)
    kept = len(rows_of(lab.results / "lab.csv"))
    assert len(lab.calls("ridge")) - kept <= 1
    finish(lab, start_run(lab, cluster.address, **settings(lab)))
    require_same_table(lab, **settings(lab))


def test_a_replicate_that_kills_its_worker_becomes_an_error_alone(lab, cluster):
    """Its worker is that of Dask, which a nanny starts again."""
    lab.plugin.write_text(
        lab.plugin.read_text().replace(
            '    if mode == "nan":',
            '    if mode == "parent":\n        os.kill(os.getppid(), signal.SIGKILL)\n'
            '        time.sleep(10)\n    if mode == "nan":',
        )
    )
    cluster.start_worker("--nanny", threads=2)
    changes = {"algorithms": [lab.trouble("parent", below=0.06), f"{lab.tag}_ridge"], "trials": 10}
    finish(lab, start_run(lab, cluster.address, **changes), 1)
    rows = rows_of(lab.results / "lab.csv")
    failed = [row for row in rows if "error" in row]
    draws = {float(line.split()[-1]) for line in lab.calls("data")}
    assert len(rows) == 40
    assert len(failed) == sum(draw < 0.06 for draw in draws) > 0
    assert all("the Dask workers died that computed it" in row for row in failed)


def test_a_stuck_kernel_costs_no_worker(lab, cluster):
    worker = cluster.start_worker()
    changes = {"algorithms": [lab.trouble("spin")], "time_limit": 0.5, "trials": 3}
    finish(lab, start_run(lab, cluster.address, **changes), 1)
    assert worker.poll() is None
    assert any("timeout" in row for row in rows_of(lab.results / "lab.csv"))


def test_a_relative_path_of_data_starts_from_the_folder_of_the_client(lab, cluster):
    """The workers were started in another folder."""
    here = lab.folder / "here"
    here.mkdir()
    lines = "".join(f"{k % 5},{k % 7},{k}\n" for k in range(40))
    (here / "mine.csv").write_text(f"a,b,y\n{lines}")
    cluster.start_worker()
    source = {"generator": "file", "path": "mine.csv", "sweep": {"test_fraction": [0.2, 0.4]}}
    changes = {"data": source, "algorithms": ["omp"], "metrics": ["test_error"]}
    finish(lab, start_run(lab, cluster.address, cwd=here, **changes))
    assert len(rows_of(lab.results / "lab.csv")) == 12


def test_a_cluster_with_certificates(lab, tmp_path, monkeypatch):
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=localhost", "-keyout", key, "-out", certificate]
    subprocess.run(command, check=True, capture_output=True)
    files = ("--tls-ca-file", certificate, "--tls-cert", certificate, "--tls-key", key)
    cluster = Cluster(tmp_path, "tls", files)
    try:
        cluster.start_worker()
        prefix = "DASK_DISTRIBUTED__COMM__TLS"
        monkeypatch.setenv(f"{prefix}__CA_FILE", certificate)
        monkeypatch.setenv(f"{prefix}__CLIENT__CERT", certificate)
        monkeypatch.setenv(f"{prefix}__CLIENT__KEY", key)
        finish(lab, start_run(lab, cluster.address, **settings(lab, 3)))
    finally:
        cluster.close()
    require_same_table(lab, **settings(lab, 3))


# Batch jobs are processes of this machine; a job is known by the number of its process group.
_SBATCH = """\
#!/bin/bash
cp "$1" "$0-$$"
setsid bash "$0-$$" > "$0-$$.log" 2>&1 &
echo $! >> "$(dirname "$0")/jobs"
echo "Submitted batch job $!"
"""
_SCANCEL = """\
#!/bin/bash
kill -- -"$1"
"""


def test_a_cluster_file_starts_jobs_and_ends_them(lab, monkeypatch):
    folder = lab.folder / "bin"
    folder.mkdir()
    for name, text in (("sbatch", _SBATCH), ("scancel", _SCANCEL)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    file = lab.folder / "cluster.yaml"
    options = '{cores: 1, memory: 1GB, walltime: "00:10:00", interface: lo}'
    file.write_text(f"kind: slurm\njobs: 2\noptions: {options}\n")
    report = lab.run(**settings(lab, 5), how={"engine": "dask", "jobs": None, "cluster": file})
    assert report.done == report.total == 10
    assert json.loads((lab.results / "manifest.json").read_text())["cluster"] == str(file)
    require_same_table(lab, **settings(lab, 5))
    groups = [int(line) for line in (folder / "jobs").read_text().split()]
    assert len(groups) == 2
    end = time.monotonic() + 20
    while any(_runs(group) for group in groups):
        assert time.monotonic() < end, "the jobs go on"
        time.sleep(0.1)


def _runs(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
