"""Fixtures that several files of tests ask for by name."""

from __future__ import annotations

import subprocess

import pytest
from kept_registry import kept_registry

from greedyexp import cli
from greedyexp.runner import state


def pytest_addoption(parser):
    asked = "faults for each engine in tests/runner/test_faults.py"
    parser.addoption("--faults", type=int, default=8, help=asked)


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
    monkeypatch.setattr(state, "_PATIENCE", 0.0)
    monkeypatch.setattr(state, "_PAUSE", 0.0)
