"""Ctrl-C keeps what is finished, and a second run on one folder is refused."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

from cli_process import environment, greedyexp, refused, write_toy

COMMAND = ("run", "toy.yaml", "--trials", "40", "-j", "2")
FITS = 80


def test_interrupt_gives_130_and_the_same_command_goes_on(call, tmp_path):
    write_toy(tmp_path, algorithms="[toy_slow]")
    process = subprocess.Popen(
        [sys.executable, "-m", "greedyexp", *COMMAND],
        cwd=tmp_path,
        env={**environment(), "TOY_SECONDS": "0.3"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    calls = tmp_path / "calls.log"
    deadline = time.monotonic() + 60
    # Two workers that began four fits have finished two.
    while not (calls.exists() and calls.stat().st_size >= 4) and time.monotonic() < deadline:
        time.sleep(0.05)
    second = call(*COMMAND, cwd=tmp_path)
    os.killpg(process.pid, signal.SIGINT)  # what a terminal does on Ctrl-C
    _, errors = process.communicate(timeout=60)
    refused(second, "results/toy/quick")
    assert process.returncode == 130, errors
    assert "the same command goes on" in errors
    assert "Traceback" not in errors

    resumed = greedyexp(*COMMAND, cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    computed = re.search(rf"{FITS} of {FITS} done, 0 failed; (\d+) computed", resumed.stdout)
    assert 0 < int(computed[1]) < FITS
    whole = call(*COMMAND, "--engine", "serial", "--out", "fresh", cwd=tmp_path)
    assert whole.returncode == 0, whole.stderr
    one, other = (tmp_path / out / "toy/quick/toy.csv" for out in ("results", "fresh"))
    assert one.read_bytes() == other.read_bytes()
