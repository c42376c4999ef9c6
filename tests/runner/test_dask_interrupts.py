"""Ctrl-C at each stage of a run with the engine `dask`: what the terminal then shows."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time

import pytest
from dask_processes import Cluster
from runner_lab import Laboratory, rows_of

pytestmark = pytest.mark.deep

KEPT = "Interrupted: finished replicates are kept; the same command continues."


@pytest.fixture
def lab(tmp_path):
    return Laboratory(tmp_path)


def interrupted(lab, *options: str, when) -> str:
    """Run, press Ctrl-C when a condition holds for what was printed, and return what was."""
    algorithms = [{f"{lab.tag}_ridge": {"pause": 0.1}}]
    command = [sys.executable, "-m", "greedyexp", "run"]
    command += [
        str(lab.write_yaml(algorithms=algorithms, trials=200)),
        "--engine",
        "dask",
        *options,
    ]
    log = lab.folder / "run.log"
    with log.open("w") as stream:
        run = subprocess.Popen(
            [*command, "--out", str(lab.folder / "results")], stdout=stream, stderr=stream
        )
    try:
        end = time.monotonic() + 120
        while not when(log.read_text()):
            assert time.monotonic() < end, log.read_text()
            assert run.poll() is None, log.read_text()
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=60) == 130, log.read_text()
    finally:
        run.kill()
    said = log.read_text()
    assert said.splitlines()[-1] == KEPT
    # Dask logs its own events.
    assert not re.search("distributed|Traceback", said), said
    return said


def test_connecting(lab):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        interrupted(lab, "--scheduler", address, when=lambda said: "0/400" in said)


def test_waiting_for_workers(lab, tmp_path):
    cluster = Cluster(tmp_path)
    try:
        options = ("--scheduler", cluster.address)
        interrupted(lab, *options, when=lambda said: "Waiting for Dask workers." in said)
    finally:
        cluster.close()


def test_computing_on_a_cluster_of_its_own(lab):
    interrupted(lab, "-j", "2", when=lambda said: len(lab.calls("ridge")) > 20)
    assert rows_of(lab.results / "lab.csv")


def test_a_suspended_scheduler(lab, tmp_path):
    cluster = Cluster(tmp_path)
    cluster.start_worker()

    def computing(said: str) -> bool:
        if len(lab.calls("ridge")) > 20:
            cluster.scheduler.send_signal(signal.SIGSTOP)
            return True
        return False

    try:
        interrupted(lab, "--scheduler", cluster.address, when=computing)
    finally:
        cluster.close()
