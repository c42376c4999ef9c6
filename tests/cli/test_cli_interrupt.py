"""A signal is no result: finished replicates are kept and the same command continues."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
from cli_process import environment, refused, write_toy
from kept_registry import kept_registry
from matplotlib.figure import Figure

import greedyexp
from greedyexp import report
from greedyexp.core import plugins
from greedyexp.core.signals import INTERRUPTS
from greedyexp.runner import manifest

COMMAND = ("run", "toy.yaml", "--trials", "20")
FITS = 40

# The first three replicates are computed twice. From the eighth call on, which is in the fifth
# replicate, an algorithm takes as long as the file "hold" is there.
PLUGIN = '''

@algorithm("toy_held")
def toy_held(problem):
    """Notes that it was called, and waits while it is held."""
    with open("calls.log", "a") as log:
        log.write(".")
    while os.path.exists("hold") and os.path.getsize("calls.log") > 7:
        time.sleep(0.01)
    return problem.truth
'''


def write_held(folder: Path) -> None:
    write_toy(folder, algorithms="[toy_held]")
    with (folder / "toy_plugin.py").open("a") as stream:
        stream.write(PLUGIN)
    (folder / "hold").touch()


def started(folder: Path, *arguments: str) -> subprocess.Popen:
    """The command as a process, once it is held up in its fifth replicate."""
    process = subprocess.Popen(
        [sys.executable, "-m", "greedyexp", *COMMAND, *arguments],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    calls = folder / "calls.log"
    deadline = time.monotonic() + 60
    while not (calls.exists() and calls.stat().st_size > 7) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert process.poll() is None
    return process


def goes_on(call, folder: Path) -> None:
    """The same command continues, to the table that a run without signals writes."""
    part = (folder / "results/toy/quick/toy.csv").read_text()
    assert 4 <= part.count(",ok,") < FITS
    assert ",error," not in part
    (folder / "hold").unlink(missing_ok=True)
    resumed = call(*COMMAND, "--engine", "serial", cwd=folder)
    assert resumed.returncode == 0, resumed.stderr
    computed = re.search(rf"{FITS} of {FITS} done, 0 failed; (\d+) computed", resumed.stdout)
    assert int(computed[1]) == FITS - part.count(",ok,")
    whole = call(*COMMAND, "--engine", "serial", "--out", "fresh", cwd=folder)
    assert whole.returncode == 0, whole.stderr
    one, other = (folder / out / "toy/quick/toy.csv" for out in ("results", "fresh"))
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("engine", "signals", "receivers", "code"),
    [
        ("serial", ["SIGINT"] * 2, "group", 130),
        ("serial", ["SIGINT"] * 5, "group", 130),
        ("serial", ["SIGTERM"], "process", 143),
        ("processes", ["SIGINT"] * 3, "group", 130),
        pytest.param("processes", ["SIGTERM"] * 2, "group", 143, marks=pytest.mark.deep),
        pytest.param("processes", ["SIGHUP"], "group", 129, marks=pytest.mark.deep),
    ],
)
def test_a_signal_ends_a_run_and_the_same_command_continues(
    call, tmp_path, engine, signals, receivers, code
):
    write_held(tmp_path)
    process = started(tmp_path, "--engine", engine, "--jobs", "1")
    for name in signals:
        send = os.killpg if receivers == "group" else os.kill
        send(process.pid, getattr(signal, name))
        time.sleep(0.05)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    lines = errors.splitlines()
    assert lines[-1] == "Interrupted: finished replicates are kept; the same command continues."
    assert sum(line.startswith("Interrupt") for line in lines) == 1 + (signals[0] == "SIGINT")
    assert "Traceback" not in errors
    goes_on(call, tmp_path)


def test_the_first_ctrl_c_is_answered_at_once_and_the_replicate_is_kept(call, tmp_path):
    write_held(tmp_path)
    process = started(tmp_path, "--engine", "serial")
    refused(call(*COMMAND, cwd=tmp_path), "results/toy/quick")
    process.send_signal(signal.SIGINT)
    for line in process.stderr:
        if line.startswith("Interrupting"):
            break
    assert "press Ctrl-C again" in line
    (tmp_path / "hold").unlink()
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "5 of 40 done, 0 failed; 5 computed" in output
    goes_on(call, tmp_path)


def write_odd(folder: Path, body: str, *, call: int = 5) -> None:
    """A toy whose algorithm ``toy_odd`` does something odd once, by default in its third replicate.

    The first three replicates are computed twice.
    """
    config = write_toy(folder, algorithms="[toy_odd]")
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    (folder / "toy_plugin.py").write_text(
        (folder / "toy_plugin.py").read_text()
        + f'''
import signal
import subprocess

calls = []


@algorithm("toy_odd")
def toy_odd(problem):
    """Does something odd once."""
    calls.append(1)
    if len(calls) == {call} and not os.path.exists("odd"):
        open("odd", "w").close()
{lines}
    return problem.truth
'''
    )
    config.write_text(config.read_text().replace("trials: 3", "trials: 20"))


SWALLOWS = """
try:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)
except BaseException:
    return 0.5 * problem.truth
"""
FAILS_OF_IT = """
os.kill(os.getpid(), signal.SIGINT)
raise RuntimeError("the program that was started has died")
"""


@pytest.mark.parametrize(
    ("body", "code", "number", "kept"),
    # The sixth call repeats the third replicate, which Ctrl-C lets finish.
    [
        (SWALLOWS, 143, 5, 2),
        (SWALLOWS, 143, 6, 2),
        (FAILS_OF_IT, 130, 5, 2),
        (FAILS_OF_IT, 130, 6, 3),
    ],
)
def test_what_a_part_makes_of_a_signal_is_not_kept(call, tmp_path, body, code, number, kept):
    write_odd(tmp_path, body, call=number)
    result = call(*COMMAND, "--engine", "serial", cwd=tmp_path)
    assert result.returncode == code, result.stderr
    assert f"{kept} of 40 done, 0 failed; {kept} computed" in result.stdout
    again = call(*COMMAND, "--engine", "serial", cwd=tmp_path)
    assert f"40 of 40 done, 0 failed; {40 - kept} computed" in again.stdout


RAISES = """

@algorithm("toy_raises")
def toy_raises(problem):
    raise KeyboardInterrupt("of its own")


@generator("toy_raising", provides=("truth", "noise_std"))
def toy_raising(rng, *, n_samples: int = 10):
    sys.exit("of its own")
"""


@pytest.mark.parametrize("engine", ["serial", "processes"])
def test_what_a_part_raises_of_its_own_is_a_row(call, tmp_path, engine):
    write_toy(tmp_path, algorithms="[toy_raises]")
    with (tmp_path / "toy_plugin.py").open("a") as stream:
        stream.write(f"import sys{RAISES}")
    command = ("run", "toy.yaml", "--engine", engine, "--jobs", "1")
    result = call(*command, cwd=tmp_path)
    assert result.returncode == 1, result.stderr
    assert (
        "error: 6 rows, first: toy_raises: toy_plugin.py:43: KeyboardInterrupt: of its own"
        in result.stderr
    )
    result = call(*command, "--set", "data.generator=toy_raising", cwd=tmp_path)
    assert result.returncode == 1, result.stderr
    said = "error: 6 rows, first: toy_raises: no data: toy_plugin.py:48: SystemExit: of its own"
    assert said in result.stderr


def test_programs_and_forks_of_a_part_can_be_terminated(call, tmp_path):
    body = """
program = subprocess.Popen(["sleep", "60"])
program.terminate()
assert program.wait(5) == -signal.SIGTERM
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
time.sleep(0.2)
os.kill(child, signal.SIGTERM)
assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGTERM
"""
    write_odd(tmp_path, body)
    result = call(*COMMAND, "-j", "1", cwd=tmp_path)
    assert result.returncode == 0, result.stderr


def test_signals_while_the_table_is_written_do_not_damage_it(call, tmp_path, monkeypatch):
    write_toy(tmp_path)
    write_tables = manifest.write_tables

    def pressed(*given):
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGINT)
        return write_tables(*given)

    monkeypatch.setattr(manifest, "write_tables", pressed)
    result = call("run", "toy.yaml", "--engine", "serial", cwd=tmp_path)
    assert result.returncode == 130
    table = tmp_path / "results/toy/quick/toy.csv"
    cut = table.read_bytes()
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    call("run", "toy.yaml", "--engine", "serial", cwd=tmp_path)
    assert table.read_bytes() == cut


def test_a_signal_while_figures_are_drawn_starts_no_other_config(call, tmp_path, monkeypatch):
    write_toy(tmp_path, "first")
    write_toy(tmp_path, "second")
    monkeypatch.setattr(report, "draw", lambda _, **how: os.kill(os.getpid(), signal.SIGTERM))
    result = call("run", "first.yaml", "second.yaml", "--engine", "serial", "-k", cwd=tmp_path)
    assert result.returncode == 143
    assert result.stderr.splitlines()[-2:] == [
        "Interrupted: finished replicates are kept; the same command continues.",
        "Not run: second.",
    ]
    assert (tmp_path / "results/first/quick/first.csv").is_file()


def test_a_figure_is_written_whole_or_not_at_all(call, tmp_path, monkeypatch):
    config = write_toy(tmp_path)
    figure = "figures: [{phase_transition: {x: n_samples, success: {default: support}}}]"
    config.write_text(config.read_text().replace("figures: []", figure))
    command = ("run", "toy.yaml", "--engine", "serial")
    assert call(*command, cwd=tmp_path).returncode == 0
    folder = tmp_path / "results/toy/quick/figures"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def pressed(picture, stream, **how):
        with open(stream, "wb") if isinstance(stream, Path) else nullcontext(stream) as target:
            target.write(b"half of it")
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(Figure, "savefig", pressed)
    assert call(*command, "--force", cwd=tmp_path).returncode == 143
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_before_the_run_is_one_sentence(call, tmp_path, monkeypatch, name, code):
    before = [signal.getsignal(one) for one in INTERRUPTS]
    monkeypatch.setattr(
        plugins, "load_plugins", lambda _: os.kill(os.getpid(), getattr(signal, name))
    )
    result = call("list", cwd=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (code, "", "Interrupted.\n")
    assert [signal.getsignal(one) for one in INTERRUPTS] == before


def test_a_rehearsal_is_interrupted_too(call, tmp_path):
    write_odd(tmp_path, "os.kill(os.getpid(), signal.SIGTERM)", call=1)
    result = call("run", "toy.yaml", "--dry-run", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (143, "Interrupted.\n")
    assert not (tmp_path / "results").exists()


def test_a_signal_that_was_ignored_stays_ignored(call, tmp_path):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        write_odd(tmp_path, "os.kill(os.getpid(), signal.SIGHUP)")
        result = call(*COMMAND, "--engine", "serial", cwd=tmp_path)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert result.returncode == 0, result.stderr


def test_a_caller_of_run_gets_the_signal_that_ended_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_odd(tmp_path, "os.kill(os.getpid(), signal.SIGTERM)")
    received = []
    before = signal.signal(signal.SIGTERM, lambda signum, _: received.append(signum))
    try:
        with kept_registry(), pytest.raises(KeyboardInterrupt, match="SIGTERM"):
            greedyexp.run("toy.yaml", engine="serial")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert received == [signal.SIGTERM]
    assert (tmp_path / "results/toy/quick/toy.csv").read_text().count(",ok,") == 2
