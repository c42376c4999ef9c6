"""The engine `dask`, on a cluster inside the test process and with its own."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from runner_lab import Laboratory

from greedyexp.core.errors import UserError
from greedyexp.datasets import places
from greedyexp.runner.code_version import plugin_sources
from greedyexp.runner.dask import clusters, compatibility, connection, engine, remote
from greedyexp.runner.dask.compatibility import Comparison
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
        UserError, match=r"could differ: numpy 1\.0 here, .* on inproc://\S+, inproc://\S+\. "
    ):
        lab.run(how=how)
    assert not lab.calls("ridge")


def test_data_that_a_worker_lacks_are_refused_before_work(lab, tmp_path):
    data = tmp_path / "mine.csv"
    data.write_text("x,y\n" + "".join(f"{k},{k % 7}\n" for k in range(20)))
    source = {"generator": "file", "path": str(data), "sweep": {"test_fraction": [0.2, 0.4]}}
    changes = {"data": source, "algorithms": ["omp"], "metrics": ["support_size"]}
    work = work_of(lab.experiment(**changes), files=InputFiles())
    assert len(work.data) == 1
    assert compatibility.data_error(work, tmp_path) == ""
    data.write_text("x,y\n1,2\n")
    assert "differs from that of the main process" in compatibility.data_error(work, tmp_path)
    data.unlink()
    assert "there is no such data file" in compatibility.data_error(work, tmp_path)


def test_public_data_that_a_worker_lacks_are_refused_before_work(lab, tmp_path, monkeypatch):
    """The folder that counts is that of the worker."""
    work = work_of(lab.experiment())
    needed = (DataFiles("digits_mfeat", {}, {}, True),)
    monkeypatch.setenv("GREEDYEXP_DATA", str(tmp_path))
    monkeypatch.setattr(places, "cache", lambda: tmp_path / "cache")
    error = compatibility.data_error(replace(work, data=needed), tmp_path)
    assert "the data set 'digits_mfeat' is neither in" in error


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"scheduler": ""}, "'' is neither the address of a scheduler nor a scheduler file"),
        ({"scheduler": "somewhere"}, "neither the address of a scheduler nor a scheduler file"),
        ({"scheduler": "tcp://host"}, "neither the address of a scheduler nor a scheduler file"),
        ({"scheduler": "tpc://x:1"}, "neither the address of a scheduler nor a scheduler file"),
        ({"scheduler": "tcp://x:1", "jobs": 2}, "a Dask cluster has its own"),
        ({"scheduler": "tcp://x:1", "engine": "processes"}, "has no use for `scheduler`"),
        ({"cluster": "slurm.yaml", "engine": "serial"}, "has no use for `cluster`"),
    ],
)
def test_options_that_contradict_are_refused(lab, how, words):
    with pytest.raises(UserError, match=words):
        lab.run(how={"engine": "dask", "jobs": None} | how)
    assert not lab.results.exists()


@pytest.mark.parametrize("content", ["", "hello", "[1]", "{}", '{"address": 5}'])
def test_a_file_without_an_address_is_no_scheduler_file(lab, tmp_path, content):
    file = tmp_path / "scheduler.json"
    file.write_text(content)
    with pytest.raises(UserError, match=r"scheduler\.json' is neither .* nor a scheduler file"):
        lab.run(how={"engine": "dask", "jobs": None, "scheduler": str(file)})
    assert not lab.results.exists()


def test_a_scheduler_that_does_not_answer_is_a_sentence(lab, monkeypatch):
    monkeypatch.setattr(connection, "_CONNECT", 0.5)
    how = {"engine": "dask", "jobs": None, "scheduler": "tcp://127.0.0.1:1"}
    with pytest.raises(UserError, match=r"tcp://127\.0\.0\.1:1: no Dask scheduler answers"):
        lab.run(how=how)


def test_a_scheduler_that_accepts_and_never_answers_is_a_sentence(lab, monkeypatch):
    """As one that is suspended, or another program at its address."""
    monkeypatch.setattr(connection, "_CONNECT", 2.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        start = time.monotonic()
        with pytest.raises(UserError, match=f"{address}: no Dask scheduler answers"):
            lab.run(how={"engine": "dask", "jobs": None, "scheduler": address})
        assert 2.0 < time.monotonic() - start < 3.9


def setup_of(lab, versions: dict[str, str] | None = None) -> remote.Setup:
    sources = plugin_sources((str(lab.plugin),))
    work = work_of(lab.experiment())
    return remote.setup_of(work, sources, versions=versions or {})


def test_a_connection_that_ends_before_it_is_complete_is_closed(lab):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(20)
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        pending = connection.Connection(
            {"address": address}, address, setup_of(lab), announce=False
        )
        with silent.accept()[0] as peer:
            peer.settimeout(20)
            pending.close()
            while peer.recv(4096):
                pass
        assert not pending._thread.is_alive()


def test_an_error_of_the_connection_ends_the_run(lab, scheduler, monkeypatch):
    """Of any kind: the look at the number of threads must not end unnoticed."""
    monkeypatch.setattr(connection, "_PERIOD", "soon")
    with pytest.raises(UserError, match=r"the Dask scheduler was lost \(TypeError: "):
        lab.run(trials=200, how={"engine": "dask", "jobs": None, "scheduler": scheduler})


def test_what_a_batch_leaves_out_is_computed_again(lab, scheduler, monkeypatch):
    """As when Dask moves a task that has begun, and asks for it again."""
    real = remote._Run.compute
    monkeypatch.setattr(remote._Run, "compute", lambda *args: real(*args)[:1])
    serial = lab.run(folder=lab.folder / "out/lab/quick")
    report = lab.run(how={"engine": "dask", "jobs": None, "scheduler": scheduler})
    assert report.computed == report.done == report.total
    assert report.csv.read_bytes() == serial.csv.read_bytes()


def test_a_worker_forgets_a_run_whose_client_was_killed(lab, scheduler, monkeypatch, tmp_path):
    async def killed(*_):
        pass

    monkeypatch.setattr(connection.Connection, "_finish", killed)
    monkeypatch.setattr(remote, "_IDLE_LIMIT", 1.0)
    monkeypatch.setattr(remote, "_runs", {})
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    lab.run(how={"engine": "dask", "jobs": None, "scheduler": scheduler})
    (run,) = remote._runs.values()
    end = time.monotonic() + 30
    while remote._runs or list(tmp_path.glob("greedyexp-*")):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert not run._engines


def test_a_run_does_not_wait_for_the_comparison_of_another(lab, monkeypatch):
    slow, waiting = threading.Event(), threading.Event()

    def compared(setup):
        if setup.run == "slow":
            waiting.set()
            assert slow.wait(30)
        return Comparison([], "refused")

    def compare(name: str) -> str:
        with remote._entered(name) as run:
            return run.compare(replace(setup, run=name)).error

    setup = setup_of(lab)
    monkeypatch.setattr(remote, "comparison_of", compared)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(compare, "slow")
        assert waiting.wait(30)
        assert pool.submit(compare, "quick").result(timeout=20) == "refused"
        slow.set()
        assert first.result(timeout=20) == "refused"


def test_a_refusal_names_all_workers_within_a_bound():
    different = Comparison(["numpy 1.0 here, 2.0"], "")
    many = {f"tcp://{number}": different for number in range(40)}
    error = compatibility.refusal(many)
    assert "numpy 1.0 here, 2.0 on tcp://0, tcp://1, " in str(error)
    assert "and 24 more" in str(error)
    lacking = {"tcp://a": Comparison([], "no file."), "tcp://b": Comparison([], "no file.")}
    error = compatibility.refusal(lacking)
    assert str(error) == "the Dask workers tcp://a, tcp://b cannot compute: no file."
    error = compatibility.refusal({"tcp://a": ImportError("gone")})
    assert "the Dask worker tcp://a cannot compute: ImportError: gone. Install" in str(error)


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


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("kind: slurm", "kind: slrum", r"cluster\.yaml:1: .*slurm"),
        ("jobs: 4", "jobs: 0", r"cluster\.yaml:2: "),
        ("jobs: 4", "jbos: 4", r"cluster\.yaml:2: unknown key 'jbos'"),
    ],
)
def test_mistakes_in_a_cluster_file_are_placed(tmp_path, old, new, words):
    path = tmp_path / "cluster.yaml"
    path.write_text(CLUSTER.replace(old, new))
    with pytest.raises(UserError, match=words):
        clusters.Started(path)


@pytest.mark.deep
def test_a_worker_whose_processes_have_ended_starts_others(lab, scheduler, monkeypatch):
    monkeypatch.setattr(remote, "_IDLE_LIMIT", 0.0)
    serial = lab.run(folder=lab.folder / "out/lab/quick")
    report = lab.run(how={"engine": "dask", "jobs": None, "scheduler": scheduler})
    assert report.csv.read_bytes() == serial.csv.read_bytes()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_local_cluster_listens_on_the_loopback_only():
    def listening() -> set[str]:
        links = [f"/proc/self/fd/{number}" for number in range(1000)]
        own = {os.readlink(link) for link in links if os.path.islink(link)}
        lines = [
            line.split()
            for name in ("tcp", "tcp6")
            for line in Path("/proc/net", name).read_text().splitlines()[1:]
        ]
        return {line[1] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in own}

    others = listening()
    with clusters.Local(2).opened():
        addresses = listening() - others
    assert addresses
    assert {address.partition(":")[0] for address in addresses} == {"0100007F"}
