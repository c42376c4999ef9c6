"""Help is fast, complete and free of heavy imports; wrong words are answered with the right one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from cli_process import environment, greedyexp, refused

from greedyexp import __version__
from greedyexp.cli.app import COMMANDS

HEAVY = ("numpy", "scipy", "pandas", "pydantic", "matplotlib", "yaml", "tqdm")

PROBE = f"""
import sys
from greedyexp.cli import main
loaded = set()
helps = {[["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)]!r}
for arguments in [*helps, ["data", "list"]]:
    assert main(arguments) == 0, arguments
    loaded |= set(sys.modules) & set({HEAVY!r})
print("heavy:", sorted(loaded))
"""


def test_neither_help_nor_the_list_of_data_sets_imports_a_heavy_library(tmp_path):
    result = subprocess.run(
        [sys.executable, "-c", PROBE],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.splitlines()[-1] == "heavy: []"
    for option in ("--profile", "--keep-going", "--retry-failed", "--resolved", "--plugin"):
        assert option in result.stdout
    assert result.stdout.count("--traceback") == len(COMMANDS) + 1


def cpu_seconds(arguments, folder) -> float:
    """Least processor time of three processes; it hardly depends on other processes."""
    times = []
    for _ in range(3):
        before = os.times()
        subprocess.run(
            [sys.executable, *arguments],
            cwd=folder,
            env=environment(),
            stdout=subprocess.DEVNULL,
            check=True,
        )
        after = os.times()
        times.append(sum(after[2:4]) - sum(before[2:4]))
    return min(times)


def test_help_takes_three_tenths_of_a_second_more_than_python(tmp_path):
    greedyexp("--help", cwd=tmp_path)  # byte-compiles on a fresh checkout
    bare = cpu_seconds(["-c", "pass"], tmp_path)
    for arguments in (["--help"], ["--version"], ["run", "--help"]):
        assert cpu_seconds(["-m", "greedyexp", *arguments], tmp_path) < bare + 0.3, arguments


def test_version_and_list_of_commands(tmp_path):
    assert greedyexp("--version", cwd=tmp_path).stdout == f"greedyexp, version {__version__}\n"
    text = greedyexp("--help", cwd=tmp_path).stdout
    assert [word for word in COMMANDS if f"\n  {word} " in text] == list(COMMANDS)
    assert "130  interrupted by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP" in text


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["lst"], "Did you mean 'list'?"),
        (["run", "x.yaml", "--profil", "smoke"], "--profile"),
        (["run", "x.yaml", "--profile", "papr"], "Did you mean 'paper'?"),
        (["run", "x.yaml", "--trials", "0"], "x>=1"),
        (["run"], "Missing argument"),
        (["new", "algorthm", "x"], "Did you mean 'algorithm'?"),
    ],
)
def test_wrong_usage_names_what_is_right(call, tmp_path, arguments, hint):
    refused(call(*arguments, cwd=tmp_path), hint)


def test_a_closed_pipe_is_quiet(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "greedyexp", "list", "metrics"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    assert process.stderr.read() == b""
    process.wait(timeout=60)


def test_options_offer_what_the_library_has():
    from greedyexp import config as experiment
    from greedyexp import runner
    from greedyexp.cli import options

    assert options.PROFILES == experiment.PROFILES
    assert options.ENGINES == runner.ENGINES
