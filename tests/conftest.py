"""Fixtures that several files of tests ask for by name."""

from __future__ import annotations

import functools
import os
import subprocess
import tempfile

import pytest
from kept_registry import kept_registry
from matplotlib.mathtext import MathTextParser

from greedyexp import cli
from greedyexp.figures._plot import style
from greedyexp.runner import run_folder


def pytest_configure():
    # Code that tests agree to is not remembered for the user.
    os.environ["GREEDYEXP_CONFIG"] = tempfile.mkdtemp(prefix="greedyexp-config-")
    # To choose the letters of a TrueType font takes as long as everything else of a figure.
    style.SETTINGS["pdf.fonttype"] = 3
    # Matplotlib keeps 50 formulas of one drawing. Many figures have the same labels of ticks.
    parsed = MathTextParser._parse_cached.__wrapped__
    MathTextParser._parse_cached = functools.lru_cache(5000)(parsed)
    MathTextParser.__eq__ = lambda one, other: one._output_type == other._output_type
    MathTextParser.__hash__ = lambda one: hash(one._output_type)


def pytest_addoption(parser):
    asked = "faults for each engine in tests/runner/test_faults.py"
    parser.addoption("--faults", type=int, default=8, help=asked)


@pytest.fixture(scope="module", autouse=True)
def _registry_of_each_file():
    """The parts that a file of tests registers are forgotten after it.

    Which files share a process depends on the speed of the machine.
    """
    with kept_registry():
        yield


@pytest.fixture
def call(monkeypatch, capsys):
    """``call(*arguments, cwd=folder)``: the command line in this process.

    It answers as ``cli_process.greedyexp`` does, without the second and a half that a process
    needs to import everything.
    """

    def run(*arguments, cwd) -> subprocess.CompletedProcess:
        monkeypatch.chdir(cwd)
        monkeypatch.setenv("MPLBACKEND", "Agg")
        capsys.readouterr()
        code = cli.main([*map(str, arguments)])
        return subprocess.CompletedProcess(arguments, code, *capsys.readouterr())

    with kept_registry():
        yield run


@pytest.fixture
def impatient(monkeypatch):
    """Readers refuse inconsistent files at once.

    Otherwise they try again for a second, because a run may be replacing the files.
    """
    monkeypatch.setattr(run_folder, "_PATIENCE", 0.0)
    monkeypatch.setattr(run_folder, "_PAUSE", 0.0)
