"""The engine `dask`, on a cluster inside the test process and with its own."""

from __future__ import annotations

import json
import os
import pickle
import re
import socket
import sys
import threading
import types
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
from runner_lab import Laboratory

from greedyexp.core.errors import UserError
from greedyexp.datasets import places
from greedyexp.runner.dask import clusters, compatibility, connection, engine, remote
from greedyexp.runner.fingerprint import InputFiles
from greedyexp.runner.work import DataFiles, work_of


@pytest.fixture(scope="module")
def scheduler():
    """Address of a scheduler with two workers of one thread."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        dashboard_address=":0",
        memory_limit=None,
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def lab(tmp_path):
    return Laboratory(tmp_path)


def manifest_of(folder) -> dict:
    return json.loads((folder / "manifest.json").read_text())


def test_the_table_is_that_of_the_serial_engine(lab, scheduler):
    """With errors, whose messages name lines of a plugin that workers get from the client."""
    changes = {"algorithms": [f"{lab.tag}_ridge", lab.trouble("raise")]}
    serial = lab.run(**changes, folder=lab.folder / "out/lab/quick")
    report = lab.run(**changes, how={"engine": "dask", "jobs": None, "scheduler": scheduler})
    assert report.failed
    assert report.csv.read_bytes() == serial.csv.read_bytes()
    manifest = manifest_of(lab.results)
    assert (manifest["engine"], manifest["jobs"], manifest["cluster"]) == ("dask", 2, scheduler)


def test_a_cluster_of_its_own(lab):
    lab.run(folder=lab.folder / "out/lab/quick")
    report = lab.run(how={"engine": "dask", "jobs": 2})
    assert report.csv.read_bytes() == (lab.folder / "out/lab/quick/lab.csv").read_bytes()
    assert manifest_of(lab.results)["jobs"] == 2


def test_other_versions_are_refused_before_work(lab, scheduler, monkeypatch):
    real = engine.own_versions
    monkeypatch.setattr(engine, "own_versions", lambda work: real(work) | {"numpy": "1.0"})
    how = {"engine": "dask", "jobs": None, "scheduler": scheduler}
    with pytest.raises(
        UserError, match=r"could differ: numpy 1\.0 here, .* and 1 more\."
    ) as caught:
        lab.run(how=how)
    assert "--allow-mixed" in str(caught.value)
    assert not lab.calls("ridge")
    report = lab.run(how=how | {"allow_mixed": True})
    assert report.done == report.total
    mixed = manifest_of(lab.results)["mixed_versions"]
    assert {(one["name"], one["here"]) for one in mixed} == {("numpy", "1.0")}


def test_data_that_a_worker_lacks_are_refused_before_work(lab, tmp_path):
    data = tmp_path / "mine.csv"
    data.write_text("x,y\n" + "".join(f"{k},{k % 7}\n" for k in range(20)))
    source = {"generator": "file", "path": str(data), "sweep": {"test_fraction": [0.2, 0.4]}}
    changes = {"data": source, "algorithms": ["omp"], "metrics": ["support_size"]}
    work = work_of(lab.experiment(**changes), files=InputFiles())
    assert len(work.data) == 1
    assert compatibility.data_error(work, tmp_path) == ""
    data.write_text("x,y\n1,2\n")
    assert "differs" in compatibility.data_error(work, tmp_path)
    data.unlink()
    assert "there is no such data file" in compatibility.data_error(work, tmp_path)


def test_public_data_that_a_worker_lacks_are_refused_before_work(lab, tmp_path, monkeypatch):
    """The folder that counts is that of the worker."""
    work = work_of(lab.experiment())
    needed = (DataFiles("digits_mfeat", {}, {}, True),)
    monkeypatch.setenv("GREEDYEXP_DATA", str(tmp_path))
    monkeypatch.setattr(places, "cache", lambda: tmp_path / "cache")
    sentence = compatibility.data_error(replace(work, data=needed), tmp_path)
    assert "the data set 'digits_mfeat' is neither in" in sentence


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"scheduler": ""}, "'' is neither the address of a scheduler nor a scheduler file"),
        ({"scheduler": "somewhere"}, "neither the address of a scheduler nor a scheduler file"),
        ({"scheduler": "tcp://x:1", "jobs": 2}, "a Dask cluster has its own"),
        ({"scheduler": "tcp://x:1", "engine": "processes"}, "has no use for `scheduler`"),
        ({"allow_mixed": True, "engine": "serial"}, "has no use for `allow_mixed`"),
    ],
)
def test_options_that_contradict_are_refused(lab, how, words):
    with pytest.raises(UserError, match=words):
        lab.run(how={"engine": "dask", "jobs": None} | how)


@pytest.mark.parametrize("content", ["", "hello", "[1]", "{}", '{"address": 5}'])
def test_a_file_without_an_address_is_no_scheduler_file(lab, tmp_path, content):
    file = tmp_path / "scheduler.json"
    file.write_text(content)
    with pytest.raises(UserError, match=r"scheduler\.json: this is not a scheduler file"):
        lab.run(how={"engine": "dask", "jobs": None, "scheduler": str(file)})


def test_a_scheduler_that_does_not_answer_is_a_sentence(lab, monkeypatch):
    monkeypatch.setattr(engine, "_CONNECT", 0.0)
    monkeypatch.setattr(connection, "_ATTEMPT", 1.0)
    how = {"engine": "dask", "jobs": None, "scheduler": "tcp://127.0.0.1:1"}
    with pytest.raises(UserError, match=r"tcp://127\.0\.0\.1:1: no Dask scheduler answers"):
        lab.run(how=how)


def test_a_scheduler_that_accepts_and_never_answers_is_a_sentence(lab, monkeypatch):
    """As one that is suspended, or another program at its address."""
    monkeypatch.setattr(engine, "_CONNECT", 0.0)
    monkeypatch.setattr(connection, "_ATTEMPT", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(UserError, match=f"{address}: no Dask scheduler answers"):
            lab.run(how={"engine": "dask", "jobs": None, "scheduler": address})


def test_the_dashboard_of_a_local_cluster_answers_at_the_address_that_is_printed():
    with clusters.Local(1).opened() as arguments:
        connected = connection.Connection(arguments, "test")
        try:
            # Its own page needs bokeh.
            page = connected.dashboard.replace("status", "info/main/workers.html")
            assert urllib.request.urlopen(page, timeout=10).status == 200
        finally:
            connected.close(remote.finish, "no run")


def test_without_dask_the_extra_is_named(lab, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UserError, match=r"pip install 'greedyexp\[dask\]'"):
        lab.run(how={"engine": "dask"})


CLUSTER = """\
kind: slurm
jobs: 4
options:
  cores: 16
  memory: 32GB
  queue: long
  walltime: "04:00:00"
"""


class KubeCluster:
    """Like that of dask-kubernetes, which asks Kubernetes for a scheduler when it is created."""

    _instances: ClassVar[list[KubeCluster]] = []

    def __init__(self, name="dask", image="dask", fails=False):
        self.shutdown_on_close, self.closed, self.workers = True, False, 0
        self._instances.append(self)
        if fails:
            raise ValueError("Unable to find valid credentials")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self, timeout=0):
        self.closed = True

    def scale(self, count):
        self.workers = count


@pytest.fixture
def kubernetes(monkeypatch, tmp_path):
    operator = types.ModuleType("dask_kubernetes.operator")
    operator.KubeCluster = KubeCluster
    monkeypatch.setattr(KubeCluster, "_instances", [])
    monkeypatch.setitem(sys.modules, "dask_kubernetes", types.ModuleType("dask_kubernetes"))
    monkeypatch.setitem(sys.modules, "dask_kubernetes.operator", operator)

    def started(options: dict) -> clusters.Started:
        path = tmp_path / "cluster.yaml"
        path.write_text(json.dumps({"kind": "kubernetes", "jobs": 3, "options": options}))
        return clusters.Started(path)

    return started


def test_pods_are_asked_for(kubernetes):
    with kubernetes({"name": "greedy", "image": "own"}).opened() as arguments:
        assert arguments["address"].workers == 3
    assert arguments["address"].closed


def test_a_kubernetes_that_fails_is_closed_and_a_sentence(kubernetes):
    with pytest.raises(UserError, match=r"cluster\.yaml: KubeCluster .* valid credentials\."):
        kubernetes({"fails": True}).create()
    (cluster,) = KubeCluster._instances
    # Otherwise it is closed again at exit.
    assert cluster.closed
    assert not cluster.shutdown_on_close


def test_an_option_of_pods_that_does_not_exist_is_named(kubernetes):
    with pytest.raises(UserError, match=r"no option 'nam'.* 'name'"):
        kubernetes({"nam": "greedy"})


def test_a_cluster_file_becomes_the_script_of_a_batch_job(tmp_path):
    path = tmp_path / "cluster.yaml"
    path.write_text(CLUSTER)
    with clusters.Started(path).create() as cluster:
        script = cluster.job_script()
    assert "#SBATCH -p long" in script
    assert "#SBATCH --cpus-per-task=16" in script
    assert "#SBATCH -t 04:00:00" in script
    assert "distributed.cli.dask_worker" in script


def test_the_cluster_files_of_the_page_become_scripts(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "guide" / "scaling.md").read_text()
    blocks = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 2
    for number, block in enumerate(blocks):
        path = tmp_path / f"cluster{number}.yaml"
        # The interface of the page is that of another machine.
        path.write_text(block.replace("ib0", "lo"))
        with clusters.Started(path).create() as cluster:
            assert f"--nthreads {(16, 1)[number]} " in cluster.job_script()


def test_without_the_batch_system_the_command_is_named(lab, tmp_path, monkeypatch):
    path = tmp_path / "cluster.yaml"
    path.write_text(CLUSTER)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"cluster\.yaml: this machine has no command 'sbatch'"):
        lab.run(how={"engine": "dask", "jobs": None, "cluster": path})


@pytest.mark.parametrize("value", ["32GB, interface: absent", "[32]", "lots"])
def test_values_that_a_cluster_cannot_be_started_with_are_a_sentence(tmp_path, value):
    path = tmp_path / "cluster.yaml"
    path.write_text(f"kind: slurm\njobs: 1\noptions: {{cores: 1, memory: {value}}}\n")
    with pytest.raises(UserError, match=r"cluster\.yaml: SLURMCluster cannot be started with"):
        clusters.Started(path).create()


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_job_that_the_batch_system_rejects_ends_the_run(lab, tmp_path, monkeypatch, capfd, jobs):
    """All jobs, or only the last of three."""
    sbatch, scancel = tmp_path / "bin/sbatch", tmp_path / "bin/scancel"
    sbatch.parent.mkdir()
    sbatch.write_text(
        "#!/bin/bash\n"
        f"if ! grep -q 'SLURMCluster-{jobs - 1}' $1; then echo Submitted batch job 7; exit; fi\n"
        "echo 'sbatch: error: invalid partition specified: long' >&2\nexit 1\n"
    )
    scancel.write_text(f"#!/bin/bash\necho $1 >> {tmp_path}/cancelled\n")
    for script in (sbatch, scancel):
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{sbatch.parent}:{os.environ['PATH']}")
    path = tmp_path / "cluster.yaml"
    path.write_text(CLUSTER.replace("jobs: 4", f"jobs: {jobs}"))
    words = r"cluster\.yaml: the batch system rejected a job: sbatch: error: invalid partition"
    with pytest.raises(UserError, match=words):
        lab.run(how={"engine": "dask", "jobs": None, "cluster": path})
    assert "Traceback" not in capfd.readouterr().err
    cancelled = (tmp_path / "cancelled").read_text().split() if jobs > 1 else []
    assert cancelled == ["7"] * (jobs - 1)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("kind: slurm", "kind: slrum", r"cluster\.yaml:1: .*slurm"),
        ("jobs: 4", "jobs: 0", r"cluster\.yaml:2: "),
        ("  queue: long", "  quueue: long", r"cluster\.yaml:6: SLURMCluster has no.*'queue'"),
        ("  queue: long", "  asynchronous: true", r"cluster\.yaml:6: SLURMCluster has no option"),
        ("jobs: 4", "jbos: 4", r"cluster\.yaml:2: unknown key 'jbos'"),
    ],
)
def test_mistakes_in_a_cluster_file_are_placed(tmp_path, old, new, words):
    path = tmp_path / "cluster.yaml"
    path.write_text(CLUSTER.replace(old, new))
    with pytest.raises(UserError, match=words):
        clusters.Started(path)


def test_a_batch_that_arrives_as_the_run_is_left_is_computed_again(monkeypatch):
    run = object.__new__(remote._Run)
    run._lock, run._busy, run._left = threading.Lock(), 0, False
    monkeypatch.setattr(run, "end", lambda: None)
    monkeypatch.setattr(remote, "_runs", {"run": run})
    monkeypatch.setattr(remote, "_cancelled", lambda: lambda: False)
    known = dict(remote._runs)
    run._leave()
    assert remote._runs == {}
    # As if this thread had found the run just before it was left.
    monkeypatch.setattr(remote, "_runs", known)
    assert remote.compute("run", pickle.dumps([])).results is None
    run._busy, run._left = 1, False
    run._leave()
    assert not run._left


def test_what_a_worker_leaves_out_is_computed_again(lab, scheduler, monkeypatch):
    """As when it is rid of the run while it computes."""
    real, calls = remote._Run.compute, []

    def compute(self, batch, cancelled):
        calls.append(batch)
        first = batch is calls[0]
        results = real(self, batch, cancelled)
        return results[:1] if first else results

    monkeypatch.setattr(remote._Run, "compute", compute)
    serial = lab.run(folder=lab.folder / "out/lab/quick")
    report = lab.run(how={"engine": "dask", "jobs": None, "scheduler": scheduler})
    assert report.csv.read_bytes() == serial.csv.read_bytes()


@pytest.mark.deep
def test_a_worker_that_has_forgotten_the_run_is_asked_again(lab, scheduler, monkeypatch):
    monkeypatch.setattr(remote, "_IDLE_LIMIT", 0.0)
    serial = lab.run(folder=lab.folder / "out/lab/quick")
    report = lab.run(how={"engine": "dask", "jobs": None, "scheduler": scheduler})
    assert report.csv.read_bytes() == serial.csv.read_bytes()
